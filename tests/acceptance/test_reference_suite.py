"""The lakes that the reference implementation's own tests make: we read what DuckDB reads, in every table at several snapshots.

The suite is not part of this repository. `DUCKLAKE_SUITE` names the folder of a checkout of duckdb/ducklake (`checkouts.py`):

    make packages PACKAGES=/tmp/packages && DUCKLAKE_SUITE=/tmp/packages/ducklake pytest tests/acceptance/test_reference_suite.py -k add_files
"""

from __future__ import annotations

import os
import re
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pytest

from dbt.adapters.ducklake.errors import DuckLakeError
from dbt.adapters.ducklake.session import Lake, LakeSettings
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.acceptance.sqllogic import Script
from tests.catalogs import session_on
from tests.duckdb_instances import open_duckdb
from tests.interop.differential.shape import TableShape
from tests.interop.differential.sides import Ours, Rows, normalized_rows

pytestmark = pytest.mark.slow

SUITE = os.environ.get("DUCKLAKE_SUITE")
EXTENSIONS = ("ducklake", "sqlite_scanner", "httpfs")
AVAILABLE = {*EXTENSIONS, "icu", "json", "parquet", "notwindows", "no_alternative_verify"}
"""What a test can require; Python's DuckDB contains icu, json and parquet."""
READ_AS_TEXT = {"TIMESTAMP_NS": "CAST({0} AS VARCHAR)", "VARIANT": "nullif(CAST(CAST({0} AS JSON) AS VARCHAR), 'null')"}
"""DuckDB type → the expression that returns its values as the text that our side returns."""
SNAPSHOTS = 6
"""How many of the newest snapshots of a table are read at most, the newest included."""
ATTACH = re.compile(
    r"ATTACH\s+(?:OR\s+REPLACE\s+)?(?:IF\s+NOT\s+EXISTS\s+)?'(ducklake:[^']+)'\s*(?:AS\s+\"?(\w+)\"?)?\s*(?:\((.*)\))?",
    re.IGNORECASE | re.DOTALL,
)
NOT_COMPARED = re.compile(r"\b(snapshot_version|snapshot_time)\b", re.IGNORECASE)
"""Options of ATTACH: what DuckDB reads through them is not the newest snapshot."""
TIME_24_00 = "Python has no TIME 24:00:00; the error says so"
DATES = "Python has no dates outside the years 1 to 9999; the error says so"
KNOWN = {
    "data_inlining/data_inlining_types.test": TIME_24_00,
    "types/all_types.test": TIME_24_00,
    "types/timestamp.test": DATES,
    "default/all_types_column_default_stats.test": "Spark's decimals have 38 digits, and this uint128 has 39; the error says so",
}
"""Test file → why we do not read its lakes as DuckDB does."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    files = sorted(Path(SUITE).glob("test/sql/**/*.test")) if SUITE else []
    names = [str(file.relative_to(Path(SUITE or "") / "test/sql")) for file in files]
    missing = pytest.param(None, marks=() if SUITE else pytest.mark.skip("NOT RUN: set DUCKLAKE_SUITE"))
    metafunc.parametrize("file", files or [missing], ids=names or None)


@dataclass
class Attached:
    """A lake that the script attached."""

    path: str
    options: str
    rows: dict[tuple[TableShape, int | None], Rows] = field(default_factory=dict)


def test_we_read_the_lakes_of_the_suite(file: Path | None, runtime: SparkRuntime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SUITE is not None
    assert file is not None, f"There are no tests below {SUITE}"
    monkeypatch.chdir(SUITE)
    script = Script(file, tmp_path, {})
    if script.needs_environment or script.required - AVAILABLE:
        pytest.skip(f"needs {', '.join(sorted(script.required - AVAILABLE)) or 'an environment variable'}")
    compared, differences = 0, []
    for lake in lakes_of(script):
        found, wrong = compare(lake, runtime)
        compared += found
        differences += wrong
    if str(file.relative_to(Path(SUITE) / "test/sql")) in KNOWN:
        assert differences
        return
    assert not differences, "\n".join(differences)
    print(f"{compared} reads")


def lakes_of(script: Script) -> Iterator[Attached]:
    """Run a script; yield each of its lakes with what DuckDB reads from it, when the script detaches it or ends."""
    first = open_duckdb(*EXTENSIONS)
    first.execute("SET TimeZone = 'UTC'")
    connections: dict[str, duckdb.DuckDBPyConnection] = {"": first}
    attached: dict[str, Attached] = {}
    for statement in script.statements():
        if statement.connection not in connections:
            connections[statement.connection] = first.cursor()
        connection = connections[statement.connection]
        if (detached := re.match(r"\s*DETACH\s+(?:DATABASE\s+)?(?:IF\s+EXISTS\s+)?\"?(\w+)", statement.text, re.IGNORECASE)) is not None:
            lake = attached.pop(detached[1], None)
            compared = lake is not None and read_with_duckdb(first, detached[1], lake)
            if _run(connection, statement.text) and lake is not None and compared:
                yield lake
            continue
        done = _run(connection, statement.text)
        if done and (match := ATTACH.match(statement.text.strip())) is not None:
            name = match[2] or Path(match[1]).stem
            attached[name] = Attached(match[1], match[3] or "")
    for connection in connections.values():
        _run(connection, "ROLLBACK")
    yield from [lake for name, lake in attached.items() if read_with_duckdb(first, name, lake)]


def _run(connection: duckdb.DuckDBPyConnection, text: str) -> bool:
    try:
        connection.execute(text).fetchall()
    except (duckdb.Error, UnicodeDecodeError, ValueError, OverflowError):
        return False
    return True


def read_with_duckdb(connection: duckdb.DuckDBPyConnection, name: str, lake: Attached) -> bool:
    """Store in `lake` what DuckDB reads from each table, at the newest and some earlier snapshots; return whether our side supports the lake."""
    if ":memory:" in lake.path or NOT_COMPARED.search(lake.options):
        return False
    cursor = connection.cursor()
    try:
        shapes = tables_of(cursor, name)
        versions = [row[0] for row in cursor.execute(f"SELECT snapshot_id FROM ducklake_snapshots('{name}') ORDER BY 1").fetchall()]
    except duckdb.Error:
        return False
    for shape in shapes:
        for version in (None, *versions[-SNAPSHOTS:-1]):
            at = "" if version is None else f" AT (VERSION => {version})"
            table = f'"{name}"."{shape.schema}"."{shape.name}"{at}'
            try:
                lake.rows[shape, version] = normalized_rows(
                    cursor.execute(f"SELECT rowid, {columns_of(cursor, table)} FROM {table}").fetchall()
                )
            except (duckdb.Error, ValueError, OverflowError):
                continue
    return True


def columns_of(cursor: duckdb.DuckDBPyConnection, table: str) -> str:
    """Return `*`, with columns of the types in `READ_AS_TEXT` as text."""
    described = [('"' + row[0].replace('"', '""') + '"', row[1]) for row in cursor.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]
    texts = [f"{READ_AS_TEXT[kind].format(name)} AS {name}" for name, kind in described if kind in READ_AS_TEXT]
    return f"* REPLACE ({', '.join(texts)})" if texts else "*"


def tables_of(cursor: duckdb.DuckDBPyConnection, name: str) -> list[TableShape]:
    """Return the lake's tables, without their columns: those of an earlier snapshot may differ."""
    rows = cursor.execute("SELECT schema_name, table_name FROM duckdb_tables() WHERE database_name = ?", [name]).fetchall()
    return [TableShape(schema, table, ()) for schema, table in rows]


def _copied(path: str, options: str) -> str | None:
    """Return the path with which we open the lake; None if the script's path is the name of a secret.

    A DuckDB file is copied, because no other program can open it while the script has it open. With OVERRIDE_DATA_PATH, the copy gets the
    new data path. SQLite and PostgreSQL are opened where they are.
    """
    file = Path(path.removeprefix("ducklake:").removeprefix("duckdb:"))
    if not file.is_file():
        return path if path.startswith(("ducklake:sqlite:", "ducklake:postgres:")) else None
    copy = file.with_name(f"{uuid.uuid4().hex}.copy")
    for suffix in ("", ".wal"):
        if Path(f"{file}{suffix}").exists():
            shutil.copy(f"{file}{suffix}", f"{copy}{suffix}")
    if "OVERRIDE_DATA_PATH" in options.upper():
        with duckdb.connect(str(copy)) as connection:
            (found,) = re.findall(r"(?<!_)DATA_PATH\s+(?:'([^']+)'|(\w+))", options, re.IGNORECASE)
            connection.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'", ["".join(found)])
    return f"ducklake:duckdb:{copy}"


def compare(lake: Attached, runtime: SparkRuntime) -> tuple[int, list[str]]:
    """Return how many results were compared, and the differences."""
    path = _copied(lake.path, lake.options)
    if path is None:
        return 0, []
    schema = re.search(r"METADATA_SCHEMA\s+'([^']+)'", lake.options, re.IGNORECASE)
    opened = Lake.open(LakeSettings(path, None, metadata_schema=schema[1] if schema else None))
    opened.runtime = runtime
    differences = []
    with session_on(opened) as session:
        ours = Ours(session)
        for (table, version), theirs in lake.rows.items():
            where = f"{table.schema}.{table.name} at {version or 'the newest snapshot'}"
            try:
                found = ours.rows(table, version)
            except (DuckLakeError, AssertionError) as error:
                differences.append(f"{where}: {type(error).__name__}: {str(error)[:500]}")
                continue
            if found != theirs:
                differences.append(f"{where}: ours {found[:5]} ({len(found)} rows), DuckDB's {theirs[:5]} ({len(theirs)} rows)")
    return len(lake.rows), differences
