"""Schema evolution: each ALTER TABLE, and replacing a table, as a function from one `Table` to the next.

Specification: the pages "Schema Evolution" and "ducklake_column". A column id is never reused. Renames, promotions and changes of
nullability keep it, so that old files stay readable; a column that is dropped and added again gets a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from itertools import count

from ..errors import NotFoundError, StatementError
from .default_texts import changed_default_text
from .identifiers import fold, named_twice, spark_fold
from .objects import Column, Default, Table
from .sort_text import names_in, renamed
from .types import DataType, Field, assign_ids, can_promote, data_type_of, spark_name


@dataclass(frozen=True)
class NewColumn:
    """The definition of a new column, without an id."""

    name: str
    type: DataType
    nullable: bool = True
    default: Default | None = None
    comment: str | None = None


def columns_of(definitions: Sequence[NewColumn], first_id: int = 1) -> tuple[Column, ...]:
    """Return columns with ids from `first_id` on, numbered depth first.

    Raises:
        StatementError: two columns, or two fields of a struct, have the same name, ignoring case, or a name is empty.
    """
    _require_distinct(definition.name for definition in definitions if definition.name)
    columns: list[Column] = []
    for position, definition in enumerate(definitions, 1):
        column = assign_ids([Field(definition.name, definition.type)], first_id)[0]
        if not all(each.name for each in column.walk()):
            raise StatementError(f"column {position} ({definition.name or 'without a name'}) has an empty name; give it one")
        for node in column.walk():
            _require_distinct(child.name for child in node.children)
        columns.append(
            replace(
                column,
                nullable=definition.nullable,
                default=definition.default,
                initial_default=_initial(definition.default, column.type),
                comment=definition.comment,
            )
        )
        first_id = max(c.column_id for c in column.walk()) + 1
    return tuple(columns)


def _require_distinct(names: Iterable[str]) -> None:
    repeated = named_twice(names)
    if repeated is not None:
        raise StatementError(f"column {repeated} is named twice; give one of the two another name")


def _require_new(name: str, siblings: Iterable[Column], table: Table, parent: tuple[str, ...] = ()) -> None:
    """Require that no sibling has the name, or one that Spark cannot tell from it."""
    known = next((each.name for each in siblings if spark_fold(each.name) == spark_fold(name)), None)
    if known is not None:
        hint = f" as {known}, which Spark cannot tell from it: write {known}, or another name" if fold(known) != fold(name) else ""
        raise StatementError(f"column {'.'.join([*parent, name])} already exists in {table.name}{hint}")


def next_id(columns: Sequence[Column], at_least: int = 1) -> int:
    """Return one more than the greatest column id, and at least `at_least`."""
    return max([at_least - 1, *(c.column_id for column in columns for c in column.walk())]) + 1


def add_column(table: Table, parent: tuple[str, ...], definition: NewColumn) -> Table:
    """ADD COLUMN: add a column at the end of the table, or of the struct at the path `parent`.

    Raises:
        StatementError: the name is taken, or existing rows cannot have a value: the column is NOT NULL or its default is not a constant.
    """
    if not definition.nullable and definition.default is None:
        raise StatementError(
            f"column {definition.name} cannot be added as NOT NULL to {table.name}: existing rows would have no value. "
            "Add it without NOT NULL, fill it, then ALTER COLUMN … SET NOT NULL"
        )
    if definition.default is not None and definition.default.kind != "literal":
        raise StatementError(
            f"column {definition.name} cannot be added with the default {definition.default.text}: existing rows need a constant. "
            "Add it without a default, UPDATE the rows, then ALTER COLUMN … SET DEFAULT"
        )
    column = columns_of([definition], table.next_column_id)[0]

    def add(siblings: tuple[Column, ...]) -> tuple[Column, ...]:
        _require_new(column.name, siblings, table, parent)
        return (*siblings, column)

    if parent:
        columns = _edit(table, parent, lambda c: (replace(c, children=add(_struct_children(table, parent, c))),))
    else:
        columns = add(table.columns)
    return replace(table, columns=columns, next_column_id=next_id([column], table.next_column_id))


def drop_column(table: Table, path: tuple[str, ...]) -> Table:
    """DROP COLUMN: drop a column or nested field.

    Raises:
        StatementError: it is the only one, or the table is partitioned or sorted by it.
    """
    column = find_column(table, path)
    siblings = table.columns if len(path) == 1 else find_column(table, path[:-1]).children
    if len(siblings) == 1:
        raise StatementError(f"column {'.'.join(path)} is the only one of {table.name}; drop the table instead")
    partitioned = table.partition_fields
    if any(key.column_id == column.column_id for key in partitioned):
        raise StatementError(f"column {'.'.join(path)} is a partition key of {table.name}; ALTER TABLE … RESET PARTITIONED BY first")
    if len(path) == 1 and any(fold(column.name) in names_in(key.expression) for key in table.sorting):
        raise StatementError(f"column {'.'.join(path)} is a sort key of {table.name}; ALTER TABLE … RESET SORTED BY first")
    return replace(table, columns=_edit(table, path, lambda _: ()))


def rename_column(table: Table, path: tuple[str, ...], to: str) -> Table:
    """RENAME COLUMN: rename a column or nested field, and the column in the sort order.

    Raises:
        StatementError: the new name is taken.
    """
    column = find_column(table, path)
    siblings = table.columns if len(path) == 1 else find_column(table, path[:-1]).children
    _require_new(to, (each for each in siblings if each.column_id != column.column_id), table)
    sorting = table.sorting
    if len(path) == 1:
        sorting = tuple(replace(key, expression=renamed(key.expression, column.name, to)) for key in sorting)
    return replace(table, columns=_edit(table, path, lambda c: (replace(c, name=to),)), sorting=sorting)


def set_type(table: Table, path: tuple[str, ...], to: DataType) -> Table:
    """SET DATA TYPE: change to a type that can represent every value of the old one.

    Raises:
        StatementError: the new type cannot represent every value; the message explains what to do instead.
    """
    column = find_column(table, path)
    if data_type_of(column) == to:
        return table
    if to.fields or column.children or not can_promote(column.type, to.name):
        raise StatementError(
            f"column {'.'.join(path)} of {table.name} is {spark_name(data_type_of(column))} and cannot become {spark_name(to)} in place: "
            "not every value would fit. Add a column of the new type, fill it by UPDATE, drop the old one and rename the new one"
        )
    changed = _retyped(column, to.name)
    return replace(table, columns=_edit(table, path, lambda _: (changed,)))


def _retyped(column: Column, to: str) -> Column:
    """Return a column with another type and the same defaults, as texts of that type.

    Raises:
        StatementError: a default is not a value of the type, such as the year 3000 of a TIMESTAMP_NS.
    """

    def changed(text: str) -> str:
        try:
            return changed_default_text(column.type, to, text)
        except (ValueError, ArithmeticError):
            raise StatementError(
                f"the default of column {column.name}, {text!r}, is not a value of its new type. "
                "Add a column of the new type, fill it by UPDATE, drop the old one and rename the new one"
            ) from None

    initial, default = column.initial_default, column.default
    if default is not None and default.kind == "literal":
        default = replace(default, text=changed(default.text))
    return replace(column, type=to, initial_default=None if initial is None else changed(initial), default=default)


def set_nullable(table: Table, path: tuple[str, ...], nullable: bool) -> Table:
    """SET or DROP NOT NULL. The caller must check that no row is NULL.

    Raises:
        StatementError: the path is a nested field, which cannot be NOT NULL.
    """
    find_column(table, path)
    if len(path) > 1:
        raise StatementError(f"{'.'.join(path)}: only a column of the table itself can be NOT NULL in a DuckLake, not a nested field")
    return replace(table, columns=_edit(table, path, lambda c: (replace(c, nullable=nullable),)))


def set_default(table: Table, path: tuple[str, ...], default: Default | None) -> Table:
    """SET or DROP DEFAULT. Existing rows do not change."""
    find_column(table, path)
    return replace(table, columns=_edit(table, path, lambda c: (replace(c, default=default),)))


def set_comment(table: Table, path: tuple[str, ...], comment: str | None) -> Table:
    """COMMENT ON COLUMN: set or remove the comment."""
    find_column(table, path)
    return replace(table, columns=_edit(table, path, lambda c: (replace(c, comment=comment),)))


def replace_columns(table: Table, definitions: Sequence[NewColumn]) -> Table:
    """Replace the columns of a table, which keeps its id. The caller ends the rows.

    A column with the same name and type keeps its comment and its default. It keeps its id, too, unless a column with a greater id is now
    before it: DuckDB takes the id of a column that it changes as its order, and inlines rows wrong if that moves the column.
    """
    columns: list[Column] = []
    next_column_id, greatest = table.next_column_id, 0
    columns_of(definitions)  # checks the names
    for definition in definitions:
        old = table.column(definition.name)
        if old is not None and data_type_of(old) == definition.type:
            kept = old if old.column_id > greatest else _renumbered(old, count(next_column_id))
            kept = replace(kept, name=definition.name, nullable=definition.nullable)
            column = replace(kept, default=definition.default or kept.default, comment=_first(definition.comment, kept.comment))
        else:
            column = columns_of([definition], next_column_id)[0]
            if old is not None:
                column = replace(column, comment=_first(column.comment, old.comment))
        next_column_id = next_id([column], next_column_id)
        greatest = column.column_id
        columns.append(column)
    return replace(table, columns=tuple(columns), next_column_id=next_column_id)


def _renumbered(column: Column, ids: Iterator[int]) -> Column:
    """Return a column with new ids. No file of earlier rows has them, so there is no default for such rows."""
    number = next(ids)
    return replace(column, column_id=number, initial_default=None, children=tuple(_renumbered(child, ids) for child in column.children))


def _first(comment: str | None, earlier: str | None) -> str | None:
    return earlier if comment is None else comment


def find_column(table: Table, path: tuple[str, ...]) -> Column:
    """Return the column or nested field at a path of names.

    Raises:
        NotFoundError: it does not exist; the message lists the names that exist.
    """
    siblings: tuple[Column, ...] = table.columns
    column: Column | None = None
    for part in path:
        column = next((c for c in siblings if fold(c.name) == fold(part)), None)
        if column is None:
            names = ", ".join(c.name for c in siblings)
            raise NotFoundError("column", f"{'.'.join(path)} of {table.schema_name}.{table.name}", f"The columns are: {names}")
        siblings = column.children
    if column is None:
        raise StatementError("a column name is empty")
    return column


def _edit(table: Table, path: tuple[str, ...], change: Callable[[Column], tuple[Column, ...]]) -> tuple[Column, ...]:
    find_column(table, path)

    def walk(columns: tuple[Column, ...], rest: tuple[str, ...]) -> tuple[Column, ...]:
        result: list[Column] = []
        for column in columns:
            if fold(column.name) != fold(rest[0]):
                result.append(column)
            elif len(rest) == 1:
                result.extend(change(column))
            else:
                result.append(replace(column, children=walk(column.children, rest[1:])))
        return tuple(result)

    return walk(table.columns, path)


def _struct_children(table: Table, path: tuple[str, ...], column: Column) -> tuple[Column, ...]:
    if column.type != "struct":
        raise StatementError(f"{'.'.join(path)} of {table.name} is not a struct, so no field can be added to it")
    return column.children


def _initial(default: Default | None, stored_type: str) -> str | None:
    """Return the text of `initial_default`: a literal default cast to the column's type, rounded as in DuckDB; None for an expression."""
    if default is None or default.kind != "literal":
        return None
    if stored_type.startswith("decimal("):
        scale = int(stored_type.rstrip(")").split(",")[1])
        try:
            return str(Decimal(default.text).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, Context(prec=80)))
        except InvalidOperation:
            return default.text
    return default.text
