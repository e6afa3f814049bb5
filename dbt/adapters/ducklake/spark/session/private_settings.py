"""Pass Spark's settings to a new JVM in files that only the user can read, because every user can see the arguments of a process."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from ...errors import ConfigurationError
from .temporary_folder import TemporaryFolder

SUBMIT_ARGUMENTS = "PYSPARK_SUBMIT_ARGS"
"""The environment variable with the arguments that PySpark gives `spark-submit`."""
_PROPERTIES_FILE = "--properties-file"
DRIVER_OPTIONS = ("spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions")
"""The settings that contain JVM options of the driver."""


@contextlib.contextmanager
def private_settings(config: Mapping[str, str], variables: Mapping[str, str] = MappingProxyType({})) -> Iterator[None]:
    """Let a JVM that PySpark starts in this block read `config` from a private folder, which is removed when the block ends.

    The settings have the precedence of a properties file: they override `spark-defaults.conf`, and options of PYSPARK_SUBMIT_ARGS override
    them. A properties file of PYSPARK_SUBMIT_ARGS is included.

    Args:
        config: the Spark configuration at the start.
        variables: further environment variables for the JVM.
    """
    with TemporaryFolder() as folder:
        own = {SUBMIT_ARGUMENTS: shlex.join(submit_arguments(folder, config)), **variables}
        before = {name: os.environ.get(name) for name in own}
        try:
            os.environ.update(own)
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value


def submit_arguments(folder: Path, config: Mapping[str, str]) -> list[str]:
    """Write settings to files of a private folder, and return the arguments with which `spark-submit` reads them.

    Args:
        folder: an existing folder that only the user can read; the files are not needed once the JVM runs.
        config: the Spark configuration at the start.
    """
    user_file, arguments = without_properties_file(shlex.split(os.environ.get(SUBMIT_ARGUMENTS, "pyspark-shell")))
    defaults = [] if user_file is not None else ["--load-spark-defaults"]
    # if the file ends with a backslash, the empty line ends that continuation
    text = Path(user_file).read_text(encoding="utf-8") + "\n\n" if user_file is not None else ""
    settings = {**config, **{key: _hidden_definitions(folder, key, config[key]) for key in DRIVER_OPTIONS if key in config}}
    file = _write(folder / "spark.properties", text + properties(settings))
    return [_PROPERTIES_FILE, str(file), *defaults, *arguments]


def properties(settings: Mapping[str, str]) -> str:
    """Format settings as a Java properties file."""
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in settings.items())


def _escaped(text: str) -> str:
    escaped = re.sub(r"[\\=:#! ]", r"\\\g<0>", text)
    return escaped.replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r").replace("\f", "\\f")


def without_properties_file(arguments: list[str]) -> tuple[str | None, list[str]]:
    """Return the last properties file that the arguments name, and the arguments without it."""
    file, rest = None, []
    remaining = iter(arguments)
    for argument in remaining:
        option, equals, value = argument.partition("=")
        if option == _PROPERTIES_FILE:
            file = value if equals else next(remaining, None)
        else:
            rest.append(argument)
    return file, rest


def _hidden_definitions(folder: Path, key: str, options: str) -> str:
    """Move the system properties of Java options, such as the password of a trust store, to an argument file of the JVM."""
    try:
        arguments = shlex.split(options)
    except ValueError:
        raise ConfigurationError(f"{key} has an unclosed quotation mark") from None
    definitions = [each for each in arguments if each.startswith("-D")]
    if not definitions:
        return options
    quoted = ('"' + re.sub(r'[\\"]', r"\\\g<0>", each) + '"' for each in definitions)
    file = _write(folder / key, "".join(f"{each}\n" for each in quoted))
    return shlex.join([*(each for each in arguments if each not in definitions), f"@{file}"])


def _write(file: Path, text: str) -> Path:
    with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
        stream.write(text)
    return file
