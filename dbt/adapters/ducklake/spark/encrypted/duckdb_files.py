"""Read and write encrypted Parquet files with DuckDB, in this process or in a Python worker of Spark.

DuckDB encrypts each part of a file without the additional data that Parquet's specification requires, so that no other library reads it.
Spark sends the code of this module to its workers (see `workers`), because they may not have dbt-ducklake. So it imports nothing of this
project, and DuckDB only when a file is opened. Rows pass in batches of limited size; DuckDB never writes temporary files. The text of an
SQL statement contains no key, because DuckDB repeats that text in its errors. A file of an object store is copied, encrypted as it is, by
PyArrow: its client needs no further package and has the keys that dbt's own process uses.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

INSTALL = "pip install 'dbt-ducklake[duckdb]'"
INSTALL_SAME_VERSION = "pip install 'duckdb<2' 'duckdb-extension-httpfs>=1.5,<2'"
"""The lower limit makes pip replace an old extension, which requires no version of DuckDB."""
KEY_BYTES = 16
"""The length of a new key: AES-128, as the reference implementation chooses it."""
BATCH_ROWS = 2_048
"""The maximum number of rows that are read at a time: one vector of DuckDB, which it reads in any case."""
BATCH_BYTES = 32 * 1024 * 1024
"""The maximum size in bytes of the rows that are passed on at a time, if they are more than one. Reading takes it as an estimate."""
_COPY_BYTES = 16 * 1024 * 1024
_ROWS = "rows_to_write"


class EncryptedFileError(Exception):
    """An encrypted file cannot be read or written; the message is for the user and contains no key."""


class FileLocation(NamedTuple):
    """The location of a file or a directory."""

    path: str
    """The path within its file system."""
    store: Any = None
    """PyArrow's file system, which may contain the keys of an object store; None for the local one."""

    def __str__(self) -> str:
        """Return the location without keys, for messages."""
        return self.path if self.store is None else f"{self.store.type_name}://{self.path}"

    def remove(self) -> None:
        """Remove the file if it exists; errors are ignored."""
        with contextlib.suppress(OSError):
            os.remove(self.path) if self.store is None else self.store.delete_file(self.path)


class FileToRead(NamedTuple):
    """An encrypted file, and what to read of it."""

    location: FileLocation
    key: bytes
    select: str
    """SQL for the columns, over the fields of the file; an empty text for none."""
    constants: tuple[int | str | None, ...] = ()
    """The values of further columns, the same for all rows of the file."""
    batch_rows: int = BATCH_ROWS
    """The number of rows that are read at a time; `BATCH_ROWS` at most."""


class Format(NamedTuple):
    """How new files are written."""

    select: str
    """SQL for the columns of the file, over `c0`, `c1`, … in the order of `schema`."""
    field_ids: str
    """The field ids, as DuckDB's SQL."""
    options: str
    """Further options of DuckDB's COPY."""
    row_group_size: int
    row_group_bytes: int
    schema: Any
    """The Arrow schema of the rows to write."""


class NewFile(NamedTuple):
    """A file that DuckDB has written."""

    path: str
    """The path; the writer of a task returns what it has added to the beginning."""
    encryption_key: str
    """The key in base64, as the catalog stores it."""
    record_count: int
    size_bytes: int
    footer_size: int
    stats: dict[str, dict[str, str]]
    """Name of a leaf column in DuckDB's form (`"a"."b"`) → statistics, as DuckDB's COPY returns them."""
    partition_values: tuple[str | None, ...] = ()
    """The values of the partition keys, which all rows of the file share."""


def connect() -> Any:
    """Open a DuckDB instance of one thread, with OpenSSL.

    Raises:
        EncryptedFileError: a package is missing.
    """
    try:
        import duckdb
    except ImportError:
        raise EncryptedFileError(_missing("duckdb")) from None
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1",
        "temp_directory": "",
        # With one thread rows keep their order anyway. Without this DuckDB cannot limit row groups by their bytes.
        "preserve_insertion_order": "false",
        # Without this, values in a batch that have more than 2 GiB together are an error.
        "arrow_large_buffer_size": "true",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        # The package manager has verified the extension. DuckDB's check of its signature takes longer than reading a small file.
        "allow_unsigned_extensions": "true",
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        _load_openssl(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _load_openssl(connection: Any) -> None:
    """Load `httpfs`, because DuckDB writes encrypted files only with its OpenSSL."""
    try:
        import duckdb_extension_httpfs
    except ImportError:
        raise EncryptedFileError(_missing("duckdb-extension-httpfs")) from None
    version = connection.execute("PRAGMA version").fetchone()[0]
    file = Path(duckdb_extension_httpfs.__path__[0], "extensions", version, "httpfs.duckdb_extension")
    if not file.exists():
        raise EncryptedFileError(
            f"encrypted files need the packages duckdb and duckdb-extension-httpfs in the same version, and {sys.executable} on "
            f"{socket.gethostname()} has DuckDB {version} with another version of the extension: {INSTALL_SAME_VERSION}"
        )
    connection.execute(f"LOAD {_literal(str(file))}")


def _missing(package: str) -> str:
    return (
        f"encrypted files are read and written through DuckDB, and {sys.executable} on {socket.gethostname()} has no package {package}: "
        f"{INSTALL}. On a cluster every worker needs the packages duckdb, duckdb-extension-httpfs and pyarrow"
    )


def read_batches(connection: Any, file: FileToRead, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a file in their order, with the columns of `schema`; `file.constants` are not added.

    Raises:
        FileNotFoundError: the file does not exist.
        EncryptedFileError: the key is wrong, or the file is damaged.
    """
    query = (
        f"SELECT {file.select or '1'} FROM read_parquet($path, encryption_config = {{footer_key_value: $key}}, hive_partitioning = false)"
    )
    with _local_copy(file.location) as path, _errors_of(file.location):
        found = connection.execute(query, {"path": _without_glob(path), "key": file.key})
        for batch in _pieces(found.to_arrow_reader(file.batch_rows)):
            yield _cast(batch, schema) if file.select else batch


@contextlib.contextmanager
def _local_copy(location: FileLocation) -> Iterator[str]:
    """Yield the local path of an existing file, or of a copy of it or a link to it for the block."""
    if location.store is None:
        if not os.path.isfile(location.path):
            raise FileNotFoundError(str(location))
        if "\\" not in location.path:
            yield location.path
        else:  # no pattern of DuckDB can have both a backslash and another special character
            with _scratch_file() as link:
                os.symlink(os.path.abspath(location.path), link)
                yield link
        return
    with _scratch_file() as local:
        try:
            with location.store.open_input_stream(location.path) as source, open(local, "wb") as target:
                shutil.copyfileobj(source, target, _COPY_BYTES)
        except FileNotFoundError:
            raise FileNotFoundError(str(location)) from None
        except OSError as error:
            raise EncryptedFileError(f"the encrypted file {location} cannot be read: {error}") from None
        yield local


@contextlib.contextmanager
def written_to(location: FileLocation) -> Iterator[str]:
    """Yield the local path to which to write a new file; one for an object store is copied there when the block has succeeded.

    After an error the caller removes the file: closing the stream to a store can complete an object with only a part of the content.

    Raises:
        EncryptedFileError: the store refuses the file.
    """
    if location.store is None:
        os.makedirs(os.path.dirname(location.path), exist_ok=True)
        yield location.path
        return
    with _scratch_file() as local:
        yield local
        _upload(local, location)


def _upload(local: str, location: FileLocation) -> None:
    try:
        with open(local, "rb") as source, location.store.open_output_stream(location.path) as target:
            while content := source.read(_COPY_BYTES):
                target.write(content)
                target.flush()  # waits for the upload, so that not all of a large file is in memory
    except OSError as error:
        raise EncryptedFileError(f"the encrypted file {location} cannot be written: {error}") from None


@contextlib.contextmanager
def _scratch_file() -> Iterator[str]:
    """Yield the path of a new file in a private folder, which is removed: below Spark's folders if this is one of its workers."""
    parent = os.environ.get("SPARK_LOCAL_DIRS", "").partition(",")[0]
    with tempfile.TemporaryDirectory(prefix="dbt-ducklake-", dir=parent if os.path.isdir(parent) else None) as folder:
        yield os.path.join(folder, "encrypted.parquet")


@contextlib.contextmanager
def _errors_of(location: FileLocation) -> Iterator[None]:
    """Name the file in DuckDB's errors, which PyArrow raises as its own for later batches, and omit the statement that they repeat."""
    import duckdb

    try:
        yield
    except (duckdb.Error, OSError, pa.ArrowException) as error:
        text = str(error).split("\n")[0]
        if "AES tag" in text:
            text = "its key in the catalog is wrong, or the file is damaged"
        raise EncryptedFileError(f"the encrypted file {location} cannot be read: {text}") from None


def _without_glob(path: str) -> str:
    """Return a pattern that matches only this path."""
    return re.sub(r"[*?\[]", r"[\g<0>]", path)


def write_batches(
    connection: Any, batches: Iterator[pa.RecordBatch], path: str, format_: Format, keys: tuple[str | None, ...] = ()
) -> NewFile:
    """Write batches to a new local file under a new key.

    Args:
        connection: what `connect` returns, or a cursor of it.
        batches: the columns of `format_.schema` by position; at least one batch.
        path: the path of the file.
        format_: how it is written.
        keys: the values of the partition keys, for the result only.

    Raises:
        EncryptedFileError: DuckDB cannot write a value.
    """
    import duckdb

    names = pa.schema([field.with_name(f"c{number}") for number, field in enumerate(format_.schema)])
    key = os.urandom(KEY_BYTES)
    connection.register(_ROWS, pa.RecordBatchReader.from_batches(names, (_cast(batch, names) for batch in _pieces(batches))))
    statement = (
        f"COPY (SELECT {format_.select} FROM {_ROWS}) TO {_literal(path)} (FORMAT parquet, ENCRYPTION_CONFIG {{footer_key_value: $key}}, "
        f"FIELD_IDS {format_.field_ids}, ROW_GROUP_SIZE {format_.row_group_size}, ROW_GROUP_SIZE_BYTES {format_.row_group_bytes}, "
        f"{format_.options}, RETURN_STATS, USE_TMP_FILE false)"
    )
    try:
        row = connection.execute(statement, {"key": key}).fetchone()
    except duckdb.Error as error:
        raise EncryptedFileError(f"the rows cannot be written to an encrypted file: {str(error).partition('LINE 1:')[0].strip()}") from None
    finally:
        connection.unregister(_ROWS)
    return NewFile(path, b64encode(key).decode(), row[1], row[2], row[3], row[4], keys)


def _pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of at most `BATCH_BYTES` or one row."""
    for batch in batches:
        if batch.nbytes <= BATCH_BYTES or batch.num_rows == 1:
            yield batch
        else:
            half = batch.num_rows // 2
            yield from _pieces((batch.slice(0, half), batch.slice(half)))


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    arrays = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _literal(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
