"""The part of the adapter that loads seeds, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import available

from .connections import DuckLakeResponse
from .format.identifiers import backquoted
from .metadata import LakeMetadata
from .relation import DuckLakeRelation
from .seeds import fitted_rows, needs_quotes, require_header, seed_columns, seed_file, unknown_columns

if TYPE_CHECKING:
    from agate.table import Table as AgateTable


class SeedLoading(LakeMetadata):
    """The part of the adapter for seeds."""

    @available
    def quote_seed_column(self, column: str, quote_config: bool | None) -> str:
        """Return the name of a seed's column for SQL; a name that needs quotes gets them, even with `quote_columns: false`."""
        return backquoted(column) if needs_quotes(column) else str(super().quote_seed_column(column, quote_config))

    @available.parse_none
    def check_seed_header(self, model: Mapping[str, Any]) -> None:
        """Require that the first line of a seed's file names its columns; a missing file is left to dbt."""
        path = seed_file(self.config, model)
        if path is not None:
            require_header(path, model["config"].get("delimiter") or ",")

    @available.parse_none
    def create_seed_table(
        self, relation: DuckLakeRelation, table: AgateTable, column_types: Mapping[str, str], quote_columns: bool | None
    ) -> None:
        """Create the empty table of a seed, or empty the existing one and give it the CSV's columns."""
        columns = seed_columns(table, column_types, quote_columns, self.convert_type)
        with self.connections.exception_handler(f"seed {relation}"):
            self._session().load_seed(str(relation.schema), str(relation.identifier), columns, (), database=relation.database)

    @available.parse_none
    def load_seed(
        self, relation: DuckLakeRelation, table: AgateTable, column_types: Mapping[str, str], quote_columns: bool | None, rebuild: bool
    ) -> DuckLakeResponse:
        """Fill a table with a seed's rows, without Spark.

        Args:
            relation: the seed's table.
            table: the CSV as dbt read it.
            column_types: types by column name, in any usual dialect.
            quote_columns: False refuses column names that a wrong delimiter has made.
            rebuild: replace the table's columns by the CSV's too; otherwise only its rows are replaced.
        """
        session, schema, name = self._session(), str(relation.schema), str(relation.identifier)
        columns = seed_columns(table, column_types, quote_columns, self.convert_type)
        unknown = unknown_columns(table, column_types)
        if unknown:
            self.warn_once(
                f"column_types of the seed {relation} has {', '.join(unknown)}, which the CSV does not have; "
                f"its columns are: {', '.join(table.column_names)}"
            )
        with self.connections.exception_handler(f"seed {relation}"):
            rows = table.rows if rebuild else fitted_rows(table, [column.name for column in session.columns(relation.name_parts)])
            count = session.load_seed(schema, name, columns, rows, rebuild=rebuild, database=relation.database)
        code = "CREATE" if rebuild else "INSERT"
        response = DuckLakeResponse(f"{code} {count}", code=code, rows_affected=count)
        self.connections.handle().on_commit(response.committed)
        return response
