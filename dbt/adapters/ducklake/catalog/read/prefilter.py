"""Conditions in SQL that find most of the files that a scan can leave out, so that their rows are not fetched.

`pruning.py` decides; this module only states what is certain in SQL. The catalog stores all values as strings, so:

- Numbers are compared as doubles, with a margin that is greater than any error of the conversion.
- Dates and timestamps with years of four digits are compared as strings, without the fraction of a second. Other forms prove nothing.
  The margin of a timestamp is a second, to which readers may round up the greatest value of an added file.
- Strings are compared byte by byte. Other types prove nothing.
- A comparison with NULL or with a string of an unexpected form is NULL, which proves nothing, because no condition is negated.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, false, func, literal, or_, select, true
from sqlalchemy import Table as MetadataTable
from sqlalchemy.sql.expression import CompoundSelect, Subquery
from sqlalchemy.types import Double

from ...format.files import ColumnFilter, ColumnRange
from ...format.leaf_types import Encoding, leaf_type
from ...format.objects import Column, Table
from ...format.partitioning import bucket_count
from ...format.pruning import bucket_texts, has_exact_texts
from ...format.statistics import decode
from ...format.timestamps import timestamp_text
from ..store import tables as t
from ..store.dialects import CatalogDialect

_MAX_RANGES = 1000
"""A filter with more ranges is not used, because its SQL would be too long."""
_NO_LIMIT = 2**62
"""A limit that no query reaches. With a limit, a database computes a query before the one around it, and so converts each value once."""
_NUMBERS = (Encoding.INTEGER, Encoding.DECIMAL, Encoding.FLOAT)
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SECOND = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d+)?(\+00)?", re.ASCII)


@dataclass(frozen=True)
class ScanFilters:
    """The filters of a scan that apply to columns of its table.

    Args:
        table: the table.
        retyped: ids of columns whose type has changed.
        filters: the filters of each column; every row must pass all.
        specs: every partition spec that the table ever had: partition id → key index → (column id, transform).
    """

    table: Table
    retyped: Collection[int]
    filters: Mapping[int, Sequence[ColumnFilter]]
    specs: Mapping[int, Mapping[int, tuple[int, str]]]

    @cached_property
    def columns(self) -> dict[int, Column]:
        """The columns and their fields by id."""
        return {leaf.column_id: leaf for column in self.table.columns for leaf in column.walk()}


@dataclass(frozen=True)
class Prefilter:
    """Makes the conditions for the filters of a scan in SQL of a catalog database."""

    dialect: CatalogDialect
    scan: ScanFilters

    def candidates(self, visible: ColumnElement[bool]) -> CompoundSelect[Any] | None:
        """Return a query of the ids of the visible data files that may have a needed row; None if every file may."""
        if self.dialect.parse_number is None:
            return None
        excluded = [*self._by_statistics(), *self._by_partition()]
        ids = select(t.data_file.c.data_file_id).where(t.data_file.c.table_id == self.scan.table.table_id, visible)
        return ids.except_(*excluded) if excluded else None

    def _by_statistics(self) -> Iterator[Select[Any]]:
        for column_id, filters in self.scan.filters.items():
            leaf = leaf_type(self.scan.columns[column_id].type)
            for each in filters:
                found = []
                source = self._statistics(column_id, converted_once=len(each.ranges) > 1)
                if leaf.encoding is not Encoding.NONE:
                    found.append(and_(source.c.value_count == 0, source.c.min_value.is_(None), source.c.max_value.is_(None)))
                outside = self._outside(each.ranges, self.scan.columns[column_id].type, source.c.get("least"), source.c.get("greatest"))
                if outside is not None:
                    known = [source.c.contains_nan == literal(False, t.Boolean())] if leaf.is_float and _is_open(each.ranges) else []
                    found.append(and_(outside, *known))
                if not found or (each.nulls and not leaf.has_bounds):
                    continue
                no_nulls = [source.c.null_count == 0] if each.nulls else []
                yield select(source.c.data_file_id).where(or_(*found), *no_nulls)

    def _statistics(self, column_id: int, *, converted_once: bool) -> Subquery:
        """Return the statistics of a column in each file; `least` and `greatest` are the bounds as values that SQL can compare, if it can.

        Args:
            column_id: the column.
            converted_once: whether the database computes these values once for each file, and not at each use.
        """
        stats, type_name = t.file_column_stats.c, self.scan.columns[column_id].type
        bounds = {"least": self._comparable(type_name, stats.min_value), "greatest": self._comparable(type_name, stats.max_value)}
        comparable = [value.label(name) for name, value in bounds.items() if value is not None]
        columns = (stats.data_file_id, stats.value_count, stats.null_count, stats.min_value, stats.max_value, stats.contains_nan)
        found = select(*columns, *comparable).where(stats.table_id == self.scan.table.table_id, stats.column_id == column_id)
        return (found.limit(_NO_LIMIT) if converted_once else found).subquery()

    def _by_partition(self) -> Iterator[Select[Any]]:
        source, data = t.file_partition_value, t.data_file
        for partition_id, keys in self.scan.specs.items():
            for index, (column_id, transform) in keys.items():
                if column_id in self.scan.retyped:
                    continue
                for each in self.scan.filters.get(column_id, ()):
                    condition = self._excluded_key(each, transform, source.c.partition_value)
                    if condition is not None:
                        query = self._ids(source, source.c.partition_key_index == index, condition)
                        yield query.join(data, data.c.data_file_id == source.c.data_file_id).where(data.c.partition_id == partition_id)

    def _excluded_key(self, filter_: ColumnFilter, transform: str, value: ColumnElement[str]) -> ColumnElement[bool] | None:
        type_name = self.scan.columns[filter_.column_id].type
        if not has_exact_texts(type_name):
            return None
        if transform == "identity":
            comparable = self._comparable(type_name, value)
            outside = self._outside(filter_.ranges, type_name, comparable, comparable)
            return None if outside is None else and_(value.is_not(None), outside)
        count = bucket_count(transform)
        texts = None if count is None else bucket_texts(filter_, type_name, count)
        return None if texts is None else and_(value.is_not(None), value.not_in(sorted(set(texts))))

    def _ids(self, source: MetadataTable, *conditions: ColumnElement[bool]) -> Select[Any]:
        return select(source.c.data_file_id).where(source.c.table_id == self.scan.table.table_id, *conditions)

    def _outside(
        self, ranges: Sequence[ColumnRange], type_name: str, least: ColumnElement[Any] | None, greatest: ColumnElement[Any] | None
    ) -> ColumnElement[bool] | None:
        """Return the condition that no range overlaps the bounds; None if SQL cannot compare values of the type.

        Args:
            ranges: the ranges.
            type_name: the type of the column.
            least: the lower bound as `_comparable` returns it.
            greatest: the upper bound.
        """
        if not ranges:
            return true()
        limits = [_limits(each, type_name) for each in ranges]
        if least is None or greatest is None or len(ranges) > _MAX_RANGES:
            return None
        known = [each for each in limits if each is not None]
        return _between_ranges(least, greatest, known, self.dialect) if len(known) == len(limits) else None

    def _comparable(self, type_name: str, text: ColumnElement[str]) -> ColumnElement[Any] | None:
        """Return an expression for the value of a string, which is NULL if the string has an unexpected form."""
        parse_number, encoding = self.dialect.parse_number, leaf_type(type_name).encoding
        assert parse_number is not None
        if encoding is Encoding.TEXT:
            return self.dialect.ordered_text(func.lower(text) if type_name == "uuid" else text)
        if encoding in _NUMBERS:
            return parse_number(text)
        if encoding is Encoding.DATE:
            return case((text.like("____-__-__"), self.dialect.ordered_text(text)))
        if encoding is Encoding.TIMESTAMP:
            form = "____-__-__ __:__:__%" + ("+00" if type_name == "timestamptz" else "")
            return case((text.like(form), self.dialect.ordered_text(func.substr(text, 1, 19))))
        return None


Limit = float | str | None


def _limits(range_: ColumnRange, type_name: str) -> tuple[Limit, Limit] | None:
    """Return the lower and upper limit of a range, widened by the margin. A limit of None is open.

    Returns:
        None if both limits are open, or if a bound cannot be compared.
    """
    found: list[Limit] = []
    for text, sign in ((range_.low, -1), (range_.high, 1)):
        limit = None if text is None else _limit(text, type_name, sign)
        if text is not None and limit is None:
            return None
        found.append(limit)
    return None if found == [None, None] else (found[0], found[1])


def _limit(text: str, type_name: str, sign: int) -> float | str | None:
    value, leaf = decode(type_name, text), leaf_type(type_name)
    if value is None or "\0" in text:
        return None
    if isinstance(value, bytes):
        return value.decode()
    match leaf.encoding:
        case Encoding.DATE:
            return text if _DAY.fullmatch(text) else None
        case Encoding.TIMESTAMP:
            if not _SECOND.fullmatch(text) or (type_name == "timestamptz") != text.endswith("+00"):
                return None
            shown = text if sign > 0 else timestamp_text(int(value) - 1_000_000_000)
            return shown[:19] if _SECOND.fullmatch(shown) else None
    number = float(value)
    margin = abs(number) * 2.0 ** (-20 if leaf.is_float else -40) + (2.0**-140 if leaf.is_float else 0)
    return number + sign * margin if abs(number) < 1e300 else None


def _between_ranges(
    least: ColumnElement[Any], greatest: ColumnElement[Any], limits: Sequence[tuple[Any, Any]], dialect: CatalogDialect
) -> ColumnElement[bool]:
    """Return the condition that a file whose values are from `least` to `greatest` overlaps none of the ranges.

    It overlaps none if all ranges that begin at or below `greatest` end below `least`; a binary search finds these ranges. If `greatest`
    is NULL, they are all ranges.
    """
    ordered = sorted(limits, key=lambda each: (each[0] is not None, each[0] if each[0] is not None else 0))
    ends = list(accumulate((high for _, high in ordered), _greater))  # the greatest end so far

    def value(limit: Any) -> ColumnElement[Any]:
        return dialect.ordered_text(literal(limit, t.Text())) if isinstance(limit, str) else literal(limit, Double())

    def search(fewest: int, most: int) -> ColumnElement[bool]:
        if fewest == most:
            if fewest == 0:
                return true()
            end = ends[fewest - 1]
            return false() if end is None else least > value(end)
        middle = (fewest + most + 1) // 2
        low = ordered[middle - 1][0]
        if low is None:
            return search(middle, most)
        return case((greatest < value(low), search(fewest, middle - 1)), else_=search(middle, most))

    return search(0, len(ordered))


def _greater(left: Any, right: Any) -> Any:
    """Return the greater limit; None is greater than all."""
    return None if left is None or right is None else max(left, right)


def _is_open(ranges: Sequence[ColumnRange]) -> bool:
    return any(each.high is None for each in ranges)
