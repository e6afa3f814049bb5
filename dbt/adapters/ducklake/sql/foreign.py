"""Parse statements of Spark, Hive and Delta Lake that a lake does not have, to say what to do instead."""

from __future__ import annotations

from ..errors import StatementError
from .references import references
from .tokens import Cursor
from .values import Foreign
from .with_clause import with_clause

_STATISTICS = "leave it out: each commit stores the statistics of its files"
_NEWEST = "leave it out: each statement reads the newest snapshot"
_LISTED = "leave it out: the catalog lists all files of a table. CALL lake.add_data_files('t', ['file.parquet']) adds existing ones"
_COMPACT = (
    "CALL lake.merge_adjacent_files('t') merges small files, CALL lake.rewrite_data_files('t') rewrites files that lost many rows, "
    "and CHECKPOINT does both"
)
_REMOVE = (
    "CALL lake.expire_snapshots(older_than => …) removes old snapshots, and CALL lake.cleanup_old_files() later removes their files. "
    "CHECKPOINT does both if the option expire_older_than is set"
)
_RESTORE = "CALL lake.rollback(version => …, table_name => 't') restores an earlier snapshot"
_KEYS = "SHOW CREATE TABLE t shows the partition keys, SELECT DISTINCT shows their values, and CALL lake.list_files('t') shows the files"
_INSTEAD: tuple[tuple[tuple[str, ...], str], ...] = (
    (("OPTIMIZE",), _COMPACT),
    (("REORG", "TABLE"), _COMPACT),
    (("VACUUM",), _REMOVE),
    (("RESTORE", "TABLE"), _RESTORE),
    (("RESTORE",), _RESTORE),
    (("ANALYZE", "TABLE"), _STATISTICS),
    (("REFRESH", "TABLE"), _NEWEST),
    (("MSCK", "REPAIR", "TABLE"), _LISTED),
    (("REPAIR", "TABLE"), _LISTED),
    (("FSCK", "REPAIR", "TABLE"), _LISTED),
    (("SHOW", "PARTITIONS"), _KEYS),
)
"""(the words before the table's name, what to do instead)."""
_EXPLAINED = {"INSERT": ("INTO", "OVERWRITE", "TABLE"), "MERGE": ("INTO",), "UPDATE": (), "DELETE": ("FROM",)}
"""The first word of a change, and the words that may follow before the table's name."""
_EXPLAIN = "EXPLAIN shows the plan of a query: EXPLAIN the query from which the change gets its rows"


def foreign(cursor: Cursor) -> Foreign | None:
    """Return a statement that Spark runs only for tables outside of lakes, with what to do instead; None for any other statement."""
    for words, instead in _INSTEAD:
        if cursor.at(*words):
            return _about(cursor, len(words), " ".join(words), instead)
    return _explained(cursor) if cursor.at("EXPLAIN") else None


def _explained(cursor: Cursor) -> Foreign | None:
    """Return EXPLAIN of a change of rows; None for EXPLAIN of a query."""
    explained = 2 if cursor.peek(1).word in ("EXTENDED", "CODEGEN", "COST", "FORMATTED") else 1
    change = Cursor(cursor.source, cursor.position + explained)
    with_clause(change)
    word, ahead = change.peek().word, 1
    if word not in _EXPLAINED:
        return None
    while change.peek(ahead).word in _EXPLAINED[word]:
        ahead += 1
    return _about(change, ahead, f"EXPLAIN {word}", _EXPLAIN)


def _about(cursor: Cursor, skipped: int, words: str, instead: str) -> Foreign | None:
    """Return a statement whose table follows after some tokens; None if no name follows, which is Spark's error to report."""
    try:
        name = Cursor(cursor.source, cursor.position + skipped).name()
    except StatementError:
        return None
    return Foreign(name, f"{words} is not supported: {instead}", references(cursor.source))
