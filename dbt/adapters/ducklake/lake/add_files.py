"""Adding Parquet files that exist already to a table, where they lie, without reading their rows.

Specification: the page "Adding Files". The lake owns such files from then on: when they are compacted or expire, clean-up may remove them.
DuckDB adds a file as often as it is told to, and each time its rows once more; here a file belongs to one table, once.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from ..errors import LakeError
from ..format.objects import Table
from ..format.paths import is_url, plain
from ..spark.arrow.foreign_files import Matching, find_files, read_foreign
from ..spark.files.footers import FileToRead
from .context import Context


def add_data_files(context: Context, table: Table, patterns: Sequence[str], matching: Matching) -> list[str]:
    """Stage files as files of a table.

    Args:
        patterns: paths of files, with `*`, `?`, `[…]` and `**`.
        matching: how strict their fields have to be the table's columns.

    Returns:
        Their paths; files without rows are left out.

    Raises:
        DataError: a field or value does not fit its column; StatementError: columns are missing or extra.
        LakeError: there is no such file, it is no Parquet file, or it is in the lake or in this transaction already.
        ConfigurationError: the lake can only be read.
    """
    context.transaction.require_writable()
    found = find_files(patterns)
    _require_new(found, [*context.catalog.maintenance.known_files(), *context.transaction.written_files()])
    files = [file for file in read_foreign(found, table, matching) if file.record_count]
    context.transaction.rows.add_files(table, files)
    return [file.path for file in files]


def _require_new(found: Sequence[FileToRead], known: Collection[str]) -> None:
    """Each file is in the lake not yet and named once, by whatever path."""
    real = [_real(file.path) for file in found]
    names = {path.rpartition("/")[2] for path in (*real, *(file.path for file in found))}
    taken = {_real(path) for path in known if path.rpartition("/")[2] in names}
    for file, path in zip(found, real, strict=True):
        if path in taken:
            raise LakeError(
                f"{file.path} is a file of this lake already, and a file belongs to one table, once; insert its rows, or add a copy"
            )
        taken.add(path)


def _real(path: str) -> str:
    """The file's place, through symbolic links where there are such."""
    return plain(path) if is_url(plain(path)) else os.path.realpath(plain(path))
