"""Replace calls to DuckDB macros with the macros' bodies, so that the text can be translated.

Specification: the pages "ducklake_macro" and "ducklake_macro_parameters". As in DuckDB, the number of arguments selects the
implementation, arguments may be named (`f(x, y := 3)`), and a parameter hides columns with the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ..format.identifiers import double_quoted, fold
from ..format.objects import Macro, MacroBody
from ..format.types import from_stored, spark_name
from .dialects import PLACEHOLDER, ListsFromOne, plain_duckdb

MAX_MACRO_DEPTH = 32

Find = Callable[[tuple[str, ...], bool], Macro | None]
"""Returns the macro with a name of one to three parts, a table macro if the flag is true; None if the lake has no such macro."""


def expand_macros(text: str, find: Find) -> str | None:
    """Return a query with its macro calls replaced; None if one cannot be replaced. Text without macro calls is returned unchanged."""
    try:
        tree = sqlglot.parse_one(plain_duckdb(text, keep_main=True).replace(PLACEHOLDER, double_quoted(PLACEHOLDER)), read=ListsFromOne)
        expanded = _expand(tree, find, 0)
    except (SqlglotError, RecursionError, _UnclearError):
        return None
    if expanded is None:
        return text
    return expanded.sql(dialect=ListsFromOne).replace(double_quoted(PLACEHOLDER), PLACEHOLDER)


class _UnclearError(Exception):
    """A call that cannot be replaced, such as one that no implementation fits."""


def _expand(tree: exp.Expr, find: Find, depth: int, around: exp.Select | None = None) -> exp.Expr | None:
    """Return the tree with its macro calls replaced; None if it has none. `around` is the query in which it is a part."""
    if depth > MAX_MACRO_DEPTH:
        raise _UnclearError("a macro that calls itself")
    for function in tree.find_all(exp.Func):
        if not isinstance(function, exp.Anonymous) and find((function.sql_name(),), False) is not None:
            raise _UnclearError(f"a macro with the name of the function {function.sql_name()}")
    replaced = False
    for call in list(tree.find_all(exp.Anonymous)):
        node, parts, table = _place_of(call)
        macro = find(parts, table is not None)
        if macro is None:
            continue
        select = call.find_ancestor(exp.Select) or around
        body = _body(macro, call.expressions, select)
        body = _expand(body, find, depth + 1, select) or body
        replaced = True
        if table is not None:
            alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(macro.name))
            replacement: exp.Expr = exp.Subquery(this=body, alias=alias)
        else:
            replacement = body if isinstance(body, exp.Paren) else exp.Paren(this=body)
        if node is tree:
            tree = replacement
        else:
            node.replace(replacement)
    return tree if replaced else None


def _place_of(call: exp.Anonymous) -> tuple[exp.Expr, tuple[str, ...], exp.Table | None]:
    """Return the node to replace, the parts of the macro's name, and the relation if the call is in FROM."""
    node: exp.Expr = call
    parts: list[str] = [call.name]
    while isinstance(node.parent, exp.Dot) and node.parent.expression is node:
        node = node.parent
        qualifier = node.this
        parts = [*(part.name for part in ([qualifier] if not isinstance(qualifier, exp.Dot) else qualifier.parts)), *parts]
    if isinstance(call.parent, exp.Table) and call.parent.this is call:
        table = call.parent
        return table, tuple(part for part in (table.catalog, table.db, call.name) if part), table
    return node, tuple(parts), None


def _body(macro: Macro, given: Sequence[exp.Expr], around: exp.Select | None) -> exp.Expr:
    """Return the body of the implementation that fits the arguments, with its parameters replaced by them."""
    for body in macro.bodies:
        arguments = _arguments(body, given)
        if arguments is not None:
            tree = sqlglot.parse_one(plain_duckdb(body.sql, keep_main=True), read=ListsFromOne)
            return _filled(tree, arguments, around, macro.is_table)
    raise _UnclearError(f"no implementation of {macro.name} takes {len(given)} arguments")


def _arguments(body: MacroBody, given: Sequence[exp.Expr]) -> dict[str, exp.Expr] | None:
    """Return parameter → argument or default; None if the arguments do not fit this implementation."""
    named = {fold(each.this.name): each.expression for each in given if isinstance(each, exp.PropertyEQ)}
    positional = [each for each in given if not isinstance(each, exp.PropertyEQ)]
    names = [fold(parameter.name) for parameter in body.parameters]
    if len(positional) > len(names) or not set(named) <= set(names[len(positional) :]):
        return None
    arguments = dict(zip(names, positional, strict=False)) | named
    for parameter in body.parameters:
        key = fold(parameter.name)
        if key not in arguments:
            if parameter.default is None:
                return None
            arguments[key] = _cast(exp.Literal.string(parameter.default.text), parameter.default.kind)  # stored as plain text and a type
        if parameter.type is not None:
            arguments[key] = _cast(arguments[key], parameter.type)
    return arguments


def _cast(value: exp.Expr, stored_type: str) -> exp.Expr:
    return exp.cast(value, exp.DataType.build(spark_name(from_stored(stored_type)), dialect="spark"))


def _filled(tree: exp.Expr, arguments: Mapping[str, exp.Expr], around: exp.Select | None, is_table: bool) -> exp.Expr:
    """Return the body of a macro with its parameters replaced.

    Args:
        tree: the body.
        arguments: parameter → argument.
        around: the query with the call.
        is_table: the macro returns a table; DuckDB takes its arguments as text, so that the body's own relations come first.
    """

    def fill(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        first, *fields = node.parts
        in_query = node.find_ancestor(exp.Query) is not None
        if fold(first.name) not in arguments or (fields and in_query):  # in a query, x is a relation in `x.a`
            return node
        argument = arguments[fold(first.name)].copy()
        if in_query and not is_table:
            argument = argument.transform(_qualified, around)
        if _variables_around(node) & {fold(name.name) for name in argument.find_all(exp.Identifier)}:
            raise _UnclearError("a lambda of the macro has a variable with a name in the argument")
        if fields or not isinstance(argument, exp.Literal | exp.Column | exp.Cast):
            argument = exp.Paren(this=argument)
        for field in fields:
            argument = exp.Dot(this=argument, expression=field.copy())
        return argument

    return tree.transform(fill)


def _variables_around(node: exp.Expr) -> set[str]:
    """Return the variables of the lambdas that contain a node."""
    around = node.find_ancestor(exp.Lambda)
    return set() if around is None else {fold(variable.name) for variable in around.expressions} | _variables_around(around)


def _qualified(node: exp.Expr, around: exp.Select | None) -> exp.Expr:
    """Qualify a column of an argument with its relation, because a query in the macro may have relations with a column of that name."""
    if isinstance(node, exp.Query):
        raise _UnclearError("a query in an argument")
    if not isinstance(node, exp.Column):
        return node
    clauses = [] if around is None else [around.args.get("from_"), *(around.args.get("joins") or ())]
    relations = [clause.this.alias_or_name for clause in clauses if clause is not None]
    if node.table:
        if fold(node.parts[0].name) not in map(fold, relations):
            raise _UnclearError("a column of an outer query, or a field")
        return node
    aliases = {fold(each.alias) for each in around.expressions if isinstance(each, exp.Alias)} if around is not None else set()
    if len(relations) != 1 or not relations[0] or fold(node.name) in aliases:
        raise _UnclearError("a column of one of several relations")
    return exp.column(node.this, table=exp.to_identifier(relations[0], quoted=True))
