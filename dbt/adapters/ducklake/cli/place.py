"""The lake that the options of the command line mean, by its path or by a dbt target."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from .wrong_input import WrongInput

if TYPE_CHECKING:
    from ..session import LakeSession, LakeSettings


@dataclass(frozen=True)
class Place:
    """The options that say which lake; those that are None were not given."""

    lake: str | None = None
    data_path: str | None = None
    database: str | None = None
    metadata_schema: str | None = None
    profile: str | None = None
    target: str | None = None
    profiles_dir: str | None = None
    project_dir: str | None = None

    @contextmanager
    def session(self, *, reads: bool = False, creates: bool = False) -> Iterator[LakeSession]:
        """Open the lake and a session on it.

        Args:
            reads: whether the command only reads, so that the lake is opened read-only.
            creates: whether a lake that does not exist is created if the options allow it.

        Raises:
            WrongInput: the options contradict each other, or the profile is wrong.
            DuckLakeError: the lake cannot be opened.
        """
        from ..session import Lake

        settings, schema, author = self._found()
        with Lake.open(_limited(settings, reads, creates)) as lake, lake.session(schema) as session:
            session.set_commit_message(author, f"ducklake {click.get_current_context().info_name}")
            yield session

    def settings(self) -> LakeSettings:
        """Return the settings of the lake, which is not opened.

        Raises:
            WrongInput: the options contradict each other, or the profile is wrong.
        """
        return self._found()[0]

    def _found(self) -> tuple[LakeSettings, str, str | None]:
        return self._of_path() if self.lake is not None else self._of_target()

    def other(self, session: LakeSession, lake: str | None, target: str | None, name: str | None, table: tuple[str, str]) -> str:
        """Return the name of a relation in another lake, which is attached to read it.

        Args:
            session: a session on this lake.
            lake: the path of the other lake, or None.
            target: or else the target of the same profile that has it.
            name: the name of the relation, as SQL without a lake; by default that of the table.
            table: the schema and the name of the table that it is compared with.
        """
        from ..session import LakeSettings
        from ..targets import attach_to_read, name_in_target

        if lake is not None:
            return name_in_target(attach_to_read(session.lake, LakeSettings(lake), "other"), table[0], name, table, table[0])
        if self.lake is not None:
            raise WrongInput("--other-target needs a dbt target: give --target instead of --lake, or --other-lake")
        from .target import found_target

        found = found_target(self.profile, target, self.profiles_dir, self.project_dir)
        attached = attach_to_read(session.lake, found.lake_settings(), target or "other")
        return name_in_target(attached, found.schema, name, table, session.schema)

    def _of_path(self) -> tuple[LakeSettings, str, str | None]:
        from ..session import LakeSettings

        for name in ("profile", "target", "profiles_dir", "project_dir"):
            if getattr(self, name) is not None:
                raise WrongInput(f"--lake and --{name.replace('_', '-')} cannot be used together: give a path or a dbt target")
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
                raise WrongInput(f"--{name.replace('_', '-')} needs --lake; a dbt target has its own setting")
        from .target import found_target

        credentials = found_target(self.profile, self.target, self.profiles_dir, self.project_dir)
        return credentials.lake_settings(), credentials.schema, credentials.author


def _limited(settings: LakeSettings, reads: bool, creates: bool) -> LakeSettings:
    """Return settings that allow no more than a command needs."""
    changes: dict[str, Any] = {}
    if reads:
        changes = {"read_only": True, "create_if_not_exists": None, "automatic_migration": None}
    elif not creates:
        changes = {"create_if_not_exists": False}
    return replace(settings, **changes, attached=tuple(_limited(each, reads, creates) for each in settings.attached))


def located(session: LakeSession, text: str) -> tuple[str, str, str]:
    """Return the lake, the schema and the name of a table from `[[LAKE.]SCHEMA.]TABLE`."""
    from ..sql.tokens import Cursor, Source

    cursor = Cursor(Source(text))
    *qualifiers, name = cursor.name().parts
    cursor.finish()
    schema = qualifiers.pop() if qualifiers else session.schema
    return session.lake.named(qualifiers.pop() if qualifiers else session.database), schema, name
