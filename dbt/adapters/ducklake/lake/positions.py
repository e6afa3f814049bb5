"""The changes of a model's inputs since its last commit, and the positions up to which it has read them.

A position is the snapshot that the model's transaction read. It is a tag of the model's table, so it is committed together with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from ..catalog.read.reader import SnapshotReader
from ..errors import NotFoundError, StatementError
from ..format.files import ChangePlan
from ..format.identifiers import fold
from ..format.objects import Table, View
from ..format.positions import Position, layout, positions_of, with_positions
from ..spark.read import net_changes
from .changes import require_free
from .context import Context
from .tables import required_relation, required_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = (
    ("schema_name", "string"),
    ("table_name", "string"),
    ("input", "string"),
    ("input_table_id", "bigint"),
    ("snapshot_id", "bigint"),
    ("problem", "string"),
)
"""The columns of `position_rows`."""
CHANGE_COLUMNS = (net_changes.CHANGE_TYPE, net_changes.SNAPSHOT_ID)
"""The columns that `input_changes` adds to those of the input."""
_REFRESH_AFTER = timedelta(days=1)
"""The age after which a position is renewed even if no input has changed, so that its snapshot does not expire."""

ContextOf = Callable[[str], Context]
"""Returns the context of a lake by its name.

Raises:
    StatementError: the profile does not attach the lake.
"""


@dataclass(frozen=True)
class Input:
    """A table whose changes a model reads."""

    lake: str
    context: Context
    table: Table

    @property
    def name(self) -> str:
        """Its name for messages."""
        return f"{self.lake}.{self.table.schema_name}.{self.table.name}"

    @property
    def is_staged(self) -> bool:
        """Whether the transaction has changed its rows or columns, or created it."""
        transaction = self.context.transaction
        earlier = transaction.base.by_id(self.table.table_id) if self.table.table_id >= 0 else None
        changes = transaction.staged.rows.get(self.table.table_id)
        same = isinstance(earlier, Table) and layout(earlier.columns) == layout(self.table.columns)
        return not same or (changes is not None and changes.has_changes)

    @property
    def position(self) -> Position:
        """The position to store for a model that reads this input in the current transaction."""
        table = f"{self.table.schema_name}.{self.table.name}"
        snapshot_id = None if self.is_staged else self.context.transaction.snapshot.snapshot_id
        return Position(self.lake, table, self.table.table_id, self.table.uuid, snapshot_id)

    def changes_since(self, snapshot_id: int) -> ChangePlan:
        """Return the plan for the net changes after `snapshot_id`, including those that the transaction has staged."""
        transaction = self.context.transaction
        return transaction.base.net_changes(self.table, snapshot_id, transaction.scan_plan(self.table))


def required_input(lake: str, context: Context, schema: str, name: str) -> Input:
    """Return the table of this name as an input.

    Args:
        lake: the name of the input's lake.
        context: the context of that lake.
        schema: the schema of the table.
        name: the name of the table.

    Raises:
        NotFoundError: it does not exist.
        StatementError: it is a view.
    """
    relation = required_relation(context, schema, name)
    title = f"{lake}.{relation.schema_name}.{relation.name}"
    if isinstance(relation, View):
        raise StatementError(
            f"{title} is a view, which records no changes: read the changes of the tables that it reads, or make it a table or an "
            "incremental model"
        )
    return Input(lake, context, relation)


def input_changes(source: Input, model: Table, *, old_versions: bool) -> DataFrame:
    """Return the net changes of an input since the model's position: its columns, `_change_type` and `_snapshot_id`.

    Args:
        source: the input.
        model: the model's table, which has the positions.
        old_versions: also return the old version of each updated row, with the change type `update_preimage`.

    Raises:
        StatementError: the model has no usable position for this input, or the input has a column `_change_type` or `_snapshot_id`.
    """
    require_free(source.table, CHANGE_COLUMNS, source.name)
    position = _position(source, positions_of(model.tags))
    reason = "the model has not read them before" if position is None else _input_problem(source, position)
    if position is None or position.snapshot_id is None or reason is not None:
        raise StatementError(
            f"the changes of {source.name} since the last commit of {model.schema_name}.{model.name} cannot be determined: {reason}. "
            "Run the model with --full-refresh"
        )
    plan = source.changes_since(position.snapshot_id)
    return net_changes.net_changes(source.context.spark(), plan, position.snapshot_id + 1, old_versions=old_versions)


def all_rows(source: Input) -> DataFrame:
    """Return all rows of an input as insertions, with the columns of `input_changes`.

    Raises:
        StatementError: the input has a column `_change_type` or `_snapshot_id`.
    """
    require_free(source.table, CHANGE_COLUMNS, source.name)
    return net_changes.all_rows(source.context.spark(), source.context.transaction.scan_plan(source.table))


def set_positions(context: Context, schema: str, name: str, inputs: Sequence[Input]) -> None:
    """Stage the positions of a model that has read its inputs in this transaction. Without inputs it has none.

    If no input has changed, recent positions stay as they are, so that such a run creates no snapshot.

    Args:
        context: the context of the model's lake.
        schema: the schema of the model's table.
        name: the name of the model's table.
        inputs: all tables whose changes the model reads, which may be in other lakes.
    """
    model = required_table(context, schema, name)
    known = positions_of(model.tags)
    before = [_position(source, known) for source in inputs]
    if len(known) == len(inputs) and all(
        position is not None and _is_current(source, position) for source, position in zip(inputs, before, strict=True)
    ):
        return
    for source in inputs:
        if source.is_staged:
            source.context.transaction.rows.read_as_input(source.table)
    tags = with_positions(model.tags, [source.position for source in inputs])
    context.transaction.objects.put_table(replace(model, tags=tags))


def problems(
    context: Context, schema: str, name: str, context_of: ContextOf, inputs: Collection[tuple[str, str]] | None = None
) -> list[str] | None:
    """Return why a model cannot continue from its positions.

    Args:
        context: the context of the model's lake.
        schema: the schema of the model's table.
        name: the name of the model's table, which need not exist.
        context_of: returns the context of an input's lake.
        inputs: (lake, `schema.name`) of each table that the model reads now; None if they are not known.

    Returns:
        A sentence for each input whose changes cannot be read; None if the model has no positions.

    Raises:
        StatementError: the profile no longer attaches the lake of an input.
    """
    model = context.transaction.find(schema, name)
    known = positions_of(model.tags) if isinstance(model, Table) else ()
    if not known:
        return None
    read = [position for position in known if inputs is None or _is_read(position, inputs, context_of)]
    return [reason for position in read if (reason := _position_problem(position, context_of)) is not None]


def _is_read(position: Position, inputs: Collection[tuple[str, str]], context_of: ContextOf) -> bool:
    """Whether the table of a position is one of the inputs, by its name when the position was stored, or its current name."""
    names = {fold(table) for lake, table in inputs if fold(lake) == fold(position.lake)}
    if not names or fold(position.table) in names:
        return bool(names)
    table = context_of(position.lake).transaction.by_id(position.table_id)
    return isinstance(table, Table) and fold(f"{table.schema_name}.{table.name}") in names


def position_rows(context: Context, schema: str | None, name: str | None, context_of: ContextOf) -> list[tuple[object, ...]]:
    """Return one row per position of a model, of all models in a schema, or of all in the lake; the values are in the order of `COLUMNS`.

    Args:
        context: the context of the models' lake.
        schema: only models in this schema; None means all schemas, or `main` if `name` is given.
        name: only the model with this table; None for all models.
        context_of: returns the context of an input's lake.
    """
    models = [required_table(context, schema or "main", name)] if name else context.transaction.relations(schema)
    return [
        (
            *(model.schema_name, model.name),
            *(f"{position.lake}.{position.table}", position.table_id, position.snapshot_id),
            _problem_for_list(position, context_of),
        )
        for model in models
        for position in positions_of(model.tags)
    ]


def position_on_clone(context: Context, source: SnapshotReader, position: Position, original: Table, clone: Table) -> Position | None:
    """Return the position on the clone of an input, whose snapshot id the commit fills in.

    Args:
        context: the catalog and the transaction.
        source: the snapshot that is cloned.
        position: the position on the original.
        original: the input at that snapshot.
        clone: its clone, which this transaction creates.

    Returns:
        None if the original has changed since the position, or its changes since then cannot be read.
    """
    if position.snapshot_id is None or _input_problem(Input(position.lake, context, original), position) is not None:
        return None
    if not source.net_changes(original, position.snapshot_id, source.scan_plan(original)).is_empty:
        return None
    return Position(position.lake, f"{clone.schema_name}.{clone.name}", clone.table_id, clone.uuid, None)


def _position(source: Input, known: Sequence[Position]) -> Position | None:
    """Return the position of an input, by its id; after it was dropped and created again, the one that has its name."""
    own = [each for each in known if fold(each.lake) == fold(source.lake)]
    wanted = fold(f"{source.table.schema_name}.{source.table.name}")
    same = [each for each in own if each.table_id == source.table.table_id]
    return next(iter([*same, *(each for each in own if fold(each.table) == wanted)]), None)


def _problem_for_list(position: Position, context_of: ContextOf) -> str | None:
    try:
        return _position_problem(position, context_of)
    except StatementError as error:
        return str(error)


def _position_problem(position: Position, context_of: ContextOf) -> str | None:
    """Return why the changes since a position cannot be read. If another table has the input's name now, that table is meant."""
    context = context_of(position.lake)
    table = context.transaction.by_id(position.table_id)
    named = list(_tables_named(context, position.table))
    if named and all(each.table_id != position.table_id for each in named):
        table = named[0]
    if not isinstance(table, Table):
        return f"{position.lake}.{position.table} was dropped"
    return _input_problem(Input(position.lake, context, table), position)


def _tables_named(context: Context, full_name: str) -> Iterator[Table]:
    """Yield the tables that `schema.name` can mean: both parts may contain dots."""
    parts = full_name.split(".")
    for end in range(1, len(parts)):
        found = context.transaction.find(".".join(parts[:end]), ".".join(parts[end:]))
        if isinstance(found, Table):
            yield found


def _input_problem(source: Input, position: Position) -> str | None:
    """Return why the changes since a position cannot be read; None if they can."""
    if source.table.uuid != position.uuid:
        return f"{position.lake}.{position.table} was dropped or renamed, and the table now named {source.name} is a different one"
    if position.snapshot_id is None:
        return f"the changes of {source.name} were already read in this run, which is not published yet"
    try:
        snapshot = source.context.catalog.resolve(version=position.snapshot_id)
    except NotFoundError:
        return f"snapshot {position.snapshot_id}, up to which the changes of {source.name} were read, has expired"
    earlier = source.context.catalog.reader(snapshot).by_id(source.table.table_id)
    if not isinstance(earlier, Table) or layout(earlier.columns) != layout(source.table.columns):
        return f"the columns of {source.name} have changed since snapshot {position.snapshot_id}"
    return None


def _is_current(source: Input, position: Position) -> bool:
    """Whether an input has not changed since a position, and the position is recent."""
    if source.is_staged or position.snapshot_id is None or _input_problem(source, position) is not None:
        return False
    now = source.context.transaction.snapshot
    then = source.context.catalog.resolve(version=position.snapshot_id)
    if now.time - then.time > _REFRESH_AFTER:
        return False
    return source.changes_since(position.snapshot_id).is_empty
