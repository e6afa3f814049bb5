"""Redact the address of a catalog database: hide its password, and all options that are not known to be harmless."""

from __future__ import annotations

import re

HIDDEN = "********"

_HARMLESS = re.compile(
    r"application_name|channel_binding|charset|client_encoding|connect_timeout|database|db|dbname|gssencmode|host|hostaddr|keepalives|port|service"
    r"|socket|ssl_ca|ssl_cert|sslcert|sslmode|sslrootcert|target_session_attrs|unix_socket|user",
    re.IGNORECASE,
)
"""Keys of PostgreSQL and MySQL whose values may be shown. Any other value is hidden, because its key may be a misspelled `password`."""
_URL_PASSWORD = re.compile(r"^([^:/?#@]*:).*(?=@)", re.DOTALL)
_URL_OPTION = re.compile(r"([\w.\-]+)(\s*=\s*)(.*?)(?=&[\w.\-]+\s*=|$)", re.DOTALL)
_KEY_VALUE = re.compile(r"([\w.\-]+)(\s*=\s*)('(?:[^'\\]|\\.)*'|\S*)")


def redacted_url(url: str) -> str:
    """Hide the password of a URL, which may contain any character, even `@`, and all options that may be secret."""
    scheme, slashes, rest = url.partition("//")
    return scheme + slashes + _redacted(_URL_OPTION, _URL_PASSWORD.sub(rf"\1{HIDDEN}", rest))


def redacted_pairs(text: str) -> str:
    """Hide all values that may be secret in `key=value` pairs, as libpq has them."""
    return _redacted(_KEY_VALUE, text)


def _redacted(pair: re.Pattern[str], text: str) -> str:
    """Hide the values of pairs whose keys are not known to be harmless."""
    return pair.sub(lambda match: match[0] if _HARMLESS.fullmatch(match[1]) else f"{match[1]}{match[2]}{HIDDEN}", text)
