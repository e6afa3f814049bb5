"""Run CREATE TEMPORARY VIEW, cache the rows of temporary views, and find out on which table they depend."""

from __future__ import annotations

from ..errors import StatementError
from ..format.identifiers import fold
from ..format.objects import Table
from ..plan.bound import BoundRows
from ..plan.names import TemporaryView
from ..spark.rows.fetch import column_types
from ..spark.rows.plans import as_single_node
from ..spark.session.temporary import drop_temporary_view
from ..sql.references import rows_of
from ..sql.values import CreateTemporaryView, Name
from .environment import Environment
from .result import Result


def run_create_temporary_view(env: Environment, statement: CreateTemporaryView) -> Result:
    """Run CREATE TEMPORARY VIEW: the session keeps the text and resolves it at each use.

    Spark analyzes the query now, so that a broken view is refused at once.

    Raises:
        StatementError: the view exists, or its columns do not match those of the query.
    """
    name = statement.name.parts[0]
    exists = env.names.is_temporary(statement.name)
    if exists and statement.if_not_exists:
        return Result("CREATE TEMPORARY VIEW: it exists")
    if exists and not statement.replace:
        raise StatementError(
            f"temporary view {name} already exists; write CREATE OR REPLACE TEMPORARY VIEW to replace it, or IF NOT EXISTS to keep it"
        )
    frame = env.analyzed(statement.query)
    if statement.columns and len(statement.columns) != len(frame.columns):
        raise StatementError(
            f"CREATE TEMPORARY VIEW {name}: {len(statement.columns)} columns are named, the query returns {len(frame.columns)}; "
            "name each column of the query, or none"
        )
    if exists and env.names.temporary_view(statement.name) is None:
        drop_temporary_view(env.spark, name)
    named = (reference.name for reference in statement.query.references)
    visible = frozenset(fold(each.parts[-1]) for each in named if env.names.is_temporary(each))
    view = TemporaryView(name, statement.query, statement.columns, env.lake, env.schema, visible)
    names = statement.columns or frame.columns
    env.add_view(view, [(column, type_name) for column, (_, type_name) in zip(names, column_types(frame), strict=True)])
    return Result("CREATE TEMPORARY VIEW")


def cache_rows(env: Environment, name: str) -> int:
    """Compute and cache the rows of a temporary view; the view shows these rows until the session releases them.

    Returns:
        The number of rows.
    """
    bound = env.resolve(rows_of(Name((name,))))
    frame, view = env.rows(bound).persist(), env.state.registry.new_name(name)
    env.state.frames.append((frame, view))
    count = int(frame.count())
    as_single_node(frame).createOrReplaceTempView(view)
    rows = BoundRows(view, name, tuple(bound.reads), tuple(bound.depends_on))
    env.state.cached = {**env.state.cached, fold(name): rows}
    return count


def depends_on_table(env: Environment, name: str, table: Name) -> bool:
    """Whether the rows of a temporary view depend on those of a table of a lake, also through views and functions."""
    target, schema, relation = env.place(table)
    found = target.transaction.find(schema, relation)
    bound = env.resolve(rows_of(Name((name,))), only_columns=True)
    return isinstance(found, Table) and any(
        rows.lake == target.lake and rows.table_id in (None, found.table_id) for rows in bound.depends_on
    )
