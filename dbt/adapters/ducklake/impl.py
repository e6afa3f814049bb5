"""The adapter: dialect, transactions and what runs on a lake; what is known about a lake is in `metadata`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from multiprocessing.context import SpawnContext
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.meta import available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.events.types import AdapterEventWarning
from dbt.adapters.protocol import AdapterConfig
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.events.functions import warn_or_error

from .connections import DuckLakeResponse
from .metadata import LakeMetadata
from .provenance import of_connection
from .python_submissions import run_model
from .relation import DuckLakeRelation
from .seeds import fitted_rows, seed_columns
from .spec.identifiers import backquoted
from .spec.objects import Table

if TYPE_CHECKING:
    from agate.table import Table as AgateTable


@dataclass
class DuckLakeConfig(AdapterConfig):
    """Model configurations of this adapter, beside dbt's own."""

    partition_by: str | list[str] | None = None
    partitioned_by: str | list[str] | None = None
    commit_message: str | None = None
    commit_author: str | None = None
    clone_as: str | None = None


class DuckLakeAdapter(LakeMetadata):
    """dbt on a DuckLake, with Spark doing the work."""

    AdapterSpecificConfigs = DuckLakeConfig
    CONSTRAINT_SUPPORT = {  # noqa: RUF012 -- dbt's base class declares it as a plain attribute
        ConstraintType.check: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.primary_key: ConstraintSupport.NOT_SUPPORTED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_SUPPORTED,
    }

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._warned: set[str] = set()

    # -- what dbt must know about the dialect ----------------------------------------------------------------------------------

    @classmethod
    def date_function(cls) -> str:
        """SQL for the current moment."""
        return "current_timestamp()"

    @classmethod
    def quote(cls, identifier: str) -> str:
        """An identifier in back-quotes."""
        return backquoted(identifier)

    @classmethod
    def convert_text_type(cls, agate_table: Any, col_idx: int) -> str:
        return "string"

    @classmethod
    def convert_number_type(cls, agate_table: Any, col_idx: int) -> str:
        import agate

        return "double" if agate_table.aggregate(agate.MaxPrecision(col_idx)) else "bigint"  # type: ignore[attr-defined]

    @classmethod
    def convert_integer_type(cls, agate_table: Any, col_idx: int) -> str:
        return "bigint"

    @classmethod
    def convert_datetime_type(cls, agate_table: Any, col_idx: int) -> str:
        return "timestamp"

    @classmethod
    def convert_time_type(cls, agate_table: Any, col_idx: int) -> str:
        return "string"

    def valid_incremental_strategies(self) -> list[str]:
        """The built-in strategies; a project may define its own by `get_incremental_<name>_sql`."""
        return ["append", "merge", "delete+insert", "insert_overwrite", "microbatch"]

    # -- the connection --------------------------------------------------------------------------------------------------------

    def debug_query(self) -> None:
        """What `dbt debug` tries: the catalog can be read, and a Java is there for Spark. Starts no Spark."""
        with self.connections.exception_handler("dbt debug"):
            with self._session().reading() as reader:
                reader.schemas()
            if self.config.credentials.spark_settings().remote is None:
                from .spark.java import find_java

                find_java()

    def pre_model_hook(self, config: Mapping[str, Any]) -> None:
        """Name the node in the snapshots that its connection will commit."""
        connection = self.connections.get_thread_connection()
        connection.handle.sign(of_connection(self.config, connection.name))

    @available
    def begin_transaction(self, message: str = "", author: str | None = None) -> str:
        """Begin the transaction that becomes the node's snapshot; from `adapter.commit()` on, statements commit by themselves again.

        Args:
            message: the snapshot's commit message; by default dbt's command and the node.
            author: its author; by default the profile's.
        """
        handle = self.connections.handle()
        handle.sign(handle.provenance.with_message(message, author))
        self.connections.begin()
        return ""

    @available.parse_none
    def last_snapshot(self, relation: DuckLakeRelation) -> int | None:
        """The newest snapshot that changed the rows of a table; None if there is no such table, or it never had rows."""
        session = self._session()
        with self.connections.exception_handler(f"last snapshot of {relation}"), session.reading() as reader:
            table = reader.find(str(relation.schema), str(relation.identifier))
            if not isinstance(table, Table):
                return None
            return session.catalog.table_facts(reader.snapshot, [table])[table.table_id].last_snapshot_id

    @available
    def table_text(self, table: AgateTable) -> str:
        """The rows of a table in columns, for people."""
        text = StringIO()
        table.print_table(max_rows=None, max_columns=None, output=text, max_column_width=None)  # type: ignore[attr-defined]  # agate adds it
        return text.getvalue().rstrip()

    @available
    def warn_once(self, message: str) -> str:
        """Warn the user, the first time in this run only."""
        if message not in self._warned:
            self._warned.add(message)
            warn_or_error(AdapterEventWarning(base_msg=message))
        return ""

    def validate_sql(self, sql: str) -> AdapterResponse:
        """Have Spark analyse a query without running it."""
        _, cursor = self.connections.add_query(f"select * from (\n{sql}\n) where false", auto_begin=False)
        return self.connections.get_response(cursor)

    # -- work ------------------------------------------------------------------------------------------------------------------

    @available.parse_none
    def materialize_temp_view(self, relation: DuckLakeRelation) -> None:
        """Compute a temporary view once, so that the statements that read it until the commit see the same rows."""
        with self.connections.exception_handler(f"materialize {relation}"):
            self._session().hold(str(relation.identifier))

    @available.parse_none
    def load_seed(
        self, relation: DuckLakeRelation, table: AgateTable, column_types: Mapping[str, str], quote_columns: bool | None, rebuild: bool
    ) -> DuckLakeResponse:
        """Fill a table with a seed's rows, without Spark.

        Args:
            relation: the seed's table.
            table: the CSV as dbt read it.
            column_types: types by column name, in any usual dialect.
            quote_columns: False: a column name must be a plain word.
            rebuild: the table gets the CSV's columns; otherwise its rows are replaced and its columns stay.
        """
        session, schema, name = self._session(), str(relation.schema), str(relation.identifier)
        columns = seed_columns(table, column_types, quote_columns, self.convert_type)
        with self.connections.exception_handler(f"seed {relation}"):
            rows = table.rows if rebuild else fitted_rows(table, [column.name for column in session.columns(relation.name_parts)])
            count = session.load_seed(schema, name, columns, rows, rebuild=rebuild)
        code = "CREATE" if rebuild else "INSERT"
        response = DuckLakeResponse(f"{code} {count}", code=code, rows_affected=count)
        self.connections.handle().on_commit(response.set_snapshot)
        return response

    def submit_python_job(self, parsed_model: dict[str, Any], compiled_code: str) -> AdapterResponse:
        """Run a Python model in this process, in its node's session and transaction."""
        with self.connections.exception_handler(f"Python model {parsed_model['name']}"):
            run_model(parsed_model, compiled_code, self._session())
        return DuckLakeResponse("OK")
