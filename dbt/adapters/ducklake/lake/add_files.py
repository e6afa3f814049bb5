"""Add existing Parquet files to a table, without moving them or reading their rows.

Specification: the page "Adding Files". The lake then owns the files: after compaction or expiry, cleanup may remove them. DuckDB lets
a file be added several times, which repeats its rows; here a file belongs to one table, once.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

from ..errors import LakeError, StatementError
from ..format.objects import Table
from ..format.paths import WITHOUT_PASSWORD, has_password, is_url, normalize
from ..spark.arrow.foreign_files import Matching, read_foreign
from ..spark.files.footers import FileToRead
from ..spark.files.patterns import find_files
from .context import Context


def add_data_files(context: Context, table: Table, patterns: Sequence[str], matching: Matching) -> list[str]:
    """Stage existing files as data files of a table.

    Args:
        context: the catalog and the transaction.
        table: the table that gets the files.
        patterns: paths of files, which may contain `*`, `?`, `[…]` and `**`.
        matching: how strictly their fields must match the table's columns.

    Returns:
        The paths of the added files; files without rows are left out.

    Raises:
        DataError: a field or value does not fit its column.
        StatementError: columns are missing or extra, or a path contains a password.
        LakeError: a file does not exist, is not a Parquet file, or is already in the lake or in this transaction; or the lake is encrypted.
        ConfigurationError: the lake is read-only.
    """
    context.transaction.require_writable()
    if context.catalog.encrypted:
        raise LakeError(
            "the lake is encrypted, and files that are added are not: no program could read the table. Insert their rows, for example with "
            "INSERT INTO … SELECT * FROM parquet.`…`"
        )
    if any(has_password(pattern) for pattern in patterns):
        raise StatementError(f"the path of a file contains a password or a secret key; {WITHOUT_PASSWORD}")
    found = find_files(patterns)
    staged = context.transaction.staged.written()
    maintenance = context.catalog.maintenance
    _require_new(found, maintenance.known_files().union(staged), maintenance.added_files().union(staged))
    files = [file for file in read_foreign(found, table, matching) if file.record_count]
    context.transaction.rows.add_files(table, files)
    return [file.path for file in files]


def _require_new(found: Sequence[FileToRead], known: Collection[str], perhaps_links: Collection[str]) -> None:
    """Require that no file is already in the lake or found twice, even under different paths.

    Args:
        found: the files to add.
        known: the paths of all files of the lake.
        perhaps_links: those that may be symbolic links. To find out takes a system call for each.

    Raises:
        LakeError: a file is in the lake, or is named twice.
    """
    real_paths = [_real_path(file.path) for file in found]
    names = {path.rpartition("/")[2] for path in (*real_paths, *(file.path for file in found))}
    taken = {_real_path(path) for path in known if path.rpartition("/")[2] in names}
    taken |= {_real_path(path) for path in perhaps_links if _is_link(path)}
    for file, path in zip(found, real_paths, strict=True):
        if path in taken:
            raise LakeError(
                f"{file.path} is already a file of this lake, or is named twice, and a file can be added only once; "
                "insert its rows, or add a copy"
            )
        taken.add(path)


def _is_link(path: str) -> bool:
    """Whether a path is a symbolic link, so that the file may have another name."""
    return not is_url(normalize(path)) and os.path.islink(path)


def _real_path(path: str) -> str:
    """Return the path of a local file with symbolic links resolved; a URL is only normalized."""
    return normalize(path) if is_url(normalize(path)) else os.path.realpath(normalize(path))
