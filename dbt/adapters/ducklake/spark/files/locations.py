"""The three forms of a file's path: in a manifest, as an argument of Spark's reader, and in `_metadata.file_path`.

Paths in a lake are not percent-encoded. Java percent-encodes ASCII characters that are not allowed in a URI, but not letters outside ASCII.
"""

from __future__ import annotations

import os
import re
import unicodedata
from urllib.parse import quote, unquote

from ...format.identifiers import fold
from ...format.leaf_types import leaf_type
from ...format.paths import without_file_scheme

SPARK_SCHEMES = {"s3": "s3a", "s3n": "s3a", "gcs": "gs"}
"""DuckDB's scheme → the scheme of Hadoop's connector for the same store."""

_JAVA_SAFE = "/;:@&=+$,_-!.~'()*"
"""ASCII characters, other than letters and digits, that `java.net.URI` does not encode in a path."""
_GLOB = re.compile(r"([\\\[\]{}*?,])")


def spark_path(path: str) -> str:
    """Return the path for Hadoop, not encoded: an absolute `file:///…` for local files, else a URL with Hadoop's scheme."""
    scheme, separator, rest = without_file_scheme(path).partition("://")
    if not separator or not scheme.isalnum():
        return "file://" + os.path.abspath(without_file_scheme(path))
    return f"{SPARK_SCHEMES.get(scheme.lower(), scheme.lower())}://{rest}"


def manifest_path(path: str) -> str:
    """Return the percent-encoded URI for a manifest."""
    scheme, _, rest = spark_path(path).partition("://")
    authority, slash, inner = rest.partition("/")
    return f"{scheme}://{authority}{slash}{_java_quoted(inner)}"


def metadata_path(path: str) -> str:
    """Return the file's value of `_metadata.file_path`: as in a manifest, but `file:/…` with one slash."""
    text = manifest_path(path)
    return "file:" + text[len("file://") :] if text.startswith("file:///") else text


def reader_path(path: str) -> str:
    """Return the argument for `spark.read.parquet`: not encoded, with the characters of glob patterns escaped."""
    return _GLOB.sub(r"\\\1", spark_path(path))


def hive_value(path: str, key: str) -> str | None:
    """Return the decoded value of the directory `key=value` in a path; None for NULL or if there is no such directory.

    As in DuckDB, the word NULL in any case is NULL, unless a letter of it is percent-encoded.
    """
    value = hive_directory(path, key)[1]
    return None if value is None or value == "__HIVE_DEFAULT_PARTITION__" or fold(value) == "null" else unquote(value)


def hive_column_value(path: str, key: str, type_name: str) -> str | None:
    r"""Return the value of the directory `key=value` for a column of a type, a blob as hexadecimal digits; None for NULL.

    As in DuckDB, an empty value is NULL unless the column is a text column, and a byte of a blob may be written as `\xAB`.
    A uuid is returned in lower case.
    """
    text = hive_value(path, key)
    if not text and not leaf_type(type_name).is_text:
        return None
    if text is not None and type_name == "blob":
        return re.sub(rb"\\x([0-9A-Fa-f]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode()).hex()
    if text is not None and type_name == "uuid":
        return text.lower()
    return text


def hive_key(path: str, key: str) -> str | None:
    """Return the name in the directory `key=value` of a path as it is written there, or None.

    DuckDB finds the directory by exactly this name. Case and percent-encoding may differ from those of `key` if no name is equal to it.
    """
    return hive_directory(path, key)[0]


def hive_directory(path: str, key: str) -> tuple[str | None, str | None]:
    """Return the name and the value of the directory `key=value` of a path as they are written, or (None, None).

    DuckDB takes the first of two directories with the same name.
    """
    found: dict[str, str] = {}
    for part in re.split(r"[/\\]", path)[:-1]:
        name, _, value = part.partition("=")
        if name and part.count("=") == 1 and "?" not in part and "\n" not in part:
            found.setdefault(name, value)
    name = key if key in found else next((name for name in found if fold(unquote(name)) == fold(key)), None)
    return (None, None) if name is None else (name, found[name])


def _java_quoted(text: str) -> str:
    """Percent-encode like the constructors of `java.net.URI`: outside ASCII, only blanks and control characters are encoded."""
    return "".join(
        char if ord(char) > 127 and unicodedata.category(char) not in ("Zs", "Zl", "Zp", "Cc") else quote(char, safe=_JAVA_SAFE)
        for char in text
    )
