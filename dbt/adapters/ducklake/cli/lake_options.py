"""The lake that the options of the command line mean, by its path or by a dbt target.

Only a dbt target needs `dbt.cli` and `dbt.config`. They are slow to import, so that is done inside functions.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .input_error import InputError

if TYPE_CHECKING:
    from ..credentials import DuckLakeCredentials
    from ..session import LakeSession, LakeSettings


@dataclass(frozen=True)
class LakeOptions:
    """The command-line options that choose a lake; an option is None if it was not given."""

    lake: str | None = None
    data_path: str | None = None
    database: str | None = None
    metadata_schema: str | None = None
    profile: str | None = None
    target: str | None = None
    profiles_dir: str | None = None
    project_dir: str | None = None

    @contextmanager
    def session(self, *, read_only: bool = False, may_create: bool = False) -> Iterator[LakeSession]:
        """Open the lake and a session on it.

        Args:
            read_only: whether the lake is opened read-only.
            may_create: whether a lake that does not exist is created if the options allow it.

        Raises:
            InputError: the options contradict each other, or no profile was found.
            ConfigurationError: the target is of another type, or one of its fields is wrong.
            DbtBaseException: the target does not exist, or a file is not valid.
            DuckLakeError: the lake cannot be opened.
        """
        from ..session import Lake

        settings, schema, author = self._found()
        with Lake.open(_limited(settings, read_only, may_create)) as lake, lake.session(schema) as session:
            session.set_commit_message(author, f"ducklake {click.get_current_context().info_name}")
            yield session

    def settings(self) -> LakeSettings:
        """Return the settings of the lake, which is not opened.

        Raises:
            InputError: the options contradict each other, or no profile was found.
            ConfigurationError: the target is of another type, or one of its fields is wrong.
            DbtBaseException: the target does not exist, or a file is not valid.
        """
        return self._found()[0]

    def _found(self) -> tuple[LakeSettings, str, str | None]:
        return self._of_path() if self.lake is not None else self._of_target()

    def other(self, session: LakeSession, lake: str | None, target: str | None, name: str | None, table: tuple[str, str]) -> str:
        """Return the name of a relation in another lake, which is attached to read it.

        Args:
            session: a session on this lake.
            lake: the path of the other lake; None if `target` names it.
            target: the dbt target of the other lake, in the same profile; not used if `lake` is given.
            name: the name of the relation, as SQL without a lake; by default that of the table.
            table: the schema and the name of the table with which the relation is compared.

        Raises:
            InputError: `target` was given, but this lake was chosen by its path.
        """
        from ..session import LakeSettings
        from ..targets import attach_to_read, name_in_target

        if lake is not None:
            return name_in_target(attach_to_read(session.lake, LakeSettings(lake), "other"), table[0], name, table, table[0])
        if self.lake is not None:
            raise InputError("--other-target needs a dbt target: give --target instead of --lake, or --other-lake")
        found = _found_target(self.profile, target, self.profiles_dir, self.project_dir)
        attached = attach_to_read(session.lake, found.lake_settings(), target or "other")
        return name_in_target(attached, found.schema, name, table, session.schema)

    def _of_path(self) -> tuple[LakeSettings, str, str | None]:
        from ..session import LakeSettings

        for name in ("profile", "target", "profiles_dir", "project_dir"):
            if getattr(self, name) is not None:
                raise InputError(f"--lake and --{name.replace('_', '-')} cannot be used together: give a path or a dbt target")
        settings = LakeSettings(
            self.lake or "",
            self.data_path,
            self.database or "lake",
            metadata_schema=self.metadata_schema,
            create_if_not_exists=self.data_path is not None,
        )
        return settings, "main", None

    def _of_target(self) -> tuple[LakeSettings, str, str | None]:
        for name in ("data_path", "database", "metadata_schema"):
            if getattr(self, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} needs --lake; a dbt target has its own setting")
        credentials = _found_target(self.profile, self.target, self.profiles_dir, self.project_dir)
        return credentials.lake_settings(), credentials.schema, credentials.author


def _found_target(profile: str | None, target: str | None, profiles_dir: str | None, project_dir: str | None) -> DuckLakeCredentials:
    """Return the credentials of a dbt target of type `ducklake`. What is None has dbt's default.

    Of a project, only the name of its profile is read.

    Raises:
        InputError: profiles.yml is missing or does not have the profile, or it has several profiles and none was chosen.
        ConfigurationError: the target is of another type, or one of its fields is wrong.
        DbtBaseException: the target does not exist, or a file is not valid.
    """
    from dbt.cli.resolvers import default_profiles_dir
    from dbt.config.profile import read_profile
    from dbt_common.context import set_invocation_context

    from ..targets import target_credentials

    folder = _given_folder(profiles_dir, project_dir) or str(default_profiles_dir())
    raw = {name: each for name, each in read_profile(folder).items() if name != "config"}
    if not raw:
        raise InputError(f"no lake: give --lake PATH_OR_URL, or --profiles-dir with a profiles.yml; {folder} has none")
    set_invocation_context(os.environ)
    name = profile or _project_profile(project_dir) or (next(iter(raw)) if len(raw) == 1 else None)
    if name is None:
        raise InputError(f"{folder}/profiles.yml has several profiles: give --profile with one of {', '.join(raw)}")
    if not isinstance(raw.get(name), Mapping):
        raise InputError(f"{folder}/profiles.yml has no profile {name}: give --profile with one of {', '.join(raw)}")
    return target_credentials(raw[name], name, target)


def _given_folder(profiles_dir: str | None, project_dir: str | None) -> str | None:
    """Return the folder of profiles.yml that the options or the environment give; if it is not set, dbt has a default."""
    given = profiles_dir or os.environ.get("DBT_PROFILES_DIR")
    if given is None and project_dir is not None and Path(project_dir, "profiles.yml").exists():
        return project_dir
    return given


def _project_profile(project_dir: str | None) -> str | None:
    """Return the profile that dbt_project.yml names, perhaps with Jinja; None if there is no project."""
    from dbt.clients.yaml_helper import load_yaml_text
    from dbt.config.renderer import ProfileRenderer

    file = Path(project_dir or ".", "dbt_project.yml")
    if not file.exists():
        if project_dir is not None:
            raise InputError(f"{project_dir} has no dbt_project.yml: check --project-dir")
        return None
    found = load_yaml_text(file.read_text(encoding="utf-8"), file)
    name = found.get("profile") if isinstance(found, Mapping) else None
    rendered = ProfileRenderer({}).render_value(name)
    return rendered if isinstance(rendered, str) else None


def _limited(settings: LakeSettings, read_only: bool, may_create: bool) -> LakeSettings:
    """Return settings that allow no more than a command needs."""
    changes: dict[str, Any] = {}
    if read_only:
        changes = {"read_only": True, "create_if_not_exists": None, "automatic_migration": None}
    elif not may_create:
        changes = {"create_if_not_exists": False}
    return replace(settings, **changes, attached=tuple(_limited(each, read_only, may_create) for each in settings.attached))


def resolved_table(session: LakeSession, text: str) -> tuple[str, str, str]:
    """Return (lake, schema, table) of `[[LAKE.]SCHEMA.]TABLE`; missing parts are those of the session."""
    from ..sql.tokens import parse_name

    *qualifiers, name = parse_name(text).parts
    schema = qualifiers.pop() if qualifiers else session.schema
    return session.lake.named(qualifiers.pop() if qualifiers else session.database), schema, name
