"""The values that each option can have, and the text that is stored for each.

Specification: "Configuration". The stored forms are those of the reference implementation, which does not check them when it reads them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from difflib import get_close_matches
from types import MappingProxyType

from ..errors import LakeError, StatementError
from .intervals import before

CODECS = ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw")
NO_LIMIT = 2**64 - 1
"""The stored size for `none`, and the largest number that the reference implementation can read."""
HIGHEST_LEVEL = 22
"""The highest compression level of any codec; the reference implementation cannot write files with a higher one."""
_SIZE = re.compile(r"\s*([0-9.eE-]+)\s*(\S*)\s*$")
_POWERS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
"""First letter of a size unit → the power of 1000, or of 1024 for `KiB` and so on."""
_SIZE_UNIT = re.compile(r"(b|byte|bytes)|([kmgt])b?|(kilo|mega|giga|tera)bytes?|([kmgt])ib")
_INTERVAL_UNITS = "|".join(
    (
        "d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|mon(?:th)?s?|s(?:ec(?:ond)?s?)?|w(?:eeks?)?|y(?:(?:ea)?rs?)?|quarters?",
        "ms(?:ecs?)?|milliseconds?|us(?:ecs?)?|microseconds?|dec(?:ade)?s?|c(?:ent(?:ury|uries)?)?",
    )
)
_INTERVAL = re.compile(rf"(?=.*\d)(?:-?\d+(?:\.\d+)?\s*(?:{_INTERVAL_UNITS})(?:\s+|$))*(?:-?\d+:\d\d(?::\d\d(?:\.\d+)?)?)?(?:\s*ago)?")
_TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "off", "0"})


def stored_value(key: str, value: object) -> str:
    """Return the text that `ducklake_metadata` stores for an option.

    Args:
        key: the option's name, in any case.
        value: an SQL constant: text, number or boolean.

    Raises:
        StatementError: the option does not exist, or it cannot have this value.
    """
    name = key.lower()
    convert = _CONVERTERS.get(name)
    if convert is None:
        reason = f"option {key} is set when a lake is created and cannot be changed" if name in FIXED else f"there is no option {key}"
        raise StatementError(f"{reason}. These can be set: {', '.join(sorted(_CONVERTERS))}")
    if value is None:
        raise StatementError(f"option {name} cannot be NULL: options cannot be unset; set the value that you want")
    try:
        return convert(value)
    except ValueError as error:
        raise StatementError(f"option {name} cannot be {value!r}: {error}") from None


def require_table_option(key: str) -> None:
    """Require that an option can be set for a table or schema.

    Raises:
        StatementError: only its value for the lake is ever read.
    """
    if key.lower() in _OF_THE_LAKE:
        raise StatementError(
            f"option {key.lower()} applies to the whole lake: set it without a table and schema, with CALL lake.set_option(…)"
        )


def is_option(key: str) -> bool:
    """Whether an option with this name can be set."""
    return key.lower() in _CONVERTERS


def require_property(key: str) -> None:
    """Refuse a table property whose name is almost that of an option.

    Raises:
        StatementError: `key` is not an option, but was probably meant to be one.
    """
    similar = get_close_matches(key.lower(), _CONVERTERS, n=1, cutoff=0.8)
    if similar and not is_option(key):
        raise StatementError(f"there is no option {key}; write {similar[0]}, or give a property of your own another name")


def description_of(key: str) -> str | None:
    """Return the description of an option, or None for a key that DuckLake does not define."""
    return DESCRIPTIONS.get(key.lower())


def _codec(value: object) -> str:
    name = str(value).lower()
    if name not in CODECS:
        raise ValueError(f"it must be one of {', '.join(CODECS)}")
    return name


def _version(value: object) -> str:
    number = str(value).strip().upper().removeprefix("V")
    if number not in ("1", "2"):
        raise ValueError("it must be 1 or 2")
    return f"V{number}"


def _count(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    if not text.isdecimal():
        raise ValueError("it must be a whole number, 0 or more")
    if int(text) > NO_LIMIT:
        raise ValueError(f"it must be at most {NO_LIMIT}")
    return str(int(text))


def _level(value: object) -> str:
    level = _count(value)
    if int(level) > HIGHEST_LEVEL:
        raise ValueError(f"it must be a whole number from 0 to {HIGHEST_LEVEL}")
    return level


def _positive(value: object) -> str:
    count = _count(value)
    if count == "0":
        raise ValueError("it must be a whole number above 0")
    return count


def _bytes(value: object) -> str:
    text = str(value).strip().lower()
    if text in ("none", "null"):
        return str(NO_LIMIT)
    if text.startswith("-"):
        raise ValueError("it must be more than 0 bytes; 'none' means no limit")
    size = _SIZE.match(text)
    unit = _SIZE_UNIT.fullmatch(size[2]) if size else None
    if size is None or unit is None:
        raise ValueError("it must be a size with its unit, such as '64MB' or '1GiB'")
    letter = "b" if unit[1] else (unit[2] or unit[3] or unit[4])[0]
    try:
        found = int(float(size[1]) * (1024 if unit[4] else 1000) ** _POWERS[letter])
    except (ValueError, OverflowError):
        raise ValueError(f"{size[1]} is not a number") from None
    if not 0 < found <= NO_LIMIT:
        raise ValueError(f"it must be more than 0 and at most {NO_LIMIT} bytes; 'none' means no limit")
    return str(found)


def _boolean(value: object) -> str:
    word = str(value).strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("it must be true or false")
    return "true" if word in _TRUE else "false"


def share(value: object) -> str:
    """Return the stored form of a fraction of rows.

    Raises:
        ValueError: it is not a number from 0 to 1.
    """
    try:
        found = float(str(value))
    except ValueError:
        found = -1.0
    if isinstance(value, bool) or not 0 <= found <= 1:
        raise ValueError("it must be a number from 0 to 1")
    return f"{found:f}"


def _interval(value: object) -> str:
    text = str(value)
    if text and not _INTERVAL.fullmatch(text.strip().lower()):
        raise ValueError("it must be an interval, such as '7 days', or '' for none")
    if text.strip():
        _past(text, datetime.now(timezone.utc))
    return text


def _past(text: str, now: datetime) -> datetime:
    """Return the timestamp that is an interval before `now`.

    Raises:
        ValueError: the text is not an interval, or a negative one.
    """
    found = before(now, text)
    if found > now:
        raise ValueError("it must not be negative: files and snapshots that are still needed would be removed")
    return found


def limit_of_age(key: str, stored: str, now: datetime) -> datetime:
    """Return the timestamp before which files or snapshots are old enough to be removed.

    Args:
        key: the option's name, such as `delete_older_than`, for the message.
        stored: the stored interval.
        now: the current time.

    Raises:
        LakeError: the value is not an interval, or a negative one.
    """
    try:
        return _past(stored, now)
    except ValueError as error:
        raise LakeError(f"option {key} of the lake has the value {stored!r}: {error}; set it again") from None


_CONVERTERS: Mapping[str, Callable[[object], str]] = MappingProxyType(
    {
        "parquet_compression": _codec,
        "parquet_version": _version,
        "parquet_compression_level": _level,
        "parquet_row_group_size": _positive,
        "parquet_row_group_size_bytes": _bytes,
        "target_file_size": _bytes,
        "data_inlining_row_limit": _count,
        "require_commit_message": _boolean,
        "hive_file_pattern": _boolean,
        "auto_compact": _boolean,
        "per_thread_output": _boolean,
        "write_deletion_vectors": _boolean,
        "sort_on_insert": _boolean,
        "rewrite_delete_threshold": share,
        "expire_older_than": _interval,
        "delete_older_than": _interval,
    }
)
_OF_THE_LAKE = frozenset({"expire_older_than", "delete_older_than", "require_commit_message"})
FIXED = frozenset({"version", "created_by", "data_path", "encrypted"})
"""Keys that are stored with the options and that are set when the lake is created."""

DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "data_inlining_row_limit": "Inserts of up to this many rows are stored in the catalog",
        "parquet_compression": f"Codec of Parquet files: {', '.join(CODECS)}",
        "parquet_version": "Version of Parquet's data pages: 1 or 2",
        "parquet_compression_level": "Level of the codec, where it has levels",
        "parquet_row_group_size": "Rows in a row group",
        "parquet_row_group_size_bytes": "Bytes in a row group",
        "hive_file_pattern": "Files of partitioned tables are written to directories key=value",
        "target_file_size": "Target size of data files, in bytes",
        "version": "Version of the DuckLake format",
        "created_by": "The program that created the lake",
        "data_path": "The directory of the data files",
        "require_commit_message": "Every commit needs a message",
        "rewrite_delete_threshold": "The share of deleted rows at which a file is rewritten, from 0 to 1",
        "delete_older_than": "The age at which unused files are removed",
        "expire_older_than": "The age at which snapshots expire",
        "auto_compact": "Maintenance includes the table",
        "encrypted": "Data files are encrypted",
        "per_thread_output": "Each task writes a file of its own",
        "write_deletion_vectors": "Deletes are written as deletion vectors instead of lists of positions",
        "sort_on_insert": "Rows are sorted by the table's sort order when they are inserted",
    }
)
