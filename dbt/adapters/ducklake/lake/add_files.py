"""Adding Parquet files that exist already to a table, where they lie, without reading their rows.

Specification: the page "Adding Files". The lake owns such files from then on: when they are compacted or expire, clean-up may remove them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import LakeError
from ..spark.foreign_files import Matching, find_files, read_foreign
from ..spec.objects import Table
from .context import Context
from .safe_removal import plain


def add_data_files(context: Context, table: Table, patterns: Sequence[str], matching: Matching) -> list[str]:
    """Stage files as files of a table.

    Args:
        patterns: paths of files, with `*`, `?`, `[…]` and `**`.
        matching: how strict their fields have to be the table's columns.

    Returns:
        Their paths; files without rows are left out.

    Raises:
        DataError: a field or value does not fit its column; StatementError: columns are missing or extra.
        LakeError: there is no such file, it is no Parquet file, or it is in the lake already.
        ConfigurationError: the lake can only be read.
    """
    context.transaction.require_writable()
    found = find_files(patterns)
    known = {plain(path) for path in context.catalog.upkeep.known_files()}
    for file in found:
        if plain(file.path) in known:
            raise LakeError(
                f"{file.path} is a file of this lake already, and a file belongs to one table, once; insert its rows, or add a copy"
            )
    files = [file for file in read_foreign(found, table, matching) if file.record_count]
    context.transaction.add_files(table, files)
    return [file.path for file in files]
