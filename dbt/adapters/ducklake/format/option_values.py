"""What may be said of each option, and the text that is stored for it.

Specification: "Configuration"; the stored forms are those of the reference, whose readers take them without another check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..errors import StatementError

CODECS = ("uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4", "lz4_raw")
NO_LIMIT = 2**64 - 1
_SIZE = re.compile(r"\s*([0-9.eE-]+)\s*(\S*)\s*$")
_POWERS = {"b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_UNIT = re.compile(r"(b|byte|bytes)|([kmgt])b?|(kilo|mega|giga|tera)bytes?|([kmgt])ib")
_UNITS = "|".join(
    (
        "d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|mon(?:th)?s?|s(?:ec(?:ond)?s?)?|w(?:eeks?)?|y(?:(?:ea)?rs?)?|quarters?",
        "ms(?:ecs?)?|milliseconds?|us(?:ecs?)?|microseconds?|dec(?:ade)?s?|c(?:ent(?:ury|uries)?)?",
    )
)
_INTERVAL = re.compile(rf"(?=.*\d)(?:-?\d+(?:\.\d+)?\s*(?:{_UNITS})(?:\s+|$))*(?:-?\d+:\d\d(?::\d\d(?:\.\d+)?)?)?(?:\s*ago)?")
_TRUE = frozenset({"true", "t", "yes", "y", "on", "1"})
_FALSE = frozenset({"false", "f", "no", "n", "off", "0"})


def stored_value(key: str, value: object) -> str:
    """The text that `ducklake_metadata` gets for an option.

    Args:
        key: the option's name, in any case.
        value: a constant of SQL: text, number or boolean.

    Raises:
        StatementError: there is no such option, or it cannot have this value.
    """
    name = key.lower()
    form = _FORMS.get(name)
    if form is None:
        told = f"option {key} is set when a lake is made and stays" if name in FIXED else f"there is no option {key}"
        raise StatementError(f"{told}. These can be set: {', '.join(sorted(_FORMS))}")
    if value is None:
        raise StatementError(f"option {name} cannot be NULL: there is no way to unset an option, give the value it shall have")
    try:
        return form(value)
    except ValueError as error:
        raise StatementError(f"option {name} cannot be {value!r}: {error}") from None


def is_option(key: str) -> bool:
    """Whether an option of that name can be set."""
    return key.lower() in _FORMS


def description_of(key: str) -> str | None:
    """What an option is for; None for a key that belongs to somebody else."""
    return DESCRIPTIONS.get(key.lower())


def _codec(value: object) -> str:
    name = str(value).lower()
    if name not in CODECS:
        raise ValueError(f"it is one of {', '.join(CODECS)}")
    return name


def _version(value: object) -> str:
    number = str(value).strip().upper().removeprefix("V")
    if number not in ("1", "2"):
        raise ValueError("it is 1 or 2")
    return f"V{number}"


def _count(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    text = str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
    if not text.isdecimal():
        raise ValueError("it is a whole number, 0 or more")
    return str(int(text))


def _positive(value: object) -> str:
    count = _count(value)
    if count == "0":
        raise ValueError("it is a whole number above 0")
    return count


def _bytes(value: object) -> str:
    text = str(value).strip().lower()
    if text in ("none", "null") or text.startswith("-"):
        return str(NO_LIMIT)
    found = _SIZE.match(text)
    unit = _UNIT.fullmatch(found[2]) if found else None
    if found is None or unit is None:
        raise ValueError("it is a size with its unit, such as '64MB' or '1GiB'")
    letter = "b" if unit[1] else (unit[2] or unit[3] or unit[4])[0]
    try:
        return str(int(float(found[1]) * (1024 if unit[4] else 1000) ** _POWERS[letter]))
    except ValueError:
        raise ValueError(f"{found[1]} is no number") from None


def _some_bytes(value: object) -> str:
    size = _bytes(value)
    if size == "0":
        raise ValueError("it is more than nothing")
    return size


def _truth(value: object) -> str:
    word = str(value).strip().lower()
    if word not in _TRUE | _FALSE:
        raise ValueError("it is true or false")
    return "true" if word in _TRUE else "false"


def _share(value: object) -> str:
    try:
        share = float(str(value))
    except ValueError:
        share = -1.0
    if isinstance(value, bool) or not 0 <= share <= 1:
        raise ValueError("it is a number from 0 to 1")
    return f"{share:f}"


def _interval(value: object) -> str:
    text = str(value)
    if text and not _INTERVAL.fullmatch(text.strip().lower()):
        raise ValueError("it is an interval, such as '7 days', or '' for none")
    return text


_FORMS: Mapping[str, Callable[[object], str]] = MappingProxyType(
    {
        "parquet_compression": _codec,
        "parquet_version": _version,
        "parquet_compression_level": _count,
        "parquet_row_group_size": _positive,
        "parquet_row_group_size_bytes": _some_bytes,
        "target_file_size": _bytes,
        "data_inlining_row_limit": _count,
        "require_commit_message": _truth,
        "hive_file_pattern": _truth,
        "auto_compact": _truth,
        "per_thread_output": _truth,
        "write_deletion_vectors": _truth,
        "sort_on_insert": _truth,
        "rewrite_delete_threshold": _share,
        "expire_older_than": _interval,
        "delete_older_than": _interval,
    }
)
FIXED = frozenset({"version", "created_by", "data_path", "encrypted"})
"""Facts of a lake that stand among its options."""

DESCRIPTIONS: Mapping[str, str] = MappingProxyType(
    {
        "data_inlining_row_limit": "Inserts of up to so many rows are kept in the catalog",
        "parquet_compression": f"Codec of Parquet files: {', '.join(CODECS)}",
        "parquet_version": "Version of Parquet's data pages: 1 or 2",
        "parquet_compression_level": "Level of the codec, where it has levels",
        "parquet_row_group_size": "Rows in a row group",
        "parquet_row_group_size_bytes": "Bytes in a row group",
        "hive_file_pattern": "Files of partitioned tables go into directories key=value",
        "target_file_size": "How large data files shall be, in bytes",
        "version": "Version of the DuckLake format",
        "created_by": "What made the lake",
        "data_path": "Where data files are",
        "require_commit_message": "A snapshot is committed only with a message",
        "rewrite_delete_threshold": "The share of its rows that a file has lost when it is worth rewriting, from 0 to 1",
        "delete_older_than": "The age at which files that nothing uses are removed",
        "expire_older_than": "The age at which snapshots expire",
        "auto_compact": "Maintenance of the whole lake works on the table too",
        "encrypted": "Data files are encrypted",
        "per_thread_output": "Each task writes a file of its own",
        "write_deletion_vectors": "Deletes are deletion vectors, not lists of positions",
        "sort_on_insert": "Rows are sorted as the table says when they are inserted",
    }
)
