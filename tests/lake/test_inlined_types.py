"""Inlined rows on every catalog database: each database has its own types for them, and the values must not change."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.places import EVERY_DATABASE, METADATA_SCHEMA

pytestmark = pytest.mark.parity
CATALOGS = [*EVERY_DATABASE, METADATA_SCHEMA]

COLUMNS = (
    "id INT, yes BOOLEAN, tiny TINYINT, small SMALLINT, big BIGINT, single FLOAT, wide DOUBLE, amount DECIMAL(38, 5), name STRING, "
    "raw BINARY, day DATE, created TIMESTAMP, wall TIMESTAMP_NTZ, list ARRAY<STRING>, pair STRUCT<x: INT, `y z`: STRING>, "
    "named MAP<STRING, DECIMAL(5, 2)>"
)
ROWS = {
    "ordinary": """SELECT 1, true, 1Y, 2S, 3L, 1.5F, 0.1D, CAST('123456789012345678901234567890123.45678' AS DECIMAL(38, 5)), 'it''s "ä" 🦆 \\\\ % :x',
        X'00FF27', DATE '2024-02-29', TIMESTAMP '2024-02-29 23:59:59.123456+02', TIMESTAMP_NTZ '2024-02-29 23:59:59.000001',
        array('a', NULL, '', 'NULL', 'it''s, [b]'), named_struct('x', 1, 'y z', 'it''s {'), map('k''1', CAST('1.10' AS DECIMAL(5, 2)), 'k2', NULL)""",
    "extreme": """SELECT 2, false, -128Y, -32768S, -9223372036854775807L - 1, CAST('-Infinity' AS FLOAT), CAST('NaN' AS DOUBLE),
        CAST('-999999999999999999999999999999999.99999' AS DECIMAL(38, 5)), '', X'', DATE '0001-01-01', TIMESTAMP '0001-01-01 00:00:00+00',
        TIMESTAMP_NTZ '9999-12-31 23:59:59.999999', CAST(array() AS ARRAY<STRING>), named_struct('x', CAST(NULL AS INT), 'y z', ''),
        CAST(map() AS MAP<STRING, DECIMAL(5, 2)>)""",
    "null": "SELECT 3, " + ", ".join(["NULL"] * 15),
}


@pytest.mark.slow
def test_values_are_read_as_they_were_written(catalog: CatalogUnderTest, runtime: SparkRuntime) -> None:
    def texts(query: str) -> list[str]:
        return sorted(repr(tuple(row)) for row in session.execute(query).fetch())

    lake = catalog.open(runtime)
    with lake.session() as session:
        session.execute(f"CREATE TABLE t ({COLUMNS})")
        session.begin()
        for each in ROWS.values():
            session.execute(f"INSERT INTO t {each}")
        session.commit()
        session.execute("CREATE TABLE wanted AS SELECT * FROM t LIMIT 0")
        for each in ROWS.values():  # each row in its own file, because the query is not a constant
            session.execute(f"INSERT INTO wanted SELECT s.* FROM ({each}) s, range(1)")
    lake.catalog.close()
    lake = catalog.open(runtime)
    with lake.session() as session:
        with session.reading() as reader:
            assert reader.scan_plan(reader.find("main", "t")).files == ()
        assert texts("SELECT * FROM t") == texts("SELECT * FROM wanted")
        session.execute("UPDATE t SET name = concat(name, '!'), list = array('new') WHERE id = 1")
        session.execute("DELETE FROM t WHERE wide = double('NaN')")
        assert texts("SELECT id, name, list[0] FROM t") == [repr((1, 'it\'s "ä" 🦆 \\ % :x!', "new")), repr((3, None, None))]
        assert texts("SELECT id FROM t VERSION AS OF 2") == ["(1,)", "(2,)", "(3,)"]
        session.execute("CALL lake.flush_inlined_data()")
        assert texts("SELECT id, name, list[0] FROM t") == [repr((1, 'it\'s "ä" 🦆 \\ % :x!', "new")), repr((3, None, None))]
        session.execute("INSERT INTO t (id) VALUES (4)")
        session.execute("DROP TABLE t")
    lake.catalog.close()
