"""Targets of a dbt profile other than the one of this command: rendered as dbt renders them, and attached to the open lake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dbt.config.profile import Profile
from dbt.config.renderer import ProfileRenderer
from dbt_common.exceptions import DbtRuntimeError

from .credentials import DuckLakeCredentials
from .errors import ConfigurationError
from .format.identifiers import backquoted, fold
from .sql.tokens import parse_name

if TYPE_CHECKING:
    from .session import Lake, LakeSettings


def target_credentials(
    raw: Mapping[str, Any], profile: str, target: str | None, variables: Mapping[str, Any] | None = None
) -> DuckLakeCredentials:
    """Return the credentials of a target of type `ducklake`.

    Args:
        raw: the profile as written in profiles.yml.
        profile: its name.
        target: the name of the target; by default the one that the profile names.
        variables: the variables of the command line.

    Raises:
        ConfigurationError: the target is of another type, or one of its fields is wrong.
        DbtBaseException: the target does not exist, or cannot be rendered.
    """
    name, found = Profile.render_profile(dict(raw), profile, target, ProfileRenderer(dict(variables or {})))
    where = f"the target {name} of the profile {profile}"
    if found.get("type") != "ducklake":
        raise ConfigurationError(f"{where} is of type {found.get('type')}: choose a target of type ducklake")
    given = DuckLakeCredentials.translate_aliases({key: value for key, value in found.items() if key not in ("type", "threads")})
    try:
        DuckLakeCredentials.validate(given)
        credentials: DuckLakeCredentials = DuckLakeCredentials.from_dict(given)
    except DbtRuntimeError as error:
        raise ConfigurationError(f"{where}: {error.msg}") from error
    return credentials


def attach_to_read(lake: Lake, settings: LakeSettings, name: str) -> str:
    """Attach another lake for reading, and return its name.

    Args:
        lake: the open lake.
        settings: the settings of the other lake.
        name: the name to attach it under; underscores are appended while the name is taken. A lake that is already attached keeps its name.
    """
    while lake.has(name):
        name += "_"
    read = replace(settings, database=name, read_only=True, create_if_not_exists=None, automatic_migration=None, attached=())
    return lake.attach(read)


def name_in_target(lake: str, schema: str, other: str | None, table: tuple[str, str], own_schema: str) -> str:
    """Return the name of the relation in the other target's lake with which a table is compared.

    Args:
        lake: the name of the other target's lake.
        schema: the schema of the other target.
        other: the name of the relation without a lake, as SQL, perhaps with a schema; by default that of the table.
        table: the schema and the name of the table.
        own_schema: the schema of this target. A table in it is compared with one in the other target's schema.

    Raises:
        StatementError: `other` is not a name.
    """
    own, name = table
    own = schema if fold(own) == fold(own_schema) else own
    parts = (name,) if other is None else parse_name(other).parts
    return ".".join(map(backquoted, (lake, own, *parts) if len(parts) == 1 else (lake, *parts)))
