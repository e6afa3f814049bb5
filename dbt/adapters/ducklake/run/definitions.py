"""Run CREATE, DROP, ALTER and COMMENT ON."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import StatementError
from ..format.evolution import NewColumn, find_column
from ..format.identifiers import backquoted, fold
from ..format.objects import PROPERTY_TAG, Function, Table
from ..format.option_values import is_option, require_property, stored_value
from ..format.types import data_type_of
from ..format.view_columns import ViewColumn
from ..lake import alter
from ..lake.context import RowCounts
from ..lake.functions import create_function, drop_function, find_function
from ..lake.insert import verify_checks
from ..lake.macros import drop_macro
from ..lake.properties import set_properties
from ..lake.schemas import create_schema, drop_schema
from ..lake.tables import TableRequest, create_table, create_table_as, drop_table, rename, required_table
from ..lake.views import ViewRequest, create_view, drop_view, required_view
from ..plan.sorting import sort_fields
from ..spark.rows.fetch import column_types
from ..spark.session.plan_types import first_difference
from ..spark.session.temporary import drop_temporary_view
from ..spark.values.types import fields_of
from ..sql.references import references
from ..sql.values import (
    AddColumns,
    AlterTable,
    ColumnDefinition,
    Comment,
    CreateFunction,
    CreateSchema,
    CreateTable,
    CreateView,
    DropColumns,
    DropFunction,
    DropMacro,
    DropRelation,
    DropSchema,
    FunctionCall,
    Name,
    PartitionKey,
    Reference,
    RenameColumn,
    RenameRelation,
    SetComment,
    SetDefault,
    SetNullable,
    SetPartitioning,
    SetProperties,
    SetSorting,
    SetType,
    Sql,
)
from ..translate.dialects import PLACEHOLDER, qualify, to_duckdb
from ..translate.view_text import text_for_spark_alone
from .defaults import checked_default
from .environment import Environment
from .result import Result, changed


def run_create_schema(env: Environment, statement: CreateSchema) -> Result:
    """Run CREATE SCHEMA."""
    target, name = env.schema_place(statement.name)
    existed = target.transaction.schema(name) is not None
    create_schema(target.context, name, if_not_exists=statement.if_not_exists)
    if statement.comment is not None and not existed:
        alter.comment_on(target.context, "schema", name, "", statement.comment)
    return Result("CREATE SCHEMA")


def run_drop_schema(env: Environment, statement: DropSchema) -> Result:
    """Run DROP SCHEMA."""
    target, name = env.schema_place(statement.name)
    drop_schema(target.context, name, if_exists=statement.if_exists, cascade=statement.cascade)
    return Result("DROP SCHEMA")


def run_create_table(env: Environment, statement: CreateTable) -> Result:
    """Run CREATE [OR REPLACE] TABLE, empty or AS a query."""
    target, schema, name = env.place(statement.name)
    if statement.if_not_exists and target.transaction.find(schema, name) is not None:
        return Result("CREATE TABLE: it exists")
    definitions = [new_column(target, column) for column in statement.columns]
    rows = None if statement.query is None else env.query(statement.query)
    if rows is not None:
        found = [NewColumn(f.name, f.type) for f in fields_of(rows.schema)]
        if definitions and len(definitions) != len(found):
            raise StatementError(f"CREATE TABLE {statement.name}: {len(definitions)} columns are declared, the query returns {len(found)}")
        definitions = definitions or found
    request = TableRequest(
        schema,
        name,
        definitions,
        partitioning=None if statement.partitioning is None else _keys(statement.partitioning),
        sorting=None if statement.sorting is None else sort_fields(statement.sorting, [d.name for d in definitions], f"{schema}.{name}"),
        comment=statement.comment,
        tags=_own_properties(statement),
        options={key.lower(): stored_value(key, value) for key, value in statement.properties if is_option(key)},
        constraints=statement.constraints,
    )
    if rows is None:
        verify_checks(target.context, create_table(target.context, request, replace_existing=statement.replace))
        return Result("CREATE TABLE")
    _, written = create_table_as(target.context, request, rows, replace_existing=statement.replace)
    return changed("CREATE TABLE AS", RowCounts(inserted=written))


def _own_properties(statement: CreateTable) -> dict[str, str]:
    """Return the properties that are not options, as tags."""
    own = {key: value for key, value in statement.properties if not is_option(key)}
    for key in own:
        require_property(key)
    return {PROPERTY_TAG + key: value for key, value in own.items()}


def run_create_view(env: Environment, statement: CreateView) -> Result:
    """Run CREATE [OR REPLACE] VIEW. Spark analyzes the query now, so that a broken view is refused at once."""
    target, schema, name = env.place(statement.name)
    if statement.if_not_exists and target.transaction.find(schema, name) is not None:
        return Result("CREATE VIEW: it exists")
    if statement.must_exist:
        required_view(target.context, schema, name)

    qualified = qualified_text(env, statement.query, "view", statement.name)
    bound = env.resolve(references(qualified.replace(PLACEHOLDER, backquoted(target.lake))), only_columns=True)
    frame = env.frame(bound)
    fields_of(frame.schema)  # raises an error for types that a lake does not have
    types = column_types(frame)
    if statement.columns and len(statement.columns) != len(types):
        raise StatementError(
            f"CREATE VIEW {statement.name}: {len(statement.columns)} columns are named, the query returns {len(types)}; "
            "name each column of the query, or none"
        )
    columns = [
        ViewColumn(statement.columns[i][0], kind, statement.columns[i][1]) if statement.columns else ViewColumn(column, kind)
        for i, (column, kind) in enumerate(types)
    ]
    duckdb_text = to_duckdb(qualified, names=[name for name, _ in types])
    if duckdb_text is not None and first_difference(frame, bound.stored_types, from_spark=True) is not None:
        duckdb_text = None
    request = ViewRequest(
        schema,
        name,
        spark_sql=qualified,
        stored_sql=text_for_spark_alone(qualified) if duckdb_text is None else duckdb_text,
        dialect="spark" if duckdb_text is None else "duckdb",
        columns=columns,
        aliases=tuple(alias for alias, _ in statement.columns),
        comment=statement.comment,
    )
    create_view(target.context, request, replace_existing=statement.replace)
    return Result("CREATE VIEW")


def qualified_text(env: Environment, sql: Sql, kind: str, owner: Name) -> str:
    """Return the text of a view or function as it is stored: names with their schema, and names of another lake also with that lake.

    Args:
        env: resolves the names.
        sql: the query of the view or the definition of the function.
        kind: "view" or "function", for messages.
        owner: the name of the view or function.

    Raises:
        StatementError: a view reads itself, or the text reads a temporary view.
    """
    home, *place = env.place(owner)

    def fill(reference: Reference) -> Name | None:
        if reference.arguments is not None:
            return None
        found = env.names.find(reference.name, reference.at)
        if found is not None:
            parts = (found.relation.schema_name, found.relation.name)
            if found.names.lake != home.lake:
                return Name((found.names.lake, *parts))
            if kind == "view" and [fold(part) for part in parts] == [fold(part) for part in place]:
                raise StatementError(f"view {owner} cannot read from itself")
            return Name(parts)
        if env.names.is_temporary(reference.name):
            raise StatementError(
                f"{kind} {owner} cannot read from the temporary view {reference.name}, which ends with the session; "
                f"create a table from it first, or make this {kind} temporary"
            )
        return None

    def call(name: Name) -> Name | None:
        found = env.names.function(name)
        if found is None:
            return None
        target, function = found
        lake = () if target.lake == home.lake else (target.lake,)
        return Name((*lake, function.schema_name, function.name))

    return qualify(sql, fill, call)


def run_create_function(env: Environment, statement: CreateFunction) -> Result:
    """Run CREATE [OR REPLACE] FUNCTION. Spark creates a temporary function now, so that a broken body is refused at once."""
    target, schema, name = env.place(statement.name)
    if statement.if_not_exists and find_function(target.context, schema, name) is not None:
        return Result("CREATE FUNCTION: it exists")
    function = Function(schema, name, qualified_text(env, statement.definition, "function", statement.name))
    create_function(target.context, function, replace_existing=statement.replace)
    full = Name((target.lake, schema, name))
    call = Sql(str(full), calls=(FunctionCall(0, len(str(full)), full),))
    target.text(target.resolve(call, only_columns=True))  # Spark refuses a broken body
    return Result("CREATE FUNCTION")


def run_drop_function(env: Environment, statement: DropFunction) -> Result:
    """Run DROP FUNCTION for a function of a lake."""
    target, schema, name = env.place(statement.name)
    drop_function(target.context, schema, name, if_exists=statement.if_exists)
    return Result("DROP FUNCTION")


def run_drop_relation(env: Environment, statement: DropRelation) -> Result:
    """Run DROP TABLE and DROP VIEW; a temporary view hides a relation with the same one-part name."""
    if env.names.is_temporary(statement.name):
        view = statement.name.parts[-1]
        if env.names.temporary_view(statement.name) is not None:
            env.state.drop_views(lambda name: name == fold(view))
        else:
            drop_temporary_view(env.spark, view)
        return Result("DROP VIEW")
    drop = drop_table if statement.kind == "table" else drop_view
    target, schema, name = env.place(statement.name)
    drop(target.context, schema, name, if_exists=statement.if_exists)
    return Result(f"DROP {statement.kind.upper()}")


def run_drop_macro(env: Environment, statement: DropMacro) -> Result:
    """Run DROP MACRO."""
    target, schema, name = env.place(statement.name)
    drop_macro(target.context, schema, name, is_table=statement.is_table, if_exists=statement.if_exists)
    return Result("DROP MACRO")


def run_rename(env: Environment, statement: RenameRelation) -> Result:
    """Run ALTER TABLE / VIEW … RENAME TO."""
    target, schema, name = env.place(statement.name)
    to, to_schema, to_name = (target, schema, statement.to.parts[0]) if len(statement.to.parts) == 1 else env.place(statement.to)
    if to.lake != target.lake:
        raise StatementError(
            f"{statement.name} cannot be renamed into the lake {to.lake}: create it in that lake from a query, then drop this one"
        )
    rename(target.context, statement.kind, schema, name, to_schema, to_name)
    return Result("ALTER TABLE")


def run_alter(env: Environment, statement: AlterTable) -> Result:
    """Run ALTER TABLE for columns and layout."""
    target, schema, name = env.place(statement.name)
    if statement.if_exists and target.transaction.find(schema, name) is None:
        return Result("ALTER TABLE: it does not exist")
    _alter(target, required_table(target.context, schema, name), statement)
    return Result("ALTER TABLE")


def _alter(env: Environment, table: Table, statement: AlterTable) -> None:
    match statement.action:
        case AddColumns(columns, if_not_exists):
            added = [(parent, new_column(env, column)) for parent, column in columns]
            alter.add_columns(env.context, table, added, if_not_exists=if_not_exists)
        case DropColumns(columns, if_exists):
            alter.drop_columns(env.context, table, columns, if_exists=if_exists)
        case RenameColumn(path, to):
            alter.rename_column(env.context, table, path, to)
        case SetType(path, to_type):
            alter.set_type(env.context, table, path, to_type)
        case SetNullable(path, nullable):
            alter.set_nullable(env.context, table, path, nullable)
        case SetDefault(path, default):
            column = find_column(table, path)
            alter.set_default(env.context, table, path, checked_default(env, column.name, data_type_of(column), default))
        case SetComment(path, comment):
            alter.set_column_comment(env.context, table, path, comment)
        case SetPartitioning(keys):
            alter.set_partitioning(env.context, table, _keys(keys))
        case SetSorting(sort):
            fields = sort_fields(sort, [column.name for column in table.columns], f"{table.schema_name}.{table.name}")
            alter.set_sorting(env.context, table, fields)


def run_set_properties(env: Environment, statement: SetProperties) -> Result:
    """Run ALTER TABLE / VIEW … SET and UNSET TBLPROPERTIES."""
    target, schema, name = env.place(statement.name)
    relation = target.transaction.find(schema, name)
    if relation is None and statement.if_exists:
        return Result(f"ALTER {statement.kind.upper()}: it does not exist")
    set_properties(target.context, statement.kind, schema, name, statement.properties)
    return Result(f"ALTER {statement.kind.upper()}")


def run_comment(env: Environment, statement: Comment) -> Result:
    """Run COMMENT ON SCHEMA / TABLE / VIEW."""
    if statement.kind == "schema":
        target, schema = env.schema_place(statement.name)
        alter.comment_on(target.context, "schema", schema, "", statement.comment)
    else:
        target, schema, name = env.place(statement.name)
        alter.comment_on(target.context, statement.kind, schema, name, statement.comment)
    return Result("COMMENT")


def new_column(env: Environment, column: ColumnDefinition) -> NewColumn:
    """Return the new column that a column definition describes."""
    default = checked_default(env, column.name, column.type, column.default)
    return NewColumn(column.name, column.type, column.nullable, default, column.comment)


def _keys(keys: Sequence[PartitionKey]) -> list[tuple[str, str]]:
    return [(key.column, key.transform) for key in keys]
