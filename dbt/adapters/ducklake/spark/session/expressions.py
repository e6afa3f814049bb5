"""Read the expressions of Spark's plan, and which of them derive from columns whose stored type Spark does not distinguish.

Frames without rows have such types as metadata of their columns (`opaque_values.py`). The analysis passes it on with a column, but a
column that is computed has none. So a column without metadata is certain only if a relation without children has it, or if it is computed
from certain columns; another one may be of any kind that the plan computes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from .jvm import java_class
from .opaque_values import UNSURE, Opaque, marked_kinds, opaque_of_choice, opaque_type

WHOLE = ("tinyint", "smallint", "int", "bigint")
SUBQUERIES = ("ScalarSubquery", "ListQuery", "Exists", "LateralSubquery")

_CAST = "org.apache.spark.sql.catalyst.expressions.Cast"
_LEAVES = ("AttributeReference", "Literal")
_COLUMNS = ("AttributeReference", "OuterReference")
_REFERENCES = ("CTERelationRef", "UnionLoopRef")
"""Relations without children whose columns are computed elsewhere in the plan."""
_NOT_DERIVED = ("Literal", "Count", "WindowSpecDefinition", "SpecifiedWindowFrame")


def each(sequence: Any) -> Iterator[Any]:
    """Yield the elements of a Scala sequence."""
    for i in range(sequence.size()):
        yield sequence.apply(i)


class Columns:
    """What is known about the stored types of the columns of a plan."""

    def __init__(self, jvm: Any) -> None:
        self._jvm = jvm
        self._computed: set[str] = set()
        """The kinds of values that the plan computes: `uuid`, and those of `kinds_of`."""
        self._plain: set[int] = set()
        """The ids of the columns without metadata that are certainly of no such kind."""
        self._common: dict[int, Expression] = {}
        """Id → an expression that Spark names once and refers to several times, as the operand of BETWEEN."""

    @cached_property
    def _user_specified(self) -> Any:
        """The tag of casts that are in the query's text."""
        return java_class(self._jvm, _CAST).USER_SPECIFIED_CAST()

    def is_explicit(self, cast: Expression) -> bool:
        """Whether the cast is in the query's text, and not added by Spark."""
        return bool(cast.java.getTagValue(self._user_specified).isDefined())

    def define(self, expression: Expression) -> None:
        """Note the expressions that a `With` of Spark defines for the references in it."""
        if expression.kind == "With":
            for definition in expression.children[1:]:
                self._common[definition.java.id().id()] = definition.children[0]

    def collect(self, plan: Any, kinds: Collection[str]) -> None:
        """Find the kinds of the columns that a plan computes.

        Args:
            plan: the plan, with the views in it, because their columns are computed, too.
            kinds: the kinds that the tables of the plan have.
        """
        children = list(each(plan.children()))
        for child in children:
            self.collect(child, kinds)
        name = plan.getClass().getSimpleName()
        if not children and name not in _REFERENCES:
            self._plain.update(attribute.exprId().id() for attribute in each(plan.output()))
            return
        if name in ("Union", "Intersect", "Except"):
            for same in zip(*(each(child.output()) for child in children), strict=True):
                found = {self._kinds(attribute) for attribute in same}
                if len(found) > 1:  # the column has the metadata of the first
                    self._computed.update(*found)
                    self._plain.discard(same[0].exprId().id())
        for java in each(plan.expressions()):
            self._collect_expression(Expression(java, self), kinds)

    def _collect_expression(self, expression: Expression, kinds: Collection[str]) -> None:
        for subquery in expression.subqueries():
            self.collect(subquery, kinds)
        value = expression.children[0] if expression.kind in ("Alias", "SortOrder") else expression
        found = {kind for kind in kinds if self.derives(value, kind)} | ({"uuid"} if value.opaque in ("uuid", UNSURE) else set())
        if value.kind not in _COLUMNS:
            self._computed.update(found)
        if expression.kind == "Alias" and not found:
            self._plain.add(expression.java.exprId().id())

    def _is_plain(self, attribute: Any) -> bool:
        return attribute.exprId().id() in self._plain

    def _kinds(self, attribute: Any) -> frozenset[str]:
        found = marked_kinds(attribute)
        return found if found or not self._computed or self._is_plain(attribute) else frozenset(self._computed)

    def opaque(self, attribute: Any) -> Opaque:
        """Return the opaque type of a column; UNSURE if it may be a uuid that the plan computes."""
        found = opaque_type(attribute)
        if found or "uuid" not in self._computed or self._is_plain(attribute) or attribute.dataType().catalogString() != "string":
            return found
        return UNSURE

    def derives(self, expression: Expression, kind: str) -> bool:
        """Whether the value of an expression may have a stored type of this kind in DuckDB.

        Args:
            expression: the expression.
            kind: one of `kinds_of`.
        """
        if expression.kind in _NOT_DERIVED or not _can_be(expression.type, kind):
            return False
        if (attributes := expression.attributes()) is not None:
            return any(kind in self._kinds(attribute) for attribute in attributes)
        if expression.kind == "NamedLambdaVariable":
            return True
        if expression.kind == "Cast" and self.is_explicit(expression):
            return False
        if expression.kind == "CommonExpressionRef":
            common = self._common.get(expression.java.id().id())
            return common is None or self.derives(common, kind)
        self.define(expression)
        return any(self.derives(child, kind) for child in expression.children)


class Expression:
    """An expression of the plan. Its properties are cached, because each call to the JVM takes longer than the check of its result."""

    def __init__(self, java: Any, columns: Columns) -> None:
        self.java = java
        self.columns = columns

    @cached_property
    def kind(self) -> str:
        """The simple name of the expression's class in Spark."""
        return str(self.java.getClass().getSimpleName())

    @cached_property
    def type(self) -> str:
        """The name of its Spark type."""
        return str(self.java.dataType().catalogString())

    @cached_property
    def children(self) -> list[Expression]:
        """Its operands; those of a subquery are the columns of the outer query that it names."""
        return [] if self.kind in _LEAVES else [Expression(child, self.columns) for child in each(self.java.children())]

    @property
    def sql(self) -> str:
        """Its text, for messages."""
        return str(self.java.sql())

    @cached_property
    def opaque(self) -> Opaque:
        """The type of the value if it is one of an opaque column; for a subquery, that of its columns."""
        if (attributes := self.attributes()) is not None:
            types = [self.columns.opaque(attribute) for attribute in attributes]
            return types if len(types) > 1 and any(types) else types[0]
        if self.kind == "GetStructField":
            (of_struct,) = (child.opaque for child in self.children)
            return of_struct[self.java.ordinal()] if isinstance(of_struct, list) else of_struct
        return opaque_of_choice(self.kind, [None if child.is_null else child.opaque for child in self.children])

    @property
    def is_null(self) -> bool:
        """Whether it is a literal NULL, which may have a type."""
        return self.is_cast_of("void") or (self.kind == "Literal" and self.java.value() is None)

    def attributes(self) -> list[Any] | None:
        """Return the column that the expression is, or those of its subquery; None if it is neither."""
        match self.kind:
            case "AttributeReference":
                return [self.java]
            case "OuterReference":
                return [self.java.e()]
            case "ScalarSubquery" | "ListQuery":
                return list(each(self.java.plan().output()))
        return None

    def subqueries(self) -> Iterator[Any]:
        """Yield the plans of the subqueries in the expression."""
        if self.kind in SUBQUERIES:
            yield self.java.plan()
        for child in self.children:
            yield from child.subqueries()

    def is_cast_of(self, kind: str) -> bool:
        """Whether it is a cast of a value of this Spark type."""
        return self.kind == "Cast" and self.children[0].type == kind


def is_decimal(kind: str) -> bool:
    """Whether a Spark type is a decimal."""
    return kind.startswith("decimal")


def is_nested(kind: str) -> bool:
    """Whether a Spark type has elements or fields."""
    return kind.startswith(("array<", "struct<", "map<"))


def scale(kind: str) -> int:
    """Return the scale of a decimal type."""
    return int(kind.rstrip(")").rpartition(",")[2])


def _can_be(spark_type: str, kind: str) -> bool:
    if is_nested(spark_type):
        return True
    if kind == "coarse":
        return spark_type == "timestamp_ntz"
    return spark_type in WHOLE or (is_decimal(spark_type) and scale(spark_type) == 0)
