"""Parse INSERT, UPDATE, DELETE and TRUNCATE."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ..errors import StatementError
from ..format.identifiers import fold
from .columns import transform
from .references import names_in_from, piece, references
from .relation import may_be_alias
from .tokens import BEFORE_OPERAND, QUERY_STARTS, Cursor, Source
from .values import Assignment, Delete, Insert, Name, PartitionKey, PartitionTarget, Sql, Truncate, Update
from .with_clause import WithClause

_ALSO_COLUMNS = ("VALUES", "MAP", "REDUCE")
"""The words in `QUERY_STARTS` that may also name a column or a function."""


def alias(cursor: Cursor) -> str | None:
    """Parse `[AS] alias`, if one comes next."""
    if cursor.accept("AS"):
        return cursor.identifier()
    if may_be_alias(cursor):
        return cursor.identifier()
    return None


def insert(cursor: Cursor, ctes: WithClause) -> Insert:
    """Parse INSERT INTO | OVERWRITE [TABLE] name [PARTITION (…)] [(columns) | BY NAME | REPLACE WHERE condition] query."""
    cursor.expect("INSERT")
    if cursor.at("WITH", "SCHEMA", "EVOLUTION"):
        raise StatementError("INSERT WITH SCHEMA EVOLUTION is not supported: add the columns with ALTER TABLE … ADD COLUMN first")
    overwrite = cursor.accept("OVERWRITE")
    if not overwrite:
        cursor.expect("INTO")
    cursor.accept("TABLE")
    name = cursor.name()
    partition = _partition(cursor)
    if cursor.at("IF", "NOT", "EXISTS"):
        raise StatementError("INSERT … IF NOT EXISTS is not supported: leave it out")
    columns = None
    by_name = cursor.accept("BY", "NAME")
    replace_where = None
    if cursor.accept("REPLACE", "WHERE"):
        replace_where = ctes.into(piece(_before_query(cursor), (name,)))
    elif cursor.at("REPLACE"):
        raise StatementError("INSERT … REPLACE is only supported with WHERE: write INSERT INTO … REPLACE WHERE condition SELECT …")
    elif not by_name and cursor.at("(") and _is_column_list(cursor):
        columns = cursor.names()
    if cursor.at("DEFAULT", "VALUES"):
        raise StatementError("INSERT … DEFAULT VALUES is not supported: name a column and write VALUES (…)")
    if not cursor.at_query():
        raise cursor.error("a query was expected: SELECT, VALUES, TABLE or FROM")
    return Insert(name, ctes.before(cursor), columns, by_name, overwrite, partition, replace_where)


def _is_column_list(cursor: Cursor) -> bool:
    """Whether the parentheses that come next contain columns and not a query; a column may be called `values`, as a query may begin."""
    if not cursor.at_query():
        return True
    after = cursor.copy()
    inside = after.group()
    tokens = cursor.source.tokens[inside.position : inside.stop]
    are_names = (
        len(tokens) % 2 == 1 and all(name.is_identifier for name in tokens[::2]) and all(comma.word == "," for comma in tokens[1::2])
    )
    return are_names and after.at_query()


def _before_query(cursor: Cursor) -> Cursor:
    """Return the condition of REPLACE WHERE, which ends before the query."""
    found = _upto(cursor, QUERY_STARTS)
    if not cursor.done:
        return found
    last = found.copy()
    while not last.done:
        query = last.copy()
        last.skip()
        if last.done and query.at_query():
            cursor.position = query.position
            return Cursor(found.source, found.position, query.position)
    return found


def _upto(cursor: Cursor, ends: Collection[str]) -> Cursor:
    """Return a cursor over the tokens before the next of `ends` that is no part of an expression, and move to that word."""
    start = cursor.position
    cursor.upto(ends)
    while not cursor.done and _is_in_expression(cursor, start):
        cursor.position += 1
        cursor.upto(ends)
    return Cursor(cursor.source, start, cursor.position)


def _is_in_expression(cursor: Cursor, start: int) -> bool:
    """Whether the next word is part of the expression that begins at `start`: the FROM of IS [NOT] DISTINCT FROM, or a name."""
    source, position = cursor.source, cursor.position
    before = [source.token(index).word if index >= start else "" for index in (position - 1, position - 2, position - 3)]
    if cursor.at("FROM"):
        return before[:2] == ["DISTINCT", "IS"] or before == ["DISTINCT", "NOT", "IS"]
    return cursor.at_any(_ALSO_COLUMNS) and (position == start or before[0] in BEFORE_OPERAND)


def _partition(cursor: Cursor) -> tuple[PartitionTarget, ...]:
    if not cursor.accept("PARTITION"):
        return ()
    keys = []
    for item in cursor.group().items():
        name = item.identifier()
        key = transform(name, item.group()) if item.at("(") else PartitionKey(name)
        keys.append(PartitionTarget(key, item.rest().text if item.accept("=") else None))
        item.finish()
    return tuple(keys)


def update(cursor: Cursor, ctes: WithClause) -> Update:
    """Parse UPDATE name [AS alias] SET column = value, … [WHERE condition]."""
    cursor.expect("UPDATE")
    name = cursor.name()
    given = alias(cursor)
    outer = () if given else (name,)
    cursor.expect("SET")
    changes = assignments(_upto(cursor, ("WHERE", "FROM")), target(name, given), outer, ctes)
    if cursor.at("FROM"):
        raise StatementError("UPDATE … FROM is not supported: write MERGE INTO … USING … WHEN MATCHED THEN UPDATE SET …")
    condition = where(cursor, outer, ctes)
    return Update(name, given, changes, condition)


def target(name: Name, given: str | None) -> tuple[tuple[str, ...], ...]:
    """Return the qualifiers that a column of the target may have, in folded case, longest first."""
    if given is not None:
        return ((fold(given),),)
    return tuple(name.folded[index:] for index in range(len(name.parts)))


def assignments(cursor: Cursor, qualifiers: Sequence[tuple[str, ...]], outer: Sequence[Name], ctes: WithClause) -> tuple[Assignment, ...]:
    """Parse `column = value, …` and remove `qualifiers` from the columns.

    Args:
        cursor: the assignments and nothing else.
        qualifiers: the qualifiers that a column may have, in folded case, longest first.
        outer: relations without an alias, whose names may qualify columns in the values.
        ctes: the WITH clause of the statement, which subqueries in the values can use.
    """
    changes = []
    for item in cursor.items():
        path = column_path(item, qualifiers)
        if not item.accept("=") and not item.accept("=="):
            raise item.error("= and a value were expected")
        changes.append(Assignment(path, value(item, outer, ctes)))
    if not changes:
        raise cursor.error("an assignment was expected, as in SET column = value")
    return tuple(changes)


def column_path(item: Cursor, qualifiers: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Parse the path of a column of the target and return it without its qualifier."""
    path = item.parts()
    folded = tuple(map(fold, path))
    for qualifier in qualifiers:
        if len(path) > len(qualifier) and folded[: len(qualifier)] == qualifier:
            return path[len(qualifier) :]
    return path


def value(item: Cursor, outer: Sequence[Name], ctes: WithClause) -> Sql | None:
    """Return the rest as a value; None for the word DEFAULT."""
    if item.done:
        raise item.error("a value was expected")
    if item.at("DEFAULT") and item.position + 1 == item.stop:
        return None
    return ctes.into(piece(item, outer))


def where(cursor: Cursor, outer: Sequence[Name], ctes: WithClause) -> Sql | None:
    """Parse `WHERE condition` to the end, or nothing."""
    if cursor.done:
        return None
    cursor.expect("WHERE")
    if cursor.done:
        raise cursor.error("a condition was expected after WHERE")
    return ctes.into(piece(cursor, outer))


def delete(cursor: Cursor, ctes: WithClause) -> Delete:
    """Parse DELETE FROM name [AS alias] [USING relation, …] [WHERE condition]; USING becomes a condition with EXISTS."""
    cursor.expect("DELETE", "FROM")
    name = cursor.name()
    given = alias(cursor)
    outer = () if given else (name,)
    if not cursor.accept("USING"):
        return Delete(name, given, where(cursor, outer, ctes))
    sources = cursor.upto(("WHERE",))
    condition = "" if cursor.done else f" {cursor.text}"
    matches = references(f"EXISTS (SELECT 1 FROM {sources.text}{condition})", outer)
    if fold(given or name.parts[-1]) in names_in_from(sources.text):
        raise StatementError(f"DELETE … USING: both relations are called {given or name.parts[-1]}; give one an alias")
    return Delete(name, given, ctes.into(matches))


def truncate(cursor: Cursor) -> Truncate:
    """Parse TRUNCATE TABLE name."""
    cursor.expect("TRUNCATE")
    cursor.accept("TABLE")
    name = cursor.name()
    if cursor.at("PARTITION"):
        raise StatementError("TRUNCATE … PARTITION is not supported: write DELETE FROM … WHERE")
    cursor.finish()
    return Truncate(name)


def fill_defaults(query: Sql, default: Callable[[int], str]) -> Sql:
    """Return the rows of an INSERT with each DEFAULT in a VALUES list replaced by `default(ordinal)`, SQL for the column from 0."""
    source = Source(query.text)
    if source.token(0).word != "VALUES":
        return query
    text = query.text
    cells: list[tuple[int, Cursor]] = []
    for row in Cursor(source, 1).items():
        cells += enumerate(row.cells())
    for ordinal, cell in reversed(cells):
        if cell.at("DEFAULT") and cell.position + 1 == cell.stop:
            token = cell.peek()
            text = text[: token.start] + default(ordinal) + text[token.end :]
    return query if text == query.text else references(text)
