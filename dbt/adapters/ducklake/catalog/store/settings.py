"""The settings of one lake. Each is declared here only: profiles, entries of `attach` and `LakeSettings` have these fields.

This module does not import SQLAlchemy, because profiles are checked before opening a lake.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from ...errors import ConfigurationError
from ...format.paths import WITHOUT_PASSWORD, has_password
from .location import CatalogLocation, parse_location

ISOLATION_LEVELS = ("snapshot", "serializable")


@dataclass(frozen=True)
class CatalogSettings:
    """How to open a lake. A setting that is None is not set.

    Raises:
        ConfigurationError: a setting is wrong, or two contradict each other; the message names them.
    """

    path: str = field(repr=False)
    """The catalog database: an SQLAlchemy URL, DuckDB's `ducklake:…` attach string, or a file name; see `parse_location`."""
    data_path: str | None = field(default=None, repr=False)
    """The directory or URL of a new lake's Parquet files; a relative path is relative to the working directory and stored absolute. An
    existing lake has it in its catalog, and a different one is an error unless the lake has no tables yet.
    """
    database: str = "lake"
    """The name of the lake in SQL, `database.schema.table`, and in errors."""
    metadata_schema: str | None = None
    """The schema of the catalog database that contains the lake's tables."""
    read_only: bool = False
    """Whether to refuse every change."""
    create_if_not_exists: bool | None = None
    """Whether to create the lake if the catalog database has none; by default yes, unless the lake is only read."""
    encrypted: bool | None = None
    """Whether the files of a new lake are encrypted; by default no. An existing lake that differs is an error."""
    data_inlining_row_limit: int | None = None
    """The number of rows up to which a statement's rows are inlined, unless an option of the lake sets it."""
    automatic_migration: bool | None = None
    """Whether to migrate a lake of an older format version to the current one when it is opened; by default no."""
    isolation_level: str | None = None
    """`snapshot`, the default, or `serializable`: a concurrent change of what a transaction has read is a conflict in tables that it also
    changes, or in all tables.
    """
    snapshot_version: int | None = None
    """Open the lake read-only at this snapshot, which is then its newest."""
    snapshot_time: datetime | None = None
    """Open the lake read-only at the newest snapshot up to this timestamp; one without a zone is in UTC."""

    def __post_init__(self) -> None:
        only_read = "`read_only: true`" if self.read_only else "`snapshot_version` or `snapshot_time`" if self.is_past else None
        for name in ("create_if_not_exists", "automatic_migration"):
            if only_read and getattr(self, name):
                raise ConfigurationError(f"{only_read} and `{name}: true` contradict each other; remove one of them")
        limit = self.data_inlining_row_limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise ConfigurationError(f"`data_inlining_row_limit` must be 0 (rows always go to files) or more, not {limit!r}")
        if self.isolation_level not in (None, *ISOLATION_LEVELS):
            raise ConfigurationError(f"`isolation_level` must be {' or '.join(ISOLATION_LEVELS)}, not {self.isolation_level!r}")
        if self.data_path is not None and has_password(self.data_path):
            raise ConfigurationError(f"`data_path` contains a password or a secret key; {WITHOUT_PASSWORD}")
        try:
            parse_location(self.path, metadata_schema=self.metadata_schema)
        except ConfigurationError as error:
            raise ConfigurationError(f"`path`: {error}") from error

    @property
    def location(self) -> CatalogLocation:
        """The catalog database."""
        return parse_location(self.path, metadata_schema=self.metadata_schema)

    @property
    def is_serializable(self) -> bool:
        """Whether the committed transactions are equivalent to a serial order."""
        return self.isolation_level == "serializable"

    @property
    def snapshot(self) -> tuple[int | None, datetime | None]:
        """The id or the timestamp of the snapshot at which the lake is opened; both None for the newest."""
        return self.snapshot_version, self.snapshot_time

    @property
    def is_past(self) -> bool:
        """Whether the lake is opened at a given snapshot."""
        return self.snapshot != (None, None)

    @property
    def only_reads(self) -> bool:
        """Whether the lake is opened for reading only."""
        return self.read_only or self.is_past

    @property
    def creates(self) -> bool:
        """Whether a lake that does not exist is created."""
        return not self.only_reads if self.create_if_not_exists is None else self.create_if_not_exists
