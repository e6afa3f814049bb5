"""The options for Java that a user gives: in the profile, in the environment, and in Spark's properties file."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path

from .private_settings import DRIVER_OPTIONS, SUBMIT_ARGUMENTS, without_properties_file

SUBMIT_OPTIONS = "SPARK_SUBMIT_OPTS"
"""The environment variable with options for the driver's Java, which come before those of Spark's settings."""
LAUNCHER_OPTIONS = "SPARK_LAUNCHER_OPTS"
"""The environment variable with options for the Java that computes the command line of the driver's."""
SERIAL_COLLECTOR = "-XX:+UseSerialGC"
_ANY_JAVA = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""The environment variables that each Java reads itself."""
_COLLECTOR = re.compile(r"-XX:\+Use\w*GC\b")
_DRIVER_LINE = re.compile(rf"\s*(?:{'|'.join(map(re.escape, DRIVER_OPTIONS))})\b.*")
_CONTINUED_LINE = re.compile(r"\\\n\s*")


def serial_collector(given: str) -> list[str]:
    """Return the option for Java's serial collector, unless other options select a collector: Java does not start with two.

    Args:
        given: the other options.
    """
    return [] if _COLLECTOR.search(given) else [SERIAL_COLLECTOR]


def driver_options(config: Mapping[str, str]) -> str:
    """Return all given options for the driver's Java as one text to search.

    Args:
        config: the Spark configuration at the start.
    """
    settings = (config.get(name, "") for name in DRIVER_OPTIONS)
    return " ".join((*settings, _environment(*_ANY_JAVA, SUBMIT_OPTIONS, SUBMIT_ARGUMENTS), *_driver_lines()))


def launcher_options() -> str:
    """Return all given options for the Java that computes the command line of the driver's, as one text to search."""
    return _environment(*_ANY_JAVA, LAUNCHER_OPTIONS)


def defaults_file() -> Path:
    """Return the path of Spark's `spark-defaults.conf`, which may not exist."""
    found = importlib.util.find_spec("pyspark")
    home = os.environ.get("SPARK_HOME")
    if home is None:
        home = (found.submodule_search_locations or [""])[0] if found else ""
    return Path(os.environ.get("SPARK_CONF_DIR") or f"{home}/conf", "spark-defaults.conf")


def _environment(*names: str) -> str:
    return " ".join(os.environ.get(name, "") for name in names)


def _driver_lines() -> list[str]:
    """Return the lines with options for the driver's Java in the properties file that Spark reads; none if it cannot be read."""
    own, _ = without_properties_file(shlex.split(os.environ.get(SUBMIT_ARGUMENTS, "")))
    try:
        text = Path(own or defaults_file()).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = _CONTINUED_LINE.sub("", text).splitlines()
    return [line.replace("\\", "") for line in lines if _DRIVER_LINE.fullmatch(line)]
