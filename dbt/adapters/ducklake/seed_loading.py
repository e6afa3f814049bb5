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
    """The methods of the adapter that load seeds; see `seeds` for the checks and conversions."""

    @available
    def quote_seed_column(self, column: str, quote_config: bool | None) -> str:
        """Return the name of a seed's column for SQL. A name that needs quotes gets them, even with `quote_columns: false`."""
        return backquoted(column) if needs_quotes(column) else str(super().quote_seed_column(column, quote_config))

    @available.parse_none
    def check_seed_header(self, model: Mapping[str, Any]) -> None:
        """Require that the first line of a seed's file names its columns; dbt reports a missing file.

        Raises:
            DbtRuntimeError: the first line is not a header.
        """
        path = seed_file(self.config, model)
        if path is not None:
            require_header(path, model["config"].get("delimiter") or ",")

    @available.parse_none
    def create_seed_table(
        self, relation: DuckLakeRelation, table: AgateTable, column_types: Mapping[str, str], quote_columns: bool | None
    ) -> None:
        """Create an empty table for a seed, or empty the existing one and give it the CSV's columns. Arguments as in `load_seed`."""
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
            column_types: column name → type, in the syntax of Spark, DuckDB or another common dialect.
            quote_columns: the seed's config. If it is false, column names that contain a delimiter are refused.
            rebuild: whether the table gets the columns of the CSV, too; otherwise only its rows are replaced.

        Returns:
            The response for dbt, with the number of rows.
        """
        session, schema, name = self._session(), str(relation.schema), str(relation.identifier)
        columns = seed_columns(table, column_types, quote_columns, self.convert_type)
        unknown = unknown_columns(table, column_types)
        if unknown:
            self.warn_once(
                f"column_types of the seed {relation} names {', '.join(unknown)}, but the CSV has only the columns "
                f"{', '.join(table.column_names)}"
            )
        with self.connections.exception_handler(f"seed {relation}"):
            rows = table.rows if rebuild else fitted_rows(table, [column.name for column in session.columns(relation.name_parts)])
            count = session.load_seed(schema, name, columns, rows, rebuild=rebuild, database=relation.database)
        code = "CREATE" if rebuild else "INSERT"
        response = DuckLakeResponse(f"{code} {count}", code=code, rows_affected=count)
        self.connections.handle().on_commit(response.committed)  # adds the snapshot to the response
        return response
