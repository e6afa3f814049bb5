"""Parse MERGE INTO."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import StatementError
from ..format.identifiers import backquoted, fold
from .references import piece, references
from .relation import relation
from .rows import alias, assignments, column_path, target, value
from .tokens import Cursor
from .values import Assignment, Merge, MergeClause, Name, Sql
from .with_clause import WithClause


def merge(cursor: Cursor, ctes: WithClause) -> Merge:
    """Parse MERGE [WITH SCHEMA EVOLUTION] INTO name [AS alias] USING source [AS alias] {ON condition | USING (columns)} WHEN … THEN …."""
    cursor.expect("MERGE")
    schema_evolution = cursor.accept("WITH", "SCHEMA", "EVOLUTION")
    cursor.expect("INTO")
    name = cursor.name()
    given = alias(cursor)
    cursor.expect("USING")
    source, source_alias, source_name = _source(cursor, ctes)
    if source_alias is not None and fold(source_alias) == fold(given or name.parts[-1]):
        raise StatementError(f"MERGE: target and source are both called {source_alias}; give one an alias")
    outer = tuple(found for found in (None if given else name, source_name) if found is not None)
    if cursor.accept("USING"):
        condition = references(_using_condition(cursor, (given,) if given else name.parts, source_alias or ""), outer)
    else:
        cursor.expect("ON")
        condition = ctes.into(_condition(cursor, ("WHEN",), outer))
    clauses = []
    while not cursor.done:
        clauses.append(_clause(cursor, target(name, given), outer, ctes))
    if not clauses:
        raise cursor.error("WHEN MATCHED or WHEN NOT MATCHED was expected")
    return Merge(name, given, source, source_alias, condition, tuple(clauses), schema_evolution)


def _source(cursor: Cursor, ctes: WithClause) -> tuple[Sql, str | None, Name | None]:
    """Return the source, its alias, and its name if the user gave no alias."""
    start = cursor.position
    if cursor.at("("):
        cursor.group()
        text = cursor.source.slice(start, cursor.position)
        source_alias, name = alias(cursor), None
    else:
        found = relation(cursor)
        if found is None:
            raise cursor.error("a table, a view or a query in parentheses was expected after USING")
        reference = found.reference
        text = cursor.source.text[reference.start : reference.end]
        cursor.position = found.after
        source_alias = reference.alias or alias(cursor)
        name = None if source_alias else reference.name
        before_alias = "version" if reference.at is not None else "arguments" if reference.arguments is not None else None
        if cursor.at("(") and before_alias and (name is not None or reference.alias):
            raise cursor.error(f"an alias of the source was expected between its {before_alias} and its columns")
        source_alias = source_alias or reference.name.parts[-1]
        if not cursor.at("(") and not ctes.text:
            named = replace(reference, start=0, end=len(text), aliased=True, alias=None)
            return Sql(text, (named,)), source_alias, name
    if cursor.at("(") and source_alias is None:
        raise cursor.error("an alias of the source was expected before its columns")
    if cursor.at("("):  # the column list follows the alias
        columns = cursor.position
        cursor.group()
        text = f"(SELECT * FROM {text} AS {cursor.source.slice(columns - 1, cursor.position)})"
    if ctes.text and not text.startswith("("):
        text = f"(SELECT * FROM {text})"
    return ctes.into(references(text)), source_alias, name


def _using_condition(cursor: Cursor, target_name: Sequence[str], source_alias: str) -> str:
    """Return the ON condition that is equivalent to `USING (columns)`."""
    if not source_alias:
        raise cursor.error("MERGE … USING (columns) needs an alias for the source")
    columns = [backquoted(column.name().parts[-1]) for column in cursor.group().items()]
    target_alias = ".".join(map(backquoted, target_name))
    return " AND ".join(f"{target_alias}.{column} = {backquoted(source_alias)}.{column}" for column in columns)


def _condition(cursor: Cursor, words: tuple[str, ...], outer: Sequence[Name]) -> Sql:
    found = cursor.upto(words)
    if found.done:
        raise found.error("a condition was expected")
    return piece(found, outer)


def _clause(cursor: Cursor, qualifiers: Sequence[tuple[str, ...]], outer: Sequence[Name], ctes: WithClause) -> MergeClause:
    """Parse WHEN [NOT] MATCHED [BY SOURCE | BY TARGET] [AND condition] THEN action."""
    cursor.expect("WHEN")
    negated = cursor.accept("NOT")
    cursor.expect("MATCHED")
    kind = "not_matched" if negated else "matched"
    if negated and cursor.accept("BY", "SOURCE"):
        kind = "not_matched_by_source"
    elif negated:
        cursor.accept("BY", "TARGET")
    condition = ctes.into(_condition(cursor, ("THEN",), outer)) if cursor.accept("AND") else None
    cursor.expect("THEN")
    action = cursor.upto(("WHEN",))
    start = action.position
    changes: tuple[Assignment, ...] = ()
    match action.accept_any("UPDATE", "INSERT", "DELETE"):
        case "UPDATE" if kind != "not_matched":
            star = "name" if action.done or action.accept("SET", "*") or action.accept("*") else _matching(action)
            if star is None:
                action.expect("SET")
                changes = assignments(action, qualifiers, outer, ctes)
            result = MergeClause(kind, condition, "update", star, changes)
        case "DELETE" if kind != "not_matched":
            result = MergeClause(kind, condition, "delete")
        case "INSERT" if kind == "not_matched":
            star = "position" if action.done else "name" if action.accept("*") else _matching(action)
            changes = () if star else _insert(action, qualifiers, outer, ctes)
            result = MergeClause(kind, condition, "insert", star, changes)
        case _:
            action.position = start
            expected = "INSERT" if kind == "not_matched" else "UPDATE or DELETE"
            raise action.error(f"{expected} was expected after THEN")
    action.finish()
    return result


def _matching(action: Cursor) -> str | None:
    """Parse BY NAME or BY POSITION: how all columns are matched."""
    if action.accept("BY", "NAME"):
        return "name"
    return "position" if action.accept("BY", "POSITION") else None


def _insert(action: Cursor, qualifiers: Sequence[tuple[str, ...]], outer: Sequence[Name], ctes: WithClause) -> tuple[Assignment, ...]:
    """Parse `(columns) VALUES (values)`."""
    if not action.at("("):
        raise StatementError("MERGE … INSERT needs its columns: INSERT (a, b) VALUES (x, y), or INSERT *")
    columns = [column_path(item, qualifiers) for item in action.group().items()]
    action.expect("VALUES")
    values = [value(item, outer, ctes) for item in action.group().items()]
    if len(columns) != len(values):
        raise StatementError(f"MERGE … INSERT names {len(columns)} columns and {len(values)} values")
    return tuple(Assignment(column, found) for column, found in zip(columns, values, strict=True))
