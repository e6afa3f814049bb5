"""Where the catalog database is: DuckDB's attach strings, SQLAlchemy URLs and plain file names, all as one value.

Specification: "Choosing a Catalog Database". No SQLAlchemy here: profiles are checked before anything is opened.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import quote, unquote, urlsplit

from ..errors import ConfigurationError

_ACCEPTED = (
    "ducklake:sqlite:lake.sqlite, ducklake:postgres:dbname=lake host=localhost, sqlite:///lake.sqlite, "
    "postgresql://user@host/lake, or the name of an SQLite file that ends in .sqlite, .sqlite3 or .db"
)
_FILE_ENDINGS = (".sqlite", ".sqlite3", ".db", ".ducklake")
_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S*))\s*")
_PASSWORD = re.compile(r"(?<=:)[^:@/]*(?=@)")
_QUERY_PASSWORD = re.compile(r"(?i)(password=)[^&]*")


@dataclass(frozen=True)
class CatalogLocation:
    """A catalog database; `url` may hold a password, `str()` and `repr()` never show it."""

    url: str = field(repr=False)
    """An SQLAlchemy URL."""
    metadata_schema: str | None = None
    """The schema of the metadata tables, where the database has schemas; None for its usual one."""

    @property
    def file(self) -> str | None:
        """The file of an SQLite catalog."""
        return self.url.removeprefix("sqlite:///") if self.url.startswith("sqlite:///") else None

    @property
    def display(self) -> str:
        """The address without its password."""
        return _QUERY_PASSWORD.sub(r"\1***", _PASSWORD.sub("***", self.url, count=1) if "@" in self.url else self.url)

    def __str__(self) -> str:
        return self.display


def parse_location(path: str, *, metadata_schema: str | None = None) -> CatalogLocation:
    """The location that a profile, a notebook or DuckDB's ATTACH would write.

    Raises:
        ConfigurationError: the text is none of the accepted forms; it lists them, and never repeats a password.
    """
    text = path.strip()
    rest = text.removeprefix("ducklake:")
    kind, colon, value = rest.partition(":")
    kind = kind.lower() if colon else ""
    if kind == "sqlite" or (rest.lower().endswith(_FILE_ENDINGS) and "://" not in rest and not _is_other_kind(kind)):
        location = CatalogLocation(_sqlite_url(value if kind == "sqlite" else rest), metadata_schema)
        if metadata_schema is not None:
            raise ConfigurationError("metadata_schema cannot be used with an SQLite catalog, which has no schemas; remove it")
        return location
    if kind in ("postgres", "postgresql") or kind.startswith("postgresql+"):
        return CatalogLocation(_postgres_url(value), metadata_schema)
    if kind in ("duckdb", "mysql") or kind.startswith(("mysql+", "mariadb")) or rest.lower().endswith(".duckdb"):
        name = "MySQL" if kind.startswith(("mysql", "mariadb")) else "DuckDB-file"
        raise ConfigurationError(f"{name} catalogs are not supported; use SQLite or PostgreSQL: {_ACCEPTED}")
    raise ConfigurationError(f"the path of the catalog is none of the accepted forms: {_ACCEPTED}")


def _is_other_kind(kind: str) -> bool:
    return kind in ("postgres", "postgresql", "duckdb", "mysql", "mariadb") or "+" in kind


def _sqlite_url(value: str) -> str:
    """`value` is what follows `sqlite:`: a file name, or `///file` of a URL."""
    name = value.removeprefix("//")
    if value.startswith("//") and not value.startswith("///"):
        raise ConfigurationError("an SQLite URL has three slashes before a relative and four before an absolute file name")
    if value.startswith("///"):
        name = unquote(value[3:].partition("?")[0])
    if not name or name == ":memory:":
        raise ConfigurationError("the catalog must be a file: an SQLite database in memory is gone with its process")
    return "sqlite:///" + os.path.abspath(os.path.expanduser(name))


def _postgres_url(value: str) -> str:
    """`value` is what follows `postgres:`: key=value pairs, a URL again, or `//…` of a URL."""
    if value.startswith("//"):
        return _checked("postgresql+psycopg:" + value)
    if value.startswith(("postgresql://", "postgres://")):
        return _checked("postgresql+psycopg:" + value.partition(":")[2])
    return _postgres_pairs(value)


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ConfigurationError("the URL of the PostgreSQL catalog cannot be read; check host and port") from None
    return url


def _postgres_pairs(text: str) -> str:
    """libpq's `dbname=lake host=…` as a URL."""
    pairs: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _PAIR.match(text, position)
        if match is None:
            raise ConfigurationError("a PostgreSQL catalog is given as key=value pairs such as dbname=lake host=localhost user=me")
        quoted = match[2]
        pairs[match[1]] = match[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        position = match.end()
    user, password = pairs.pop("user", ""), pairs.pop("password", "")
    credentials = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    host, port = pairs.get("host", ""), pairs.get("port", "")
    if host.startswith("/") or "," in host:
        address = ""
    else:
        pairs.pop("host", None)
        pairs.pop("port", None)
        address = host + (f":{port}" if port else "")
    database = quote(pairs.pop("dbname", ""), safe="")
    query = "&".join(f"{key}={quote(value, safe='/,')}" for key, value in pairs.items())
    return f"postgresql+psycopg://{credentials}{'@' if credentials else ''}{address}/{database}" + (f"?{query}" if query else "")
