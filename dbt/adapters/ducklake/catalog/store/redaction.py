"""Redact the address of a catalog database: hide its password, and all options that are not known to be harmless."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "********"

_HARMLESS = re.compile(
    r"application_name|channel_binding|charset|client_encoding|connect_timeout|database|db|dbname|gssencmode|host|hostaddr|keepalives|port|service"
    r"|socket|ssl_ca|ssl_cert|sslcert|sslmode|sslrootcert|target_session_attrs|unix_socket|user",
    re.IGNORECASE,
)
"""Keys of PostgreSQL and MySQL whose values may be shown. Any other value is hidden, because its key may be a misspelled `password`."""
_INNER_ADDRESS = re.compile(r"://|:.*@|(?:pas|pw)\w*\s*=", re.DOTALL | re.IGNORECASE)
"""Matches a value that may itself be an address with a password. It is hidden even if its key is harmless."""
_URL_PASSWORD = re.compile(r"^([^:/?#@]*:).*(?=@)", re.DOTALL)
_USER = re.compile(r"([^:/?#@]*)(?::\*+)?@")
"""The user of a URL, with a password that is hidden."""
_URL_OPTION = re.compile(r"([\w.\-]+)(\s*=\s*)(.*?)(?=&[\w.\-]+\s*=|$)", re.DOTALL)
_KEY_VALUE = re.compile(r"([\w.\-]+)(\s*=\s*)('(?:[^'\\]|\\.)*'|(?:\\.|\S)*)", re.DOTALL)


def redacted_url(url: str) -> str:
    """Hide the password of a URL, which may contain any character, even `@`, and all options that may be secret."""
    scheme, slashes, rest = url.partition("//")
    return scheme + slashes + _redacted(_URL_OPTION, _URL_PASSWORD.sub(rf"\1{HIDDEN}", rest))


def has_inner_address(url: str) -> bool:
    """Whether the user, the host or the database of a URL is itself an address, whose password would be shown as a part of the name."""
    names = redacted_url(url).partition("//")[2].partition("?")[0]
    user = _USER.match(names)
    parts = [names] if user is None else [user[1], names[user.end() :]]
    return any(_INNER_ADDRESS.search(unquote(part)) for part in parts)


def redacted_pairs(text: str) -> str:
    """Hide all values that may be secret in `key=value` pairs, as libpq has them."""
    return _redacted(_KEY_VALUE, text)


def _redacted(pair: re.Pattern[str], text: str) -> str:
    """Hide the values of pairs whose keys are not known to be harmless, and values that are addresses."""

    def shown(match: re.Match[str]) -> str:
        harmless = _HARMLESS.fullmatch(match[1]) and not _INNER_ADDRESS.search(unquote(match[3]))
        return match[0] if harmless else f"{match[1]}{match[2]}{HIDDEN}"

    return pair.sub(shown, text)
