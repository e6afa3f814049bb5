"""Spark settings of a single node: check them, set them in the node's session, and restore the previous values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError
from .settings import REQUIRED, as_text, key_without_single_value, require_allowed_setting, require_allowed_settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PreviousSettings = dict[str, str | None]
"""Setting → its previous value; None if it was not set."""


def node_settings(given: Any) -> dict[str, str]:
    """Return the config `spark_config` of a node as strings; empty for None.

    Raises:
        ConfigurationError: it is not a map of settings, or it changes a protected setting.
    """
    if given is None:
        return {}
    wrong = key_without_single_value(given) if isinstance(given, Mapping) else None
    if wrong is not None or not isinstance(given, Mapping):
        found = f"`{wrong}` has no single value" if wrong is not None else f"it is a {type(given).__name__}"
        raise ConfigurationError(
            f"The config spark_config must be a map of settings to single values, such as {{spark.sql.shuffle.partitions: 200}}; {found}"
        )
    settings = {str(key): as_text(value) for key, value in given.items()}
    require_allowed_settings(settings)
    return settings


def apply_settings(session: SparkSession, settings: Mapping[str, str]) -> PreviousSettings:
    """Set all settings, or none if one fails.

    Returns:
        The previous values, for `restore_settings`.

    Raises:
        ConfigurationError: a session cannot change one of the settings.
    """
    from pyspark.errors import PySparkException

    previous: PreviousSettings = {}
    for key, value in settings.items():
        try:
            before = session.conf.get(key, None)
            session.conf.set(key, value)
        except PySparkException as error:
            restore_settings(session, previous)
            reason = str(error).partition("\n")[0].rstrip(". ")
            raise ConfigurationError(
                f"The config spark_config cannot set {key}: {reason}. "
                "Settings for all of Spark belong under `spark: {config: …}` in the profile"
            ) from error
        previous[key] = before
    return previous


def restore_settings(session: SparkSession, previous: PreviousSettings) -> None:
    """Restore the previous values of settings."""
    for key, value in previous.items():
        if value is None:
            session.conf.unset(key)
        else:
            session.conf.set(key, value)


def restore_protected(session: SparkSession) -> list[tuple[str, str | None]]:
    """Restore the protected settings of a session after a statement that may have changed them indirectly.

    RESET changes all settings at once; with EXECUTE IMMEDIATE and `${…}` the changed setting is not in the statement's text.

    Returns:
        The settings that had another value, with that value; None if it was not set.
    """
    present = session.conf.getAll
    changed = [(key, present.get(key)) for key, value in REQUIRED.items() if (present.get(key) or "").lower() != value.lower()]
    for key, _ in changed:
        session.conf.set(key, REQUIRED[key])
    return changed


def require_protected(session: SparkSession) -> None:
    """Restore the protected settings after a statement, and refuse the statement if it changed one.

    Raises:
        ConfigurationError: a protected setting had another value.
    """
    for key, value in restore_protected(session):
        require_allowed_setting(key, value)
