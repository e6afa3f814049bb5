"""`external_location` of a source, dbt-duckdb's config: files that are read where they lie, as Spark's SQL names them.

DuckDB finds out by itself how a CSV is written; Spark is told: with a header, types inferred. Neither makes NULLs of what cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Template
from typing import Any

from .format.identifiers import backquoted, text_literal
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
"""The end of a file's name → Spark's name of the format, and the options that it is read with."""
_FORMATTERS: Mapping[str, Callable[[str, Mapping[str, Any]], str]] = {
    "newstyle": lambda template, values: template.format_map(values),
    "oldstyle": lambda template, values: template % values,
    "template": lambda template, values: Template(template).substitute(values),
}
_SPARKS_OWN = re.compile(r"\w+\.`(?:[^`]|``)+`(\s+with\s*\(.*\))?", re.IGNORECASE | re.DOTALL)
_FUNCTION = re.compile(r"\w+\s*\(")
_END = re.compile(r"\.(\w+)(?:\.(?:gz|bz2|zst|snappy|lz4|deflate))?$", re.IGNORECASE)
_KEY_OR_PATTERN = re.compile(r"[=*?\[{]")


def formatted(template: str, formatter: str, values: Mapping[str, Any]) -> str:
    """The location with names of the source filled in: `{name}`, `%(name)s` or `$name`.

    Raises:
        ValueError: there is no such formatter, or no such name.
    """
    if formatter not in _FORMATTERS:
        raise ValueError(f"`formatter` is newstyle, oldstyle or template, not {formatter!r}")
    try:
        return _FORMATTERS[formatter](template, values)
    except (KeyError, IndexError, ValueError, TypeError) as error:
        raise ValueError(
            f"`external_location` {template!r} cannot be filled in ({type(error).__name__}: {error}); "
            f"there are: {', '.join(sorted(values))}"
        ) from error


def file_relation(location: str) -> str:
    """What stands behind FROM to read the files of a location.

    Raises:
        ValueError: Spark cannot read such a location; the text says what to write instead.
    """
    location = location.strip()
    if _SPARKS_OWN.fullmatch(location):
        return location
    if _FUNCTION.match(location) or location.startswith("["):
        raise ValueError(
            f"`external_location` {location!r} is SQL of DuckDB; write a path, or what Spark calls files, with its options: "
            "csv.`/data/orders.csv` with (header = 'true', sep = ';')"
        )
    path = location[1:-1] if len(location) > 1 and location[0] == location[-1] == "'" else location
    scheme, separator, rest = path.partition("://")
    if separator and scheme.lower() in ("http", "https", "hf"):
        raise ValueError(f"`external_location` {path!r}: Spark reads no files over {scheme}; copy them to a place that it reads")
    if "**" in path:
        folder = path.partition("**")[0].rstrip("/")
        raise ValueError(
            f"`external_location` {path!r}: a pattern of Spark's has no `**`; write, for instance, "
            f"parquet.`{folder}` with (recursiveFileLookup = 'true')"
        )
    end = _END.search(path)
    found = _FORMATS.get(end[1].lower()) if end else None
    if found is None:
        raise ValueError(
            f"`external_location` {path!r} does not end as a file of {', '.join(_FORMATS)} does; "
            f"for a folder, or other formats, write what Spark calls files: parquet.`{path.rstrip('/')}`"
        )
    name, options = found
    path = f"{SPARK_SCHEMES.get(scheme.lower(), scheme)}://{rest}" if separator else path
    listed = ", ".join(f"{key} = {text_literal(value)}" for key, value in {**options, **_base_of(path)}.items())
    return f"{name}.{backquoted(path)}" + (f" with ({listed})" if listed else "")


def _base_of(path: str) -> dict[str, str]:
    """Where folders begin that may be `key=value`: as in DuckDB these are columns, whether a pattern finds them or the path names them."""
    folders = path.split("/")[:-1]
    first = next((index for index, folder in enumerate(folders) if _KEY_OR_PATTERN.search(folder)), None)
    return {"basePath": "/".join(folders[:first]) + "/"} if first else {}
