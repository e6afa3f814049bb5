"""The entries of `attach` in a profile: further lakes, each under an alias, with dbt-duckdb's field names where possible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

from dbt_common.exceptions import DbtRuntimeError

from .catalog.store.settings import CatalogSettings
from .errors import ConfigurationError
from .format.identifiers import fold
from .snapshot_pin import pin
from .unknown import refuse_unknown

LAKE_FIELDS: Mapping[str, Any] = get_type_hints(CatalogSettings)
"""The fields of a lake in the profile, with their types. An entry of `attach` has the same, with `alias` for `database`."""
_REFUSED = {
    "secret": "put the credentials of the catalog database into `path`, with env_var(), "
    "and those of the storage into `secrets` next to `attach`, or into the environment",
    "secrets": "they apply to all lakes; set them next to `attach`",
    "spark": "one Spark works on all lakes; set it next to `attach`",
    "schema": "set schemas where they are used, with `schema` of a source or model",
}
"""Fields that an entry cannot have, with the reason and what to do instead."""
_RESERVED = frozenset({"system", "temp", "information_schema"})


def attachments(given: Any, database: str) -> list[CatalogSettings]:
    """Check the entries of `attach` and return them as settings.

    Args:
        given: the list in the profile.
        database: the name of the profile's own lake.

    Raises:
        DbtRuntimeError: an entry is wrong; the message names it, says what to do and contains no password.
    """
    if given is None:
        return []
    if not isinstance(given, list) or not all(isinstance(entry, Mapping) for entry in given):
        raise DbtRuntimeError("`attach` must be a list of lakes, each a map with `path` and `alias`")
    found = [_attachment(entry, number) for number, entry in enumerate(given, start=1)]
    names = {fold(database)}
    for each in found:
        alias = each.database
        if fold(alias) in _RESERVED:
            raise DbtRuntimeError(f"`attach`: {alias} is a reserved name; choose another `alias`")
        if fold(alias) in names:
            raise DbtRuntimeError(f"two lakes are named {alias}; give each entry of `attach` its own `alias`, other than {database}")
        names.add(fold(alias))
    return found


def _attachment(entry: Mapping[str, Any], number: int) -> CatalogSettings:
    given = {name: value for name, value in entry.items() if name != "options" and value is not None}
    alias = given.get("alias")
    where = f"`attach`: {alias}" if isinstance(alias, str) else f"`attach`: entry {number}"
    options = entry.get("options") or {}
    if not isinstance(options, Mapping):
        raise DbtRuntimeError(f"{where}: `options` must be a map")
    for name, value in options.items():  # the options of DuckDB's ATTACH
        name = str(name).lower()
        if given.setdefault(name, value) != value:
            raise DbtRuntimeError(f"{where}: `{name}` is set twice, the second time in `options`; remove one of them")
    _check_fields(where, given)
    return catalog_settings({"database": given.pop("alias"), **given}, where + ": ")


def _check_fields(where: str, given: dict[str, Any]) -> None:
    """Refuse wrong fields of an entry, and remove `type` and `is_ducklake`, which only say that it is a lake."""
    for name, advice in _REFUSED.items():
        if name in given:
            raise DbtRuntimeError(f"{where}: `{name}` cannot be set here: {advice}")
    kind, is_ducklake = given.pop("type", "ducklake"), given.pop("is_ducklake", True)
    if str(kind).lower() != "ducklake" or is_ducklake is not True:
        what = f"`type: {kind}`" if str(kind).lower() != "ducklake" else f"`is_ducklake: {is_ducklake}`"
        raise DbtRuntimeError(
            f"{where}: {what}: only lakes can be attached. Read other databases and files through Spark, for example as {{{{ source() }}}} "
            "in another Spark catalog or with JDBC"
        )
    refuse_unknown(where, given, [*(LAKE_FIELDS.keys() - {"database"}), "alias"])
    for name in ("path", "alias"):
        if not isinstance(given.get(name), str) or not given[name]:
            raise DbtRuntimeError(f"{where}: `{name}` is missing; an entry needs `path`, the catalog database, and `alias`, its name")
    for kind, form in ((bool, "true or false"), (str, "a string")):
        for name in given.keys() & LAKE_FIELDS.keys():
            if kind in (LAKE_FIELDS[name], *get_args(LAKE_FIELDS[name])) and not isinstance(given[name], kind):
                raise DbtRuntimeError(f"{where}: `{name}` must be {form}")


def catalog_settings(given: Mapping[str, Any], where: str = "") -> CatalogSettings:
    """Return the checked settings of a lake in the profile or in an entry of `attach`.

    Args:
        given: values of `LAKE_FIELDS`; the snapshot may have any form of `pin`.
        where: the prefix of the message, which names the part of the profile.

    Raises:
        DbtRuntimeError: a setting is wrong, or two contradict each other; the message names them.
    """
    try:
        at = pin(given.get("snapshot_version"), given.get("snapshot_time"))
        return CatalogSettings(**{**given, "snapshot_version": at.version, "snapshot_time": at.time})
    except (ValueError, ConfigurationError) as error:
        raise DbtRuntimeError(f"{where}{error}") from error
