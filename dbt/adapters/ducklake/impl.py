"""The adapter: dialect, transactions, configs and publishing. Its base classes have the other parts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.context import SpawnContext
from typing import Any

from dbt.adapters.base.impl import ConstraintSupport
from dbt.adapters.base.meta import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.protocol import AdapterConfig
from dbt_common.contracts.constraints import ConstraintType
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id

from .change_reading import ChangeReading
from .connections import DuckLakeResponse, logger
from .early_start import command_needs_spark, nodes_need_spark
from .foreign_configs import access_refusal, config_notes, config_warnings
from .format.identifiers import backquoted
from .layout_changes import LayoutChanges
from .lineage import COMMANDS, CommandLineage
from .lineage_events import Run
from .manifest_nodes import has_finished_batches, spark_config
from .merge_configs import MergePlan, check, missing_keys, plan
from .merge_fields import MERGE_CONFIGS, MergeConfigs
from .operations import LakeOperations
from .provenance import provenance_of
from .publishing.settings import NODE
from .python_submissions import run_model
from .relation import DuckLakeRelation
from .seed_loading import SeedLoading
from .sql.scripts import split

_BUILT = ("model", "seed", "snapshot", "function")
"""The types of nodes whose materialization may change the lake."""


@dataclass
class DuckLakeConfig(MergeConfigs, AdapterConfig):
    """Model configurations of this adapter, in addition to dbt's: the merge configs, and these."""

    partition_by: str | list[str] | dict[str, Any] | None = None
    partitioned_by: str | list[str] | None = None
    clustered_by: str | list[str] | None = None
    buckets: int | None = None
    sorted_by: str | list[str] | None = None
    sort_by: str | list[str] | None = None
    liquid_clustered_by: str | list[str] | None = None
    zorder: str | list[str] | None = None
    cluster_by: str | list[str] | None = None
    tblproperties: dict[str, Any] | None = None
    options: dict[str, Any] | None = None
    tmp_relation_type: str | None = None
    commit_message: str | None = None
    commit_author: str | None = None
    commit_extra_info: str | dict[str, Any] | None = None
    clone_as: str | None = None
    timeout: float | None = None
    spark_config: dict[str, Any] | None = None
    incremental_apply_config_changes: bool | None = None
    unenforced_access: str | None = None
    publish: str | None = None
    publish_on: str | None = None


class DuckLakeAdapter(SeedLoading, ChangeReading, LayoutChanges, LakeOperations):
    """The adapter for a DuckLake whose statements run on Spark."""

    AdapterSpecificConfigs = DuckLakeConfig
    CONSTRAINT_SUPPORT = {  # noqa: RUF012 -- dbt's base class declares it as a plain attribute
        ConstraintType.check: ConstraintSupport.ENFORCED,
        ConstraintType.not_null: ConstraintSupport.ENFORCED,
        ConstraintType.unique: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.primary_key: ConstraintSupport.NOT_ENFORCED,
        ConstraintType.foreign_key: ConstraintSupport.NOT_ENFORCED,
    }

    def __init__(self, config: Any, mp_context: SpawnContext) -> None:
        super().__init__(config, mp_context)
        self._lineage: CommandLineage | None = None
        self._lineage_lock = threading.Lock()
        if command_needs_spark(config):
            self.connections.start_spark()

    # -- dialect ---------------------------------------------------------------------------------------------------------------

    @classmethod
    def date_function(cls) -> str:
        """Return SQL for the current timestamp."""
        return "current_timestamp()"

    @classmethod
    def quote(cls, identifier: str) -> str:
        """Return an identifier in backquotes."""
        return backquoted(identifier)

    @classmethod
    def convert_text_type(cls, agate_table: Any, col_idx: int) -> str:  # noqa: ARG003 (dbt's signature)
        """Return the type of a seed's text column."""
        return "string"

    @classmethod
    def convert_number_type(cls, agate_table: Any, col_idx: int) -> str:
        """Return the type of a seed's number column, from its values."""
        import agate

        return "double" if agate_table.aggregate(agate.MaxPrecision(col_idx)) else "bigint"  # type: ignore[attr-defined]

    @classmethod
    def convert_integer_type(cls, agate_table: Any, col_idx: int) -> str:  # noqa: ARG003 (dbt's signature)
        """Return the type of a seed's integer column."""
        return "bigint"

    @classmethod
    def convert_datetime_type(cls, agate_table: Any, col_idx: int) -> str:  # noqa: ARG003 (dbt's signature)
        """Return the type of a seed's timestamp column."""
        return "timestamp"

    @classmethod
    def convert_time_type(cls, agate_table: Any, col_idx: int) -> str:  # noqa: ARG003 (dbt's signature)
        """Return the type of a seed's time column."""
        return "string"

    def valid_incremental_strategies(self) -> list[str]:
        """Return the built-in strategies; a project may add others as `get_incremental_<name>_sql`."""
        return ["append", "merge", "delete+insert", "insert_overwrite", "replace_where", "microbatch", "changes"]

    # -- the connection --------------------------------------------------------------------------------------------------------

    def debug_query(self) -> None:
        """Check for `dbt debug` everything that a run needs: catalogs, data paths, Java and Spark. This creates no lake."""
        with self.connections.exception_handler("dbt debug"):
            self.connections.check_setup()
            settings = self.connections.credentials.lineage_settings()
            if settings is not None:
                settings.client().close()

    def set_relations_cache(
        self, relation_configs: Iterable[Any], clear: bool = False, required_schemas: set[BaseRelation] | None = None
    ) -> None:
        """List the relations of the project, and start Spark if a selected node needs it."""
        nodes = list(relation_configs)
        self._command_lineage()
        if nodes_need_spark(self.config, self.connections.selected, nodes):
            self.connections.start_spark()
        super().set_relations_cache(nodes, clear, required_schemas)

    def pre_model_hook(self, config: Mapping[str, Any]) -> Run | None:
        """Record the node as the origin of its snapshots, send the start of its run, check its configs, and apply its `spark_config`.

        dbt calls this before each materialization, also those of packages, but not for functions. A unit test has the `spark_config` of its
        model.
        """
        connection = self.connections.get_thread_connection()
        connection.handle.set_provenance(provenance_of(self.config, connection.name))
        connection.handle.last_outcome = None
        lineage, node = self._command_lineage(), config.model  # type: ignore[attr-defined] # dbt's object for configs
        run = None if lineage is None else lineage.start(node)
        try:
            if node.resource_type in _BUILT:
                columns = {name: column.to_dict(omit_none=True) for name, column in node.columns.items()}
                self.check_foreign_configs(node.config.to_dict(omit_none=True), columns)
            self.use_spark_config(config)
        except BaseException as error:
            if getattr(node, "batch", None) is not None:  # dbt would write the error of a batch only to its log
                logger.error(str(error))
            self.post_model_hook(config, run)  # dbt calls it only if this method returns
            raise
        return run

    @available
    def use_spark_config(self, config: Mapping[str, Any]) -> str:
        """Apply the `spark_config` of a node to its session; the materialization of functions calls it."""
        with self.connections.exception_handler("spark_config"):
            self.connections.handle().session.use_settings(spark_config(config, self.connections.manifest))
        return ""

    def post_model_hook(self, config: Any, context: Run | None) -> None:
        """Commit what a node has left in its transaction, and send the end of its run, if its start was sent.

        dbt calls this after a failure too. Materializations for Spark, which has no transactions, do not commit. Whether a batch has failed
        is not known here, so the materialization of a microbatch model must commit.
        """
        try:
            is_built = getattr(getattr(config, "model", None), "resource_type", None) in _BUILT
            if sys.exc_info()[1] is None and is_built and config.get("incremental_strategy") != "microbatch":
                self.connections.commit()
        finally:
            if context is not None and self._lineage is not None:
                manifest = self.connections.manifest
                self._lineage.end(context, config.model, self.connections.handle(), manifest, sys.exc_info()[1])

    def _command_lineage(self) -> CommandLineage | None:
        """Return the events of this command; None if it has none. The first call sends the start of the command."""
        settings = self.connections.credentials.lineage_settings()
        if settings is None or getattr(getattr(self.config, "args", None), "which", None) not in COMMANDS:
            return None
        with self._lineage_lock:
            if self._lineage is None or self._lineage.command.run_id != get_invocation_id():
                with self.connections.exception_handler("openlineage"):
                    self._lineage = CommandLineage(self.config, settings, logger.warning)
            return self._lineage

    def set_macro_resolver(self, macro_resolver: Any) -> None:
        """Keep the manifest, which says what nodes read."""
        super().set_macro_resolver(macro_resolver)
        self.connections.manifest = macro_resolver

    def clear_macro_resolver(self) -> None:
        """Forget the manifest."""
        super().clear_macro_resolver()
        self.connections.manifest = None

    @available
    def publishes_at_end(self) -> bool:
        """Whether something may be published at the end of a command (`publish: run` or `publish: tested`)."""
        return self.connections.publishing.publish != NODE

    @available
    def test_ran(self, test: Mapping[str, Any], counted: Any, warnings_fail: bool) -> str:
        """With `publish: tested`, publish the nodes that waited only for this test, or keep them unpublished; see `Publishing.failure`."""
        self.connections.test_ran(test, counted, warnings_fail=warnings_fail)
        return ""

    @available
    def publishing_statement(self, results: Sequence[Any]) -> str:
        """Return the statement that publishes what the command has staged, if its results allow it."""
        return self.connections.publishing_statement(results)

    @available
    def begin_transaction(self, message: str = "", author: str | None = None, extra_info: str | Mapping[str, Any] | None = None) -> str:
        """Begin the transaction that becomes the node's snapshot. After `adapter.commit()` statements commit by themselves again.

        Args:
            message: the snapshot's commit message; by default dbt's command and the node.
            author: its author; by default the profile's.
            extra_info: additions to its JSON, a dictionary or a string; a string that is not a JSON object is stored under `info`.
        """
        handle = self.connections.handle()
        handle.set_provenance(handle.provenance.with_message(message, author).with_extra_info(extra_info))
        self.connections.begin()
        return ""

    @available
    def check_foreign_configs(self, config: Mapping[str, Any], columns: Mapping[str, Any]) -> str:
        """Warn about a node's configs of other adapters that do nothing, and log what others do; each once per run.

        Raises:
            DbtRuntimeError: a config restricts or gives access, and `unenforced_access` is not `warn`.
        """
        refused = access_refusal(config, columns)
        if refused:
            if config.get("unenforced_access") != "warn":
                raise DbtRuntimeError(refused)
            self.warn_once(refused)
        for warning in config_warnings(config):
            self.warn_once(warning)
        for note in config_notes(config):
            if note not in self._warned:
                self._warned.add(note)
                logger.info(note)
        return ""

    @available
    def only_query(self, sql: str) -> str:
        """Return the query of a node unchanged, if it is only one statement.

        Raises:
            DbtRuntimeError: there are more, which would run without any effect on the node's relation.
        """
        count = len(split(sql))
        if count > 1:
            raise DbtRuntimeError(
                f"The model has {count} statements with semicolons between them, but a model is one query. "
                "Put other statements into `pre_hook`, `post_hook` or `sql_header`"
            )
        return sql

    @available.parse_none
    def check_unique_key(self, relation: DuckLakeRelation, unique_key: str | list[str] | None) -> None:
        """Warn about columns of a `unique_key` that the table does not have; expressions are not checked.

        This is not an error, because the first build needs no key and dbt's test suite for adapters expects it to succeed.
        """
        names = [column.name for column in self.get_columns_in_relation(relation)]
        missing = missing_keys(unique_key, names)
        if missing:
            self.warn_once(
                f"unique_key: {', '.join(missing)} is not a column of {relation}, and the next run needs it to match rows; "
                f"the columns are: {', '.join(names)}"
            )

    def validate_sql(self, sql: str) -> AdapterResponse:
        """Have Spark analyze a query without running it."""
        _, cursor = self.connections.add_query(f"select * from (\n{sql}\n) where false", auto_begin=False)
        return self.connections.get_response(cursor)

    # -- merges ----------------------------------------------------------------------------------------------------------------

    @available
    def merge_config_names(self) -> tuple[str, ...]:
        """Return the names of the merge configs, for macros to read."""
        return MERGE_CONFIGS

    @available.parse(lambda *_, **__: False)
    def has_finished_batches(self, model: Mapping[str, Any]) -> bool:
        """Whether `dbt retry` runs only some batches of a microbatch model, because others have succeeded."""
        return has_finished_batches(model, self.connections.manifest)

    @available.parse_none
    def check_merge_configs(
        self, configs: Mapping[str, Any], unique_key: str | list[str] | None, known: list[str], strategy: str = "merge"
    ) -> None:
        """Refuse merge configs that contradict each other, do not exist or have no effect; see `merge_configs.check`."""
        check(configs, unique_key, known, strategy)

    @available.parse_none
    def merge_plan(
        self,
        configs: Mapping[str, Any],
        unique_key: str | list[str] | None,
        update_columns: list[str],
        target_columns: list[str],
        source: DuckLakeRelation,
    ) -> MergePlan:
        """Return the parts of a model's MERGE; see `merge_configs.plan`. The rows of `source` are merged."""
        return plan(
            configs, unique_key, update_columns, target_columns, lambda: [column.name for column in self.get_columns_in_relation(source)]
        )

    # -- work ------------------------------------------------------------------------------------------------------------------

    @available.parse_none
    def materialize_temp_view(self, relation: DuckLakeRelation) -> None:
        """Compute and cache a temporary view, so that all statements until the commit see the same rows."""
        with self.connections.exception_handler(f"materialize {relation}"):
            self._session().cache(str(relation.identifier))

    @available.parse_none
    def view_reads_table(self, view: DuckLakeRelation, table: DuckLakeRelation) -> bool:
        """Whether a temporary view reads a table, directly or through views. The spelling of the name does not matter."""
        with self.connections.exception_handler(f"what {view} reads"):
            return self._session().depends_on_table(str(view.identifier), table.name_parts)

    def submit_python_job(self, parsed_model: dict[str, Any], compiled_code: str) -> AdapterResponse:
        """Run a Python model in this process, in its node's session and transaction."""
        with self.connections.exception_handler(f"Python model {parsed_model['name']}"):
            self.connections.handle().timeout = run_model(parsed_model, compiled_code, self._session())
        return DuckLakeResponse("OK")
