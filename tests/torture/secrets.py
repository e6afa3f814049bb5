"""Secrets of a profile: none is in the output, the logs, the artifacts, Spark's log, UI and event log, the catalog, or an argument of a process.

Every secret contains `MARK` and a number, so that a report names the place that leaked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.long_use import WITHOUT_ARCHIVE
from tests.waiting import await_true

BUILD_SECONDS = 300
DEBUG_SECONDS = 60
"""The longest time of a command; the whole run takes at most 40 minutes, usually six."""
MARK = re.compile(rb"MARK\d+")
ENVIRONMENT = {
    "DBT_ENV_SECRET_PASSWORD": "MARK0/ ?#@é",
    "DBT_ENV_SECRET_TOKEN": "MARK1",
    "AWS_SECRET_ACCESS_KEY": "MARK2",
    "DBT_ENV_SECRET_PLAIN": "p+MARK3",
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
    "spark.driver.extraJavaOptions": "-Djavax.net.ssl.trustStorePassword=MARK18 -Dplain='two words' "
    "-Dlog4j2.configurationFile=log4j2.properties -Dharmless={{ env_var('DBT_ENV_SECRET_PLAIN') }}",
    "spark.harmless": "with {{ env_var('DBT_ENV_SECRET_PLAIN') }}",
    "spark.hadoop.harmless": "{{ env_var('DBT_ENV_SECRET_PLAIN') }}",
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
STORAGE = [
    {"type": "s3", "key_id": "MARK50", "secret": "MARK51", "session_token": "MARK52", "scope": "s3://bucket", "endpoint": "127.0.0.1:1"}
]
LINEAGE = {
    "transport": {"type": "http", "url": "http://me:MARK60@127.0.0.1:1", "auth": {"type": "api_key", "apiKey": "MARK61"}, "timeout": 1}
}
KINDS: dict[str, dict[str, Any]] = {
    "local": {"master": "local[2]"},
    "connect": {"remote": "local[2]"},
    "kept": {"master": "local[2]", "keep_alive": "2m"},
}
"""How Spark runs: started by the command, as a Spark Connect server, or kept for the next command."""
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
OUTPUTS: list[dict[str, Any]] = [
    *({"path": path} for path in PATHS),
    {"data_path": "s3://KEY:MARK70@bucket/"},
    {"attach": [{"alias": "b", "path": "b.sqlite", "data_path": "s3://KEY:MARK71@bucket/"}]},
    {"spark": {"remote": "sc://127.0.0.1:1/;token=MARK72"}},
    {"spark": {"remote": "sc://127.0.0.1:1;token=MARK73"}},
    {"secrets": [{"type": "s3", "secret": "MARK74"}]},
    {"secrets": [{"type": "gcs", "key_id": "MARK75", "secret": "MARK76"}]},
    {
        "openlineage": {"transport": {"type": "http", "url": 5, "auth": {"type": "api_key", "apiKey": "MARK77"}}},
        "spark": {"remote": "sc://127.0.0.1:1"},
    },
]
"""Parts of profiles, most of which are refused."""
SHOWN = b"spark.hadoop.fs.s3a.secret.key"
"""The name of a setting that is shown, without its value."""
MODELS = {
    "one.sql": "{{ config(materialized='table') }} select 1 as id, "
    "java_method('java.lang.System', 'getProperty', 'plain') as plain -- {{ target }}",
    "shown.py": """
import pathlib
import tempfile
import urllib.request

def model(dbt, session):
    dbt.config(materialized="table")
    pathlib.Path("files.txt").write_text("\\n".join(map(str, pathlib.Path(tempfile.gettempdir()).rglob("*"))))
    context = getattr(session, "_sc", None)  # Spark Connect has none
    pages = ["/environment/", f"/api/v1/applications/{context.applicationId}/environment", "/executors/"] if context else []
    with open("pages.txt", "wb") as file:
        for page in pages:
            with urllib.request.urlopen(context.uiWebUrl + page) as answer:
                file.write(answer.read())
        file.write(repr(session.sql("SET").collect()).encode())
    return dbt.ref("one").mapInPandas(lambda frames: frames, "id int, plain string")
""",
    "wrong.sql": "{{ config(materialized='table') }} select * from json.`s3a://bucket/x` -- {{ ref('shown') }}",
}


def cache_of(project: Path) -> Path:
    """Return the folder that the project's link `cache` names: the paths of sockets in it must be short."""
    return (project / "cache").resolve()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """A project without a profile."""
    cache = tempfile.mkdtemp(prefix="secrets-", dir="/tmp")
    (tmp_path / "cache").symlink_to(cache)
    for folder in ("models", "seeds", "events", "tmp"):
        (tmp_path / folder).mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: p\nversion: '1.0'\nprofile: p\nflags: {send_anonymous_usage_stats: false}\n")
    (tmp_path / "log4j2.properties").write_text(LOGGING)
    (tmp_path / "seeds" / "few.csv").write_text("id\n1\n")
    for name, text in MODELS.items():
        (tmp_path / "models" / name).write_text(text)
    yield tmp_path
    shutil.rmtree(cache)


def write_profile(project: Path, spark: dict[str, Any], **outputs: dict[str, Any]) -> None:
    spark = {"config": CONFIG, "log_path": "spark.log", **spark}
    common = {"type": "ducklake", "path": "lake.sqlite", "data_path": "data/", "spark": spark, "secrets": STORAGE}
    profile = {"p": {"target": next(iter(outputs)), "outputs": {name: {**common, **own} for name, own in outputs.items()}}}
    (project / "profiles").mkdir()
    (project / "profiles" / "profiles.yml").write_text(json.dumps(profile, ensure_ascii=False))


def dbt(project: Path, seconds: int, *arguments: str) -> tuple[bytes, set[str]]:
    """Run a command of dbt, and return its output and the command lines of all its processes, sampled until it ends."""
    command = [str(Path(sys.executable).with_name("dbt")), *arguments, "--debug", "--profiles-dir", "profiles"]
    own = {"PYSPARK_PYTHON": sys.executable, "TMPDIR": str(project / "tmp"), "XDG_CACHE_HOME": str(cache_of(project))}
    environ = {**os.environ, **WITHOUT_ARCHIVE, **ENVIRONMENT, **own}
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
            seen.update(command_lines(project))

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


def command_lines(project: Path) -> Iterator[str]:
    """Yield the arguments of all processes with the project's temporary folder, as every user of the machine can read them."""
    own = f"TMPDIR={project}/tmp\0".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or is of another user
            if own in (folder / "environ").read_bytes():
                yield (folder / "cmdline").read_text(errors="replace").replace("\0", " ")


def marks(text: bytes) -> set[str]:
    return {each.decode() for each in MARK.findall(text)}


def found_in(project: Path) -> dict[str, set[str]]:
    """Return the marks in every file of the project and its cache but the profile, and in the names of files."""
    leaks: dict[str, set[str]] = {}
    for path in (*project.rglob("*"), *cache_of(project).rglob("*")):
        name = str(path)
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
@pytest.mark.parametrize("kind", KINDS)
def test_a_build_keeps_its_secrets(kind: str, project: Path, postgres_url: str) -> None:
    user, at, rest = postgres_url.rpartition("@")
    scheme, _, name = user.partition("//")
    path = f"{scheme}//{name.partition(':')[0]}:{{{{ env_var('DBT_ENV_SECRET_PASSWORD') }}}}{at}{rest}"
    attached = [{"alias": "b", "path": PATHS[0]}]
    write_profile(project, KINDS[kind], dev={"path": path, "attach": attached, "openlineage": LINEAGE})
    outputs, commands = [], set()
    for _ in range(2 if kind == "kept" else 1):
        output, seen = dbt(project, BUILD_SECONDS, "build")
        assert b"PASS=3 WARN=0 ERROR=1" in re.sub(rb"\x1b\[\d*m", b"", output), output.decode()
        outputs.append(output)
        commands |= seen
    if kind == "kept":
        outputs.append(dbt(project, DEBUG_SECONDS, "run-operation", "ducklake_stop_spark")[0])
        await_true(lambda: not list(command_lines(project)), DEBUG_SECONDS)

    started = [each for each in commands if "org.apache.spark.deploy.SparkSubmit" in each and "launcher.Main" not in each]
    assert len({each.partition("--properties-file")[2] for each in started}) == 1
    assert any("pyspark" in each and "daemon" in each for each in commands), "the Python workers were seen"
    assert any("keeper.py" in each for each in commands) == (kind == "kept")
    files = (project / "files.txt").read_text().splitlines()
    assert any("/dbt-ducklake-" in each for each in files) == (kind != "connect"), (
        "the folder of the start is also that of a Spark of its own"
    )
    assert not [each for each in files if each.endswith(("/start", "/spark.properties"))], "the settings are removed after the start"
    log = b"".join(outputs) if kind == "connect" else (project / "spark.log").read_bytes()
    assert SHOWN in log, "Spark logs the names of its settings"
    assert any(SHOWN in file.read_bytes() for file in (project / "events").rglob("events_*"))
    assert (project / "pages.txt").stat().st_size > (0 if kind == "connect" else 10_000)
    assert marks(b"".join(outputs)) == set()
    assert marks("\n".join(commands).encode()) == set()
    assert found_in(project) == {}
    assert marks(rows_of(postgres_url)) == set()


def test_debug_shows_the_names_of_settings_without_their_secrets(project: Path) -> None:
    write_profile(project, KINDS["local"], dev={"openlineage": LINEAGE})
    output, _ = dbt(project, BUILD_SECONDS, "debug")
    assert b"All checks passed" in output, output.decode()
    for name in (SHOWN, b"spark.hadoop.harmless"):
        assert b"'" + name + b"': '********'" in output
    assert b"secrets: ********" in output
    assert b"'url': 'http://me:********@127.0.0.1:1', 'auth': '********'" in output
    assert marks(output) == set()
    assert found_in(project) == {}


def test_debug_and_errors_of_every_form_of_path_keep_its_secrets(project: Path) -> None:
    write_profile(project, KINDS["local"], **{f"o{number}": output for number, output in enumerate(OUTPUTS)})
    for number, given in enumerate(OUTPUTS):
        output, _ = dbt(project, DEBUG_SECONDS, "debug", "--target", f"o{number}")
        assert marks(output) == set(), (given, output.decode())
    assert found_in(project) == {}
