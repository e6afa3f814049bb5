"""Rules that rewrite the clauses of a SELECT that DuckDB and Spark interpret differently.

They are USING with a selected star, joins after a comma, and QUALIFY.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sqlglot import exp

from ..format.identifiers import fold
from .shared_checks import is_star_of_relation, refuse_unless

_JOINED = "_joined"
"""The name of the relations that are joined in a subquery."""
_QUALIFIED = "_ducklake_qualify"
"""The column of the condition of QUALIFY."""
_ORDERED = "_ducklake_order"
"""The start of the names of the columns by which a query with QUALIFY is sorted and which it does not select."""


def using_as_on(node: exp.Expr) -> exp.Expr:
    """Write JOIN … USING as ON where `*` or `q.*` is selected, in which Spark would put the keys first.

    If it is not clear which columns the names of the keys mean, the query is left as it is, and its star is refused.
    """
    joins = node.args.get("joins") or []
    stars = [each for each in node.expressions if each.is_star]
    if not stars or not any(join.args.get("using") for join in joins):
        return node
    names = [fold(clause.this.alias_or_name) for clause in (node.args["from_"], *joins)]
    unclear = _first_unclear_join(node)
    if not all(names) or len(set(names)) < len(names):
        return node
    if unclear is not None:
        return using_as_on(node) if _join_in_subquery(node, unclear) else node
    plain = [star for star in stars if isinstance(star, exp.Star)]
    keys = _keys(node)
    columns = [column for column in _columns(node) if fold(column.parts[0].name) in keys]
    excluded = [column for star in plain for column in star.args.get("except_") or []]
    if not _may_replace_keys(node, columns, keys, plain) or any(isinstance(each, exp.Column) and each.table for each in excluded):
        return node
    for column in columns:
        key = keys[fold(column.name)].copy()
        is_output = column.parent is node and column.arg_key == "expressions" and not isinstance(key, exp.Column)
        column.replace(exp.alias_(key, column.name, quoted=True) if is_output else key)
    for column in excluded:
        column.replace(keys.get(fold(column.name), column).copy())
    for relation, join in _using(node):
        pairs = [(exp.column(key.copy(), relation.copy()), exp.column(key.copy(), _name(join))) for key in join.args["using"]]
        for star in plain if join.args.get("kind") not in ("SEMI", "ANTI") else ():
            star.set("except_", [*(star.args.get("except_") or []), *(right.copy() for _, right in pairs)])
        join.set("on", exp.and_(*(left.eq(right) for left, right in pairs)))
        join.set("using", None)
    return node


def _join_after_comma(node: exp.Expr) -> None:
    """Put the joins after a comma in parentheses where it matters that their left side is only the relation after the comma."""
    joins = node.args.get("joins") or []
    starts = [i for i, join in enumerate(joins) if _is_comma(join)]
    for start, end in reversed(list(pairwise([*starts, len(joins)]))):
        own = joins[start + 1 : end]
        if any(join.args.get("using") or join.args.get("side") in ("RIGHT", "FULL") for join in own):
            relation = joins[start].this
            del joins[start + 1 : end]
            relation.set("joins", own)
            joins[start].set("this", exp.Subquery(this=relation))
    node.set("joins", joins)


def rearranged(node: exp.Expr) -> exp.Expr:
    """Group joins after a comma, and replace QUALIFY."""
    _join_after_comma(node)
    return node if node.args.get("qualify") is None or not isinstance(node, exp.Select) else _filtered(node)


def _filtered(node: exp.Select) -> exp.Expr:
    """Replace QUALIFY by a WHERE around the query: older versions of Spark do not have it, and newer ones prefer other names in it.

    DISTINCT, ORDER BY, LIMIT and OFFSET apply to the rows that are left, so they move outside. There a key that is not selected
    needs a name.
    """
    order = node.args.get("order")
    names = {fold(each.alias_or_name) for each in node.expressions}
    added = [exp.alias_(node.args["qualify"].this, _QUALIFIED)]
    for ordered in order.expressions if order is not None else ():
        key = ordered.this
        selected = isinstance(key, exp.Column) and not key.table and (node.is_star or fold(key.name) in names)
        if not selected and not isinstance(key, exp.Literal):
            refuse_unless(node.args.get("distinct") is None)
            name = f"{_ORDERED}_{len(added)}"
            added.append(exp.alias_(key, name))
            ordered.set("this", exp.column(name))
    outer = exp.select(exp.Star(except_=[exp.to_identifier(each.alias) for each in added])).where(exp.column(_QUALIFIED))
    for name in ("with_", "distinct", "order", "limit", "offset"):
        outer.set(name, node.args.get(name))
        node.set(name, None)
    node.set("qualify", None)
    return outer.from_(node.select(*added).subquery("_t"))


def _is_comma(join: exp.Expr) -> bool:
    return not any(join.args.get(name) for name in ("side", "kind", "on", "using"))


def _name(clause: exp.Expr) -> exp.Identifier:
    """Return the name of the relation of FROM or JOIN."""
    return exp.Identifier(this=clause.this.alias_or_name, quoted=True)


def _using(node: exp.Expr) -> Iterator[tuple[exp.Identifier, exp.Expr]]:
    """Yield each join with USING, after the relation whose columns the keys are: the first one, or the first one after a comma."""
    first = node.args["from_"]
    for join in node.args["joins"]:
        first = join if _is_comma(join) else first
        if join.args.get("using"):
            yield _name(first), join


def _keys(node: exp.Expr) -> dict[str, exp.Expr]:
    """Return name of a key → the expression that the name means if no relation qualifies it."""
    found: dict[str, exp.Expr] = {}
    for relation, join in _using(node):
        for key in join.args["using"]:
            left, right = (exp.column(key.copy(), name.copy()) for name in (relation, _name(join)))
            sides = {"RIGHT": right, "FULL": exp.Coalesce(this=left, expressions=[right])}
            found[fold(key.name)] = sides.get(join.args.get("side") or "", left)
    return found


def _may_replace_keys(node: exp.Expr, columns: list[exp.Column], keys: dict[str, exp.Expr], plain: list[exp.Star]) -> bool:
    """Whether USING may become ON: each name of a key means that key, and Spark's star can show the keys, which a right relation lacks."""
    if any(isinstance(each, exp.Alias) and fold(each.alias) in keys for each in node.expressions):
        return False
    joins = node.args["joins"]
    sides = {join.args.get("side") or "" for join in joins if join.args.get("using")}
    is_outer = not sides.isdisjoint(("RIGHT", "FULL"))
    if (is_outer and (plain or len(joins) > 1)) or any(column.table or column.find_ancestor(exp.Query) is not node for column in columns):
        return False
    if sides == {""} or not any(
        isinstance(column.parent, exp.Ordered) and column.parent.parent is node.args.get("order") for column in columns
    ):
        return True
    # an unqualified name in ORDER BY means a selected column first
    first = {fold(relation.name) for relation, _ in _using(node)}
    selected = [each for each in node.expressions if isinstance(each, exp.Column) and each.table]
    return not is_outer and all(fold(each.table) in first for each in selected if each.is_star or fold(each.name) in keys)


def _columns(node: exp.Expr) -> list[exp.Column]:
    """Return the columns in a query's clauses and conditions of joins, without those of its relations and those of a star."""
    values = [node.args[name] for name in node.args if name not in ("with_", "from_", "joins")]
    values += [join.args.get("on") for join in node.args["joins"]]
    parts = [part for value in values for part in (value if isinstance(value, list) else [value]) if isinstance(part, exp.Expr)]
    columns = [column for part in parts for column in part.find_all(exp.Column)]
    return [column for column in columns if column.find_ancestor(exp.Star) is None and not isinstance(column.this, exp.Star)]


def _first_unclear_join(node: exp.Expr) -> int | None:
    """Return the index of the first join with a key that may be a column of any of several relations."""
    relations, keys = 1, set[str]()
    for i, join in enumerate(node.args["joins"]):
        if _is_comma(join):
            relations, keys = 1, set()
            continue
        own = {fold(key.name) for key in join.args.get("using") or []}
        if relations > 1 and not own <= keys:
            return i
        relations += join.args.get("kind") not in ("SEMI", "ANTI")
        keys |= own
    return None


def _join_in_subquery(node: exp.Expr, end: int) -> bool:
    """Join the relations before a join in a subquery, so that they become one; return whether that is possible."""
    joins = node.args["joins"]
    before = [node.args["from_"], *joins[:end]]
    names, first = {fold(clause.this.alias_or_name) for clause in before}, fold(before[0].this.alias_or_name)
    keys = {fold(key.name) for join in joins[:end] for key in join.args.get("using") or []}
    own = [column for column in _columns(node) if not names.isdisjoint(fold(part.name) for part in column.parts[:-1])]
    own = [column for column in own if not any(column is each for join in joins[:end] for each in join.find_all(exp.Column))]
    for column in own:
        is_key_of_other = fold(column.name) in keys and fold(column.table) != first
        if len(column.parts) != 2 or is_key_of_other or column.find_ancestor(exp.Query) is not node:
            return False
    if any(map(_is_comma, joins[:end])) or any(is_star_of_relation(each) and fold(each.table) in names for each in node.expressions):
        return False
    for column in own:
        column.set("table", exp.to_identifier(_JOINED))
    inner = exp.Select(expressions=[exp.Star()], from_=before[0], joins=joins[:end])
    node.set("from_", exp.From(this=exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(_JOINED)))))
    node.set("joins", joins[end:])
    return True
