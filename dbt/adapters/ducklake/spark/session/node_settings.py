"""Settings of Spark that a node has for itself: checked before Spark is asked, set in the node's session, and taken back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...errors import ConfigurationError
from .settings import REQUIRED, as_text, refuse_what_reading_needs, require_allowed_setting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Former = dict[str, str | None]
"""What settings were; None: not set."""


def node_settings(given: Any) -> dict[str, str]:
    """The settings that a node asks for, as texts; none for None.

    Raises:
        ConfigurationError: they are no map of settings, or reading and writing a lake depends on one of them.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping) or any(value is None or isinstance(value, Mapping | list) for value in given.values()):
        raise ConfigurationError(
            f"The config spark_config is a map of Spark settings, such as {{spark.sql.shuffle.partitions: 200}}; it is {given!r}"
        )
    settings = {str(key): as_text(value) for key, value in given.items()}
    refuse_what_reading_needs(settings)
    return settings


def change(session: SparkSession, settings: Mapping[str, str]) -> Former:
    """Set them all, or none.

    Returns:
        What `take_back` needs.

    Raises:
        ConfigurationError: Spark lets no session change one of them.
    """
    from pyspark.errors import PySparkException

    former: Former = {}
    for key, value in settings.items():
        try:
            before = session.conf.get(key, None)
            session.conf.set(key, value)
        except PySparkException as error:
            take_back(session, former)
            reason = str(error).partition("\n")[0].rstrip(". ")
            raise ConfigurationError(
                f"The config spark_config cannot set {key}: {reason}. "
                "What holds for all of Spark stands under `spark: {config: …}` in the profile"
            ) from error
        former[key] = before
    return former


def take_back(session: SparkSession, former: Former) -> None:
    """Make settings what they were."""
    for key, value in former.items():
        if value is None:
            session.conf.unset(key)
        else:
            session.conf.set(key, value)


def restore_protected(session: SparkSession) -> list[tuple[str, str | None]]:
    """Give the protected settings of a session their values again, after a statement that may have changed them unseen.

    RESET changes all settings at once; EXECUTE IMMEDIATE and `${…}` hide which one a statement changes.

    Returns:
        The settings that had another value, with that value; None if it had none.
    """
    present = session.conf.getAll
    changed = [(key, present.get(key)) for key, value in REQUIRED.items() if (present.get(key) or "").lower() != value.lower()]
    for key, _ in changed:
        session.conf.set(key, REQUIRED[key])
    return changed


def require_protected(session: SparkSession) -> None:
    """Refuse, after the fact, a statement that changed a protected setting unseen; the settings have their values again.

    Raises:
        ConfigurationError: one had another value.
    """
    for key, value in restore_protected(session):
        require_allowed_setting(key, value)
