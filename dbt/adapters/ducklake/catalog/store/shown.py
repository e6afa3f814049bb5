"""Show the address of a catalog database: of its options only those that are known to be harmless."""

from __future__ import annotations

import re

HIDDEN = "********"

_HARMLESS = re.compile(
    r"application_name|channel_binding|charset|client_encoding|connect_timeout|database|db|dbname|gssencmode|host|hostaddr|keepalives|port|service"
    r"|socket|ssl_ca|ssl_cert|sslcert|sslmode|sslrootcert|target_session_attrs|unix_socket|user",
    re.IGNORECASE,
)
"""Keys of PostgreSQL and MySQL whose values are shown. A misspelled key is not among them."""
_PASSWORD = re.compile(r"^([^:/?#@]*:).*(?=@)", re.DOTALL)
_OPTION = re.compile(r"([\w.\-]+)(\s*=\s*)(.*?)(?=&[\w.\-]+\s*=|$)", re.DOTALL)
_PAIR = re.compile(r"([\w.\-]+)(\s*=\s*)('(?:[^'\\]|\\.)*'|\S*)")


def shown_url(url: str) -> str:
    """Return a URL without its password, which may contain any character, also `@`, and without options that may be secret."""
    scheme, slashes, rest = url.partition("//")
    credentials, at, address = _PASSWORD.sub(rf"\1{HIDDEN}", rest).rpartition("@")
    return scheme + slashes + credentials + at + _without_secrets(_OPTION, address)


def shown_pairs(text: str) -> str:
    """Return the `key=value` pairs of libpq without values that may be secret."""
    return _without_secrets(_PAIR, text)


def _without_secrets(pair: re.Pattern[str], text: str) -> str:
    return pair.sub(lambda match: match[0] if _HARMLESS.fullmatch(match[1]) else f"{match[1]}{match[2]}{HIDDEN}", text)
