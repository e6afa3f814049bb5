"""The methods of the adapter that `dbt run-operation` macros call: last snapshot of a table, report, relations of other targets, output."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from dbt.adapters.base.meta import available

from .errors import ConfigurationError
from .format.objects import Table
from .metadata import LakeMetadata
from .relation import DuckLakeRelation

if TYPE_CHECKING:
    from agate.table import Table as AgateTable


class LakeOperations(LakeMetadata):
    """The adapter's methods for `dbt run-operation` macros."""

    @available.parse_none
    def last_snapshot(self, relation: DuckLakeRelation) -> int | None:
        """Return the newest snapshot that changed the rows of a table; None if there is no table, or no trace of rows."""
        session, lake = self._session(), self._lake(relation.database)
        if lake is None:
            return None

        def last() -> int | None:
            with session.reading(lake) as reader:
                table = reader.find(str(relation.schema), str(relation.identifier))
                if not isinstance(table, Table):
                    return None
                summary = session.lake.catalog_of(lake).table_summary(reader.snapshot, table)
                return None if summary is None else summary.last_snapshot_id

        with self.connections.exception_handler(f"last snapshot of {relation}"):
            return session.record_read(last)

    @available.parse_none
    def write_report(self, path: str | None = None, database: str | None = None) -> str:
        """Write the report on a lake, by default the profile's, as one HTML file, and return its absolute path.

        Args:
            path: the file; by default `ducklake_report.html` in the project's target folder.
            database: an attached lake.
        """
        from .report.gather import gather
        from .report.page import write

        session = self._session()
        with self.connections.exception_handler("ducklake_report"):
            lake = session.lake.named(database or session.database)
            default = Path(self.config.project_root, self.config.target_path, "ducklake_report.html")
            try:
                return str(write(gather(session.lake.catalog_of(lake), lake), Path(path) if path else default))
            except OSError as error:
                raise ConfigurationError(f"the report cannot be written: {error}; choose another path") from error

    @available
    def stop_spark(self) -> list[str]:
        """Stop this user's idle Spark processes that `keep_alive` has kept, and return a line about each kept process."""
        from .spark.session.kept import stop_all

        with self.connections.exception_handler("ducklake_stop_spark"):
            return [
                f"Spark's process {each['pid']} {'ends' if each['stopped'] else 'is used by another command; it ends after its idle time'}"
                for each in stop_all()
            ]

    @available
    def relation_of_target(self, target: str, relation: DuckLakeRelation, other: str | None = None) -> str:
        """Attach the lake of another target of the profile for reading, and return the name of a relation in it.

        Args:
            target: the name of the target.
            relation: the relation of this target.
            other: the name of the other target's relation, without a lake; by default that of `relation`.
        """
        from dbt.config.profile import read_profile
        from dbt.flags import get_flags

        from .targets import attach_to_read, name_in_target, target_credentials

        session = self._session()
        with self.connections.exception_handler("ducklake_diff"):
            profile = self.config.profile_name
            raw = read_profile(get_flags().PROFILES_DIR)[profile]  # type: ignore[no-untyped-call]  # dbt's flags have no types
            found = target_credentials(raw, profile, target, self.config.cli_vars)
            lake = attach_to_read(session.lake, found.lake_settings(), target)
            place = (str(relation.schema), str(relation.identifier))
            return name_in_target(lake, found.schema, other, place, self.config.credentials.schema)

    @available
    def write_file(self, path: str, text: str) -> str:
        """Write a string and a newline to a file, creating its folder if necessary, and return its absolute path."""
        file = Path(path).absolute()
        with self.connections.exception_handler(f"write {file}"):
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(f"{text}\n", encoding="utf-8")
            except OSError as error:
                raise ConfigurationError(f"{file} cannot be written: {error}; choose another path") from error
        return str(file)

    @available
    def table_text(self, table: AgateTable) -> str:
        """Return the rows of a table as text in columns."""
        text = StringIO()
        table.print_table(max_rows=None, max_columns=None, output=text, max_column_width=None)  # type: ignore[attr-defined]  # agate adds it
        return text.getvalue().rstrip()
