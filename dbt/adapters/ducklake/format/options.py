"""Options stored in the lake: keys, defaults, and which value applies to a table.

Specification: the page "Configuration" and the table `ducklake_metadata`. A table's value wins over its schema's, then the lake's, then the
default. Unknown keys belong to other programs and are not changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ..errors import LakeError
from .files import WriteOptions
from .option_values import FIXED, share

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {
        "parquet_compression": "snappy",
        "parquet_version": "V1",
        "target_file_size": "536870912",
        "data_inlining_row_limit": "10",
        "require_commit_message": "false",
        "hive_file_pattern": "true",
        "auto_compact": "true",
        "per_thread_output": "false",
        "write_deletion_vectors": "false",
        "sort_on_insert": "true",
        "rewrite_delete_threshold": "0.95",
        "delete_older_than": "2 days",
    }
)
_MAX_BYTES = 2**53
"""Spark's writers take no larger sizes. The reference implementation stores larger ones for "no limit"."""
_MAX_ROWS = 2**31 - 1
"""Spark's writers take no larger row groups, in rows."""
_WRITING = frozenset(
    {
        "parquet_compression",
        "parquet_compression_level",
        "parquet_version",
        "parquet_row_group_size",
        "parquet_row_group_size_bytes",
        "target_file_size",
        "hive_file_pattern",
        "sort_on_insert",
        "per_thread_output",
        "write_deletion_vectors",
    }
)
"""The options that have a field of their own in `WriteOptions`; `extra` has the others that are not in `FIXED`."""


@dataclass(frozen=True)
class StoredOption:
    """A row of `ducklake_metadata`. `scope` is None for the lake, or `schema` or `table`; `scope_id` is the id of that schema or table."""

    key: str
    value: str | None
    """None to remove the row, so that the value of the wider scope applies again."""
    scope: str | None = None
    scope_id: int | None = None


@dataclass(frozen=True)
class Options:
    """All stored options of a lake. Create it with `of`, which also fills `_values`."""

    rows: tuple[StoredOption, ...] = ()
    _values: Mapping[tuple[str, str | None, int | None], str] = field(default_factory=dict, repr=False, compare=False)
    """(key, scope, scope id) → value."""

    @classmethod
    def of(cls, rows: Iterable[StoredOption]) -> Options:
        """Return the options of these rows; the last row of each key and scope wins."""
        last = {(row.key.lower(), (row.scope or "").lower() or None, row.scope_id): row for row in rows}
        values = {key: row.value for key, row in last.items() if row.value is not None}
        return cls(tuple(row for row in last.values() if row.value is not None), values)

    def get(self, key: str, *, schema_id: int | None = None, table_id: int | None = None) -> str | None:
        """Return the value that applies to a table, a schema or the lake; None if it is not stored and has no default."""
        value = self.stored(key, schema_id=schema_id, table_id=table_id)
        return DEFAULTS.get(key.lower()) if value is None else value

    def stored(self, key: str, *, schema_id: int | None = None, table_id: int | None = None) -> str | None:
        """Return the stored value that applies to a table, a schema or the lake, without defaults."""
        key = key.lower()
        scopes: list[tuple[str | None, int | None]] = [(None, None)]
        if schema_id is not None:
            scopes.insert(0, ("schema", schema_id))
        if table_id is not None:
            scopes.insert(0, ("table", table_id))
        for scope, scope_id in scopes:
            value = self._values.get((key, scope, scope_id))
            if value is not None:
                return value
        return None

    def inlining_row_limit(self, default: int, *, schema_id: int | None = None, table_id: int | None = None) -> int:
        """Return the maximum number of rows of one statement that are inlined; `default` if no option is stored.

        Raises:
            LakeError: the stored value is not a whole number.
        """
        value = self.stored("data_inlining_row_limit", schema_id=schema_id, table_id=table_id)
        if value is not None and not value.strip().isdecimal():
            raise LakeError(f"option data_inlining_row_limit of the lake has the value {value!r}, not a whole number; set it again")
        return default if value is None else int(value)

    def rewrite_threshold(self, *, schema_id: int | None = None, table_id: int | None = None) -> float:
        """Return the share of deleted rows at or above which a file is rewritten.

        Raises:
            LakeError: the stored value is not a number from 0 to 1.
        """
        value = self.get("rewrite_delete_threshold", schema_id=schema_id, table_id=table_id) or DEFAULTS["rewrite_delete_threshold"]
        try:
            return float(share(value))
        except ValueError as error:
            raise LakeError(f"option rewrite_delete_threshold of the lake has the value {value!r}: {error}; set it again") from None

    def at(self, key: str, scope: str | None = None, scope_id: int | None = None) -> str | None:
        """Return the value that is stored at exactly this scope."""
        return self._values.get((key.lower(), scope, scope_id))

    def with_rows(self, rows: Iterable[StoredOption]) -> Options:
        """Return these options with rows added or, for the same key and scope, replaced."""
        return Options.of((*self.rows, *rows))

    def write_options(self, *, schema_id: int | None = None, table_id: int | None = None) -> WriteOptions:
        """Return the options for writing data files of a table.

        Raises:
            LakeError: a stored value is not valid.
        """

        def text(key: str) -> str | None:
            return self.get(key, schema_id=schema_id, table_id=table_id)

        def number(key: str) -> int | None:
            value = text(key)
            if value is not None and not value.strip().isdecimal():
                raise LakeError(f"option {key} of the lake has the value {value!r}, not a whole number; set it again")
            return None if value is None else int(value)

        stored_version = text("parquet_version") or "V1"
        version = stored_version.strip().upper().removeprefix("V")
        if version not in ("1", "2"):
            raise LakeError(f"option parquet_version of the lake has the value {stored_version!r}, not V1 or V2; set it again")
        group_rows = number("parquet_row_group_size") or None
        group_bytes = number("parquet_row_group_size_bytes")
        encrypted = truth(self.get("encrypted"))
        hive = text("hive_file_pattern") if not encrypted else self.stored("hive_file_pattern", schema_id=schema_id, table_id=table_id)
        extra = {
            row.key.lower(): value for row in self.rows if row.key.lower() not in _WRITING | FIXED and (value := text(row.key)) is not None
        }
        return WriteOptions(
            compression=(text("parquet_compression") or "snappy").lower(),
            compression_level=number("parquet_compression_level"),
            parquet_version=int(version),
            row_group_size=None if group_rows is None else min(group_rows, _MAX_ROWS),
            row_group_size_bytes=group_bytes if group_bytes is not None and 0 < group_bytes < _MAX_BYTES else None,
            target_file_size=min(number("target_file_size") or 512 * 1024 * 1024, _MAX_BYTES),
            hive_file_pattern=truth(hive),  # off by default in an encrypted lake: the directories would show partition values
            sort_on_insert=truth(text("sort_on_insert")),
            per_thread_output=truth(text("per_thread_output")),
            write_deletion_vectors=truth(text("write_deletion_vectors")),
            encrypted=encrypted,
            extra=extra,
        )


def truth(value: str | None) -> bool:
    """Parse a stored boolean: true for every text that DuckDB casts to true, and for `on`."""
    return (value or "").strip().lower() in ("true", "t", "1", "yes", "y", "on")
