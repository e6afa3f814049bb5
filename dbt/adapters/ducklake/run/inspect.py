"""Run SHOW and DESCRIBE from the catalog."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ..errors import StatementError
from ..format.constraints import constraints_of
from ..format.objects import Relation, Table, View
from ..format.partitioning import key_columns, key_texts
from ..format.types import data_type_of, spark_name
from ..format.view_columns import ViewColumn, view_columns
from ..lake.history import DELTA_COLUMNS, DETAIL_COLUMNS, delta_history, details, logged_table
from ..lake.properties import properties, shown_properties
from ..lake.schemas import required_schema
from ..lake.tables import required_relation
from ..plan.resolve import text_of_view
from ..sql.values import Describe, DescribeDetail, DescribeHistory, Name, Show, ShowProperties, TimeTravel
from .environment import Environment
from .result import Result, local


def run_show(env: Environment, statement: Show) -> Result:
    """Run SHOW SCHEMAS / TABLES / TABLE EXTENDED / VIEWS / COLUMNS / CURRENT NAMESPACE; the result has Spark's columns."""
    keep = _pattern(statement.like)
    what = statement.what.upper()
    if what == "CURRENT NAMESPACE":
        return local("SHOW CURRENT NAMESPACE", [("catalog", "string"), ("namespace", "string")], [(env.lake, env.schema)])
    if what == "SCHEMAS":
        target = env if statement.name is None else env.in_lake(str(statement.name))
        if target is None:
            raise StatementError(f"SHOW SCHEMAS IN {statement.name}: there is no such lake; the lakes are {', '.join(env.lakes.names)}")
        names = sorted(schema.name for schema in target.transaction.schemas() if keep(schema.name))
        return local("SHOW SCHEMAS", [("namespace", "string")], [(name,) for name in names])
    if what == "COLUMNS":
        assert statement.name is not None, "the parser requires it"
        return local("SHOW COLUMNS", [("col_name", "string")], [(c.name,) for c in describe_columns(env, statement.name)])
    target, schema = env.schema_place(statement.name)
    if statement.name is not None:
        required_schema(target.context, schema)
    if what == "TABLE EXTENDED":
        return _show_extended(target, schema, keep)
    relations = sorted(target.transaction.names(schema), key=lambda relation: relation.name)
    if what == "VIEWS":
        relations = [relation for relation in relations if not relation.is_table]
    title = "viewName" if what == "VIEWS" else "tableName"
    rows = [(relation.schema_name, relation.name, False) for relation in relations if keep(relation.name)]
    return local(f"SHOW {what}", [("namespace", "string"), (title, "string"), ("isTemporary", "boolean")], rows)


def _show_extended(env: Environment, schema: str, keep: Callable[[str], bool]) -> Result:
    """Run SHOW TABLE EXTENDED, from which dbt packages for Spark read `Type: VIEW`, `Provider: …` and the columns."""
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
    """Run DESCRIBE [EXTENDED]: return the columns, and with EXTENDED the catalog's details of the relation."""
    columns = describe_columns(env, statement.name, statement.at)
    rows: list[tuple[str, str, str | None]] = [(column.name, column.type, column.comment) for column in columns]
    found = env.names.find(statement.name, statement.at) if statement.extended else None
    if found is not None:
        rows += [("", "", ""), ("# Detailed Table Information", "", ""), *_details(env.with_names(found.names), found.relation)]
    return local("DESCRIBE", [("col_name", "string"), ("data_type", "string"), ("comment", "string")], rows)


def run_describe_history(env: Environment, statement: DescribeHistory) -> Result:
    """Run DESCRIBE HISTORY: return the committed snapshots that changed a table, in the columns of Delta Lake."""
    target, table = _described_table(env, statement.name)
    return local("DESCRIBE HISTORY", DELTA_COLUMNS, delta_history(target.context, table, statement.limit))


def run_describe_detail(env: Environment, statement: DescribeDetail) -> Result:
    """Run DESCRIBE DETAIL: return one row about a table, in the columns of Delta Lake."""
    target, table = _described_table(env, statement.name)
    return local("DESCRIBE DETAIL", DETAIL_COLUMNS, [details(target.context, target.lake, table)])


def run_show_properties(env: Environment, statement: ShowProperties) -> Result:
    """Run SHOW TBLPROPERTIES of a table or view. For a key that is not set, the value is a sentence that says so, as in Spark."""
    target, schema, name = env.place(statement.name)
    found, key = shown_properties(target.context, required_relation(target.context, schema, name)), statement.key
    if key is not None:
        found = {key: found.get(key, f"Table {target.lake}.{schema}.{name} does not have property: {key}")}
    return local("SHOW TBLPROPERTIES", [("key", "string"), ("value", "string")], list(found.items()))


def _described_table(env: Environment, name: Name) -> tuple[Environment, Table]:
    target, schema, relation_name = env.place(name)
    return target, logged_table(target.context, schema, relation_name)


def named_schema(env: Environment, name: Name) -> tuple[str, str]:
    """Return the (lake, schema) to which USE switches: a schema of the current lake, or else the schema `main` of the lake with that name.

    Raises:
        StatementError: there is no such schema.
    """
    lake = env.in_lake(name.parts[0]) if len(name.parts) == 1 and env.transaction.schema(name.parts[0]) is None else None
    target, schema = (lake, "main") if lake is not None else env.schema_place(name)
    found = target.transaction.schema(schema)
    if found is None:
        raise StatementError(f"schema {name} does not exist; CREATE SCHEMA {name} creates it")
    return target.lake, found.name


def describe_columns(env: Environment, name: Name, at: TimeTravel | None = None) -> list[ViewColumn]:
    """Return the columns of a table, view or temporary view with Spark's names of their types.

    For a view that DuckDB created, this starts Spark to analyze it.

    Raises:
        NotFoundError: it does not exist.
        StatementError: it has no columns that can be described.
    """
    found = env.names.find(name, at)
    if found is None:
        if env.names.is_temporary(name):
            return [ViewColumn(*column) for column in env.columns(name)]
        target, schema, relation_name = env.place(name)
        required_relation(target.context, schema, relation_name)  # raises for a missing relation
        raise StatementError(f"{name} cannot be described")
    if isinstance(found.relation, Table):
        return [ViewColumn(c.name, spark_name(data_type_of(c)), c.comment) for c in found.relation.columns]
    recorded = view_columns(found.relation)
    return recorded or [ViewColumn(*column) for column in env.columns(name, at)]


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
    fields = relation.partition_fields
    keys = key_texts(key_columns(relation.columns, fields), fields)
    rows += [("Location", relation.path, ""), ("Partitioned by", ", ".join(keys), ""), ("Provider", "ducklake", "")]
    constraints = constraints_of(relation.tags)
    if constraints:
        rows += [("", "", ""), ("# Constraints", "", ""), *((each.name, str(each), "") for each in constraints)]
    return rows


def _pattern(like: str | None) -> Callable[[str], bool]:
    """Return a matcher for the LIKE of SHOW: `*` or `%` for any characters, `|` between alternatives, ignoring case."""
    if like is None:
        return lambda _: True
    alternatives = ["".join(".*" if character in "*%" else re.escape(character) for character in part.strip()) for part in like.split("|")]
    compiled = re.compile("|".join(f"(?:{part})" for part in alternatives), re.IGNORECASE)
    return lambda name: compiled.fullmatch(name) is not None
