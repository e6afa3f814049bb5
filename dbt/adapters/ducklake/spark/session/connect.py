"""Spark Connect: recognize its sessions, and start a client."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from .java import find_java
from .private_settings import private_settings
from .settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOST_SESSION = re.compile(r"\[(?:INVALID_HANDLE\.SESSION_(?:CHANGED|CLOSED|NOT_FOUND)|NO_ACTIVE_SESSION)\]")


def is_connect(session: SparkSession) -> bool:
    """Whether the session is a Spark Connect client, without access to a JVM."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_lost_session(error: Exception) -> bool:
    """Whether an error says that the server does not have the session any more."""
    return _LOST_SESSION.search(str(error)) is not None


def has_closed(session: SparkSession) -> bool:
    """Return whether the server has closed a session. Any other error returns False: the next statement raises it."""
    try:
        session.conf.get("spark.sql.ansi.enabled")
    except Exception as error:
        return is_lost_session(error)
    return False


def connect(settings: SparkSettings, warn: Callable[[str], None]) -> SparkSession:
    """Connect to the server at `settings.remote`; PySpark starts one if that is `local`.

    Args:
        settings: how to start the client.
        warn: receives a message if the Java of JAVA_HOME is not used.
    """
    from pyspark.sql import SparkSession

    assert settings.remote is not None
    builder = SparkSession.builder.remote(settings.remote).appName(settings.app_name)
    if settings.remote.startswith("local"):  # PySpark gives a builder's settings to the server as arguments
        java = find_java()
        if java.warning is not None:
            warn(java.warning)
        with private_settings(settings.config, {"JAVA_HOME": str(java.home)}):
            return builder.getOrCreate()
    for key, value in settings.config.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
