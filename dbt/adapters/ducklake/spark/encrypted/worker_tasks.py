"""The tasks of Spark's Python workers that read and write encrypted files, as functions for `mapInArrow`.

Spark sends the code of this module and of `duckdb_files` to its workers (see `workers`), so it imports nothing else of this project.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc

from .duckdb_files import (
    BATCH_ROWS,
    EncryptedFileError,
    FileLocation,
    FileToRead,
    Format,
    connect,
    read_batches,
    write_batches,
    written_to,
)


def reader(tasks: Sequence[Sequence[FileToRead]], schema: pa.Schema, constants: pa.Schema, error_prefix: str) -> Callable[[Any], Any]:
    """Return a function for `mapInArrow` that reads the files of the tasks whose numbers it gets.

    Args:
        tasks: the files of each task.
        schema: the columns that are read.
        constants: the columns after the position of the row: those of `FileToRead.constants`.
        error_prefix: begins each message of an EncryptedFileError, so that the driver recognizes it.
    """
    position = pa.field("position", pa.int64())
    complete = pa.schema([*schema, position, *constants])

    def read_encrypted_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        connection = None
        numbers = pa.array(range(BATCH_ROWS), pa.int64())
        try:
            for number in [int(each) for batch in batches for each in batch.column(0).to_pylist()]:
                connection = connection or connect()
                for file in tasks[number]:
                    start = 0
                    for batch in read_batches(connection, file, schema):
                        positions = pc.add(numbers.slice(0, batch.num_rows), start)
                        added = [
                            pa.repeat(pa.scalar(value, field.type), batch.num_rows)
                            for value, field in zip(file.constants, constants, strict=True)
                        ]
                        start += batch.num_rows
                        yield pa.RecordBatch.from_arrays([*(batch.columns if len(schema) else []), positions, *added], schema=complete)
        except FileNotFoundError as error:
            raise RuntimeError(f"FileNotFoundException: File {error.args[0]} does not exist") from None
        except EncryptedFileError as error:
            raise RuntimeError(error_prefix + str(error)) from None
        finally:
            if connection is not None:
                connection.close()

    return read_encrypted_files


def writer(path_prefix: FileLocation, format_: Format, key_count: int, rows_per_file: int, error_prefix: str) -> Callable[[Any], Any]:
    """Return a function for `mapInArrow` that writes its rows to files and yields a `NewFile` as JSON for each.

    Args:
        path_prefix: what the path of each new file begins with, such as a directory with a slash.
        format_: how they are written.
        key_count: the number of partition keys, which are the last columns of the rows; equal keys follow each other.
        rows_per_file: the maximum number of rows of a file.
        error_prefix: begins each message of an EncryptedFileError, so that the driver recognizes it.
    """

    def write_encrypted_files(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        written: list[FileLocation] = []
        connection = None
        try:
            for keys, rows in files_of(batches, key_count, rows_per_file):
                connection = connection or connect()
                name = f"{uuid4().hex}.parquet"
                written.append(path_prefix._replace(path=path_prefix.path + name))
                with written_to(written[-1]) as path:
                    found = write_batches(connection, rows, path, format_, keys)
                yield pa.RecordBatch.from_pydict({"file": [json.dumps(found._replace(path=name))]})
        except BaseException as error:
            for location in written:
                location.remove()
            if isinstance(error, EncryptedFileError):
                raise RuntimeError(error_prefix + str(error)) from None
            raise
        finally:
            if connection is not None:
                connection.close()

    return write_encrypted_files


def files_of(
    batches: Iterator[pa.RecordBatch], key_count: int, rows_per_file: int
) -> Iterator[tuple[tuple[str | None, ...], Iterator[pa.RecordBatch]]]:
    """Split rows into files: yield the keys and the batches of each, which must be consumed before the next.

    Args:
        batches: the rows; the last `key_count` columns are keys, and equal keys follow each other.
        key_count: the number of keys.
        rows_per_file: the maximum number of rows of a file.
    """
    pieces = (piece for batch in batches for piece in _by_key(batch, key_count))
    rest = next(pieces, None)

    def one_file(keys: tuple[str | None, ...]) -> Iterator[pa.RecordBatch]:
        nonlocal rest
        left = rows_per_file
        while rest is not None and rest[0] == keys and left:
            piece = rest[1]
            yield piece.slice(0, left)
            if piece.num_rows > left:
                rest, left = (keys, piece.slice(left)), 0
            else:
                rest, left = next(pieces, None), left - piece.num_rows

    while rest is not None:
        keys = rest[0]
        yield keys, one_file(keys)


def _by_key(batch: pa.RecordBatch, key_count: int) -> Iterator[tuple[tuple[str | None, ...], pa.RecordBatch]]:
    """Yield the keys and the rows, without the keys, of each run of rows with equal keys."""
    width = batch.num_columns - key_count
    data = batch.select(range(width))
    if batch.num_rows == 0:
        return
    if key_count == 0:
        yield (), data
        return
    keys = list(zip(*(batch.column(number).to_pylist() for number in range(width, batch.num_columns)), strict=True))
    start = 0
    for end in [*(number for number in range(1, len(keys)) if keys[number] != keys[number - 1]), len(keys)]:
        yield keys[start], data.slice(start, end - start)
        start = end
