"""dbt in a separate process: Ctrl-C leaves the lake unchanged, secrets stay out of the log and of `ps`, ANSI can be switched off.

`test_kept_spark.py` has Ctrl-C with a Spark that stays.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.clusters import connect_server
from tests.functional.dbt_process import LAKE, LONG, SPARK, interrupt_while_writing, run_dbt, spark_ui, start_dbt, unchanged, write_project

SECRET = "hush-hush"
PROGRESS = re.compile(r".*model\.p\.long has been running for \d+ s: stage 1 of 1, \d+ of \d+ tasks done.*; http://\S+:\d+")
MODELS = {
    "before.sql": "{{ config(materialized='table') }} select try_cast('1' as int) as a, id from range(1000)",
    "lenient.sql": "{{ config(materialized='table') }} select cast('x' as int) as a -- {{ ref('before') }}",
    "long.sql": LONG + " -- {{ ref('lenient') }}",
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
        commands = command_lines(process)
        assert "org.apache.spark.deploy.SparkSubmit" in commands
        assert SECRET not in commands
        with unchanged(project, {"before", "lenient"}):
            interrupt_while_writing(process, project, lambda: "SparkSubmit" in command_lines(process))
    finally:
        if process.poll() is None:
            process.kill()
    log = (project / "logs" / "dbt.log").read_text()
    assert SECRET not in log
    assert "spark.hadoop.fs.s3a.secret.key" not in "".join(lines)


@pytest.mark.slow
@pytest.mark.nightly
def test_an_interrupted_run_leaves_no_job_on_a_connect_server(tmp_path: Path) -> None:
    pytest.importorskip("grpc")
    ui, running_jobs = spark_ui()
    with connect_server("local[2]", None, ui, {}) as server:
        project = write_project(
            tmp_path,
            {"before.sql": MODELS["before.sql"], "long.sql": LONG + " -- {{ ref('before') }}"},
            {"here": {**LAKE, "spark": {"remote": server.address}}},
        )
        run_dbt(project, "run", "--select", "before")
        with unchanged(project, {"before"}):
            interrupt_while_writing(start_dbt(project, "run", "--select", "long"), project, running_jobs)


@pytest.mark.slow
def test_the_error_names_a_catalog_that_does_not_answer_without_its_password(project: Path) -> None:
    process = start_dbt(project, "run", "--target", "nowhere", "--log-path", "other_logs", "--debug")
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "127.0.0.1" in output
    assert SECRET not in output
    assert SECRET not in (project / "other_logs" / "dbt.log").read_text()
