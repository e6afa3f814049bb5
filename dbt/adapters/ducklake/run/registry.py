"""The relations of bound texts as temporary views of a Spark session. The one place that registers such views, and that drops them.

The view of a table is kept for the value that it shows and the settings under which it was analysed, so it is found again exactly when both
are equal. Views of views, and functions, last for a statement: their texts may name what only Spark knows, such as files, and may call
functions such as `uuid()`.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..errors import DuckLakeError, NotFoundError, StatementError
from ..format.identifiers import backquoted
from ..plan.bound import Bound, BoundCall, BoundFunction, BoundQuery, BoundRelation, BoundRows, BoundTable
from ..plan.resolve import broken_view
from ..plan.view import Settings
from ..spark.errors import translate
from ..spark.read.scan import scan
from ..spark.session.plan_types import first_difference
from ..spark.session.runtime import is_connect
from ..translate.view_text import is_our_text, without_counterpart

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MOST = 64
"""How many views of tables are kept between statements. A DataFrame that was analysed with a view does not need it any more."""

FrameOfCall = Callable[[BoundCall], "DataFrame"]


class ScanRegistry:
    """The views and functions of one Spark session that show bound relations. Not thread-safe."""

    def __init__(self) -> None:
        self.user_names: dict[str, str] = {}
        """View or function → what the user calls it."""
        self._tables: OrderedDict[tuple[BoundTable, Settings], str] = OrderedDict()
        self._others: dict[BoundRelation, str] = {}
        """The views and functions of the present statement."""
        self._numbers = itertools.count(1)

    def text(self, bound: Bound, spark: SparkSession, settings: Settings, frame_of_call: FrameOfCall) -> str:
        """The text for Spark, whose names are registered.

        Raises:
            LakeError: a view or a file of the lake is broken.
        """
        return bound.text(lambda relation: backquoted(self._name(relation, spark, settings, frame_of_call)))

    def new_name(self, user_name: str) -> str:
        """A name for a view that the caller registers, and drops with `forget`; errors name it as the user does."""
        name = f"__ducklake_{next(self._numbers)}__"
        self.user_names[name] = user_name
        return name

    def forget(self, name: str, spark: SparkSession) -> None:
        """Drop a view."""
        self.user_names.pop(name, None)
        spark.catalog.dropTempView(name)

    def keep(self) -> None:
        """Never drop what the present statement has registered, since Spark keeps the text of the statement."""
        self._tables.clear()
        self._others.clear()

    def shrink(self, spark: SparkSession, keep: int = MOST) -> None:
        """Drop what only the statement before needed, and tables that were used longest ago, down to `keep` of them."""
        if is_connect(spark):  # there a result is analysed again when it is fetched
            self.keep()
            return
        for relation, name in self._others.items():
            if isinstance(relation, BoundFunction):
                self.user_names.pop(name, None)
                spark.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {backquoted(name)}")
            else:
                self.forget(name, spark)
        self._others.clear()
        while len(self._tables) > keep:
            self.forget(self._tables.popitem(last=False)[1], spark)

    def _name(self, relation: BoundRelation, spark: SparkSession, settings: Settings, frame_of_call: FrameOfCall) -> str:
        if isinstance(relation, BoundRows):
            return relation.view
        name = self._tables.get((relation, settings)) if isinstance(relation, BoundTable) else self._others.get(relation)
        if name is None:
            name = self._register(relation, spark, settings, frame_of_call)
        if isinstance(relation, BoundTable):
            self._tables[relation, settings] = name
            self._tables.move_to_end((relation, settings))
        else:
            self._others[relation] = name
        self.user_names[name] = relation.user_name
        return name

    def _register(
        self,
        relation: BoundTable | BoundQuery | BoundCall | BoundFunction,
        spark: SparkSession,
        settings: Settings,
        frame_of_call: FrameOfCall,
    ) -> str:
        match relation:
            case BoundTable():
                frame = scan(spark, relation.plan, virtual=relation.virtual)
            case BoundQuery():
                frame = self._query(relation, spark, self.text(relation.body, spark, settings, frame_of_call))
            case BoundCall():
                frame = frame_of_call(relation)
            case BoundFunction(definition):
                text = self.text(definition, spark, settings, frame_of_call)
                name = self.new_name(relation.user_name)
                spark.sql(f"CREATE TEMPORARY FUNCTION {backquoted(name)} {text}")
                return name
        name = self.new_name(relation.user_name)
        frame.createOrReplaceTempView(name)
        return name

    def _query(self, relation: BoundQuery, spark: SparkSession, text: str) -> DataFrame:
        """The rows of a view."""
        try:
            frame = spark.sql(text)
            view = relation.view
            piece = None if view is None or is_our_text(view) else first_difference(frame, from_spark=False)
            if view is not None and piece is not None:
                raise without_counterpart(view, piece)
        except DuckLakeError:
            raise
        except Exception as error:
            found = translate(error, self.user_names)
            if isinstance(found, (NotFoundError, StatementError)):
                raise broken_view(relation.user_name, found) from error
            raise
        return frame.toDF(*relation.columns) if relation.columns else frame
