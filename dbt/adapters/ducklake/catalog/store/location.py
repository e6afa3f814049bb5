"""Parse the location of the catalog database: strings of DuckDB's ATTACH, SQLAlchemy URLs and plain file names become one value.

Specification: "Choosing a Catalog Database". This module does not import SQLAlchemy, because profiles are checked before opening a lake.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, unquote, urlsplit

from ...errors import ConfigurationError
from .redaction import HIDDEN, has_inner_address, redacted_pairs, redacted_url

_ACCEPTED = (
    "ducklake:sqlite:lake.sqlite, ducklake:postgres:dbname=lake host=localhost, ducklake:duckdb:lake.duckdb, ducklake:lake.ducklake, "
    "ducklake:mysql:db=lake host=localhost, sqlite:///lake.sqlite, postgresql://user@host/lake, duckdb:///lake.duckdb, "
    "mysql://user@host/lake, ducklake:any.file (DuckDB), or the name of a file that ends in .sqlite, .sqlite3, .db (SQLite), "
    ".duckdb or .ducklake (DuckDB)"
)
_EXTENSIONS: Mapping[str, str | None] = {".sqlite": "sqlite", ".sqlite3": "sqlite", ".duckdb": "duckdb", ".ducklake": None, ".db": None}
"""File name extension → kind of database; None if the first bytes of the file decide."""
_SINGLE_WORD = re.compile(r"\w*")
_UNKNOWN_KIND = re.compile(r"\w{2,}:")
_KINDS: Mapping[str, str] = {
    **dict.fromkeys(("sqlite", "sqlite3"), "sqlite"),
    **dict.fromkeys(("postgres", "postgresql"), "postgres"),
    "duckdb": "duckdb",
    **dict.fromkeys(("mysql", "mariadb"), "mysql"),
}
"""Prefix before the colon → kind of database. A driver after a plus, as in SQLAlchemy's URLs, is ignored: we always use our own."""
_DUCKDB_URL = "duckdb+ducklake:///"
_PAIR = r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|({}))\s*"
_LIBPQ_PAIR = re.compile(_PAIR.format(r"(?:\\.?|[^\s\\])*"), re.DOTALL)
"""A `key=value` pair of libpq, or `key='value'`. In both, the character after a backslash belongs to the value, the backslash does not."""
_MYSQL_PAIR = re.compile(_PAIR.format(r"\S*"), re.DOTALL)
"""The same for MySQL, where a backslash in a value without quotes is an ordinary character, as in DuckDB's extension."""
_ESCAPED = re.compile(r"\\(.?)", re.DOTALL)
_SCHEME = re.compile(r"\s*(?:ducklake:)?(?:[a-z][\w+]*:)?", re.IGNORECASE)
_URL_START = re.compile(r"(?:[\w+]+:)*//")
_FILE_OPTIONS = re.compile(r"(?<=:///)([^?]*\?).*", re.DOTALL)
"""The options in the URL of a file, which may be secret."""
_CONNECTION_KEY = re.compile(r"(?:^|\s)(?:dbname|database|db|host|hostaddr|port|user|\w*pas+\w*|pwd)\s*=", re.IGNORECASE)
"""A key of a connection string, even a misspelled `password`."""
_MYSQL_KEYS: Mapping[str, str] = {
    **dict.fromkeys(("db", "database", "dbname"), "database"),
    **dict.fromkeys(("password", "passwd"), "password"),
    **dict.fromkeys(("socket", "unix_socket"), "unix_socket"),
    **{key: key for key in ("host", "port", "user", "ssl_ca", "ssl_cert", "ssl_key")},
}
"""Key of DuckDB's MySQL extension → key of the driver."""


@dataclass(frozen=True)
class CatalogLocation:
    """A catalog database. `url` may contain a password, which `str()` and `repr()` never show."""

    url: str = field(repr=False)
    """A SQLAlchemy URL. SQLAlchemy before 2.1 does not decode a quoted file name; use `file` instead."""
    metadata_schema: str | None = None
    """The schema of the metadata tables, if the database has schemas; None for the default schema."""
    file: str | None = None
    """The catalog file of SQLite or DuckDB."""

    @property
    def default_data_path(self) -> str | None:
        """The default data path of a new lake. As in DuckDB, only a catalog in a DuckDB file has one."""
        return f"{self.file}.files/" if self.url.startswith(_DUCKDB_URL) else None

    def __str__(self) -> str:
        """Return the address of the catalog database without its password."""
        return redacted_url(self.url) if self.file is None else self.file


def parse_location(path: str, *, metadata_schema: str | None = None) -> CatalogLocation:
    """Parse a location, in any form that profiles, notebooks and DuckDB's ATTACH accept.

    Args:
        path: the location.
        metadata_schema: the schema of the metadata tables; None for the default schema.

    Raises:
        ConfigurationError: the location has none of the accepted forms, or its database has no schemas. The message never contains a
            password.
    """
    text = path.strip()
    rest = text.removeprefix("ducklake:")
    before, colon, value = rest.partition(":")
    kind = _KINDS.get(before.lower().partition("+")[0]) if colon else None
    if kind is None:
        kind, value = _kind_of_file(rest, attached=rest != text), rest
    match kind:
        case "sqlite":
            _refuse_schema(metadata_schema, "an SQLite catalog, which has no schemas")
            file = _absolute_file(value, "SQLite")
            return CatalogLocation("sqlite:///" + quote(file, safe="/ "), None, file)
        case "duckdb":
            file = _absolute_file(value, "DuckDB")
            return CatalogLocation(_DUCKDB_URL + quote(file, safe="/ "), metadata_schema, file)
        case "postgres":
            return CatalogLocation(_postgres_url(value), metadata_schema)
        case "mysql":
            _refuse_schema(metadata_schema, "a MySQL catalog, whose schema is the database in its address")
            return CatalogLocation(_mysql_url(value))
    raise ConfigurationError(f"the path of the catalog has none of the accepted forms: {_ACCEPTED}")


def redacted_path(path: str) -> str:
    """Return a path for logs, without secrets. If it cannot be parsed, only its scheme, because a password may be anywhere after it."""
    scheme = (_SCHEME.match(path) or [""])[0]
    try:
        location = parse_location(path)
    except ConfigurationError:
        return scheme + HIDDEN
    if location.file is not None:
        return _FILE_OPTIONS.sub(rf"\1{HIDDEN}", path)
    rest = path[len(scheme) :]
    return scheme + (redacted_url(rest) if _URL_START.match(rest) else redacted_pairs(rest))


def _kind_of_file(name: str, *, attached: bool) -> str | None:
    """Return the kind of database in a file, by its name or, if that is ambiguous, by its first bytes; None if it has no known kind.

    Args:
        name: the name of the file, which may not exist yet.
        attached: whether the name follows `ducklake:`, as in DuckDB's ATTACH.
    """
    extension = os.path.splitext(name)[1].lower()
    if "://" in name or not (_is_attachable(name) if attached else extension in _EXTENSIONS):
        return None
    if not attached and _EXTENSIONS[extension] is not None:
        return _EXTENSIONS[extension]
    file = os.path.abspath(os.path.expanduser(name))
    found = _kind_of_content(file) if os.path.isfile(file) and os.path.getsize(file) else None
    return found or ("sqlite" if not attached and extension == ".db" else "duckdb")


def _is_attachable(name: str) -> bool:
    """Whether `ATTACH 'ducklake:name'` opens a file in DuckDB, to which a single word is the name of a secret.

    A name with a word before a colon is refused: it may be a misspelled kind of database, followed by a password.
    """
    return not _SINGLE_WORD.fullmatch(name) and not _UNKNOWN_KIND.match(name)


@functools.cache
def _kind_of_content(file: str) -> str | None:
    """Return the kind of database in a file by its first bytes. Cached, because closing a file releases this process's locks on it."""
    with open(file, "rb") as stream:
        start = stream.read(16)
    return "sqlite" if start == b"SQLite format 3\0" else "duckdb" if start[8:12] == b"DUCK" else None


def _refuse_schema(metadata_schema: str | None, what: str) -> None:
    """Raise ConfigurationError if a schema is given."""
    if metadata_schema is not None:
        raise ConfigurationError(f"metadata_schema cannot be used with {what}; remove it")


def _absolute_file(value: str, database: str) -> str:
    """Return the absolute name of a catalog file.

    Args:
        value: the text after the kind of database and a colon: a file name, or `///file` of a URL.
        database: the kind of database, for errors.

    Raises:
        ConfigurationError: the value is not the name of a file.
    """
    name = value
    if value.startswith("//") and not value.startswith("///"):
        raise ConfigurationError(f"a {database} URL needs three slashes before a relative file name and four before an absolute one")
    if value.startswith("///"):
        name = unquote(value[3:].partition("?")[0])
    if "://" in name or _CONNECTION_KEY.search(name):
        raise ConfigurationError(
            f"the file name of a {database} catalog looks like a connection string; begin it with the kind of database, such as postgres:…"
        )
    if not name or name == ":memory:":
        raise ConfigurationError(f"the catalog must be in a file: a {database} database in memory is lost when the process ends")
    return os.path.abspath(os.path.expanduser(name))


def _postgres_url(value: str) -> str:
    """Return a URL from the text after `postgres:`: key=value pairs, another URL, or `//…` of a URL."""
    if value.startswith("//"):
        return _checked_url("postgresql+psycopg:" + value)
    if value.startswith(("postgresql://", "postgres://")):
        return _checked_url("postgresql+psycopg:" + value.partition(":")[2])
    return _postgres_pairs(value)


def _checked_url(url: str) -> str:
    """Return a URL whose port is valid, with each `@` in the password quoted: otherwise SQLAlchemy takes what follows it as the host."""
    try:
        _ = _after_password(url).port
    except ValueError:
        raise ConfigurationError("the URL of the catalog is not valid; check its host and port") from None
    if has_inner_address(url):
        raise ConfigurationError(
            "the user, the host or the name of the database contains an address or a password; write an address as the whole path, "
            "begin the options of a URL with `?`, and write `@` in them as `%40`"
        )
    scheme, slashes, rest = url.partition("//")
    credentials, at, address = rest.rpartition("@")
    return scheme + slashes + credentials.replace("@", "%40") + at + address


def _after_password(url: str) -> SplitResult:
    """Parse the host, port and path of a URL whose password may contain any character, including `@`."""
    return urlsplit("//" + url.partition("//")[2].rpartition("@")[2])


def _mysql_url(value: str) -> str:
    """Return a URL from the text after `mysql:`: key=value pairs, another URL, or `//…` of a URL."""
    inner, colon, rest = value.partition(":")
    if colon and rest.startswith("//") and _KINDS.get(inner.lower().partition("+")[0]) == "mysql":
        value = rest
    if not value.startswith("//"):
        return _mysql_pairs(value)
    url = _checked_url("mysql+pymysql:" + value)
    if not _after_password(url).path.strip("/"):
        raise ConfigurationError("the URL of a MySQL catalog must end with the name of a database: mysql://user@host/lake")
    return url


def _mysql_pairs(text: str) -> str:
    """Convert MySQL's `db=lake host=…` to a URL."""
    pairs: dict[str, str] = {}
    for key, each in _parse_pairs(text, "a MySQL catalog", "db=lake host=localhost user=me", libpq=False).items():
        if key not in _MYSQL_KEYS:
            raise ConfigurationError(f"a MySQL catalog has no key {key}; its keys are {', '.join(_MYSQL_KEYS)}")
        pairs[_MYSQL_KEYS[key]] = each
    database = pairs.pop("database", "")
    if not database:
        raise ConfigurationError("a MySQL catalog needs the name of a database: add db=…")
    host, port = pairs.pop("host", ""), pairs.pop("port", "")
    address = _address(host or ("localhost" if port else ""), port)
    return _checked_url(f"mysql+pymysql://{_credentials(pairs)}{address}/{quote(database, safe='')}{_query_string(pairs)}")


def _postgres_pairs(text: str) -> str:
    """Convert libpq's `dbname=lake host=…` to a URL."""
    pairs = _parse_pairs(text, "a PostgreSQL catalog", "dbname=lake host=localhost user=me", libpq=True)
    credentials = _credentials(pairs)
    host, port = pairs.get("host", ""), pairs.get("port", "")
    if host.startswith("/") or "," in host:
        address = ""
    else:
        pairs.pop("host", None)
        pairs.pop("port", None)
        address = _address(host, port)
    database = quote(pairs.pop("dbname", ""), safe="")
    return _checked_url(f"postgresql+psycopg://{credentials}{address}/{database}{_query_string(pairs)}")


def _address(host: str, port: str) -> str:
    """Return the host and port of a URL, in which an IPv6 address has brackets."""
    is_ipv6 = host.count(":") > 1 and not host.startswith("[")
    return (f"[{host}]" if is_ipv6 else host) + (f":{port}" if port else "")


def _parse_pairs(text: str, what: str, example: str, *, libpq: bool) -> dict[str, str]:
    """Parse `key=value` pairs separated by spaces; a value with spaces is in single quotes.

    Args:
        text: the pairs.
        what: the kind of catalog, for errors.
        example: an example of its pairs, for errors.
        libpq: whether the pairs are those of libpq and not of MySQL.

    Raises:
        ConfigurationError: the text does not consist of such pairs.
    """
    pairs: dict[str, str] = {}
    position, pair = 0, _LIBPQ_PAIR if libpq else _MYSQL_PAIR
    while position < len(text):
        match = pair.match(text, position)
        if match is None:
            raise ConfigurationError(f"{what} is described by key=value pairs, such as {example}")
        quoted = match[2]
        value = match[3] if quoted is None else quoted
        pairs[match[1]] = value if quoted is None and not libpq else _ESCAPED.sub(r"\1", value)
        position = match.end()
    return pairs


def _credentials(pairs: dict[str, str]) -> str:
    """Return `user:password@` of a URL, and remove the user and the password from the pairs."""
    user, password = pairs.pop("user", ""), pairs.pop("password", "")
    credentials = quote(user, safe="") + (f":{quote(password, safe='')}" if password else "")
    return credentials + ("@" if credentials else "")


def _query_string(pairs: Mapping[str, str]) -> str:
    query = "&".join(f"{key}={quote(value, safe='/,')}" for key, value in pairs.items())
    return f"?{query}" if query else ""
