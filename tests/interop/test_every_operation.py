"""Each maintenance operation by each side, in the nightly run on each catalog database: afterwards both sides read the same rows as before.

One history has inlined rows, deletes, updates and partitions; the operations run in sequence on the same lake.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both, comparable_rows
from tests.interop.oracle import connect
from tests.places import REFERENCE_DATABASES

CATALOGS = REFERENCE_DATABASES
TABLES = ("plain", "parts")

OPERATIONS = (
    "CALL ducklake_flush_inlined_data('lake')",
    "CALL ducklake_merge_adjacent_files('lake')",
    "CALL ducklake_rewrite_data_files('lake', delete_threshold => 0.1)",
    "CALL ducklake_expire_snapshots('lake', versions => [{expired}])",
    "CALL ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "CALL ducklake_delete_orphaned_files('lake', cleanup_all => true)",
    "CHECKPOINT",
)


Rows = list[tuple[Any, ...]]


def read(both: Both, catalog: CatalogUnderTest, versions: list[int]) -> tuple[dict[str, Rows], dict[str, Rows]]:
    """Return what DuckDB and we read from both tables at these snapshots, and their changes since the second of them."""
    duck = connect(catalog)  # a new connection: the old one's file cache may contain files that the operation has replaced
    duck.execute("USE lake")
    theirs, ours = {}, {}
    for name in TABLES:
        rows = " UNION ALL ".join(f"SELECT {v} AS version, rowid AS row_id, id, v FROM {name} AT (VERSION => {v})" for v in versions)
        feed = f"SELECT snapshot_id, rowid, change_type, id, v FROM lake.table_changes('{name}', {versions[1]}, {versions[-1]})"
        for key, query in ((name, rows), (f"changes of {name}", feed)):
            theirs[key] = comparable_rows(duck.execute(query).fetchall())
            ours[key] = comparable_rows(both.session.execute(query).fetch())
    duck.close()
    return theirs, ours


@pytest.mark.nightly
@pytest.mark.parametrize("side", ["duckdb", "spark"])
def test_operations_change_no_result(both: Both, catalog: CatalogUnderTest, side: str) -> None:
    for statement in (
        *(f"CREATE TABLE {name} (id INTEGER, v VARCHAR)" for name in TABLES),
        "CALL lake.set_option('data_inlining_row_limit', 2)",
        "ALTER TABLE parts SET PARTITIONED BY (v)",
    ):
        both.duckdb(statement)
    for number, say in enumerate((both.duckdb, both.spark)):
        for name in TABLES:
            say(f"INSERT INTO {name} VALUES ({number}0, 'a'), ({number}1, 'b'), ({number}2, 'a'), ({number}3, 'b')")
            say(f"INSERT INTO {name} VALUES ({number}4, 'a')")
    early = both.snapshots() - 1
    for name in TABLES:
        both.spark(f"DELETE FROM {name} WHERE id IN (1, 11)")
        both.duckdb(f"UPDATE {name} SET v = 'b' WHERE id IN (2, 4, 12)")
        both.spark(f"DELETE FROM {name} WHERE id = 3")
    last = both.snapshots() - 1
    versions = [early, *range(last - 3, last + 1)]
    before, ours = read(both, catalog, versions)
    assert ours == before
    for operation in OPERATIONS:
        statement = operation.format(expired=", ".join(map(str, range(3, early))))
        (both.duckdb if side == "duckdb" else both.spark)(statement)
        theirs, ours = read(both, catalog, versions)
        assert theirs == before, statement
        assert ours == before, statement
