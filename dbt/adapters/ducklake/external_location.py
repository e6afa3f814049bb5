"""The config `external_location` of a source, as in dbt-duckdb: files that Spark reads in place.

DuckDB detects the format of a CSV; Spark gets options: a header, inferred types. Both fail on values that they cannot read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Template
from typing import Any

from .format.identifiers import backquoted, spark_literal
from .format.paths import WITHOUT_PASSWORD, has_password
from .spark.files.locations import SPARK_SCHEMES

_STRICT = {"mode": "FAILFAST"}
_CSV = {"header": "true", "inferSchema": "true", **_STRICT}
_FORMATS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "parquet": ("parquet", {}),
    "orc": ("orc", {}),
    "avro": ("avro", {}),
    "csv": ("csv", _CSV),
    "tsv": ("csv", {**_CSV, "sep": "\\t"}),
    "json": ("json", _STRICT),
    "jsonl": ("json", _STRICT),
    "ndjson": ("json", _STRICT),
}
"""Spark's name of the format and the read options, by the extension of a file."""
_FORMATTERS: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "newstyle": lambda template, values: template.format_map(values),
    "oldstyle": lambda template, values: template % values,
    "template": lambda template, values: Template(template).substitute(values),
}
_SPARK_RELATION = re.compile(r"\w+\.`(?:[^`]|``)+`(\s+with\s*\(.*\))?", re.IGNORECASE | re.DOTALL)
_FUNCTION = re.compile(r"\w+\s*\(")
_EXTENSION = re.compile(r"\.(\w+)(?:\.(?:gz|bz2|zst|snappy|lz4|deflate))?$", re.IGNORECASE)
_KEY_OR_PATTERN = re.compile(r"[=*?\[{]")


def formatted(template: str, formatter: str, values: Mapping[str, Any]) -> str:
    """Return the location with values of the source filled in for `{name}`, `%(name)s` or `$name`.

    Raises:
        ValueError: the formatter or a name is unknown.
    """
    if formatter not in _FORMATTERS:
        raise ValueError(f"`formatter` is newstyle, oldstyle or template, not {formatter!r}")
    try:
        return _FORMATTERS[formatter](template, values)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise ValueError(
            f"`external_location` {template!r} cannot be filled in ({type(error).__name__}: {error}); "
            f"the names are: {', '.join(sorted(values))}"
        ) from error


def file_relation(location: str) -> str:
    """Return the SQL after FROM that reads the files of a location.

    Raises:
        ValueError: Spark cannot read the location; the message says what to write instead.
    """
    location = location.strip()
    if has_password(location):
        raise ValueError(f"`external_location` contains a password or a secret key; {WITHOUT_PASSWORD}")
    if _SPARK_RELATION.fullmatch(location):
        return location
    if _FUNCTION.match(location) or location.startswith("["):
        raise ValueError(
            f"`external_location` {location!r} is DuckDB's SQL; write a path, or Spark's SQL for files with options: "
            "csv.`/data/orders.csv` with (header = 'true', sep = ';')"
        )
    path = location[1:-1] if len(location) > 1 and location[0] == location[-1] == "'" else location
    scheme, separator, rest = path.partition("://")
    if separator and scheme.lower() in ("http", "https", "hf"):
        raise ValueError(f"`external_location` {path!r}: Spark cannot read files over {scheme}; copy them to a location that it can read")
    if "**" in path:
        folder = path.partition("**")[0].rstrip("/")
        raise ValueError(
            f"`external_location` {path!r}: Spark's patterns have no `**`; write, for example, "
            f"parquet.`{folder}` with (recursiveFileLookup = 'true')"
        )
    extension = _EXTENSION.search(path)
    found = _FORMATS.get(extension[1].lower()) if extension else None
    if found is None:
        raise ValueError(
            f"`external_location` {path!r} does not have the extension of {', '.join(_FORMATS)}; "
            f"for a folder, or other formats, write Spark's SQL for files: parquet.`{path.rstrip('/')}`"
        )
    name, options = found
    path = f"{SPARK_SCHEMES.get(scheme.lower(), scheme)}://{rest}" if separator else path
    listed = ", ".join(f"{key} = {spark_literal(value)}" for key, value in {**options, **_base_of(path)}.items())
    return f"{name}.{backquoted(path)}" + (f" with ({listed})" if listed else "")


def _base_of(path: str) -> dict[str, str]:
    """Return Spark's option for the base of `key=value` folders, which become columns as in DuckDB, also if the path names one."""
    folders = path.split("/")[:-1]
    first = next((index for index, folder in enumerate(folders) if _KEY_OR_PATTERN.search(folder)), None)
    return {"basePath": "/".join(folders[:first]) + "/"} if first else {}
