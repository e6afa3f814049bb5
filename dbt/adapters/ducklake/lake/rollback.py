"""Restore a table, all objects of a schema, or the whole lake to an earlier snapshot, as one new snapshot.

The history does not change. Objects are identified by their ids, so renames are undone. A table that was dropped since is restored as a new
table with its earlier row ids and column ids. Options have no versions and do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..catalog.read.reader import SnapshotReader
from ..errors import NotFoundError, StatementError
from ..format.changes import Kind
from ..format.identifiers import fold
from ..format.objects import Relation, Schema, Snapshot, Table, View
from .context import Context
from .rollback_rows import Difference, difference, stage
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


@dataclass(frozen=True)
class Outcome:
    """The result for an object; the names are the final ones, for a dropped object the last ones."""

    schema_name: str
    name: str
    kind: str
    """`schema`, `table`, `view` or `macro`."""
    action: str
    """`kept`: nothing changed since. `rolled back`: its rows were restored; `altered`: its definition too. `restored`: it had been dropped.
    `dropped`: it did not exist at the earlier snapshot."""
    files_ended: int | None = None
    files_restored: int | None = None
    rows_before: int | None = None
    rows_after: int | None = None


def roll_back(
    context: Context, to: Snapshot, schema: str | None = None, table: str | None = None, *, dry_run: bool = False
) -> list[Outcome]:
    """Stage the state of an earlier snapshot of a table, of everything in a schema, or of the lake, without Spark.

    Args:
        context: the catalog and the transaction.
        to: the earlier snapshot.
        schema: the schema, also of `table`.
        table: the only table.
        dry_run: only return what would change.

    Returns:
        An entry for each table, and for each other object that changes.

    Raises:
        NotFoundError: the schema or table did not exist at that snapshot.
        StatementError: the name belongs to another object now.
        LakeError: a file of that snapshot is missing from storage.
        ConfigurationError: the lake is read-only.
    """
    if not dry_run:
        context.transaction.require_writable()
    former = context.catalog.reader(to)
    work = _Rollback(context, former, dry_run)
    if table is not None:
        return [work.table(schema or "main", table)]
    if schema is not None and former.schema(schema) is None:
        raise NotFoundError("schema", schema, f"There was none at snapshot {to.snapshot_id}; DROP SCHEMA removes it")
    return list(work.everything(schema))


@dataclass(frozen=True)
class _Rollback:
    context: Context
    former: SnapshotReader
    dry_run: bool

    def table(self, schema: str, name: str) -> Outcome:
        """Roll back one table, which keeps its present name."""
        transaction, version = self.context.transaction, self.former.snapshot.snapshot_id
        now = transaction.find(schema, name)
        if isinstance(now, View):
            raise StatementError(f"{schema}.{name} is a view; roll back its schema, or DROP the view first")
        then = None if now is None else self.former.by_id(now.table_id)
        if isinstance(now, Table) and isinstance(then, Table):
            return self._revert(now, replace(then, schema_name=now.schema_name, name=now.name))
        then = self.former.find(schema, name)
        if not isinstance(then, Table):
            hint = f"It did not exist at snapshot {version}" + ("; DROP TABLE removes it" if now is not None else "")
            raise NotFoundError("table", f"{schema}.{name}", hint)
        renamed = transaction.by_id(then.table_id)
        if isinstance(renamed, Table):
            raise StatementError(
                f"the table {schema}.{name} of snapshot {version} is called {renamed.schema_name}.{renamed.name} now; roll that one back"
            )
        if transaction.schema(then.schema_name) is None:
            raise StatementError(f"the schema of {schema}.{name} was dropped; roll back the schema: schema => '{schema}'")
        if now is not None and not self.dry_run:
            transaction.objects.drop_table(now)
        return self._restore(then)

    def everything(self, schema: str | None) -> Iterator[Outcome]:
        """Roll back all present and earlier objects of a schema, or of the lake. New objects are dropped first, to free their names."""
        transaction, touched = self.context.transaction, self._touched()
        if not self.dry_run:
            transaction.roll_back_all(schema)
        now, then = transaction.relations(schema), self.former.relations(schema)
        present, past = ({_id(each): each for each in relations} for relations in (now, then))
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
                    transaction.return_to(relation)
                yield Outcome(relation.schema_name, relation.name, "view", "restored" if before is None else "altered")
        if schema is None:
            yield from self._drop_new_schemas()

    def _touched(self) -> set[int] | None:
        """Return the ids of tables whose rows may have changed since, by the logged changes; None if the log has gaps.

        In a large lake this avoids comparing most tables.
        """
        then, now = self.former.snapshot.snapshot_id, self.context.transaction.snapshot.snapshot_id
        records = self.context.catalog.snapshots(after=then, until=now)
        changes = [change for record in records for change in record.changes]
        if len(records) != now - then or any(change.kind is Kind.UNKNOWN for change in changes):
            return None
        return {change.object_id for change in changes if change.object_id is not None}

    def _revert(self, now: Table, then: Table) -> Outcome:
        then = replace(then, next_column_id=now.next_column_id)
        found = self._difference(then)
        if not self.dry_run and now == then and found.is_empty:
            self.context.transaction.rows.depends_on_rows(now)
        elif not self.dry_run:
            stage(self.context, then, found)
        return _outcome(then, "altered" if now != then else "kept" if found.is_empty else "rolled back", found)

    def _restore(self, then: Table) -> Outcome:
        found = self._difference(then).restored
        if not self.dry_run:
            table = self.context.transaction.objects.new_table(
                required_schema(self.context, then.schema_name),
                then.name,
                then.columns,
                partitioning=() if then.partitioning is None else then.partitioning.fields,
                sorting=then.sorting,
                comment=then.comment,
                tags=then.tags,
            )
            stage(self.context, table, found, then)
        return _outcome(then, "restored", found)

    def _difference(self, then: Table) -> Difference:
        return difference(self.former.rollback_plan(then, self.context.transaction.snapshot))

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
        now = {macro.macro_id: macro for macro in transaction.macros(schema)}
        then = {macro.macro_id: macro for macro in self.former.macros(schema)}
        for macro_id, macro in now.items():
            if macro_id not in then:
                if not self.dry_run:
                    transaction.objects.drop_macro(macro)
                yield Outcome(macro.schema_name, macro.name, "macro", "dropped")
        for macro_id, macro in then.items():
            if macro_id not in now:
                if not self.dry_run:
                    transaction.return_to(macro)
                yield Outcome(macro.schema_name, macro.name, "macro", "restored")

    def _restore_schemas(self, schema: str | None) -> Iterator[Outcome]:
        transaction = self.context.transaction
        for then in self._in_scope(self.former.schemas(), schema):
            now = transaction.schema(then.name)
            if now is not None and (now.comment, now.tags) == (then.comment, then.tags):
                continue
            if not self.dry_run:
                present = now or transaction.objects.new_schema(then.name)  # the format cannot reuse a schema id
                transaction.objects.put_schema(replace(present, comment=then.comment, tags=then.tags))
            yield Outcome(then.name, "", "schema", "restored" if now is None else "altered")

    def _drop_new_schemas(self) -> Iterator[Outcome]:
        for now in self.context.transaction.schemas():
            if self.former.schema(now.name) is None:
                if not self.dry_run:
                    self.context.transaction.objects.drop_schema(now)
                yield Outcome(now.name, "", "schema", "dropped")

    def _in_scope(self, schemas: Sequence[Schema], name: str | None) -> list[Schema]:
        return [each for each in schemas if name is None or fold(each.name) == fold(name)]

    def _in_schema(self, relation: Relation) -> Relation:
        """Return the relation with the present spelling of its schema, which may have been dropped and created again since."""
        schema = self.context.transaction.schema(relation.schema_name)
        return relation if schema is None else replace(relation, schema_name=schema.name)


def _id(relation: Relation) -> int:
    return relation.table_id if isinstance(relation, Table) else relation.view_id


def _same(now: Relation | None, then: Table) -> bool:
    """Whether the definition is the same as at the earlier snapshot."""
    return isinstance(now, Table) and now == replace(then, next_column_id=now.next_column_id)


def _outcome(table: Table, action: str, found: Difference) -> Outcome:
    ended, returned = len(found.ended), len(found.returned)
    return Outcome(table.schema_name, table.name, "table", action, ended, returned, found.rows_before, found.rows_after)
