"""Secrets of a profile: none is in the output, the logs, the artifacts, Spark's log, UI and event log, the catalog, or an argument of a process.

Every secret contains `MARK` and a number, so that a report names the place that leaked.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

BUILD_SECONDS = 300
DEBUG_SECONDS = 60
"""The longest time of a command; the whole run takes at most 20 minutes, usually two."""
MARK = re.compile(rb"MARK\d+")
ENVIRONMENT = {
    "DBT_ENV_SECRET_PASSWORD": "MARK0/ ?#@é",
    "DBT_ENV_SECRET_TOKEN": "MARK1",
    "AWS_SECRET_ACCESS_KEY": "MARK2",
}
CONFIG = {
    "spark.hadoop.fs.s3a.access.key": "MARK10",
    "spark.hadoop.fs.s3a.secret.key": "MARK11",
    "spark.hadoop.fs.s3a.session.token": "{{ env_var('DBT_ENV_SECRET_TOKEN') }}",
    "spark.hadoop.fs.s3a.encryption.key": "MARK12",
    "spark.hadoop.fs.azure.account.key.me.dfs.core.windows.net": "MARK13 = a: b\\",
    "spark.hadoop.fs.azure.sas.box.me.blob.core.windows.net": "sv=2024&sig=MARK14",
    "spark.hadoop.fs.gs.auth.service.account.private.key": "MARK15",
    "spark.hadoop.google.cloud.auth.credential": "MARK16",
    "spark.ssl.keyStorePassphrase": "MARK17",
    "spark.driver.extraJavaOptions": "-Djavax.net.ssl.trustStorePassword=MARK18 -Dplain='two words' -Dlog4j2.configurationFile=log4j2.properties",
    "spark.sql.catalog.other.password": "MARK19",
    "spark.own.address": "https://me:MARK20@host/",
    "spark.ui.enabled": True,
    "spark.ui.port": 0,
    "spark.eventLog.enabled": True,
    "spark.eventLog.dir": "events",
    "spark.eventLog.compress": False,
    "spark.log.level": "INFO",
    "spark.logConf": True,
}
LOGGING = """rootLogger.level = info
logger.spark.name = org.apache.spark
logger.spark.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c: %m%n%ex
"""
PATHS = [
    "postgresql://me:a/MARK30@127.0.0.1:1/x",
    "postgresql://me:a?MARK31@127.0.0.1:1/x",
    "postgresql://me:a#MARK32@127.0.0.1:1/x",
    "postgresql://me:a MARK33@127.0.0.1:1/x",
    "postgresql://me:a@MARK34@127.0.0.1:1/x",
    "postgresql://me:MARK35/x",
    "postgresql:/me:MARK36@127.0.0.1/x",
    "postgress://me:MARK37@127.0.0.1/x",
    "postgresql://127.0.0.1:1/x?user=me&pasword=MARK38",
    "ducklake:postgres:dbname=x host=127.0.0.1 port=1 pasword=MARK39",
    "ducklake:postgres:dbname=x host=127.0.0.1 port=1 password=a MARK40",
    "ducklake:mysql:db=x host=127.0.0.1 port=1 pasword=MARK41",
    "mysql://me:a?@MARK42@127.0.0.1:1/x",
    "ducklake:dbname=x password=MARK43",
    "ducklake:postgres:dbname='postgresql://me:MARK44@127.0.0.1:1/x'",
    "ducklake:postgres:dbname='x password=MARK45' host=127.0.0.1 port=1",
    "ducklake:mysql:db=mysql://me:MARK46@127.0.0.1:1/x",
    "postgresql:///me:MARK47@127.0.0.1:1/x",
]
MODELS = {
    "one.sql": "{{ config(materialized='table') }} select 1 as id, "
    "java_method('java.lang.System', 'getProperty', 'plain') as plain -- {{ target }}",
    "shown.py": """
import urllib.request

def model(dbt, session):
    dbt.config(materialized="table")
    context = session.sparkContext
    pages = ["/environment/", f"/api/v1/applications/{context.applicationId}/environment", "/executors/"]
    with open("pages.txt", "wb") as file:
        for page in pages:
            with urllib.request.urlopen(context.uiWebUrl + page) as answer:
                file.write(answer.read())
        file.write(repr(session.sql("SET").collect()).encode())
    return dbt.ref("one").mapInPandas(lambda frames: frames, "id int, plain string")
""",
    "wrong.sql": "{{ config(materialized='table') }} select * from json.`s3a://bucket/x` -- {{ ref('shown') }}",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project without a profile."""
    for folder in ("models", "seeds", "events", "tmp"):
        (tmp_path / folder).mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: p\nversion: '1.0'\nprofile: p\nflags: {send_anonymous_usage_stats: false}\n")
    (tmp_path / "log4j2.properties").write_text(LOGGING)
    (tmp_path / "seeds" / "few.csv").write_text("id\n1\n")
    for name, text in MODELS.items():
        (tmp_path / "models" / name).write_text(text)
    return tmp_path


def write_profile(project: Path, **outputs: dict[str, Any]) -> None:
    spark = {"master": "local[2]", "config": CONFIG, "log_path": "spark.log"}
    common = {"type": "ducklake", "data_path": "data/", "spark": spark}
    profile = {"p": {"target": next(iter(outputs)), "outputs": {name: {**common, **own} for name, own in outputs.items()}}}
    (project / "profiles").mkdir()
    (project / "profiles" / "profiles.yml").write_text(json.dumps(profile, ensure_ascii=False))


def dbt(project: Path, seconds: int, *arguments: str) -> tuple[bytes, set[str]]:
    """Run a command of dbt, and return its output and the command lines of all its processes, sampled until it ends."""
    command = [str(Path(sys.executable).with_name("dbt")), *arguments, "--debug", "--profiles-dir", "profiles"]
    environ = {**os.environ, **ENVIRONMENT, "PYSPARK_PYTHON": sys.executable, "TMPDIR": str(project / "tmp")}
    process = subprocess.Popen(
        command,
        cwd=project,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    ended = threading.Event()
    seen: set[str] = set()

    def sample() -> None:
        while not ended.wait(0.05):
            seen.update(command_lines(process.pid))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        output, _ = process.communicate(timeout=seconds)
    finally:
        ended.set()
        sampler.join()
        if process.poll() is None:
            process.kill()
    return output, seen


def command_lines(session: int) -> Iterator[str]:
    """Yield the arguments of all processes of a session, as every user of the machine can read them."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                yield (folder / "cmdline").read_text(errors="replace").replace("\0", " ")
        except (OSError, ValueError):  # the process has ended
            continue


def marks(text: bytes) -> set[str]:
    return {each.decode() for each in MARK.findall(text)}


def found_in(project: Path) -> dict[str, set[str]]:
    """Return the marks in every file of the project but the profile, and in the names of files."""
    leaks: dict[str, set[str]] = {}
    for path in project.rglob("*"):
        name = str(path.relative_to(project))
        content = path.read_bytes() if path.is_file() and path.name != "profiles.yml" else b""
        if leak := marks(name.encode() + b"\n" + content):
            leaks[name] = leak
    return leaks


def rows_of(url: str) -> bytes:
    """Return all rows of all tables of a PostgreSQL database as text."""
    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog')").fetchall()
        return b"".join(repr(connection.execute(f'SELECT * FROM "{schema}"."{table}"').fetchall()).encode() for schema, table in names)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="the arguments of processes are read from /proc")
def test_a_build_keeps_its_secrets(project: Path, postgres_url: str) -> None:
    user, at, rest = postgres_url.rpartition("@")
    scheme, _, name = user.partition("//")
    path = f"{scheme}//{name.partition(':')[0]}:{{{{ env_var('DBT_ENV_SECRET_PASSWORD') }}}}{at}{rest}"
    write_profile(project, dev={"path": path, "attach": [{"alias": "b", "path": PATHS[0]}]})
    output, commands = dbt(project, BUILD_SECONDS, "build")

    assert b"PASS=3 WARN=0 ERROR=1" in re.sub(rb"\x1b\[\d*m", b"", output), output.decode()
    assert any("org.apache.spark.deploy.SparkSubmit" in each for each in commands)
    assert any("pyspark" in each and "daemon" in each for each in commands), "the Python workers were seen"
    assert (project / "pages.txt").stat().st_size > 10_000
    assert "spark.hadoop.fs.s3a.secret.key" in (project / "spark.log").read_text(), "Spark logs the names of its settings"
    assert any(b"spark.hadoop.fs.s3a.secret.key" in file.read_bytes() for file in (project / "events").rglob("events_*"))
    assert marks(output) == set()
    assert marks("\n".join(commands).encode()) == set()
    assert found_in(project) == {}
    assert marks(rows_of(postgres_url)) == set()
    assert [each.name for each in (project / "tmp").iterdir() if each.name.startswith("dbt-ducklake-start")] == []


def test_debug_and_errors_of_every_form_of_path_keep_its_secrets(project: Path) -> None:
    write_profile(project, **{f"o{number}": {"path": path} for number, path in enumerate(PATHS)})
    for number, path in enumerate(PATHS):
        output, _ = dbt(project, DEBUG_SECONDS, "debug", "--target", f"o{number}")
        assert marks(output) == set(), (path, output.decode())
    assert found_in(project) == {}
