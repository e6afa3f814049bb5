"""The lake as a transaction sees it: its snapshot with the staged changes laid over it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ..spec.files import NO_LIMIT, DataFile, DeleteFile, Filters, InlinedRows, ScanPlan
from ..spec.objects import Macro, Relation, Schema, Table, View
from .column_history import EMPTY_HISTORY
from .definitions import RelationName
from .reader import SnapshotReader
from .scan_plan import CommittedRows
from .staged import RowChanges, Staged, StagedDeleteFile, StagedFile, StagedRows


@dataclass(frozen=True)
class Overlay:
    """Definitions of a snapshot with staged ones in their place."""

    base: SnapshotReader
    staged: Staged

    def schemas(self) -> list[Schema]:
        """All schemas, by name."""
        kept = [each for each in self.base.schemas() if each.schema_id not in self.staged.schemas]
        new = [each for each in self.staged.schemas.values() if each is not None]
        return sorted([*kept, *new], key=lambda schema: schema.name)

    def schema(self, name: str) -> Schema | None:
        """The schema of a name, compared without case."""
        folded = name.casefold()
        return next((each for each in self.schemas() if each.name.casefold() == folded), None)

    def find(self, schema_name: str, name: str) -> Relation | None:
        """The table or view of a name, compared without case."""
        wanted = (schema_name.casefold(), name.casefold())
        for relation in self._changed():
            if (relation.schema_name.casefold(), relation.name.casefold()) == wanted:
                return relation
        found = self.base.find(schema_name, name)
        return None if found is None or self._is_changed(found) else found

    def by_id(self, relation_id: int) -> Relation | None:
        """The table or view of an id."""
        for entries in (self.staged.tables, self.staged.views):
            if relation_id in entries:
                return entries[relation_id]
        return self.base.by_id(relation_id) if relation_id >= 0 else None

    def relations(self, schema_name: str | None = None) -> list[Relation]:
        """All tables and views, by schema and name."""
        found = [each for each in self.base.relations(schema_name) if not self._is_changed(each)]
        wanted = None if schema_name is None else schema_name.casefold()
        found += [each for each in self._changed() if wanted is None or each.schema_name.casefold() == wanted]
        return sorted(found, key=lambda relation: (relation.schema_name, relation.name))

    def names(self, schema_name: str | None = None) -> list[RelationName]:
        """What there is, without definitions."""
        gone = {*self.staged.tables, *self.staged.views}
        found = [each for each in self.base.names(schema_name) if each.relation_id not in gone]
        wanted = None if schema_name is None else schema_name.casefold()
        for each in self._changed():
            if wanted is None or each.schema_name.casefold() == wanted:
                relation_id = each.table_id if isinstance(each, Table) else each.view_id
                found.append(RelationName(relation_id, each.schema_name, each.name, isinstance(each, Table)))
        return sorted(found, key=lambda name: (name.schema_name, name.name))

    def named(self, names: Iterable[RelationName]) -> list[Relation]:
        """The definitions of some relations that `names` gave."""
        names = list(names)
        found = [each for name in names if (each := self.staged.tables.get(name.relation_id) or self.staged.views.get(name.relation_id))]
        gone = {*self.staged.tables, *self.staged.views}
        return [*found, *self.base.named(name for name in names if name.relation_id not in gone)]

    def macros(self, schema_name: str | None = None) -> list[Macro]:
        """The macros that are not dropped, by schema and name."""
        return [macro for macro in self.base.macros(schema_name) if macro.macro_id not in self.staged.dropped_macros]

    def _changed(self) -> Iterator[Relation]:
        yield from (each for each in self.staged.tables.values() if each is not None)
        yield from (each for each in self.staged.views.values() if each is not None)

    def _is_changed(self, relation: Relation) -> bool:
        match relation:
            case Table():
                return relation.table_id in self.staged.tables
            case View():
                return relation.view_id in self.staged.views


def staged_scan_plan(base: SnapshotReader, table: Table, changes: RowChanges, within: Filters, next_row_id: int) -> ScanPlan:
    """How to read a table with the staged changes to its rows."""
    rows, history = CommittedRows((), ()), EMPTY_HISTORY
    if table.table_id >= 0:
        rows, history = base.committed_rows(table, within)
    if changes.truncated:
        rows = CommittedRows((), ())
    begin = base.snapshot.snapshot_id + 1
    files = [_with_delete(each, changes, begin) for each in rows.files if each.data_file_id not in changes.ended_files]
    files += [_with_delete(_data_file(each, begin, next_row_id), changes, begin) for each in changes.files]
    inlined = [_without_rows(each, changes.ended_inlined.get(each.table_name, frozenset())) for each in rows.inlined]
    inlined += [_inlined_rows(each, begin, next_row_id) for each in changes.inlined]
    return replace(
        history.plan(table),
        files=tuple(files),
        inlined=tuple(each for each in inlined if each.row_ids),
        pruned_files=rows.pruned_files,
    )


def _data_file(staged: StagedFile, begin: int, next_row_id: int) -> DataFile:
    file = staged.file
    return DataFile(
        staged.file_id,
        file.path,
        file.record_count,
        file.size_bytes,
        file.footer_size,
        None if file.embedded_row_ids else next_row_id + staged.row_id_offset,
        begin,
        mapping=file.mapping,
    )


def _inlined_rows(staged: StagedRows, begin: int, next_row_id: int) -> InlinedRows:
    row_ids = tuple(next_row_id + offset for offset in staged.offsets)
    return InlinedRows(staged.name, staged.columns, row_ids, (begin,) * len(row_ids), staged.rows)


def _with_delete(file: DataFile, changes: RowChanges, begin: int) -> DataFile:
    staged: StagedDeleteFile | None = changes.delete_files.get(file.data_file_id)
    if staged is None:
        return file
    written = staged.file
    delete_file = DeleteFile(
        staged.file_id,
        written.path,
        written.format,
        written.delete_count,
        written.size_bytes,
        written.footer_size,
        begin if written.min_snapshot is None else written.min_snapshot,
        NO_LIMIT,
    )
    return replace(file, delete_file=delete_file)


def _without_rows(rows: InlinedRows, ended: frozenset[int]) -> InlinedRows:
    if not ended:
        return rows
    kept = [index for index, row_id in enumerate(rows.row_ids) if row_id not in ended]
    return replace(
        rows,
        row_ids=tuple(rows.row_ids[index] for index in kept),
        begin_snapshots=tuple(rows.begin_snapshots[index] for index in kept),
        rows=tuple(rows.rows[index] for index in kept),
    )
