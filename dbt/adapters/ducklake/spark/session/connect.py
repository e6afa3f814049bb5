"""Spark Connect: recognize its sessions, and start a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .private_settings import private_settings
from .settings import SparkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def is_connect(session: SparkSession) -> bool:
    """Whether the session is a Spark Connect client, without access to a JVM."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def connect(settings: SparkSettings) -> SparkSession:
    """Connect to the server at `settings.remote`; PySpark starts one if that is `local`."""
    from pyspark.sql import SparkSession

    assert settings.remote is not None
    builder = SparkSession.builder.remote(settings.remote).appName(settings.app_name)
    if settings.remote.startswith("local"):  # PySpark gives a builder's settings to the server as arguments
        with private_settings(settings.config):
            return builder.getOrCreate()
    for key, value in settings.config.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
