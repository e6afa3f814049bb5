"""Write or read an encrypted file as a Python worker of Spark does, and print this process's peak memory in bytes.

Usage: `python -m tests.unit.spark.encrypted_memory write|read FOLDER BATCHES`
"""

from __future__ import annotations

import base64
import json
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from dbt.adapters.ducklake.format.files import WriteOptions
from dbt.adapters.ducklake.format.objects import Column
from dbt.adapters.ducklake.spark.encrypted import duckdb_files, worker_tasks
from dbt.adapters.ducklake.spark.files.encrypted_format import format_of

BATCH_ROWS = 10_000
BATCH_BYTES = 2_000_000
COLUMNS = (Column(1, "id", "int64"), Column(2, "v", "blob"))
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.binary())])


def batches(count: int) -> Iterator[pa.RecordBatch]:
    """Yield rows that cannot be compressed."""
    size = BATCH_BYTES // BATCH_ROWS
    bounds = pa.array(range(0, BATCH_BYTES + 1, size), pa.int32()).buffers()[1]
    for number in range(count):
        values = pa.BinaryArray.from_buffers(pa.binary(), BATCH_ROWS, [None, bounds, pa.py_buffer(os.urandom(BATCH_BYTES))])
        ids = pa.array(range(number * BATCH_ROWS, (number + 1) * BATCH_ROWS), pa.int64())
        yield pa.record_batch([ids, values], schema=SCHEMA)


def write(folder: Path, count: int) -> None:
    location = duckdb_files.FileLocation(f"{folder}/")
    write_files = worker_tasks.writer(location, format_of(COLUMNS, WriteOptions(encrypted=True), SCHEMA), 0, sys.maxsize, "")
    (written,) = write_files(batches(count))
    (folder / "written.json").write_text(written.column(0)[0].as_py())


def read(folder: Path, count: int) -> None:
    written = duckdb_files.NewFile(*json.loads((folder / "written.json").read_text()))
    file = duckdb_files.FileToRead(
        duckdb_files.FileLocation(str(folder / written.path)), base64.b64decode(written.encryption_key), '"id", "v"'
    )
    read_files = worker_tasks.reader([[file]], SCHEMA, pa.schema([]), "")
    task = pa.record_batch([pa.array([0])], names=["task"])
    assert sum(batch.num_rows for batch in read_files(iter([task]))) == count * BATCH_ROWS


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
