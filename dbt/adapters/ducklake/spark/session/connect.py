"""Spark Connect: recognize its sessions, and start a client."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .java import find_java, require_pair, usable_releases
from .private_settings import private_settings
from .sensitive import REDACTED, REDACTION
from .settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_JAVA_OF_SERVER = "SELECT 1 AS `${system:java.version}`"
"""A query whose column has the server's Java as its name, because Spark replaces the variable when it parses the text."""
_LOST_SESSION = re.compile(r"\[(?:INVALID_HANDLE\.SESSION_(?:CHANGED|CLOSED|NOT_FOUND)|NO_ACTIVE_SESSION)\]")


def is_connect(session: SparkSession) -> bool:
    """Whether the session is a Spark Connect client, which has no access to the JVM."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_lost_session(error: Exception) -> bool:
    """Whether an error says that the server does not have the session any more."""
    return _LOST_SESSION.search(str(error)) is not None


def is_closed_by_server(session: SparkSession) -> bool:
    """Ask the server whether it has closed a session. After any other error, return False: the next statement will raise that error."""
    try:
        session.conf.get("spark.sql.ansi.enabled")
    except Exception as error:
        return is_lost_session(error)
    return False


def require_java_of_server(session: SparkSession) -> None:
    """Require a suitable Java of the session's server if some Java is too new for it. No job is run: with such a Java it would never end.

    Args:
        session: a Spark Connect client in which `spark.sql.variable.substitute` is on, as it is by default.

    Raises:
        ConfigurationError: the jobs of this server would never end.
    """
    if usable_releases(session.version).last is None:
        return
    (java,) = session.sql(_JAVA_OF_SERVER).columns
    if java[:1].isdigit():  # a service may hide its system properties
        require_pair(java, session.version, "The Spark Connect server")


def connect(settings: SparkSettings, warn: Callable[[str], None]) -> SparkSession:
    """Connect to the server at `settings.remote`. If that begins with `local`, PySpark starts the server.

    Args:
        settings: the remote address, the application name and the Spark settings.
        warn: receives a message if the Java in JAVA_HOME cannot be used and another one is.

    Raises:
        ConfigurationError: PySpark must start a server, and no suitable Java was found; or the server runs on an unsuitable one.
    """
    from pyspark.sql import SparkSession

    assert settings.remote is not None
    builder = SparkSession.builder.remote(settings.remote).appName(settings.app_name)
    if settings.remote.startswith("local"):  # the builder would pass settings as process arguments, which every user can see
        java = find_java()
        if java.warning is not None:
            warn(java.warning)
        with private_settings({REDACTION: REDACTED, **settings.config}, {"JAVA_HOME": str(java.home)}):
            return builder.getOrCreate()
    for key, value in settings.config.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    require_java_of_server(session)
    return session
