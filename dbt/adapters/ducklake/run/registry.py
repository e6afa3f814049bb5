"""Register the relations of resolved statements as temporary views of a Spark session, and drop them. No other module does this.

The view of a table is cached by its value and the settings under which it was analyzed, so it is reused exactly when both are equal.
Views of views, and functions, last for one statement: their SQL may name objects that only Spark knows, such as files, and may
call functions such as `uuid()`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import DuckLakeError, NotFoundError, StatementError
from ..format.identifiers import backquoted
from ..plan.bound import Bound, BoundCall, BoundFunction, BoundQuery, BoundRelation, BoundRows, BoundTable
from ..plan.resolve import broken_view
from ..plan.view import Settings
from ..spark.errors import translate
from ..spark.read.local import local_rows
from ..spark.read.scan import scan
from ..spark.session.connect import is_connect
from ..spark.session.opaque_values import has_marked, with_marked_types
from ..spark.session.plan_types import first_difference
from ..translate.view_text import column_names, is_our_text, without_counterpart

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_VIEWS = 64
"""The maximum number of views of tables that are kept between statements. A DataFrame that was analyzed with a view no longer needs it."""

_FILE_FUNCTIONS = "input_file_"
"""The beginning of the names of Spark's functions for the file of a row, which a local relation does not have."""

_QUALIFY = re.compile(r"\bqualify\b", re.IGNORECASE)
_HIDDEN_NAME = re.compile(r"__ducklake_\d+__")


@dataclass(frozen=True)
class Registering:
    """How the relations of a statement are registered."""

    spark: SparkSession
    settings: Settings
    """The settings of the session."""
    frame_of_call: Callable[[BoundCall], DataFrame]
    """Returns the rows of a call of a lake function."""
    asks_for_files: bool = False
    """Whether the statement may call a function for a row's file."""


_Registered = BoundTable | BoundQuery | BoundCall | BoundFunction
"""The relations that are registered. The session has already registered `BoundRows`."""
_Key = tuple[_Registered, Settings, bool]
"""A relation, and what decides how it is read and analyzed: the settings, and whether the statement may ask for files."""


class ScanRegistry:
    """The views and functions of one Spark session that show bound relations. Not thread-safe."""

    def __init__(self) -> None:
        self.user_names: dict[str, str] = {}
        """The user's name of each view or function, for error messages."""
        self._used: dict[_Key, str] = {}
        """The names of the views and functions of the current statement, the last used last."""
        self._kept: dict[_Key, str] = {}
        """The names of the views of tables of previous statements, the last used last."""
        self._copies: list[str] = []
        """The names of further views that the current statement uses, see `_copy`."""
        self._numbers = itertools.count(1)

    def text(self, bound: Bound, how: Registering) -> str:
        """Return the text of a statement, or of the query of a view, for Spark, after registering its relations.

        Raises:
            LakeError: a view or a file of the lake is broken.
        """
        texts = [piece for piece in bound.pieces if isinstance(piece, str)]
        if asks_for_files(texts):
            how = replace(how, asks_for_files=True)
        if len(bound.pieces) - len(texts) > 1 and any(_QUALIFY.search(text) for text in texts):
            return bound.text(lambda relation: backquoted(self._copy(relation, how)))
        return bound.text(lambda relation: backquoted(self._name(relation, how)))

    @property
    def reads_encrypted(self) -> bool:
        """Whether the current statement reads encrypted files; those of a lake are all encrypted or all not."""
        plans = (relation.plan for relation, *_ in self._used if isinstance(relation, BoundTable))
        return any(plan.files and plan.files[0].is_encrypted for plan in plans)

    def new_name(self, user_name: str) -> str:
        """Return a name for a view that the caller registers and drops with `forget`; errors show `user_name` instead."""
        name = f"__ducklake_{next(self._numbers)}__"
        self.user_names[name] = user_name
        return name

    def forget(self, name: str, spark: SparkSession) -> None:
        """Drop a view and forget its name."""
        self.user_names.pop(name, None)
        spark.catalog.dropTempView(name)

    def query(self, bound: Bound, text: str, spark: SparkSession) -> DataFrame:
        """Return the rows of a query. In the names of columns without an alias, the hidden names of functions become the user's names.

        Args:
            bound: the query.
            text: its text for Spark.
            spark: the session.
        """
        frame = spark.sql(text)
        if not any(isinstance(each, BoundFunction) for each in bound.relations):
            return frame
        columns = [_HIDDEN_NAME.sub(lambda found: self.user_names.get(found[0], found[0]), column) for column in frame.columns]
        return frame if columns == frame.columns else frame.toDF(*columns)

    def keep(self) -> None:
        """Never drop the views of the current statement, because Spark keeps its text."""
        self._used.clear()
        self._copies.clear()

    def clear(self) -> None:
        """Forget all views, because Spark has ended."""
        self._used.clear()
        self._copies.clear()
        self._kept.clear()
        self.user_names.clear()

    def shrink(self, spark: SparkSession, keep: int = MAX_VIEWS) -> None:
        """Drop the views of the previous statement, and the least recently used views of tables, down to `keep` of them."""
        if is_connect(spark):  # Spark Connect analyzes a result again when it is fetched
            self.keep()
            return
        for key, name in self._used.items():
            match key[0]:
                case BoundTable():
                    self._kept[key] = name
                case BoundFunction():
                    self.user_names.pop(name, None)
                    spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {backquoted(name)}")
                case _:
                    self.forget(name, spark)
        self._used.clear()
        while self._copies:
            self.forget(self._copies.pop(), spark)
        while len(self._kept) > keep:
            self.forget(self._kept.pop(next(iter(self._kept))), spark)

    def _name(self, relation: BoundRelation, how: Registering) -> str:
        if isinstance(relation, BoundRows):
            return relation.view
        key = relation, how.settings, how.asks_for_files
        name = self._used.pop(key, "") or self._kept.pop(key, "") or self._register(relation, how)
        self._used[key] = name
        self.user_names[name] = relation.user_name
        return name

    def _copy(self, relation: BoundRelation, how: Registering) -> str:
        """Return the name of a view that only one reference uses, in which each column is an attribute of its own.

        Spark gives a plan that a query contains twice new attributes in one place, and then does not find those of a QUALIFY there that
        names a column outside the SELECT list.
        """
        name = self._name(relation, how)
        if isinstance(relation, BoundFunction):
            return name
        frame = how.spark.table(backquoted(name))
        copy = self.new_name(relation.user_name)
        frame.toDF(*frame.columns).createOrReplaceTempView(copy)
        self._copies.append(copy)
        return copy

    def _register(self, relation: _Registered, how: Registering) -> str:
        match relation:
            case BoundTable():
                frame = _rows(relation, how)
            case BoundQuery():
                frame = self._view(relation, how)
            case BoundCall():
                frame = how.frame_of_call(relation)
            case BoundFunction(body):
                name = self.new_name(relation.user_name)
                how.spark.sql(f"CREATE TEMPORARY FUNCTION {backquoted(name)} {self.text(body, how)}")
                return name
        name = self.new_name(relation.user_name)
        frame.createOrReplaceTempView(name)
        return name

    def _view(self, relation: BoundQuery, how: Registering) -> DataFrame:
        """Return the rows of a view."""
        text = self.text(relation.body, how)
        try:
            frame = self.query(relation.body, text, how.spark)
            view = relation.view
            part = None if view is None or is_our_text(view) else self._first_difference(relation, frame, how)
            if view is not None and part is not None:
                raise without_counterpart(view, part)
        except DuckLakeError:
            raise
        except Exception as error:
            found = translate(error, self.user_names)
            if isinstance(found, (NotFoundError, StatementError)):
                raise broken_view(relation.user_name, found) from error
            raise
        columns = relation.columns if view is None else column_names(view, frame.columns)
        return frame.toDF(*columns) if columns and list(columns) != frame.columns else frame

    def _first_difference(self, relation: BoundQuery, frame: DataFrame, how: Registering) -> str | None:
        """Return the first operation of a view of DuckDB whose result differs in Spark; `frame` has its rows."""
        types, columns_alone = relation.body.stored_types, relation.body.without_rows()
        if has_marked(types) and columns_alone != relation.body:  # only frames without rows have such types as metadata
            frame = self.query(columns_alone, self.text(columns_alone, how), how.spark)
        return first_difference(frame, types, from_spark=False)


def asks_for_files(texts: Iterable[str]) -> bool:
    """Whether one of these pieces of SQL may call a function for a row's file, such as `input_file_name()`."""
    return any(_FILE_FUNCTIONS in text.lower() for text in texts)


def _rows(table: BoundTable, how: Registering) -> DataFrame:
    """Return the rows of a table. A small one is a local relation, for which Spark needs no scan."""
    local = None if table.virtual or how.asks_for_files else local_rows(table.plan)
    frame = scan(how.spark, table.plan, virtual=table.virtual, unneeded=table.unneeded) if local is None else local.frame(how.spark)
    return frame if table.columns is None else with_marked_types(frame, table.columns)
