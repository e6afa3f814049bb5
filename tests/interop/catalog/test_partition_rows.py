"""Partitioned tables: catalog rows and directories equal those of DuckDB for every transform and type, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.session import LakeSession
from tests.catalogs import session_on
from tests.interop import oracle
from tests.interop.catalog.conftest import rows_of
from tests.places import CatalogPlace, nightly_rows

TEXTS = ["plain", "", None, "a b", "a/b", "a=b&c", "é ü", "100%", "it's", 'q"q', "日本", "~-_.", "a\\b", "#?:*", "x\ty"]
CASES: list[tuple[str, str, list[Any]]] = [
    ("varchar", "k", TEXTS),
    ("varchar", "bucket(4, k)", TEXTS),
    *((kind, key, [1, -2, None, 34]) for kind in ("tinyint", "bigint") for key in ("k", "bucket(16, k)")),
    ("boolean", "k", [True, False, None]),
    ("boolean", "bucket(8, k)", [True, False, None]),
    ("decimal(9,2)", "k", ["14.20", "-0.05", None]),
    ("decimal(9,2)", "bucket(8, k)", ["14.20", "-0.05", None]),
    ("decimal(30,5)", "bucket(8, k)", ["14.20", "-0.05", None]),
    ("float", "k", [1.5, -0.25, None]),
    ("double", "k", [1.5, 1e20, 1e-7, None]),
    ("double", "bucket(8, k)", [1.5, -0.0, None]),
    *(("date", key, ["2017-11-16", "1969-12-31", "0099-01-02", None]) for key in ("k", "year(k)", "month(k)", "day(k)", "bucket(16, k)")),
    *(("timestamp", key, ["2017-11-16 22:31:08", "1969-12-31 23:59:59.5", None]) for key in ("k", "hour(k)", "bucket(16, k)")),
    *(("timestamptz", key, ["2017-11-16 22:31:08+00", "1969-12-31 23:59:59.5+00", None]) for key in ("k", "hour(k)", "bucket(16, k)")),
    ("date", "year(k), month(k), k", ["2017-11-16", "2017-12-01", None]),
]
NIGHTLY: list[tuple[str, str, list[Any]]] = [
    *((kind, key, [1, -2, None, 34]) for kind in ("smallint", "int") for key in ("k", "bucket(16, k)")),
    *(("timestamp", key, ["2017-11-16 22:31:08", "1969-12-31 23:59:59.5", None]) for key in ("year(k)", "month(k)", "day(k)")),
    *(("timestamptz", key, ["2017-11-16 22:31:08+00", "1969-12-31 23:59:59.5+00", None]) for key in ("year(k)", "month(k)", "day(k)")),
    ("date", "year(k), day(k)", ["2017-11-16", "2018-11-16"]),
]
"""More pairs. Each type and each transform also occurs in `CASES`."""
SPARK_TYPES = {"timestamp": "timestamp_ntz", "timestamptz": "timestamp"}


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[LakeSession, duckdb.DuckDBPyConnection]]:
    directory = tmp_path_factory.mktemp("partitions")
    place = CatalogPlace(f"ducklake:sqlite:{directory}/lake.sqlite", f"{directory}/files/")
    with session_on(place.lake(data_inlining_row_limit=0)) as session:
        duck = oracle.connect(place, data_inlining_row_limit=0)
        duck.execute("USE lake")
        yield session, duck
        duck.close()


def partition_rows(duck: duckdb.DuckDBPyConnection, table: str) -> list[list[tuple[Any, ...]]]:
    """Return the partition keys of a table, and the partition values and directory of each of its files."""
    of_table = f"(SELECT table_id FROM {{meta}}.ducklake_table WHERE table_name = '{table}' AND end_snapshot IS NULL)"
    return [
        rows_of(
            duck,
            "SELECT partition_key_index, column_id, transform FROM {meta}.ducklake_partition_column "
            f"WHERE table_id = {of_table} ORDER BY 1",
        ),
        rows_of(
            duck,
            "SELECT partition_key_index, partition_value, record_count, regexp_replace(path, '[^/]*$', '') FROM {meta}.ducklake_data_file "
            f"JOIN {{meta}}.ducklake_file_partition_value v USING (data_file_id) WHERE v.table_id = {of_table} ORDER BY ALL",
        ),
    ]


@pytest.mark.parametrize(
    ("kind", "keys", "values"), [*CASES, *nightly_rows(*NIGHTLY)], ids=[f"{kind} {keys}" for kind, keys, _ in [*CASES, *NIGHTLY]]
)
def test_values_and_directories_equal_those_of_duckdb(
    sides: tuple[LakeSession, duckdb.DuckDBPyConnection], kind: str, keys: str, values: list[Any]
) -> None:
    session, duck = sides
    duck.execute("DROP TABLE IF EXISTS ours")
    duck.execute("DROP TABLE IF EXISTS theirs")
    duck.execute(f"CREATE TABLE theirs (k {kind}, n INTEGER)")
    duck.execute(f"ALTER TABLE theirs SET PARTITIONED BY ({keys})")
    rows = [(value, number) for number, value in enumerate(values)]
    duck.execute(f"INSERT INTO theirs VALUES {', '.join(['(?, ?)'] * len(rows))}", [cell for row in rows for cell in row])
    name = SPARK_TYPES.get(kind, kind)
    session.execute(f"CREATE TABLE ours (k {name}, n INT) PARTITIONED BY ({keys})")
    session.load_seed("main", "ours", [("k", name), ("n", "int")], rows, rebuild=False)
    assert partition_rows(duck, "ours") == partition_rows(duck, "theirs")
    for value in values:
        same = "IS NOT DISTINCT FROM" if value is None else "="
        found = duck.execute(f"SELECT n FROM ours WHERE k {same} CAST(? AS {kind}) ORDER BY 1", [value]).fetchall()
        assert found == duck.execute(f"SELECT n FROM theirs WHERE k {same} CAST(? AS {kind}) ORDER BY 1", [value]).fetchall()
        assert found


def test_setting_the_same_keys_changes_nothing_and_reset_stores_a_spec_without_columns(
    sides: tuple[LakeSession, duckdb.DuckDBPyConnection],
) -> None:
    session, duck = sides
    session.execute("CREATE TABLE again (a INT, b DATE) PARTITIONED BY (a, month(b))")
    before = session.catalog.latest()
    session.execute("ALTER TABLE again SET PARTITIONED BY (a, months(b))")
    assert session.catalog.latest() == before
    duck.execute("CREATE TABLE twin (a INT, b DATE)")
    duck.execute("ALTER TABLE twin SET PARTITIONED BY (a, month(b))")
    for side, table in ((session, "again"), (duck, "twin")):
        side.execute(f"ALTER TABLE {table} RESET PARTITIONED BY")
    infos = [
        rows_of(
            duck,
            "SELECT i.end_snapshot IS NULL, count(c.column_id) FROM {meta}.ducklake_partition_info i "
            "LEFT JOIN {meta}.ducklake_partition_column c USING (partition_id) "
            f"WHERE i.table_id = (SELECT table_id FROM {{meta}}.ducklake_table WHERE table_name = '{table}') "
            "GROUP BY i.partition_id, i.end_snapshot ORDER BY i.partition_id",
        )
        for table in ("again", "twin")
    ]
    assert infos[0] == infos[1] == [(False, 2), (True, 0)]
