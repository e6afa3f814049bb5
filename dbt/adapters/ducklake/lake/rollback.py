"""Restore a table, all objects of a schema, or the whole lake to an earlier snapshot, as one new snapshot.

The history does not change. Objects are identified by their ids, so renames are undone. A table that was dropped since is restored as a new
table with its earlier row ids and column ids. Options have no versions and do not change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from ..catalog.read.reader import SnapshotReader
from ..errors import NotFoundError, StatementError
from ..format.changes import Kind
from ..format.identifiers import fold
from ..format.objects import Relation, Schema, Snapshot, Table, View
from .context import Context
from .rollback_rows import Difference, difference, stage_difference
from .schemas import required_schema

COLUMNS = (
    ("schema_name", "string"),
    ("name", "string"),
    ("kind", "string"),
    ("action", "string"),
    ("files_ended", "bigint"),
    ("files_restored", "bigint"),
    ("rows_before", "bigint"),
    ("rows_after", "bigint"),
)
"""The columns of the result, in the order of the fields of `Outcome`."""


@dataclass(frozen=True)
class Outcome:
    """The result for an object; the names are the final ones, for a dropped object the last ones."""

    schema_name: str
    name: str
    kind: str
    """`schema`, `table`, `view` or `macro`."""
    action: str
    """What was done.

    `kept`: nothing changed since. `rolled back`: its rows were restored. `altered`: its definition was restored, and its rows if they
    differ. `restored`: it had been dropped. `dropped`: it did not exist at the earlier snapshot.
    """
    files_ended: int | None = None
    files_restored: int | None = None
    rows_before: int | None = None
    rows_after: int | None = None
    """The counts are None where no rows were compared: views, macros, schemas, dropped tables, and tables without changes in the log."""


def roll_back(
    context: Context, to: Snapshot, schema: str | None = None, table: str | None = None, *, dry_run: bool = False
) -> list[Outcome]:
    """Stage the rollback of a table, of all objects of a schema, or of the whole lake to an earlier snapshot. Spark is not needed.

    Args:
        context: the catalog and the transaction.
        to: the earlier snapshot.
        schema: the schema to roll back, or the schema of `table` (None: `main`); None without a table: the whole lake.
        table: roll back only this table.
        dry_run: stage nothing, and return what would change.

    Returns:
        An entry for each table, and for each other object that changes.

    Raises:
        NotFoundError: the schema or table did not exist at that snapshot.
        StatementError: the name belongs to a view now, the table has another name now, or its schema was dropped.
        LakeError: a file of that snapshot is missing from storage, or the definition of a table or view is damaged.
        ConfigurationError: the lake is read-only.
    """
    if not dry_run:
        context.transaction.require_writable()
    reader = context.catalog.reader(to)
    work = _Rollback(context, reader, dry_run)
    if table is not None:
        return [work.table(schema or "main", table)]
    if schema is not None and reader.schema(schema) is None:
        hint = f"It did not exist at snapshot {to.snapshot_id}"
        raise NotFoundError("schema", schema, hint if context.transaction.schema(schema) is None else f"{hint}; DROP SCHEMA removes it")
    return list(work.everything(schema))


@dataclass(frozen=True)
class _Rollback:
    context: Context
    reader: SnapshotReader
    """Reads the earlier snapshot."""
    dry_run: bool

    def table(self, schema: str, name: str) -> Outcome:
        """Roll back one table, which keeps its current name.

        Raises:
            NotFoundError: there was no such table at the earlier snapshot.
            StatementError: it is a view, has another name now, or its schema was dropped.
        """
        transaction, version = self.context.transaction, self.reader.snapshot.snapshot_id
        current = transaction.find(schema, name)
        if isinstance(current, View):
            raise StatementError(f"{schema}.{name} is a view; roll back its schema, or DROP the view first")
        earlier = None if current is None else self.reader.by_id(current.table_id)
        if isinstance(current, Table) and isinstance(earlier, Table):
            return self._revert(current, replace(earlier, schema_name=current.schema_name, name=current.name))
        earlier = self.reader.find(schema, name)
        if not isinstance(earlier, Table):
            hint = f"It did not exist at snapshot {version}" + ("; DROP TABLE removes it" if current is not None else "")
            raise NotFoundError("table", f"{schema}.{name}", hint)
        renamed = transaction.by_id(earlier.table_id)
        if isinstance(renamed, Table):
            raise StatementError(
                f"the table {schema}.{name} of snapshot {version} is called {renamed.schema_name}.{renamed.name} now; roll that one back"
            )
        if transaction.schema(earlier.schema_name) is None:
            raise StatementError(f"the schema of {schema}.{name} was dropped; roll back the schema: schema => '{schema}'")
        if current is not None and not self.dry_run:
            transaction.objects.drop_table(current)
        return self._restore(earlier)

    def _require_definitions(self, schema: str | None, past: Collection[int]) -> None:
        """Raise LakeError if an earlier definition is damaged: `relations` leaves it out, but its object was not created since."""
        for name in self.reader.names(schema):
            if name.relation_id not in past:
                self.reader.by_id(name.relation_id)

    def everything(self, schema: str | None) -> Iterator[Outcome]:
        """Roll back all present and earlier objects of a schema, or of the lake. New objects are dropped first, to free their names."""
        transaction, touched = self.context.transaction, self._touched()
        if not self.dry_run:
            transaction.declare_rollback(schema)
        current, earlier = transaction.relations(schema), self.reader.relations(schema)
        present, past = ({each.relation_id: each for each in relations} for relations in (current, earlier))
        self._require_definitions(schema, past)
        yield from self._restore_schemas(schema)
        for relation_id, relation in present.items():
            if relation_id not in past:
                yield self._drop(relation)
        yield from self._macros(schema)
        for relation_id, relation in sorted(past.items(), key=lambda entry: entry[0] not in present):  # renames first, to free names
            relation = self._in_schema(relation)
            before = present.get(relation_id)
            if isinstance(relation, Table) and _same(before, relation) and touched is not None and relation_id not in touched:
                if not self.dry_run:
                    transaction.rows.depends_on_rows(relation)
                yield Outcome(relation.schema_name, relation.name, "table", "kept", 0, 0)
            elif isinstance(relation, Table):
                yield self._revert(before, relation) if isinstance(before, Table) else self._restore(relation)
            elif before != relation:
                if not self.dry_run:
                    transaction.restore_object(relation)
                yield Outcome(relation.schema_name, relation.name, "view", "restored" if before is None else "altered")
        if schema is None:
            yield from self._drop_new_schemas()

    def _touched(self) -> set[int] | None:
        """Return the ids of tables whose rows may have changed since, by the logged changes; None if the log has gaps.

        In a large lake this avoids comparing most tables.
        """
        earlier, current = self.reader.snapshot.snapshot_id, self.context.transaction.snapshot.snapshot_id
        records = self.context.catalog.snapshots(after=earlier, until=current)
        changes = [change for record in records for change in record.changes]
        if len(records) != current - earlier or any(change.kind is Kind.UNKNOWN for change in changes):
            return None
        return {change.object_id for change in changes if change.object_id is not None}

    def _revert(self, current: Table, earlier: Table) -> Outcome:
        earlier = replace(earlier, next_column_id=current.next_column_id)
        found = self._difference(earlier)
        if not self.dry_run and current == earlier and found.is_empty:
            self.context.transaction.rows.depends_on_rows(current)
        elif not self.dry_run:
            stage_difference(self.context, earlier, found)
        return _outcome(earlier, "altered" if current != earlier else "kept" if found.is_empty else "rolled back", found)

    def _restore(self, earlier: Table) -> Outcome:
        found = self._difference(earlier).of_dropped_table
        if not self.dry_run:
            table = self.context.transaction.objects.new_table(
                required_schema(self.context, earlier.schema_name),
                earlier.name,
                earlier.columns,
                partitioning=() if earlier.partitioning is None else earlier.partitioning.fields,
                sorting=earlier.sorting,
                comment=earlier.comment,
                tags=earlier.tags,
            )
            stage_difference(self.context, table, found, earlier)
        return _outcome(earlier, "restored", found)

    def _difference(self, earlier: Table) -> Difference:
        return difference(self.reader.rollback_plan(earlier, self.context.transaction.snapshot))

    def _drop(self, relation: Relation) -> Outcome:
        if isinstance(relation, View):
            if not self.dry_run:
                self.context.transaction.objects.drop_view(relation)
            return Outcome(relation.schema_name, relation.name, "view", "dropped")
        if not self.dry_run:
            self.context.transaction.objects.drop_table(relation)
        return Outcome(relation.schema_name, relation.name, "table", "dropped")

    def _macros(self, schema: str | None) -> Iterator[Outcome]:
        """Drop new macros and restore dropped ones; a macro that exists at both snapshots cannot have changed."""
        transaction = self.context.transaction
        current = {macro.macro_id: macro for macro in transaction.macros(schema)}
        earlier = {macro.macro_id: macro for macro in self.reader.macros(schema)}
        for macro_id, macro in current.items():
            if macro_id not in earlier:
                if not self.dry_run:
                    transaction.objects.drop_macro(macro)
                yield Outcome(macro.schema_name, macro.name, "macro", "dropped")
        for macro_id, macro in earlier.items():
            if macro_id not in current:
                if not self.dry_run:
                    transaction.restore_object(macro)
                yield Outcome(macro.schema_name, macro.name, "macro", "restored")

    def _restore_schemas(self, schema: str | None) -> Iterator[Outcome]:
        transaction = self.context.transaction
        for earlier in self._in_scope(self.reader.schemas(), schema):
            current = transaction.schema(earlier.name)
            if current is not None and (current.comment, current.tags) == (earlier.comment, earlier.tags):
                continue
            if not self.dry_run:
                present = current or transaction.objects.new_schema(earlier.name)  # the format cannot reuse a schema id
                transaction.objects.put_schema(replace(present, comment=earlier.comment, tags=earlier.tags))
            yield Outcome(earlier.name, "", "schema", "restored" if current is None else "altered")

    def _drop_new_schemas(self) -> Iterator[Outcome]:
        for current in self.context.transaction.schemas():
            if self.reader.schema(current.name) is None:
                if not self.dry_run:
                    self.context.transaction.objects.drop_schema(current)
                yield Outcome(current.name, "", "schema", "dropped")

    def _in_scope(self, schemas: Sequence[Schema], name: str | None) -> list[Schema]:
        return [each for each in schemas if name is None or fold(each.name) == fold(name)]

    def _in_schema(self, relation: Relation) -> Relation:
        """Return the relation with the current name of its schema, which may have been dropped and created again with different case."""
        schema = self.context.transaction.schema(relation.schema_name)
        return relation if schema is None else replace(relation, schema_name=schema.name)


def _same(current: Relation | None, earlier: Table) -> bool:
    """Whether the definition is the same as at the earlier snapshot."""
    return isinstance(current, Table) and current == replace(earlier, next_column_id=current.next_column_id)


def _outcome(table: Table, action: str, found: Difference) -> Outcome:
    ended, restored = len(found.ended), len(found.files_restored)
    return Outcome(table.schema_name, table.name, "table", action, ended, restored, found.rows_before, found.rows_after)
