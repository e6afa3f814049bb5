"""The entries of `attach` in a profile: further lakes, each under an alias, with dbt-duckdb's field names where possible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtRuntimeError

from .catalog.store.location import parse_location
from .errors import ConfigurationError
from .format.identifiers import fold
from .snapshot_pin import pin
from .unknown import refuse_unknown

if TYPE_CHECKING:
    from .session import LakeSettings

_REFUSED = {
    "secret": "secrets of DuckDB do not exist here; put the credentials of the catalog database into `path`, with env_var(), "
    "and those of the storage into the environment and `spark.config`",
    "spark": "one Spark works on all lakes; set it next to `attach`",
    "schema": "set schemas where they are used, with `schema` of a source or model",
}
"""Fields that an entry cannot have, with the reason and what to do instead."""
_RESERVED = frozenset({"system", "temp", "information_schema"})


@dataclass(frozen=True)
class Attachment:
    """One further lake; its fields mean the same as those of the profile."""

    path: str
    alias: str
    data_path: str | None = None
    metadata_schema: str | None = None
    read_only: bool = False
    create_if_not_exists: bool | None = None
    data_inlining_row_limit: int | None = None
    automatic_migration: bool = False
    snapshot_version: Any = None
    snapshot_time: Any = None

    def settings(self, common: LakeSettings) -> LakeSettings:
        """Return the settings to open this lake; retries and Spark are those of `common`, the profile's settings."""
        at = pin(self.snapshot_version, self.snapshot_time)
        return replace(
            common,
            path=self.path,
            data_path=self.data_path,
            database=self.alias,
            metadata_schema=self.metadata_schema,
            read_only=self.read_only,
            create_if_not_exists=not (self.read_only or at) if self.create_if_not_exists is None else self.create_if_not_exists,
            data_inlining_row_limit=self.data_inlining_row_limit,
            automatic_migration=self.automatic_migration,
            snapshot_version=at.version,
            snapshot_time=at.time,
            attached=(),
        )


def attachments(given: Any, database: str) -> list[Attachment]:
    """Check the entries of `attach` and return them.

    Args:
        given: the list in the profile.
        database: the name of the profile's own lake.

    Raises:
        DbtRuntimeError: an entry is wrong; the message names it and what to do, and contains no password.
    """
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise DbtRuntimeError("`attach` is a list of lakes, each a map with `path` and `alias`")
    found = [_attachment(entry, number) for number, entry in enumerate(given, start=1)]
    names = {fold(database)}
    for each in found:
        if fold(each.alias) in _RESERVED:
            raise DbtRuntimeError(f"`attach`: {each.alias} is a reserved name; choose another `alias`")
        if fold(each.alias) in names:
            raise DbtRuntimeError(f"two lakes are named {each.alias}; give each entry of `attach` an `alias` that is not {database} either")
        names.add(fold(each.alias))
    return found


def _attachment(entry: Mapping[str, Any], number: int) -> Attachment:
    given = {name: value for name, value in entry.items() if name != "options" and value is not None}
    alias = given.get("alias")
    where = f"`attach`: {alias}" if isinstance(alias, str) else f"`attach`: entry {number}"
    options = entry.get("options") or {}
    if not isinstance(options, Mapping):
        raise DbtRuntimeError(f"{where}: `options` must be a map")
    for name, value in options.items():  # the options of DuckDB's ATTACH
        name = str(name).lower()
        if given.setdefault(name, value) != value:
            raise DbtRuntimeError(f"{where}: `{name}` is given twice, also in `options`; remove one of them")
    _check_fields(where, given)
    attachment = Attachment(**given)
    check_lake(attachment, where + ": ")
    return attachment


def _check_fields(where: str, given: dict[str, Any]) -> None:
    """Refuse wrong fields of an entry, and remove those that only mark it as a lake."""
    for name, advice in _REFUSED.items():
        if name in given:
            raise DbtRuntimeError(f"{where}: `{name}` cannot be set here: {advice}")
    kind, is_ducklake = given.pop("type", "ducklake"), given.pop("is_ducklake", True)
    if str(kind).lower() != "ducklake" or is_ducklake is not True:
        what = f"`type: {kind}`" if str(kind).lower() != "ducklake" else f"`is_ducklake: {is_ducklake}`"
        raise DbtRuntimeError(
            f"{where}: {what}: only lakes can be attached. Read other databases and files through Spark, for example as {{{{ source() }}}} "
            "in another Spark catalog or by jdbc"
        )
    refuse_unknown(where, given, [each.name for each in fields(Attachment)])
    for name in ("path", "alias"):
        if not isinstance(given.get(name), str) or not given[name]:
            raise DbtRuntimeError(f"{where}: `{name}` is missing; an entry needs `path`, the catalog database, and `alias`, its name")
    for name in ("read_only", "create_if_not_exists", "automatic_migration"):
        if not isinstance(given.get(name, False), bool):
            raise DbtRuntimeError(f"{where}: `{name}` must be true or false, not {given[name]!r}")
    for name in ("data_path", "metadata_schema"):
        if not isinstance(given.get(name, ""), str):
            raise DbtRuntimeError(f"{where}: `{name}` must be a string, not {given[name]!r}")


def check_lake(lake: Any, where: str = "") -> None:
    """Refuse fields of a lake, in the profile or in an entry of `attach`, that contradict each other.

    Raises:
        DbtRuntimeError: the message names the fields.
    """
    try:
        at = pin(lake.snapshot_version, lake.snapshot_time)
    except ValueError as error:
        raise DbtRuntimeError(f"{where}{error}") from error
    only_read = "`read_only: true`" if lake.read_only else "`snapshot_version` or `snapshot_time`" if at else None
    for name in ("create_if_not_exists", "automatic_migration"):
        if only_read and getattr(lake, name):
            raise DbtRuntimeError(f"{where}{only_read} and `{name}: true` contradict each other; remove one of them")
    limit = lake.data_inlining_row_limit
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise DbtRuntimeError(f"{where}`data_inlining_row_limit` must be 0 (rows always go to files) or more, not {limit!r}")
    try:
        parse_location(lake.path, metadata_schema=lake.metadata_schema)
    except ConfigurationError as error:
        raise DbtRuntimeError(f"{where}`path`: {error}") from error
