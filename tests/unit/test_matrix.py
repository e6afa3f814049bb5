"""`make matrix` covers every pair, expects a refusal exactly where the adapter refuses, ends commands in time, and reports what happened."""

from __future__ import annotations

import ast
import contextlib
import contextvars
import itertools
import re
import sys
import time
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from dbt.config.renderer import ProfileRenderer
from dbt_common.context import set_invocation_context
from packaging.requirements import Requirement

from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.encrypted.packages import require_packages
from dbt.adapters.ducklake.spark.session.java import usable_releases
from tests.matrix.combinations import DBTS, DUCKDBS, JAVAS, LIBRARIES, NEWEST, PYSPARKS, PYTHONS, Combination, combinations, pysparks
from tests.matrix.environments import oldest, reason
from tests.matrix.table import table
from tests.matrix.trial import PROJECT, Outcome, Result, TrialError, environment_variables, run

ROOT = Path(__file__).parents[2]
SLEEPING = "sleep 77.25 & echo started; wait"


@pytest.mark.parametrize("python", PYTHONS)
def test_every_pair_and_every_version_is_covered(python: str) -> None:
    all_ = combinations(python)
    assert {(each.pyspark, each.java) for each in all_} == {(pyspark, java) for pyspark in PYSPARKS for java in JAVAS}
    assert {(each.pyspark, each.python) for each in all_} == {(pyspark, each) for each in PYTHONS for pyspark in pysparks(each)} | {
        (pyspark, python) for pyspark in PYSPARKS
    }
    assert {(each.duckdb, each.encrypted) for each in all_} == {(None, False), *itertools.product(DUCKDBS, (False, True))}
    assert {each.dbt for each in all_} == set(DBTS)
    assert {each.libraries for each in all_} == set(LIBRARIES)
    assert len(set(all_)) == len(all_)


def test_a_refusal_is_expected_where_the_adapter_refuses() -> None:
    for each in combinations("3.11"):
        unreadable = each.encrypted and each.duckdb == NEWEST
        assert (each.refusal is not None) == (each.java not in usable_releases(each.pyspark) or unreadable)


def test_the_refusal_of_a_duckdb_without_its_extension_is_that_of_the_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", {"duckdb": "2.0.1", "duckdb-extension-httpfs": "1.0.3"}.__getitem__)
    refusal = Combination("4.3", 21, "3.11", duckdb=NEWEST, encrypted=True).refusal
    with pytest.raises(ConfigurationError, match=refusal):
        require_packages()


def test_the_extra_brings_only_a_tested_duckdb() -> None:
    """DuckDB 2 has no extensions yet, and an encrypted lake with it is refused."""
    (extra,) = re.findall(r"^duckdb = (\[.*?\])", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    allowed = {each.name: each.specifier for each in map(Requirement, ast.literal_eval(extra))}
    page = (ROOT / "docs/versions.md").read_text(encoding="utf-8")
    ((tested, untested),) = re.findall(r"^\| DuckDB, with .*? \| (\S+) \| .* \| (\S+): matrix", page, re.MULTILINE)
    assert tested in DUCKDBS
    for package in ("duckdb", "duckdb-extension-httpfs"):
        assert [each for each in (tested, untested, f"{untested}.9") if each in allowed[package]] == [tested]


def test_each_library_has_an_oldest_version() -> None:
    requirements = requires("dbt-ducklake") or []
    own = {Requirement(each).name for each in requirements if "extra ==" not in each}
    assert {each.partition("==")[0] for each in oldest(requirements)} == own
    assert oldest(["pandas<3,>=2", "numpy", "botocore>=1.36; extra == 's3'"]) == ["pandas==2"]


def rendered_profile(variables: dict[str, str]) -> dict[str, Any]:
    """Return the project's profile as dbt renders it with these environment variables, which stay in this context."""
    set_invocation_context(variables)
    rendered: dict[str, Any] = ProfileRenderer().render_data(yaml.safe_load((PROJECT / "profiles.yml").read_text(encoding="utf-8")))
    return rendered


@pytest.mark.parametrize("encrypted", [False, True])
def test_dbt_can_read_the_profile(encrypted: bool, tmp_path: Path) -> None:
    combination = Combination("4.3", 21, "3.11", duckdb="1.5.5", encrypted=encrypted)
    variables = environment_variables(combination, tmp_path, tmp_path, tmp_path)
    profile = contextvars.copy_context().run(rendered_profile, variables)["matrix"]["outputs"]["dev"]
    assert profile["path"] == f"ducklake:{combination.catalog}:lake.{combination.catalog}"
    assert profile["encrypted"] is encrypted


def test_the_nightly_run_has_each_python_and_runs_on_the_tested_one() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8"))["jobs"]
    steps = [step for step in jobs["tests"]["steps"] if "setup-python" in step.get("uses", "")]
    versions = [step["with"]["python-version"].split() for step in steps]
    assert sorted(itertools.chain(*versions)) == sorted(PYTHONS)
    assert versions[-1] == ["3.11"], "the last one is `python3`, and so that of make"


def test_an_old_python_has_an_older_pyspark() -> None:
    assert [pysparks(each)[-1] for each in PYTHONS] == ["4.2", "4.3", "4.3", "4.3"]


def is_sleeping() -> bool:
    """Whether the process that the command started still runs."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended meanwhile
            if path.read_bytes() == b"sleep\x0077.25\x00":
                return True
    return False


def test_a_command_that_hangs_is_ended_with_its_processes(tmp_path: Path) -> None:
    started = time.monotonic()
    with pytest.raises(TrialError, match=r"took longer than 1 s:\nstarted"):
        run(["/bin/sh", "-c", SLEEPING], tmp_path, {"PATH": "/usr/bin:/bin"}, 1)
    assert time.monotonic() - started < 20
    while is_sleeping() and time.monotonic() - started < 20:  # a killed process ends a little later
        time.sleep(0.05)
    assert not is_sleeping()


def test_the_status_and_the_end_of_the_output_are_returned(tmp_path: Path) -> None:
    code = "import sys; print(*range(100), sep='\\n'); sys.exit(3)"
    status, output = run([sys.executable, "-c", code], tmp_path, {"PATH": ""}, 60)
    assert status == 3
    assert output.splitlines()[-1] == "99"
    assert output.splitlines()[0] != "0"


def test_the_table_says_what_happened() -> None:
    one = Combination("4.1", 25, "3.11")
    results = [
        Result(one, Outcome.REFUSED, 7.4, "Spark 4.1.4 needs Java 17 to 23", {"pyspark": "4.1.4", "dbt-core": "1.11.16"}),
        Result(Combination("4.3", 21, "3.12", duckdb="newest"), Outcome.NOT_AVAILABLE, 0, "no Python 3.12 on this machine"),
        Result(one, Outcome.FAILED, 61, "a | b\nc"),
        Result(Combination("4.3", 21, "3.11", duckdb="1.5.5", encrypted=True), Outcome.WORKS, 50),
    ]
    assert table(results).splitlines()[2:] == [
        "| 4.1.4 | 25 | 3.11 | 1.11.16 | tested | SQLite | refused: Spark 4.1.4 needs Java 17 to 23 | 7 |",
        "| 4.3 | 21 | 3.12 | 1.11 | tested | DuckDB newest | not available here: no Python 3.12 on this machine |  |",
        "| 4.1 | 25 | 3.11 | 1.11 | tested | SQLite | FAILED: a / b | 61 |",
        "| 4.3 | 21 | 3.11 | 1.11 | tested | SQLite, files encrypted by DuckDB 1.5.5 | works | 50 |",
    ]


def test_the_reason_of_a_failed_installation_is_found() -> None:
    built = "  error: subprocess-exited-with-error\n  │ RuntimeError: failed to download https://host/a/b-1.whl: <urlopen error>\nnote: not pip."
    assert reason(built) == "RuntimeError: failed to download b-1.whl: <urlopen error>"
    missing = "ERROR: Could not find a version\nERROR: No matching distribution found for x==1"
    assert reason(missing) == "ERROR: No matching distribution found for x==1"
    assert reason("a\nlast line\n\n") == "last line"
    assert reason("\n") == "pip failed without a message"
