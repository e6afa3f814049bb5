"""Running SHOW and DESCRIBE: questions that the catalog answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..errors import StatementError
from ..format.constraints import constraints_of
from ..format.objects import Relation, Table, View
from ..format.partitioning import key_columns, key_texts
from ..format.types import data_type_of, spark_name
from ..format.view_columns import ViewColumn, view_columns
from ..lake.properties import properties
from ..lake.schemas import required_schema
from ..lake.tables import required_relation
from ..plan.resolve import text_of_view
from ..spark.rows.fetch import column_types
from ..sql.values import Describe, Name, Show, TimeTravel
from .environment import Environment
from .result import Result, local


def run_show(env: Environment, statement: Show) -> Result:
    """SHOW SCHEMAS / TABLES / TABLE EXTENDED / VIEWS / COLUMNS, in Spark's columns."""
    keep = _pattern(statement.like)
    what = statement.what.upper()
    if what in ("SCHEMAS", "DATABASES", "NAMESPACES"):
        there = env if statement.name is None else env.elsewhere(str(statement.name))
        if there is None:
            raise StatementError(f"SHOW SCHEMAS IN {statement.name}: there is no such lake; there are {', '.join(env.lakes.names)}")
        names = sorted(schema.name for schema in there.transaction.schemas() if keep(schema.name))
        return local("SHOW SCHEMAS", [("namespace", "string")], [(name,) for name in names])
    if what == "COLUMNS":
        if statement.name is None:
            raise StatementError("SHOW COLUMNS needs a table: SHOW COLUMNS IN schema.table")
        return local("SHOW COLUMNS", [("col_name", "string")], [(c.name,) for c in describe_columns(env, statement.name)])
    there, schema = env.schema_place(statement.name)
    if statement.name is not None:
        required_schema(there.context, schema)
    if what == "TABLE EXTENDED":
        return _show_extended(there, schema, keep)
    relations = sorted(there.transaction.names(schema), key=lambda relation: relation.name)
    if what == "VIEWS":
        relations = [relation for relation in relations if not relation.is_table]
    title = "viewName" if what == "VIEWS" else "tableName"
    rows = [(relation.schema_name, relation.name, False) for relation in relations if keep(relation.name)]
    return local(f"SHOW {what}", [("namespace", "string"), (title, "string"), ("isTemporary", "boolean")], rows)


def _show_extended(env: Environment, schema: str, keep: Callable[[str], bool]) -> Result:
    """What Spark's packages list relations by; they look for `Type: VIEW`, `Provider: …` and the columns in the text."""
    rows = [
        (relation.schema_name, relation.name, False, "\n".join(_information(env, relation)))
        for relation in sorted(env.transaction.relations(schema), key=lambda relation: relation.name)
        if keep(relation.name)
    ]
    columns = [("namespace", "string"), ("tableName", "string"), ("isTemporary", "boolean"), ("information", "string")]
    return local("SHOW TABLE EXTENDED", columns, rows)


def _information(env: Environment, relation: Relation) -> Iterator[str]:
    for key, value, _ in _details(env, relation):
        yield f"{key}: {value}"
    yield "Schema: root"
    if isinstance(relation, Table):
        for column in relation.columns:
            yield f" |-- {column.name}: {spark_name(data_type_of(column))} (nullable = {str(column.nullable).lower()})"
    else:
        for recorded in view_columns(relation):
            yield f" |-- {recorded.name}: {recorded.type} (nullable = true)"


def run_describe(env: Environment, statement: Describe) -> Result:
    """DESCRIBE [EXTENDED]: columns, and with EXTENDED what the catalog knows of the relation."""
    columns = describe_columns(env, statement.name, statement.at)
    rows: list[tuple[str, str, str | None]] = [(column.name, column.type, column.comment) for column in columns]
    found = env.find(statement.name, statement.at) if statement.extended else None
    if found is not None:
        rows += [("", "", ""), ("# Detailed Table Information", "", ""), *_details(env.of(found.names), found.relation)]
    return local("DESCRIBE", [("col_name", "string"), ("data_type", "string"), ("comment", "string")], rows)


def named_schema(env: Environment, name: Name) -> tuple[str, str]:
    """(lake, schema) that USE means by a name: a schema, or else a lake, whose `main` it is.

    Raises:
        StatementError: there is no such schema.
    """
    lake = env.elsewhere(name.parts[0]) if len(name.parts) == 1 and env.transaction.schema(name.parts[0]) is None else None
    there, schema = (lake, "main") if lake is not None else env.schema_place(name)
    found = there.transaction.schema(schema)
    if found is None:
        raise StatementError(f"schema {name} does not exist; CREATE SCHEMA {name} makes it")
    return there.lake, found.name


def describe_columns(env: Environment, name: Name, at: TimeTravel | None = None) -> list[ViewColumn]:
    """The columns of a table, view or temporary view with their types as Spark names them.

    A view that DuckDB made has its columns only when Spark has analysed it; that starts Spark.
    """
    found = env.find(name, at)
    if found is None:
        if env.is_temporary(name):
            return [ViewColumn(*column) for column in column_types(env.described(name))]
        there, schema, relation_name = env.place(name)
        required_relation(there.context, schema, relation_name)
        raise StatementError(f"{name} cannot be described")
    if isinstance(found.relation, Table):
        return [ViewColumn(c.name, spark_name(data_type_of(c)), c.comment) for c in found.relation.columns]
    recorded = view_columns(found.relation)
    return recorded or [ViewColumn(*column) for column in column_types(env.described(name, at))]


def _details(env: Environment, relation: Relation) -> list[tuple[str, str, str | None]]:
    rows: list[tuple[str, str, str | None]] = [
        ("Catalog", env.lake, ""),
        ("Database", relation.schema_name, ""),
        ("Table", relation.name, ""),
        ("Type", "TABLE" if isinstance(relation, Table) else "VIEW", ""),
        ("Comment", relation.comment or "", ""),
    ]
    kept = ", ".join(f"{key}={value}" for key, value in sorted(properties(relation).items()))
    if kept:
        rows.append(("Table Properties", f"[{kept}]", ""))
    if isinstance(relation, View):
        return [*rows, ("View Text", text_of_view(relation, env.lake, env.transaction), "")]
    fields = relation.partitioning.fields if relation.partitioning else ()
    keys = key_texts(key_columns(relation.columns, fields), fields)
    rows += [("Location", relation.path, ""), ("Partitioned by", ", ".join(keys), ""), ("Provider", "ducklake", "")]
    constraints = constraints_of(relation.tags)
    if constraints:
        rows += [("", "", ""), ("# Constraints", "", ""), *((each.name, str(each), "") for each in constraints)]
    return rows


def _pattern(like: str | None) -> Callable[[str], bool]:
    """Spark's LIKE of SHOW: `*` for any characters, `|` between alternatives, without case; `%` is taken as `*` too."""
    if like is None:
        return lambda name: True
    alternatives = ["".join(".*" if character in "*%" else re.escape(character) for character in part.strip()) for part in like.split("|")]
    compiled = re.compile("|".join(f"(?:{part})" for part in alternatives), re.IGNORECASE)
    return lambda name: compiled.fullmatch(name) is not None
