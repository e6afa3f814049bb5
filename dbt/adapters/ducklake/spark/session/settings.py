"""Check the Spark part of a profile, and build the Spark configuration from it, without importing Spark.

There are two sets of session settings: `PROTECTED` settings are required for correct reads and writes of a lake, and other values for them
are refused; a profile may override `session_defaults`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlparse

from ...errors import ConfigurationError
from .machine import available_cores, available_memory
from .sensitive import REDACTED, REDACTION

DEFAULT_MASTER = "local[*]"
_NO_CALL_SITES = {"spark.python.sql.dataFrameDebugging.enabled": "false"}
"""Turns off the Python locations in errors: for them, PySpark makes six calls to the JVM for every operation on a column, which is a tenth
of the time of a small statement. A profile can turn them on for Python models.
"""
IO_ENCRYPTION = "spark.io.encryption.enabled"
"""Spark's setting that encrypts its temporary files: shuffles, spilled and cached rows, and large data that PySpark passes to the JVM."""
_SHORT_HISTORY = {
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "1000",
}
"""How much of its history Spark keeps in memory for its UI; by default 1,000 queries with their plans, also if nobody can see them."""
_FEWER_THREADS = {"spark.sql.shuffleExchange.maxThreadThreshold": "128", "spark.sql.resultQueryStage.maxThreadThreshold": "128"}
"""Spark starts a thread for each query and each shuffle until it has this many, and ends those that are idle for a minute. Its default for
both is 1024, and 128 for broadcasts.
"""
_NEW_OBJECTS = {"spark.hadoop.fs.s3a.performance.flags": "create"}
"""Spark's connector for S3 does not check, with a HEAD and a listing, whether a new file exists: our names are uuids."""
_PAGE_SIZE = "2m"
"""Spark's page size, and so the minimum memory of a broadcast join. A table with delete files needs two or three such joins. Spark's
default, 1/16 of the memory of each core up to 64 MiB, allows 30 such joins on two cores. With more, Spark drops and rebuilds them,
so that a query of many tables is twenty times slower, or fails ("Could not allocate memory to grow BytesToBytesMap"):
benchmarks/bench_many_tables.py.
"""


@dataclass(frozen=True)
class Protected:
    """A session setting that must not change, because rows would be read or written incorrectly."""

    value: str
    reason: str


_IDS = "columns are matched by DuckLake's column ids, otherwise a renamed column reads as NULL"
_MISSING = "a missing or corrupt data file must be an error, and not fewer rows"
_CALENDAR = "dates and timestamps use the proleptic Gregorian calendar, otherwise those before 1582 are shifted by days"
_TYPES = "files are read with the column types of the catalog"
_LISTING = "the list of a table's files comes from the catalog, and not from their directory"

PROTECTED: Mapping[str, Protected] = {
    "spark.sql.parquet.fieldId.read.enabled": Protected("true", _IDS),
    "spark.sql.parquet.fieldId.read.ignoreMissing": Protected("false", _IDS),
    "spark.sql.parquet.fieldId.write.enabled": Protected("true", "other readers of the lake match columns by the ids in its files"),
    "spark.sql.files.ignoreMissingFiles": Protected("false", _MISSING),
    "spark.sql.files.ignoreCorruptFiles": Protected("false", _MISSING),
    "spark.sql.parquet.outputTimestampType": Protected("TIMESTAMP_MICROS", "DuckLake's timestamps have microseconds"),
    "spark.sql.parquet.datetimeRebaseModeInRead": Protected("CORRECTED", _CALENDAR),
    "spark.sql.parquet.datetimeRebaseModeInWrite": Protected("CORRECTED", _CALENDAR),
    "spark.sql.parquet.int96RebaseModeInRead": Protected("CORRECTED", _CALENDAR),
    "spark.sql.parquet.int96RebaseModeInWrite": Protected("CORRECTED", _CALENDAR),
    "spark.sql.parquet.inferTimestampNTZ.enabled": Protected("true", _TYPES),
    "spark.sql.parquet.int96TimestampConversion": Protected(
        "false", "an INT96 timestamp of a file is in UTC, independent of the session's time zone"
    ),
    "spark.sql.parquet.binaryAsString": Protected("false", _TYPES),
    "spark.sql.legacy.parquet.nanosAsLong": Protected("true", "nanoseconds are read as BIGINT, which the scan converts to timestamps"),
    "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing": Protected(
        "false", "a struct whose fields are all newer than a file is not NULL in its rows"
    ),
    "spark.sql.timeType.enabled": Protected("true", "columns of the type TIME could not be read without it"),
    "spark.sql.parser.escapedStringLiterals": Protected("false", "the SQL of this adapter escapes string literals with a backslash"),
    "spark.sql.caseSensitive": Protected("false", "names in a lake are case-insensitive"),
    "spark.sql.streaming.fileStreamSink.ignoreMetadata": Protected("false", _LISTING),
    "spark.sql.sources.parallelPartitionDiscovery.threshold": Protected("100000", _LISTING),
}
"""Settings that a profile, a node and SET cannot change."""

REQUIRED: Mapping[str, str] = {key: each.value for key, each in PROTECTED.items()}
"""The protected settings with their values."""


@dataclass(frozen=True)
class SparkSettings:
    """How to get a Spark session.

    Args:
        master: the Spark master URL; None: as in `spark-defaults.conf` or `spark-submit`.
        remote: the Spark Connect URL (`sc://host:port`), instead of `master`.
        app_name: the application's name in Spark's UI.
        config: Spark configuration, which overrides our defaults.
        fast_start: for tests and CI: use only the JVM's first compiler (C1). Spark starts with half the CPU time, but long queries run
            slower.
        log_path: the file to append Spark's log to; None: the log is not kept.
        keep_alive: how long a local Spark waits for another command after this process: seconds, or a number with `s`, `m` or `h`, such
            as `15m`.

    Raises:
        ConfigurationError: a setting is wrong, or two contradict each other.
    """

    master: str | None = DEFAULT_MASTER
    remote: str | None = field(default=None, repr=False)
    app_name: str = "dbt-ducklake"
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    fast_start: bool = False
    log_path: str | None = None
    keep_alive: str | int | None = None

    def __post_init__(self) -> None:
        wrong = key_without_single_value(self.config)
        if wrong is not None:
            raise ConfigurationError(f"`{wrong}` in `spark.config` has no single value. Give it a string, a number, or true or false")
        object.__setattr__(self, "config", {str(k): as_text(v) for k, v in self.config.items()})
        if self.remote is not None:
            self._check_remote(self.remote)
        if self.keep_seconds is not None and (os.name != "posix" or not self.is_local):
            raise ConfigurationError(
                "`keep_alive` is for a local Spark on Linux or macOS, and this profile or system has none. Remove `keep_alive`"
            )
        require_allowed_settings(self.config)
        if "spark.remote" in self.config:
            raise ConfigurationError("Give the Spark Connect address as `remote`, not as the Spark setting spark.remote")
        if "spark.master" in self.config and self.config["spark.master"] != self.master:
            raise ConfigurationError("Give the Spark master as `master`, not as the Spark setting spark.master")

    def _check_remote(self, remote: str) -> None:
        if self.master not in (None, DEFAULT_MASTER):
            raise ConfigurationError("Give either a Spark `master` or a Spark Connect `remote`, not both")
        if not remote.startswith("sc://") and not remote.startswith("local"):
            raise ConfigurationError("`remote` must be a Spark Connect address such as sc://host:15002")
        if remote.startswith("sc://"):
            _require_connect_address(remote)
        if self.fast_start and not remote.startswith("local"):
            raise ConfigurationError(
                "`fast_start` is for a Spark that this process starts, and a `remote` Spark is already running. Remove `fast_start`"
            )

    @property
    def is_local(self) -> bool:
        """Whether Spark runs only in this process's driver."""
        return self.remote is None and self.master is not None and self.master.startswith("local")

    @property
    def starts_jvm(self) -> bool:
        """Whether a JVM is started here: for the driver, or for a Spark Connect server on this machine."""
        return self.remote is None or self.remote.startswith("local")

    @property
    def keep_seconds(self) -> float | None:
        """How long Spark waits for another command, in seconds; None: it ends with this process.

        Raises:
            ConfigurationError: `keep_alive` is not a duration.
        """
        if self.keep_alive is None:
            return None
        match = re.fullmatch(r"\s*(\d+)\s*([smh]?)\s*", str(self.keep_alive))
        if match is None:
            raise ConfigurationError(f"`keep_alive` must be a duration such as 90s, 15m or 2h, not {self.keep_alive!r}")
        seconds = int(match.group(1)) * {"": 1, "s": 1, "m": 60, "h": 3600}[match.group(2)]
        return seconds or None  # 0 means: do not keep it

    def with_encrypted_files(self) -> SparkSettings:
        """Return these settings, for a local Spark with encryption of its temporary files; a cluster has its own setting for that."""
        return replace(self, config={IO_ENCRYPTION: "true", **self.config}) if self.is_local else self

    def hiding(self, secrets: Iterable[str]) -> SparkSettings:
        """Return these settings for a Spark whose UI, event log and `SET` show no setting that contains one of these values."""
        used = [each for each in secrets if any(each in value for value in self.config.values())]
        if not used or not self.starts_jvm:
            return self
        patterns = [self.config.get(REDACTION, REDACTED), f"^{re.escape(REDACTION)}$", *map(re.escape, used)]
        return replace(self, config={**self.config, REDACTION: "|".join(patterns)})

    def local_cores(self) -> int | None:
        """Return the number of worker threads of a local master; None for a cluster."""
        if not self.is_local or self.master is None or self.master.startswith("local-cluster"):
            return None
        match = re.fullmatch(r"local\[\s*(\d+|\*)\s*(?:,.*)?\]", self.master)
        if match is None:
            return 1
        return available_cores() if match.group(1) == "*" else max(1, int(match.group(1)))

    def launch_config(self) -> dict[str, str]:
        """Return the configuration for starting Spark, including `config`, without Java options, which depend on the Java version."""
        config = {"spark.app.name": self.app_name}
        if self.remote is None:
            config |= {
                "spark.ui.enabled": "false",
                "spark.ui.showConsoleProgress": "false",
                "spark.scheduler.mode": "FAIR",
                REDACTION: REDACTED,
                **_NO_CALL_SITES,
                **_FEWER_THREADS,
                **_NEW_OBJECTS,
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
        config |= {**self.session_defaults(), **REQUIRED, **self.config}
        return config if config.get("spark.ui.enabled") != "false" else {**_SHORT_HISTORY, **config}

    def session_defaults(self) -> dict[str, str]:
        """Return the session settings that a profile may override."""
        config = {
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.ansi.enabled": "true",
            "spark.sql.storeAssignmentPolicy": "ANSI",
            "spark.sql.variable.substitute": "false",  # Spark would replace ${x} in names and text literals too
        }
        cores = self.local_cores()
        if cores is not None:
            config["spark.sql.shuffle.partitions"] = str(cores)
        return config

    def session_config(self) -> dict[str, str]:
        """Return the settings of every new session: the defaults, the profile's `spark.sql.` settings, and the protected settings."""
        own = {k: v for k, v in self.config.items() if k.startswith("spark.sql.")}
        return {**self.session_defaults(), **own, **REQUIRED}


def _default_driver_memory() -> str:
    """Return a quarter of the memory that this process may use, at least 1 GiB; 2 GiB if that is not known.

    A quarter is the JVM's own default; `spark-submit` would use 1 GiB.
    """
    total = available_memory()
    return "2g" if total is None else f"{max(1024, total // 4 // 2**20)}m"


def _require_connect_address(remote: str) -> None:
    """Refuse an address that PySpark would refuse. The error does not show it, as PySpark's would, because it can contain a token.

    Raises:
        ConfigurationError: the address is wrong.
    """
    address = urlparse("http" + remote[2:])
    try:
        address.port  # noqa: B018 (it is checked when it is read)
    except ValueError:
        fault = "its port is not a number"
    else:
        if not address.hostname:
            fault = "it has no host"
        elif address.path not in ("", "/") or address.query or address.fragment:
            fault = (
                "only parameters can follow the host and port, as in sc://host:15002/;token=…;use_ssl=true, and `#` and `?` are %23 and %3F"
            )
        elif address.params and any(parameter.count("=") != 1 for parameter in address.params.split(";")):
            fault = "each parameter is a key and a value such as use_ssl=true, and a `=` or `;` in a value is %3D or %3B"
        else:
            return
    raise ConfigurationError(f"`remote` must be a Spark Connect address such as sc://host:15002, but {fault}")


def require_allowed_settings(config: Mapping[str, str]) -> None:
    """Refuse settings that change `PROTECTED`.

    Raises:
        ConfigurationError: a protected setting has another value.
    """
    for key, value in config.items():
        require_allowed_setting(key, value)


def require_allowed_setting(key: str, value: str | None) -> None:
    """Refuse a change of a setting if rows would be read or written incorrectly with it.

    Args:
        key: the setting.
        value: the new value; None: Spark's initial value, as with RESET.

    Raises:
        ConfigurationError: the setting is protected and has another value.
    """
    known = PROTECTED.get(key.strip())
    if known is None or (value is not None and value.strip().lower() == known.value.lower()):
        return
    change = f"{key} cannot be reset" if value is None else f"{key}={value} is refused"
    raise ConfigurationError(f"Spark setting {change}, because {known.reason}. Leave it out: dbt-ducklake sets it to {known.value}")


def key_without_single_value(settings: Mapping[Any, object]) -> str | None:
    """Return the first key of a YAML map whose value is a map, a list or missing; None if there is none."""
    return next((str(key) for key, value in settings.items() if value is None or isinstance(value, Mapping | list | tuple)), None)


def as_text(value: object) -> str:
    """Convert a YAML value to a string for Spark."""
    return str(value).lower() if isinstance(value, bool) else str(value)
