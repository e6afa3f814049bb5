"""The procedures of maintenance, with their arguments and results, and CHECKPOINT, which runs most of them.

Specification: "Maintenance", "Checkpoint". None runs inside a transaction: a removal cannot be rolled back, the others commit themselves.
Flushes, merges and rewrites commit each table by itself, so that a conflict of one table does not undo the others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime, timezone
from functools import partial
from typing import Generic, TypeVar

from ..errors import CatalogBusyError, ConflictError, DataError, DuckLakeError, LakeError, StatementError
from ..format.identifiers import fold
from ..format.objects import Snapshot, Table
from ..format.option_values import limit_of_age
from ..lake.cleanup import cleanup_old_files
from ..lake.compaction import COLUMNS as COMPACTION_COLUMNS
from ..lake.compaction import CompactionResult, compacted, merge_adjacent_files, rewrite_data_files
from ..lake.context import Context
from ..lake.flush import Flushed, flush_inlined_data, flushed
from ..lake.maintained import Maintained, maintained_tables
from ..lake.orphans import delete_orphaned_files
from ..lake.rollback import COLUMNS as ROLLBACK_COLUMNS
from ..lake.rollback import roll_back
from ..lake.safe_removal import Removal
from ..lake.snapshots import COLUMNS as SNAPSHOT_COLUMNS
from ..lake.snapshots import snapshot_rows
from ..sql.values import Call, Checkpoint, Name, Statement
from .arguments import TRUE, Parameter, boolean, identifier, integer, integers, named, number, timestamp
from .environment import Environment
from .procedure import IRREVERSIBLE, OWN_TRANSACTION, PREFIX, Arguments, Procedure, schema_and_table
from .result import Result, local

logger = logging.getLogger(__name__)

T = TypeVar("T", CompactionResult, Flushed)

_STEPS = (
    *("flush_inlined_data", "expire_snapshots", "merge_adjacent_files"),
    *("rewrite_data_files", "cleanup_old_files", "delete_orphaned_files"),
)
"""The steps of CHECKPOINT in their order."""
_MAX_NAMED = 5
"""How many tables or files a message names."""


@dataclass
class _ByTable(Generic[T]):
    """Maintenance of tables one after the other, and what it has committed."""

    env: Environment
    given: Arguments
    results: list[T] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """What is as before, because concurrent writers changed it."""
    snapshot: Snapshot | None = None

    def run(
        self, stage: Callable[[Context, Table], None], outcome: Callable[[Context, Table], Maintained[T]], limit: int | None = None
    ) -> _ByTable[T]:
        """Maintain the tables that the arguments name, each in a transaction of its own, and return self.

        Args:
            stage: stages the changes of a table.
            outcome: returns what the commit has changed.
            limit: how many results are enough.

        Raises:
            CatalogBusyError: other writers kept the catalog busy, so that no other table was tried.
            ConflictError: a concurrent writer has changed the only table that the arguments name.
            DataError, LakeError: a table cannot be maintained; the others are.
        """
        failures: list[DuckLakeError] = []
        for table in maintained_tables(self.env.context, *schema_and_table(self.env, self.given)):
            if limit is not None and len(self.results) >= limit:
                break
            name = f"{table.schema_name}.{table.name}"
            try:
                context, snapshot = self.env.run_alone(partial(self._stage, stage, table.table_id))
            except CatalogBusyError:
                raise
            except ConflictError as conflict:
                if self.given["table_name"] is not None:
                    raise
                self.left.append(f"{name} ({str(conflict).partition(';')[0]})")
                continue
            except (DataError, LakeError) as error:
                logger.warning("%s is not maintained: %s", name, error)
                failures.append(error)
                continue
            done = outcome(context, table)
            self.results += done.results
            self.left += [f"{done.files_left} files of {name}"] if done.files_left else []
            self.snapshot = snapshot or self.snapshot
        if self.left:
            logger.warning("%s", self._left())
        if failures:
            raise failures[0]
        return self

    def _stage(self, stage: Callable[[Context, Table], None], table_id: int, env: Environment) -> Context:
        """Stage the changes of a table, if it still exists."""
        context = env.lakes.contexts[self.env.lake]()
        table = context.transaction.by_id(table_id)
        if isinstance(table, Table):
            stage(context, table)
        return context

    def result(self, message: str, columns: Sequence[tuple[str, str]]) -> Result:
        """Return the result of the statement."""
        if self.left:
            message += f"; {self._left()}"
        rows = [astuple(each) for each in self.results]
        return replace(local(message, columns, rows), snapshot=self.snapshot)

    def _left(self) -> str:
        return f"left for the next time, because of concurrent writers: {_some(self.left)}"


def _expire_snapshots(env: Environment, given: Arguments) -> Result:
    versions, older_than, dry_run = given["versions"], given["older_than"], bool(given["dry_run"])
    if versions is not None and older_than is not None:
        raise StatementError("expire_snapshots takes versions or older_than, not both")
    if versions is None and older_than is None:
        interval = env.context.catalog.option("expire_older_than")
        if not interval:
            raise StatementError(
                "expire_snapshots needs versions => [3, 4] or older_than => TIMESTAMP '…', because the option expire_older_than is not set"
            )
        older_than = limit_of_age("expire_older_than", interval, datetime.now(timezone.utc))
    records = env.context.catalog.maintenance.expire(versions=versions, older_than=older_than, dry_run=dry_run)
    verb = "would expire" if dry_run else "expired"
    return local(f"EXPIRE SNAPSHOTS: {len(records)} {verb}", SNAPSHOT_COLUMNS, snapshot_rows(records))


def _remove(title: str, remove: Callable[..., list[Removal]], env: Environment, given: Arguments) -> Result:
    older_than = given["older_than"]
    if given["cleanup_all"] and older_than is not None:
        raise StatementError(f"{title}: cleanup_all and older_than cannot be used together; leave one of them out")
    if older_than is None and not given["cleanup_all"]:
        grace_period = env.context.catalog.option("delete_older_than") or "2 days"
        older_than = limit_of_age("delete_older_than", grace_period, datetime.now(timezone.utc))
    dry_run = bool(given["dry_run"])
    outcomes = remove(env.context, older_than=older_than, dry_run=dry_run)
    done = [(outcome.path,) for outcome in outcomes if outcome.kept_because is None]
    kept = [f"{outcome.path} ({outcome.kept_because})" for outcome in outcomes if outcome.kept_because is not None]
    message = f"{title}: {len(done)} {'would be removed' if dry_run else 'removed'}"
    if kept:
        message += f", {len(kept)} kept: {_some(kept)}"
        for each in kept[_MAX_NAMED:]:
            logger.info("%s: kept %s", title, each)
    return local(message, [("path", "string")], done)


def _flush_inlined_data(env: Environment, given: Arguments) -> Result:
    done = _ByTable[Flushed](env, given).run(flush_inlined_data, flushed)
    columns = [("schema_name", "string"), ("table_name", "string"), ("rows_flushed", "bigint")]
    return done.result("FLUSH INLINED DATA", columns)


def _merge_adjacent_files(env: Environment, given: Arguments) -> Result:
    limit = given["max_compacted_files"]
    if limit is not None and limit < 1:
        raise StatementError("max_compacted_files must be at least 1")
    sizes = {name: given[name] for name in ("min_file_size", "max_file_size")}
    if min(size or 0 for size in sizes.values()) < 0:
        raise StatementError("min_file_size and max_file_size must be 0 or more (bytes)")

    done = _ByTable[CompactionResult](env, given)

    def merge(context: Context, table: Table) -> None:
        merge_adjacent_files(context, table, **sizes, max_compacted_files=None if limit is None else limit - len(done.results))

    return _compaction_result("MERGE ADJACENT FILES", done.run(merge, compacted, limit))


def _rewrite_data_files(env: Environment, given: Arguments) -> Result:
    threshold = given["delete_threshold"]
    if threshold is not None and not 0 <= threshold <= 1:
        raise StatementError(f"delete_threshold must be a fraction of rows, from 0 to 1, not {threshold}")
    rewrite = partial(rewrite_data_files, delete_threshold=threshold)
    return _compaction_result("REWRITE DATA FILES", _ByTable[CompactionResult](env, given).run(rewrite, compacted))


def _rollback(env: Environment, given: Arguments) -> Result:
    version, timestamp = given["version"], given["timestamp"]
    if (version is None) == (timestamp is None):
        raise StatementError("rollback takes the snapshot to restore, as either version => 5 or timestamp => '2026-01-31 12:00:00'")
    snapshot = env.context.catalog.resolve(version=version, timestamp=timestamp)
    outcomes = roll_back(env.context, snapshot, *schema_and_table(env, given), dry_run=bool(given["dry_run"]))
    changed = sum(outcome.action != "kept" for outcome in outcomes)
    verb = "would change" if given["dry_run"] else "changed"
    message = f"ROLLBACK to snapshot {snapshot.snapshot_id}: {changed} {verb}, {len(outcomes) - changed} kept"
    return local(message, ROLLBACK_COLUMNS, [astuple(outcome) for outcome in outcomes])


def _compaction_result(title: str, done: _ByTable[CompactionResult]) -> Result:
    processed, created = sum(each.files_processed for each in done.results), sum(each.files_created for each in done.results)
    return done.result(f"{title}: {processed} files became {created}", COMPACTION_COLUMNS)


def _some(texts: Sequence[str]) -> str:
    """Return the first texts, and how many more there are."""
    more = len(texts) - _MAX_NAMED
    return "; ".join([*texts[:_MAX_NAMED], *([f"{more} more"] if more > 0 else [])])


def run_checkpoint(statement: Checkpoint, lakes: Sequence[str], in_transaction: bool, call: Callable[[Call], Result]) -> Result:
    """Run CHECKPOINT: all maintenance of the named lake or the current one in DuckDB's order, with the lake's options.

    Each step has a transaction of its own, so that completed steps persist if a later one fails; it is a row of the result.

    Args:
        statement: the statement.
        lakes: the names of the session's lakes.
        in_transaction: whether BEGIN has opened a transaction.
        call: runs a CALL as a statement of its own.

    Raises:
        StatementError: no lake has the name, or a transaction is open.
    """
    lake = () if statement.name is None else statement.name.parts
    if statement.name is not None and fold(str(statement.name)) not in map(fold, lakes):
        raise StatementError(f"CHECKPOINT {statement.name}: there is no such lake; the lakes are {', '.join(lakes)}")
    if in_transaction:
        raise StatementError(f"CHECKPOINT {IRREVERSIBLE}")
    rows = []
    for step in _STEPS:
        if step == "expire_snapshots" and not _expires(call, lake):
            rows.append((step, 0, "EXPIRE SNAPSHOTS: the option expire_older_than is not set"))
            continue
        result = call(Call(Name((*lake, step)), ()))
        rows.append((step, len(result.rows or ()), result.message))
    return local("CHECKPOINT", [("step", "string"), ("results", "bigint"), ("outcome", "string")], rows)


def _expires(call: Callable[[Call], Result], lake: tuple[str, ...]) -> bool:
    """Whether the lake has the option `expire_older_than`, the age from which snapshots expire."""
    options = call(Call(Name((*lake, "options")), ())).rows or ()
    return any(name == "expire_older_than" and value and scope == "GLOBAL" for name, _, value, scope, _ in options)


_TABLE = Parameter("table_name", identifier)
_REMOVAL = named(older_than=timestamp, cleanup_all=boolean, dry_run=boolean)
MAINTENANCE: dict[str, Procedure] = {
    "expire_snapshots": Procedure(
        _expire_snapshots, named(versions=integers, older_than=timestamp, dry_run=boolean), refused_because=IRREVERSIBLE
    ),
    "flush_inlined_data": Procedure(
        _flush_inlined_data, named(schema_name=identifier, table_name=identifier), refused_because=OWN_TRANSACTION
    ),
    "merge_adjacent_files": Procedure(
        _merge_adjacent_files,
        (_TABLE, *named(schema=identifier, min_file_size=integer, max_file_size=integer, max_compacted_files=integer)),
        refused_because=OWN_TRANSACTION,
    ),
    "rewrite_data_files": Procedure(
        _rewrite_data_files, (_TABLE, *named(schema=identifier, delete_threshold=number)), refused_because=OWN_TRANSACTION
    ),
    "rollback": Procedure(
        _rollback,
        named(table_name=identifier, schema=identifier, version=integer, timestamp=timestamp, dry_run=boolean),
        refused_because=OWN_TRANSACTION,
    ),
    "cleanup_old_files": Procedure(partial(_remove, "CLEANUP OLD FILES", cleanup_old_files), _REMOVAL, refused_because=IRREVERSIBLE),
    "delete_orphaned_files": Procedure(
        partial(_remove, "DELETE ORPHANED FILES", delete_orphaned_files), _REMOVAL, refused_because=IRREVERSIBLE
    ),
}


def is_maintenance(statement: Statement) -> bool:
    """Whether a statement is CHECKPOINT or CALL of a procedure of maintenance, by its name, and is not a dry run, which changes nothing."""
    if isinstance(statement, Checkpoint):
        return True
    if not isinstance(statement, Call) or fold(statement.name.parts[-1]).removeprefix(PREFIX) not in MAINTENANCE:
        return False
    return not any(fold(each.name or "") == "dry_run" and fold(str(each.value)) in TRUE for each in statement.arguments)
