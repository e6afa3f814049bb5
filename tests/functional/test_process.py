"""dbt in a separate process: Ctrl-C leaves the lake unchanged, secrets stay out of the log and of `ps`, ANSI can be switched off."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.lake.data_path import MARK_FILE
from tests.functional.dbt_process import LAKE, SPARK, start_dbt, write_project

LONG = """
{{ config(materialized='table', pre_hook="create table {{ this.schema }}.beside as select 1 as id") }}
select id, {{ wait }} as waited from range(0, 2000, 1, 200)
"""
WAIT = "java_method('java.lang.Thread', 'sleep', 50L)"
SECRET = "hush-hush"
PROGRESS = re.compile(r".*model\.p\.long has been running for \d+ s: stage 1 of 1, \d+ of \d+ tasks done.*; http://\S+:\d+")
END_SECONDS = float(os.environ.get("DUCKLAKE_TEST_END_SECONDS", "5"))
"""How long Ctrl-C may take; a busy machine needs more."""
MODELS = {
    "before.sql": "{{ config(materialized='table') }} select try_cast('1' as int) as a, id from range(1000)",
    "lenient.sql": "{{ config(materialized='table') }} select cast('x' as int) as a -- {{ ref('before') }}",
    "long.sql": LONG.replace("{{ wait }}", WAIT) + " -- {{ ref('lenient') }}",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = {
        "spark.sql.ansi.enabled": "false",
        "spark.ui.enabled": "true",
        "spark.ui.port": "0",
        "spark.hadoop.fs.s3a.secret.key": SECRET,
        "spark.driver.extraJavaOptions": f"-Djavax.net.ssl.trustStorePassword={SECRET} -Dplain='two words'",
    }
    targets = {
        "here": {**LAKE, "spark": {**SPARK, "config": config}},
        "nowhere": {**LAKE, "path": f"postgresql://someone:{SECRET}@127.0.0.1:1/absent", "data_path": "elsewhere/"},
    }
    return write_project(tmp_path_factory.mktemp("project"), MODELS, targets)


def command_lines(process: subprocess.Popen[str]) -> str:
    """Return the arguments of all processes of the session that `process` leads, as every user of the machine can read them."""
    listed = subprocess.run(["ps", "-ww", "-s", str(process.pid), "-o", "args="], capture_output=True, text=True, check=False)
    return listed.stdout


def files(folder: Path) -> set[str]:
    return {str(path) for path in (folder / "data").rglob("*") if path.is_file() and path.name != MARK_FILE}


@pytest.mark.slow
@pytest.mark.nightly
def test_an_interrupted_run_leaves_the_lake_unchanged(project: Path) -> None:
    process = start_dbt(project, "--log-format", "json", "run")
    try:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "model.p.long has been running for" in line and "tasks done" in line:
                break
        else:
            pytest.fail("".join(lines))
        assert PROGRESS.fullmatch(json.loads(line)["info"]["msg"]), line
        deadline = time.monotonic() + 60
        while not list((project / "data").rglob("*/_temporary/*")) and time.monotonic() < deadline:
            time.sleep(0.2)  # wait until Spark writes
        commands = command_lines(process)
        assert "org.apache.spark.deploy.SparkSubmit" in commands
        assert SECRET not in commands
        lake = LakeCatalog.open(CatalogSettings(f"ducklake:sqlite:{project}/lake.sqlite"))
        newest = lake.latest().snapshot_id
        interrupted = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=90)
        took = time.monotonic() - interrupted
        assert took < END_SECONDS, f"{took:.1f} s: {output}"
        assert process.returncode != 0
        deadline = interrupted + END_SECONDS
        while "SparkSubmit" in command_lines(process) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert "SparkSubmit" not in command_lines(process), "the JVM ends with dbt"
        assert lake.latest().snapshot_id == newest
        reader = lake.reader()
        assert {name.name for name in reader.names()} == {"before", "lenient"}
        known = {file.path for name in ("before", "lenient") for file in reader.scan_plan(reader.find("main", name)).files}  # type: ignore[arg-type]
        assert files(project) == known, "no unregistered file is left"
        lake.close()
    finally:
        if process.poll() is None:
            process.kill()
    log = (project / "logs" / "dbt.log").read_text()
    assert SECRET not in log
    assert "spark.hadoop.fs.s3a.secret.key" not in "".join(lines)


@pytest.mark.slow
def test_the_error_names_a_catalog_that_does_not_answer_without_its_password(project: Path) -> None:
    process = start_dbt(project, "run", "--target", "nowhere", "--log-path", "other_logs", "--debug")
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "127.0.0.1" in output
    assert SECRET not in output
    assert SECRET not in (project / "other_logs" / "dbt.log").read_text()
