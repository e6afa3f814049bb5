"""Statements besides SQL: options of tables, and the functions that maintain a lake."""

from __future__ import annotations

import random
from collections.abc import Sequence

from .shape import Shape

OPTIONS: dict[str, Sequence[str]] = {
    "data_inlining_row_limit": ("0", "0", "3", "10", "30"),
    "parquet_compression": ("'snappy'", "'zstd'", "'uncompressed'", "'gzip'"),
    "parquet_version": ("1", "2"),
    "parquet_row_group_size": ("3", "122880"),
    "hive_file_pattern": ("true", "false"),
    "sort_on_insert": ("true", "false"),
    "per_thread_output": ("true", "false"),
    "target_file_size": ("'2KB'", "'512MB'"),
    "auto_compact": ("true", "true", "false"),
}
"""Set for single tables only: a limit for a wider scope crashes DuckDB if a view exists.

`write_deletion_vectors` is left out: DuckDB's second vector of a file loses the snapshots at which the rows of the first were deleted. Ours
are tested by `Run.delete_by_vector`.
"""

_CALLS = (
    "ducklake_merge_adjacent_files('lake')",
    "ducklake_rewrite_data_files('lake', delete_threshold => 0.1)",
    "ducklake_rewrite_data_files('lake', delete_threshold => 0.5)",
    "ducklake_flush_inlined_data('lake')",
    "ducklake_flush_inlined_data('lake')",
    "one",
    "expire",
    "ducklake_cleanup_old_files('lake', cleanup_all => true, dry_run => true)",
    "ducklake_cleanup_old_files('lake', cleanup_all => true)",
    "ducklake_delete_orphaned_files('lake', cleanup_all => true)",
)


def option(rng: random.Random, shape: Shape) -> str:
    """Return a CALL that sets an option of a table, with the same text for both sides."""
    table = rng.choice(shape.tables)
    name = rng.choice(list(OPTIONS))
    value = rng.choice(OPTIONS[name])
    return option_of(table.schema, table.name, name, value)


def option_of(schema: str, table: str, name: str, value: str) -> str:
    """Return a CALL that sets an option of a table."""
    return f"CALL ducklake_set_option('lake', '{name}', {value}, table_name => '{table}', schema => '{schema}')"


def maintenance(rng: random.Random, shape: Shape, snapshots: Sequence[int]) -> tuple[str, list[int]]:
    """Return a maintenance CALL with the same text for both sides, and the snapshots that it expires."""
    call = rng.choice(_CALLS)
    if call == "one":
        table = rng.choice(shape.tables)
        return f"CALL ducklake_flush_inlined_data('lake', schema_name => '{table.schema}', table_name => '{table.name}')", []
    if call == "expire":
        chosen = sorted(rng.sample(snapshots[:-1], min(len(snapshots) - 1, rng.randrange(1, 6))))
        return f"CALL ducklake_expire_snapshots('lake', versions => {chosen})", chosen
    return f"CALL {call}", []
