"""Clone a table, or all tables and views of a schema, by metadata and by links or copies of files, without Spark.

Each file gets a second name, as in a rollback: expiry schedules the file of a row for deletion, and DuckDB's cleanup removes it without
asking whether another row names the same path. A clone is a new table with the row ids, column ids and layout of the original. The text of
views is not changed, so a cloned view reads the tables that the original reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..catalog.read.reader import SnapshotReader
from ..errors import NotFoundError, StatementError
from ..format.identifiers import fold
from ..format.objects import Relation, Schema, Table, View
from ..format.options import Options
from ..format.positions import Position, positions_of, with_positions
from .context import Context
from .positions import position_on_clone
from .rollback_rows import difference, stage_difference
from .schemas import create_schema
from .tables import kind_of

COLUMNS = (("schema_name", "string"), ("name", "string"), ("kind", "string"), ("action", "string"), ("files", "bigint"), ("rows", "bigint"))
_MAX_NAMED = 5
"""The number of objects that a message names."""


@dataclass(frozen=True)
class Cloned:
    """The result for an object of the source; the names are those of the clone."""

    schema_name: str
    name: str
    kind: str
    """`table`, `view`, `function` or `macro`."""
    action: str = "cloned"
    """`cloned`, or `left out`: DuckDB's macros are not cloned."""
    files: int | None = None
    rows: int | None = None


def clone_table(
    context: Context, source: SnapshotReader, schema: str, name: str, into: tuple[str, str], *, replace_existing: bool = False
) -> Cloned:
    """Stage a clone of a table; the schema of the clone is created if it does not exist.

    Args:
        context: the catalog and the transaction.
        source: the snapshot to clone.
        schema: the schema of the table.
        name: the name of the table.
        into: the schema and the name of the clone.
        replace_existing: drop a table that has the name of the clone.

    Raises:
        NotFoundError: the table does not exist at that snapshot.
        StatementError: it is a view or was changed in this transaction, or the name of the clone is taken.
        LakeError: a file is missing from storage.
        ConfigurationError: the lake is read-only.
    """
    transaction = context.transaction
    transaction.require_writable()
    _record_reads(context, source, schema, [name])
    _require_committed(context, source, schema, [name])
    original = source.find(schema, name)
    if original is None:
        raise NotFoundError("table", f"{schema}.{name}", _snapshot_hint(context, source))
    if isinstance(original, View):
        raise StatementError(
            f"{schema}.{name} is a view, which has no files to share: create a view that selects from it, or clone the whole schema"
        )
    existing = transaction.find(*into)
    if existing is not None:
        if isinstance(existing, View) or not replace_existing:
            kind = kind_of(existing)
            raise StatementError(
                f"{kind} {existing.schema_name}.{existing.name} already exists: DROP {kind.upper()} it first, or clone into another name"
            )
        if existing.table_id == original.table_id:
            raise StatementError(f"{schema}.{name} cannot be replaced by a clone of itself; clone it into another name")
        transaction.objects.drop_table(existing)
    target = create_schema(context, into[0], if_not_exists=True)
    return _Clone(context, source, target, transaction.options()).table(original, into[1])


def clone_schema(context: Context, source: SnapshotReader, schema: str, into: str) -> list[Cloned]:
    """Stage a clone of all tables, views and functions of a schema, in a new or an empty schema.

    Args:
        context: the catalog and the transaction.
        source: the snapshot to clone.
        schema: the schema.
        into: the name of the schema of the clones.

    Returns:
        An entry for each object of the schema.

    Raises:
        NotFoundError: the schema does not exist at that snapshot.
        StatementError: it was changed in this transaction, or the other schema is the same one or is not empty.
        LakeError: a file is missing from storage, or the definition of a table or view is damaged.
        ConfigurationError: the lake is read-only.
    """
    transaction = context.transaction
    transaction.require_writable()
    original = source.schema(schema)
    if original is None:
        raise NotFoundError("schema", schema, _snapshot_hint(context, source))
    if fold(schema) == fold(into):
        raise StatementError(f"schema {schema} cannot be cloned into itself; name another schema")
    names = source.names(original.name)
    known = {each.name for each in [*names, *transaction.names(original.name)]}
    _record_reads(context, source, original.name, known)
    _require_committed(context, source, original.name, known)
    _require_empty(context, into)
    target = create_schema(context, into, if_not_exists=True)
    work = _Clone(context, source, target, transaction.options())
    work.schema(original)
    relations = {each.name: each for each in source.relations(original.name)}  # without damaged ones, for which `find` raises an error
    found = [relations.get(each.name) or source.find(original.name, each.name) for each in names]
    cloned = [work.relation(each) for each in found if each is not None]
    work.positions([each for each in found if isinstance(each, Table)])
    return [
        *cloned,
        *(Cloned(target.name, each.name, "function") for each in original.functions),
        *(Cloned(target.name, each.name, "macro", "left out") for each in source.macros(original.name)),
    ]


@dataclass(frozen=True)
class _Clone:
    """Clones objects of the snapshot `source` into the schema `target`, with their stored options."""

    context: Context
    source: SnapshotReader
    target: Schema
    options: Options

    def schema(self, original: Schema) -> None:
        """Give the schema of the clones the comment, the functions and the options of the original."""
        comment = self.target.comment if self.target.comment is not None else original.comment
        tags = {**original.tags, **self.target.tags}
        self.context.transaction.objects.put_schema(replace(self.target, comment=comment, tags=tags))
        self._set_options(self.target, "schema", original.schema_id)

    def relation(self, original: Relation) -> Cloned:
        """Clone a table or view under its name."""
        if isinstance(original, Table):
            return self.table(original, original.name)
        objects, view = self.context.transaction.objects, original
        objects.new_view(self.target, view.name, view.sql, view.dialect, view.column_aliases, view.comment, view.tags)
        return Cloned(self.target.name, view.name, "view")

    def table(self, original: Table, name: str) -> Cloned:
        """Clone a table."""
        objects = self.context.transaction.objects
        found = difference(self.source.rollback_plan(original))
        table = objects.new_table(
            self.target,
            name,
            original.columns,
            partitioning=() if original.partitioning is None else original.partitioning.fields,
            sorting=original.sorting,
            comment=original.comment,
            tags=with_positions(original.tags, ()),  # the model of the clone may read other inputs
        )
        table = replace(table, next_column_id=original.next_column_id)  # the files may have columns that were dropped
        objects.put_table(table)
        self._set_options(table, "table", original.table_id)
        stage_difference(self.context, table, found, original)
        return Cloned(self.target.name, name, "table", files=len(found.files_restored), rows=found.rows_after)

    def positions(self, originals: Sequence[Table]) -> None:
        """Let the clones of models continue from their positions, on the clones of inputs that have not changed since."""
        clones = {each.uuid: (each, self._clone_of(each)) for each in originals}
        for original, clone in clones.values():
            known = positions_of(original.tags)
            moved = [self._moved(each, *clones[each.uuid]) if each.uuid in clones else each for each in known]
            kept = [each for each in moved if each is not None]
            if known and len(kept) == len(known):
                self.context.transaction.objects.put_table(replace(clone, tags=with_positions(clone.tags, kept)))

    def _moved(self, position: Position, original: Table, clone: Table) -> Position | None:
        return position_on_clone(self.context, self.source, position, original, clone)

    def _clone_of(self, original: Table) -> Table:
        found = self.context.transaction.find(self.target.name, original.name)
        assert isinstance(found, Table)
        return found

    def _set_options(self, target: Table | Schema, scope: str, scope_id: int) -> None:
        for option in self.options.rows:
            if (option.scope or "").lower() == scope and option.scope_id == scope_id:
                self.context.transaction.objects.set_option(option.key, option.value, target)


def _record_reads(context: Context, source: SnapshotReader, schema: str, names: Iterable[str]) -> None:
    """Record that the clone depends on these relations, unless they are those of an earlier snapshot, which cannot change."""
    transaction = context.transaction
    if source.snapshot == transaction.snapshot:
        for found in (transaction.find(schema, name) for name in names):
            if isinstance(found, Table):
                transaction.record_read(found.table_id)


def _require_committed(context: Context, source: SnapshotReader, schema: str, names: Iterable[str]) -> None:
    """Require that the transaction has not changed the relations, because the clones show them as they were when it began."""
    transaction = context.transaction
    if source.snapshot != transaction.snapshot or not transaction.has_changes:
        return
    changed = []
    for name in sorted(names):
        current = transaction.find(schema, name)
        rows = transaction.staged.rows.get(current.table_id) if isinstance(current, Table) else None
        if current != source.find(schema, name) or (rows is not None and rows.has_changes):
            changed.append(f"{schema}.{name}")
    if changed:
        raise StatementError(f"{_first_names(changed)} changed in this transaction; COMMIT before you clone")


def _require_empty(context: Context, into: str) -> None:
    """Require that the schema does not exist or has no members.

    Raises:
        StatementError: it has some.
    """
    existing = context.transaction.schema(into)
    if existing is None:
        return
    members = [each.name for each in context.transaction.names(existing.name)]
    members += [each.name for each in context.transaction.macros(existing.name)]
    members += [each.name for each in existing.functions]
    if members:
        raise StatementError(
            f"schema {existing.name} is not empty ({_first_names(members)}): clone into a new schema, or "
            f"DROP SCHEMA {existing.name} CASCADE first"
        )


def _first_names(names: list[str]) -> str:
    """Return the first names for a message, with `…` if there are more."""
    return ", ".join(names[:_MAX_NAMED]) + (", …" if len(names) > _MAX_NAMED else "")


def _snapshot_hint(context: Context, source: SnapshotReader) -> str:
    """Return the hint about a missing object: the snapshot that lacks it, if that is an earlier one."""
    return "" if source.snapshot == context.transaction.snapshot else f"There was none at snapshot {source.snapshot.snapshot_id}"
