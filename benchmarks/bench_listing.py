"""The catalog queries of dbt on a lake with thousands of relations and snapshots, compared with a small lake. Starts no Spark.

The script inserts rows directly into the catalog's tables: each relation has columns and a comment, each snapshot a logged insert and a
data file. The result is the ratio of the times on the large lake to those on the small one. Queries about one relation, and commits,
should hardly depend on the size of the lake.

    python benchmarks/bench_listing.py --relations 5000 --snapshots 200000
    python benchmarks/bench_listing.py --url postgresql+psycopg://user@host/empty_database
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from sqlalchemy import create_engine, text
from sqlalchemy.engine import Connection
from timing import in_turn, report

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.docs import describe
from dbt.adapters.ducklake.format.objects import Column, Table
from dbt.adapters.ducklake.format.paths import new_uuid
from dbt.adapters.ducklake.session import connect

COLUMNS = 10
SMALL = (50, 200)
"""Relations and snapshots of the small lake."""
START = datetime(2026, 1, 1, tzinfo=timezone.utc)


def insert(connection: Connection, table: str, rows: Iterator[dict[str, Any]]) -> None:
    """Insert rows in batches of 10,000."""
    batch: list[dict[str, Any]] = []

    def flush() -> None:
        if batch:
            names = ", ".join(batch[0])
            values = ", ".join(f":{name}" for name in batch[0])
            connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({values})"), batch)
            batch.clear()

    for row in rows:
        batch.append(row)
        if len(batch) == 10_000:
            flush()
    flush()


def fill(url: str, relations: int, snapshots: int) -> None:
    """Fill a catalog.

    Args:
        url: the SQLAlchemy URL of a new lake's catalog.
        relations: how many relations to create, in ten schemas; every fifth is a view. Each is created by one of the first snapshots.
        snapshots: how many snapshots to create, at least one for each relation; they append to the tables in turn.
    """
    engine = create_engine(url)
    schemas = range(10)
    ids = range(100, 100 + relations)
    tables = [number for number in ids if number % 5]
    snapshots = max(snapshots, relations)

    def created(relation: int) -> int:
        """Return the id of the snapshot that creates a relation."""
        return relation - 99

    with engine.begin() as connection:
        connection.execute(text("DELETE FROM ducklake_snapshot WHERE snapshot_id > 0"))
        next_ids = {"next_catalog_id": 100 + relations, "next_file_id": snapshots + 10}
        insert(
            connection,
            "ducklake_snapshot",
            (
                {
                    "snapshot_id": n,
                    "snapshot_time": (START + timedelta(minutes=n)).isoformat(" "),
                    "schema_version": min(n, relations),
                    **next_ids,
                }
                for n in range(1, snapshots + 1)
            ),
        )
        insert(
            connection,
            "ducklake_snapshot_changes",
            (
                {"snapshot_id": n, "changes_made": f"inserted_into_table:{tables[n % len(tables)]}", "author": "bench"}
                for n in range(1, snapshots + 1)
            ),
        )
        common = {"end_snapshot": None, "path_is_relative": True}
        insert(
            connection,
            "ducklake_schema",
            (
                {"schema_id": n + 10, "schema_uuid": new_uuid(), "begin_snapshot": 1, "schema_name": f"s{n}", "path": f"s{n}/", **common}
                for n in schemas
            ),
        )
        insert(
            connection,
            "ducklake_table",
            (
                {
                    "table_id": n,
                    "table_uuid": new_uuid(),
                    "begin_snapshot": created(n),
                    "schema_id": 10 + n % 10,
                    "table_name": f"relation_{n}",
                    "path": f"relation_{n}/",
                    **common,
                }
                for n in tables
            ),
        )
        insert(
            connection,
            "ducklake_view",
            (
                {
                    "view_id": n,
                    "view_uuid": new_uuid(),
                    "begin_snapshot": created(n),
                    "end_snapshot": None,
                    "schema_id": 10 + n % 10,
                    "view_name": f"relation_{n}",
                    "dialect": "duckdb",
                    "sql": "SELECT 1 AS one",
                    "column_aliases": "",
                }
                for n in ids
                if n % 5 == 0
            ),
        )
        insert(
            connection,
            "ducklake_column",
            (
                {
                    "column_id": c,
                    "begin_snapshot": created(n),
                    "end_snapshot": None,
                    "table_id": n,
                    "column_order": c,
                    "column_name": f"column_{c}",
                    "column_type": "int64",
                    "nulls_allowed": True,
                }
                for n in tables
                for c in range(1, COLUMNS + 1)
            ),
        )
        insert(
            connection,
            "ducklake_tag",
            ({"object_id": n, "begin_snapshot": created(n), "end_snapshot": None, "key": "comment", "value": f"relation {n}"} for n in ids),
        )
        insert(
            connection,
            "ducklake_data_file",
            (
                {
                    "data_file_id": n,
                    "table_id": tables[n % len(tables)],
                    "begin_snapshot": n,
                    "end_snapshot": None,
                    "path": f"{n}.parquet",
                    "path_is_relative": True,
                    "file_format": "parquet",
                    "record_count": 1,
                    "file_size_bytes": 1000,
                    "footer_size": 100,
                    "row_id_start": n,
                }
                for n in range(1, snapshots + 1)
            ),
        )
        insert(
            connection,
            "ducklake_table_stats",
            ({"table_id": n, "record_count": 1, "next_row_id": snapshots + 10, "file_size_bytes": 1000} for n in tables),
        )
    engine.dispose()


def ways(url: str, size: str) -> dict[str, Callable[[int], object]]:
    """Return the work to measure by title. Each piece opens the lake again, so that no cache is shared.

    Args:
        url: the catalog.
        size: `small` or `large`, the first word of the titles.
    """

    def opened(query: Callable[[LakeCatalog], object]) -> Callable[[int], object]:
        def run(_: int) -> object:
            catalog = LakeCatalog.open(CatalogSettings(url))
            try:
                return query(catalog)
            finally:
                catalog.close()

        return run

    def describe_some(_: int) -> object:
        with connect(url) as session:
            return describe(session, session.database, lambda name: name.schema_name == "s1" and name.name.endswith(("01", "11", "21")))

    def create(catalog: LakeCatalog) -> object:
        catalog.begin().find("s1", "relation_101")  # loads the definitions, as a dbt run does first
        commits = []
        for _ in range(3):
            transaction = catalog.begin()
            schema = transaction.schema("s1")
            assert schema is not None
            transaction.objects.new_table(schema, f"new_{new_uuid()}", (Column(1, "a", "int32"),))
            commits.append(transaction.commit())
        return commits

    def plan(catalog: LakeCatalog) -> object:
        reader = catalog.reader()
        table = reader.find("s1", "relation_101")
        assert isinstance(table, Table)
        return reader.scan_plan(table)

    return {
        f"{size}: names of a schema": opened(lambda catalog: catalog.reader().names("s1")),
        f"{size}: one table and its files": opened(plan),
        f"{size}: documentation of a few": describe_some,
        f"{size}: documentation of all": lambda _: describe_all(url),
        f"{size}: three tables created, one snapshot each": opened(create),
    }


def describe_all(url: str) -> object:
    """Describe all relations, as `dbt docs generate` does."""
    with connect(url) as session:
        return describe(session, session.database, lambda _: True)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relations", type=int, default=5000)
    parser.add_argument("--snapshots", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--url", help="an empty database for the large lake; by default an SQLite file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lakes = {"small": SMALL, "large": (arguments.relations, arguments.snapshots)}
        queries: dict[str, dict[str, Callable[[int], object]]] = {}
        for name, (relations, snapshots) in lakes.items():
            url = arguments.url if name == "large" and arguments.url else f"sqlite:///{folder}/{name}.sqlite"
            LakeCatalog.open(CatalogSettings(url, data_path=f"{folder}/{name}/", create_if_not_exists=True)).close()
            fill(url, relations, snapshots)
            queries[name] = ways(url, name)
            Path(folder, name).mkdir(exist_ok=True)
        for small, large in zip(queries["small"], queries["large"], strict=True):
            times = in_turn({small: queries["small"][small], large: queries["large"][large]}, arguments.rounds)
            report(small.partition(": ")[2], {name.partition(":")[0]: seconds for name, seconds in times.items()}, "small")


if __name__ == "__main__":
    main()
