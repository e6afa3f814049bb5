"""Each operation of maintenance by each side, on each catalog database: what is read afterwards, by both, is what was read before.

One history with inlined rows, deletes, updates and partitions; the operations follow each other as they do in the life of a lake.
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


class Reading:
    """What both sides read of every table at every snapshot, and of its change feed."""

    def __init__(self, both: Both, catalog: CatalogUnderTest) -> None:
        duck = connect(catalog)  # a new one: the old one's cache of files may name some that the operation has replaced
        duck.execute("USE lake")
        self.versions = [row[0] for row in duck.execute("SELECT snapshot_id FROM lake.snapshots() ORDER BY 1").fetchall()]
        made = dict(zip(TABLES, (1, 2), strict=True))
        self.theirs: dict[str, list[tuple[Any, ...]]] = {}
        self.ours: dict[str, list[tuple[Any, ...]]] = {}
        for name in TABLES:
            versions = [version for version in self.versions if version >= made[name]]
            rows = " UNION ALL ".join(
                f"SELECT {version} AS version, rowid AS row_id, id, v FROM {name} AT (VERSION => {version})" for version in versions
            )
            feed = f"SELECT snapshot_id, rowid, change_type, id, v FROM lake.table_changes('{name}', {versions[0] + 1}, {versions[-1]})"
            for key, query in ((name, rows), (f"changes of {name}", feed)):
                self.theirs[key] = comparable_rows(duck.execute(query).fetchall())
                self.ours[key] = comparable_rows(both.session.execute(query).fetch())
        duck.close()

    def since(self, reading: dict[str, list[tuple[Any, ...]]], versions: list[int]) -> dict[str, list[tuple[Any, ...]]]:
        """The part of a reading that concerns these snapshots."""
        kept = set(versions)
        return {key: [row for row in rows if row[0] in kept and (key in TABLES or row[0] > min(kept))] for key, rows in reading.items()}


@pytest.mark.parametrize("side", ["duckdb", "spark"])
def test_operations_leave_what_is_read(both: Both, catalog: CatalogUnderTest, side: str) -> None:
    both.duckdb("CREATE TABLE plain (id INTEGER, v VARCHAR)")
    both.duckdb("CREATE TABLE parts (id INTEGER, v VARCHAR)")
    both.duckdb("CALL lake.set_option('data_inlining_row_limit', 2)")
    both.duckdb("ALTER TABLE parts SET PARTITIONED BY (v)")
    for number, say in enumerate((both.duckdb, both.spark) * 2):
        for name in TABLES:
            say(f"INSERT INTO {name} VALUES ({number}0, 'a'), ({number}1, 'b'), ({number}2, 'a'), ({number}3, 'b')")
            say(f"INSERT INTO {name} VALUES ({number}4, 'a')")
    for name in TABLES:
        both.spark(f"DELETE FROM {name} WHERE id IN (1, 11, 21)")
        both.duckdb(f"UPDATE {name} SET v = 'b' WHERE id IN (2, 4, 12)")
        both.spark(f"DELETE FROM {name} WHERE id = 34")
    before = Reading(both, catalog)
    assert before.ours == before.theirs
    for operation in OPERATIONS:
        statement = operation.format(expired=", ".join(map(str, before.versions[3:-4])))
        (both.duckdb if side == "duckdb" else both.spark)(statement)
        after = Reading(both, catalog)
        assert after.ours == after.theirs, statement
        kept = [version for version in before.versions if version in after.versions]
        assert after.since(after.theirs, kept) == after.since(before.theirs, kept), statement
    assert len(after.versions) < len(before.versions)
