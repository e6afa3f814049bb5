"""What a profile says about Spark, checked, and the Spark configuration that follows from it. Imports no Spark.

Two sets of session configuration: `PROTECTED` is what makes reads and writes of a lake right (whoever contradicts it
is refused); `session_defaults` is what a profile may change.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...errors import ConfigurationError

DEFAULT_MASTER = "local[*]"
_NO_CALL_SITES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Else PySpark asks the JVM six things at every operation on a column, to tell in an error where in Python it stood: a tenth of the time of
a small statement. A profile may have it for its Python models.
"""
_PAGE_SIZE = "2m"
"""What a join that is sent to all tasks takes at least. A table with delete files costs two or three such joins, and Spark's own choice, a
16th of the memory of each core up to 64 MiB, leaves room for 30 on two cores. Beyond that, a query of many tables drops them and makes them
again, twenty times slower, or fails ("Could not allocate memory to grow BytesToBytesMap"): benchmarks/bench_many_tables.py.
"""


@dataclass(frozen=True)
class Protected:
    """A session setting that nobody may change, since rows would be read or written wrongly."""

    value: str
    reason: str


_IDS = "columns are matched by DuckLake's column ids, else a renamed column reads as NULL"
_GONE = "a data file that is missing or broken must be an error, never fewer rows"
_CALENDAR = "dates and timestamps are of the proleptic Gregorian calendar, else those before 1582 are moved by days"
_TYPES = "the types of columns come from the catalog, and files are read as these"
_LISTING = "the list of a table's files comes from the catalog, and not from their directory"

PROTECTED: Mapping[str, Protected] = {
    "spark.sql.parquet.fieldId.read.enabled": Protected("true", _IDS),
    "spark.sql.parquet.fieldId.read.ignoreMissing": Protected("false", _IDS),
    "spark.sql.parquet.fieldId.write.enabled": Protected("true", "other readers of the lake match columns by the ids in its files"),
    "spark.sql.files.ignoreMissingFiles": Protected("false", _GONE),
    "spark.sql.files.ignoreCorruptFiles": Protected("false", _GONE),
    "spark.sql.parquet.outputTimestampType": Protected("TIMESTAMP_MICROS", "DuckLake's timestamps have microseconds"),
    "spark.sql.parquet.datetimeRebaseModeInRead": Protected("CORRECTED", _CALENDAR),
    "spark.sql.parquet.datetimeRebaseModeInWrite": Protected("CORRECTED", _CALENDAR),
    "spark.sql.parquet.int96RebaseModeInRead": Protected("CORRECTED", _CALENDAR),
    "spark.sql.parquet.int96RebaseModeInWrite": Protected("CORRECTED", _CALENDAR),
    "spark.sql.parquet.inferTimestampNTZ.enabled": Protected("true", _TYPES),
    "spark.sql.parquet.int96TimestampConversion": Protected(
        "false", "an INT96 timestamp of a file is in UTC, whatever the session's zone is"
    ),
    "spark.sql.parquet.binaryAsString": Protected("false", _TYPES),
    "spark.sql.legacy.parquet.nanosAsLong": Protected("true", "nanoseconds are read as BIGINT, of which the scan makes timestamps"),
    "spark.sql.timeType.enabled": Protected("true", "columns of the type TIME could not be read"),
    "spark.sql.caseSensitive": Protected("false", "names of a lake are compared without case"),
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": Protected("false", _LISTING),
    "spark.sql.sources.parallelPartitionDiscovery.threshold": Protected("100000", _LISTING),
}
"""What a profile, a node, and a SET are refused."""

REQUIRED: Mapping[str, str] = {key: each.value for key, each in PROTECTED.items()}
"""The protected settings with their values."""


@dataclass(frozen=True)
class SparkSettings:
    """How to get a Spark session.

    Args:
        master: Spark master URL; None leaves it to `spark-defaults.conf` or `spark-submit`.
        remote: Spark Connect URL (`sc://host:port`); then there is no `master`.
        app_name: what Spark's own pages call the application.
        config: Spark configuration, merged over our defaults.
        fast_start: for tests and CI: local start in 3 s instead of 8, by a class data archive in the cache directory (180 MB, made when the
            first session ends) and the first-tier compiler only, so long queries run slower.
    """

    master: str | None = DEFAULT_MASTER
    remote: str | None = None
    app_name: str = "dbt-ducklake"
    config: Mapping[str, str] = field(default_factory=dict)
    fast_start: bool = False
    log_path: str | None = None
    """Where to append what Spark logs; None: nowhere that stays."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "config", {str(k): as_text(v) for k, v in self.config.items()})
        if self.remote is not None:
            self._check_remote(self.remote)
        refuse_what_reading_needs(self.config)
        if "spark.remote" in self.config:
            raise ConfigurationError("Give the Spark Connect address as `remote`, not as the Spark setting spark.remote")
        if "spark.master" in self.config and self.config["spark.master"] != self.master:
            raise ConfigurationError("Give the Spark master as `master`, not as the Spark setting spark.master")

    def _check_remote(self, remote: str) -> None:
        if self.master not in (None, DEFAULT_MASTER):
            raise ConfigurationError("Give either a Spark `master` or a Spark Connect `remote`, not both")
        if not remote.startswith("sc://") and not remote.startswith("local"):
            raise ConfigurationError(f"`remote` must be a Spark Connect address such as sc://host:15002, not {remote!r}")
        if self.fast_start and not remote.startswith("local"):
            raise ConfigurationError("`fast_start` is for a Spark that this process starts; a `remote` one is running already")

    @property
    def is_local(self) -> bool:
        """The driver of this process does all the work."""
        return self.remote is None and self.master is not None and self.master.startswith("local")

    def local_cores(self) -> int | None:
        """Number of worker threads of a local master; None for a cluster."""
        if not self.is_local or self.master is None or self.master.startswith("local-cluster"):
            return None
        match = re.fullmatch(r"local\[\s*(\d+|\*)\s*(?:,.*)?\]", self.master)
        if match is None:
            return 1
        return available_cores() if match.group(1) == "*" else max(1, int(match.group(1)))

    def launch_config(self) -> dict[str, str]:
        """What must be known when Spark starts, `config` merged in; without the Java options, which depend on the Java found."""
        config = {"spark.app.name": self.app_name}
        if self.remote is None:
            config |= {
                "spark.ui.enabled": "false",
                "spark.ui.showConsoleProgress": "false",
                "spark.scheduler.mode": "FAIR",
                **_NO_CALL_SITES,
            }
        if self.is_local:
            config |= {
                "spark.driver.host": "127.0.0.1",
                "spark.driver.bindAddress": "127.0.0.1",
                "spark.driver.memory": _default_driver_memory(),
                "spark.buffer.pageSize": _PAGE_SIZE,
            }
        if self.master is not None and self.remote is None:
            config["spark.master"] = self.master
        return {**config, **self.session_defaults(), **REQUIRED, **self.config}

    def session_defaults(self) -> dict[str, str]:
        """Session configuration that a profile may override."""
        config = {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.ansi.enabled": "true",
            "spark.sql.storeAssignmentPolicy": "ANSI",
        }
        cores = self.local_cores()
        if cores is not None:
            config["spark.sql.shuffle.partitions"] = str(cores)
        return config

    def session_config(self) -> dict[str, str]:
        """What every new session gets: the defaults, the profile's own `spark.sql.` settings, and what is required."""
        own = {k: v for k, v in self.config.items() if k.startswith("spark.sql.")}
        return {**self.session_defaults(), **own, **REQUIRED}


def available_cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _default_driver_memory() -> str:
    """A quarter of the machine's memory, which is the JVM's own rule that `spark-submit` replaces by 1 GiB; at least 1 GiB."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return "2g"
    return f"{max(1024, total // 4 // 2**20)}m"


def refuse_what_reading_needs(config: Mapping[str, str]) -> None:
    """Refuse a setting that contradicts `PROTECTED`.

    Raises:
        ConfigurationError: there is one.
    """
    for key, value in config.items():
        require_allowed_setting(key, value)


def require_allowed_setting(key: str, value: str | None) -> None:
    """Refuse a change of one setting if rows would be read or written wrongly under it.

    Args:
        key: the setting.
        value: what it shall be; None: what Spark started with, as RESET has it.

    Raises:
        ConfigurationError: the setting is protected, and the value is not the one that it has.
    """
    known = PROTECTED.get(key.strip())
    if known is None or (value is not None and value.strip().lower() == known.value.lower()):
        return
    change = f"{key} cannot be reset" if value is None else f"{key}={value} is refused"
    raise ConfigurationError(f"Spark setting {change}, since {known.reason}. Leave it out: dbt-ducklake sets it to {known.value}")


def as_text(value: object) -> str:
    """YAML gives booleans and numbers; Spark takes texts."""
    return str(value).lower() if isinstance(value, bool) else str(value)
