"""Write rows to encrypted files through DuckDB in Spark's Python workers; no unencrypted file exists at any time.

Each task writes its rows to files with new names, and returns their paths and statistics. If Spark runs a task twice, it takes the result
of one attempt, so only the files of this attempt count. A failed attempt removes its files; the driver removes those of a failed job.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import LakeError
from ...format.files import WriteOptions, WrittenFile
from ...format.identifiers import backquoted
from ...format.objects import Column
from ..encrypted import worker_tasks
from ..encrypted.duckdb_files import NewFile
from ..encrypted.notice import announce
from ..encrypted.workers import send_code
from ..files import storage
from ..files.encrypted_files import location_of, written_file
from ..files.encrypted_format import format_of
from ..values.arrow_types import arrow_schema
from ..values.conversions import REFUSED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

UNLIMITED_ROWS = 2**62
"""For `rows_per_file`: more rows than any file has."""


def write_files(
    rows: DataFrame,
    columns: tuple[Column, ...],
    target: str,
    options: WriteOptions,
    keys: Sequence[str] = (),
    rows_per_file: int = UNLIMITED_ROWS,
) -> list[tuple[tuple[str | None, ...], WrittenFile]]:
    """Write the rows to encrypted files in the directory `target`.

    In an object store the paths of the files begin with `target` and a hyphen instead, so that they are directly in the table's directory:
    DuckDB merges the files of a partition only if they are in one directory.

    Args:
        rows: the columns of the files, by name and with the types of the files, and the keys.
        columns: the columns of the files.
        target: the directory.
        options: the table's write options.
        keys: the names of columns, such as partition keys, that are equal in all rows of a file and are not written; within a task, rows
            with equal keys must follow each other.
        rows_per_file: the maximum number of rows of a file.

    Returns:
        For each file, the values of its keys as texts (None for NULL), and the file.

    Raises:
        StatementError: DuckDB cannot write a column's type.
        LakeError: this process cannot see the files that Spark wrote.
    """
    announce(rows.sparkSession)
    send_code()
    names = [*(column.name for column in columns), *keys]
    # PySpark's mapInArrow fails for names with a dot.
    chosen = rows.select(*map(backquoted, names)).toDF(*(f"c{number}" for number in range(len(names))))
    format_ = format_of(columns, options, arrow_schema(columns))
    prefix = f"{target}{'/' if storage.is_local(target) else '-'}"
    write = worker_tasks.writer(location_of(prefix), format_, len(keys), rows_per_file, REFUSED)
    new_files = [NewFile(*json.loads(row[0])) for row in chosen.mapInArrow(write, "file string").collect()]
    files = [file._replace(path=prefix + file.path) for file in new_files]
    if files and storage.is_local(target) and not os.path.exists(location_of(files[0].path).path):
        raise LakeError(f"Spark wrote files to {target} that this machine cannot see: all workers and this machine must share data_path")
    return [(tuple(file.partition_values), written_file(file, columns)) for file in files]
