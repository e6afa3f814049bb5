"""Names are resolved to values. Equal values mean equal rows, and a value contains everything that the outcome depends on. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import LakeError, NotFoundError, StatementError
from dbt.adapters.ducklake.format.files import ColumnStats, WrittenFile
from dbt.adapters.ducklake.format.objects import FUNCTION_TAG, Column, Table
from dbt.adapters.ducklake.format.paths import new_uuid
from dbt.adapters.ducklake.plan.bound import Bound, BoundFunction, BoundQuery, BoundTable, RowsRead
from dbt.adapters.ducklake.plan.names import Names, TemporaryView
from dbt.adapters.ducklake.plan.resolve import Planning, resolve
from dbt.adapters.ducklake.plan.scans import ScanPlans
from dbt.adapters.ducklake.plan.view import LakeView, Settings
from dbt.adapters.ducklake.sql.references import references
from dbt.adapters.ducklake.sql.values import Name, TimeTravel
from tests.catalog_objects import COLUMNS, table_of
from tests.places import empty_place


@dataclass
class TwoLakes:
    """The lakes of a session, each with its open transaction."""

    catalogs: dict[str, LakeCatalog]
    transactions: dict[str, Transaction] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.catalogs)

    def view(self, lake: str) -> LakeView:
        if lake not in self.transactions:
            self.transactions[lake] = self.catalogs[lake].begin()
        return self.transactions[lake]

    def view_at(self, lake: str, at: TimeTravel) -> LakeView:
        return self.catalogs[lake].reader(self.catalogs[lake].resolve(version=at.version))


@dataclass
class Session:
    """The context that is needed to resolve a text."""

    lakes: TwoLakes
    names: Names
    planning: Planning

    def bound(self, text: str, **changes: object) -> Bound:
        return resolve(references(text), replace(self.names, **changes), self.planning)  # type: ignore[arg-type]

    def write(self, lake: str = "lake") -> Transaction:
        """Return the open transaction of a lake."""
        view = self.lakes.view(lake)
        assert isinstance(view, Transaction)
        return view

    def commit(self, lake: str = "lake") -> None:
        self.write(lake).commit()
        del self.lakes.transactions[lake]


@pytest.fixture
def session(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Session]:
    catalogs = {name: empty_place("sqlite", request, tmp_path).open() for name in ("lake", "raw")}  # type: ignore[arg-type]
    lakes = TwoLakes(catalogs)
    made = Session(lakes, Names("lake", "main", lakes), Planning(Settings, lambda: True, ScanPlans(), lambda _names, _reference: None))
    for name in catalogs:
        transaction = made.write(name)
        transaction.objects.new_table(transaction.schema("main"), "t", COLUMNS)  # type: ignore[arg-type]
        made.commit(name)
    yield made
    for catalog in catalogs.values():
        catalog.close()


def table_in(session: Session, lake: str = "lake") -> Table:
    return table_of(session.lakes.view(lake))


def add_file(session: Session, low: int, high: int) -> None:
    table = table_in(session)
    stats = (ColumnStats(1, 50, 10, 0, str(low), str(high)), ColumnStats(2, 50, 10, 0, "x", "y"))
    session.write().rows.add_files(table, [WrittenFile(f"{table.path}{new_uuid()}.parquet", 10, 1000, 300, stats)])


def shape(bound: Bound) -> str:
    """Return the text with each name replaced by the kind of its value."""
    return bound.text(lambda relation: f"<{type(relation).__name__} {relation.user_name}>")


def test_names_are_replaced_at_their_positions(session: Session) -> None:
    assert shape(session.bound("select t.a, parquet from t join main.t x on t.a = x.a, csv.`/f`, other.s.u")) == (
        "select t.a, parquet from <BoundTable t> AS `t` join <BoundTable main.t> x on t.a = x.a, csv.`/f`, other.s.u"
    )
    (mine, theirs) = session.bound("select * from t, raw.main.t").relations
    assert isinstance(mine, BoundTable)
    assert isinstance(theirs, BoundTable)
    assert (mine.lake, theirs.lake) == ("lake", "raw")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("select main.t.a, Lake.MAIN.T.a from t", "select `t`.a, `t`.a from <BoundTable t> AS `t`"),
        ("select lake.main.t.a from main.t", "select `t`.a from <BoundTable main.t> AS `t`"),
        ("select raw.main.t.a from t", "select raw.main.t.a from <BoundTable t> AS `t`"),
        ("select s.t.a from t", "select s.t.a from <BoundTable t> AS `t`"),
        ("select main.t.a from t as t", "select main.t.a from <BoundTable t> as t"),
        ("select (select u.t.x from v.u, v.x t) from t", "select (select u.t.x from v.u, v.x t) from <BoundTable t> AS `t`"),
        (
            "select lake.main.t.a, raw.main.t.a from t, raw.main.t",
            "select `t`.a, `raw.main.t`.a from <BoundTable t> AS `t`, <BoundTable raw.main.t> AS `raw.main.t`",
        ),
    ],
)
def test_a_qualifier_may_have_more_parts_than_the_name_in_from(session: Session, text: str, expected: str) -> None:
    assert shape(session.bound(text)) == expected


def test_values_are_equal_if_the_rows_are(session: Session) -> None:
    assert session.bound("select * from t") == session.bound("select * from t")
    assert session.bound("select * from main.t x").pieces[1] == session.bound("select * from lake.main.t y").pieces[1]
    before = session.bound("select * from t")
    add_file(session, 0, 9)
    staged = session.bound("select * from t")
    assert staged != before
    assert staged == session.bound("select * from t")
    add_file(session, 0, 9)
    assert session.bound("select * from t") != staged
    session.write().rollback()
    del session.lakes.transactions["lake"]
    assert session.bound("select * from t") == before


def test_without_rows_values_are_equal_if_the_columns_are(session: Session) -> None:
    session.write().objects.new_view(session.write().schema("main"), "v", "SELECT * FROM t", dialect="spark")  # type: ignore[arg-type]
    session.commit()
    text = "select * from v join t using (a) where t.a > 5"
    before = session.bound(text)
    add_file(session, 0, 9)
    session.commit()
    after = session.bound(text)
    assert after != before
    assert after.without_rows() == before.without_rows()
    assert not any(files.read for files in after.without_rows().reads)
    session.write().objects.put_table(replace(table_in(session), columns=(*COLUMNS, Column(3, "c", "int32"))))
    assert session.bound(text).without_rows() != before.without_rows()


def test_no_files_are_looked_up_for_columns_alone(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    session.write().objects.new_view(session.write().schema("main"), "v", "SELECT * FROM t", dialect="spark")  # type: ignore[arg-type]
    for low in (0, 10):
        add_file(session, low, low + 9)
    session.commit()
    text = references("select * from v join t using (a) where t.a > 5")
    expected = resolve(text, session.names, session.planning).without_rows()
    planned: list[Table] = []
    monkeypatch.setattr(Transaction, "scan_plan", lambda _, table, **_filters: planned.append(table))
    found = resolve(text, session.names, session.planning, only_columns=True)
    assert (found, planned) == (expected, [])
    assert {each.table_id for each in found.depends_on} == {table_in(session).table_id}


def test_inlined_rows_are_kept_once_for_all_filters(session: Session) -> None:
    for low in (0, 10):
        add_file(session, low, low + 9)
    session.write().rows.add_inlined(table_in(session), [(number, "x") for number in range(1000)], ())
    session.commit()
    plans = []
    for number in (3, 13, 4):
        (table,) = session.bound(f"select * from t where a = {number}").relations
        assert isinstance(table, BoundTable)
        plans.append(table.plan)
    assert [len(plan.files) for plan in plans] == [1, 1, 1]
    assert len(plans[0].inlined[0].rows) == 1000
    assert plans[0].inlined is plans[1].inlined is plans[2].inlined


def test_stored_types_are_those_of_all_columns_and_fields(session: Session) -> None:
    item = Column(3, "s", "struct", (Column(4, "u", "UUID"),))
    session.write().objects.put_table(replace(table_in(session), columns=(*COLUMNS, item)))
    session.write().objects.new_view(session.write().schema("main"), "v", "SELECT * FROM t", dialect="spark")  # type: ignore[arg-type]
    assert session.bound("select 1 from v").stored_types == {*(column.type for column in COLUMNS), "struct", "uuid"}
    assert session.bound("select 1").stored_types == frozenset()


def test_files_that_no_condition_needs_are_left_out_of_the_value(session: Session) -> None:
    for low in (0, 100, 200):
        add_file(session, low, low + 9)
        session.commit()
    whole, some, none = (session.bound(f"select * from t{where}") for where in ("", " where a > 150", " where a >= 0"))
    assert [files.read for bound in (whole, some, none) for files in bound.reads] == [3, 1, 3]
    assert whole.pieces[1] == none.pieces[1]
    assert whole.pieces[1] != some.pieces[1]
    (depends,) = some.depends_on
    assert (depends.lake, depends.table_id, [each.column_id for each in depends.filters]) == ("lake", table_in(session).table_id, [1])


def test_a_view_is_resolved_in_its_own_schema(session: Session) -> None:
    transaction = session.write()
    transaction.objects.new_schema("other")
    other = transaction.schema("other")
    assert other is not None
    transaction.objects.new_table(other, "t", COLUMNS)
    transaction.objects.new_view(other, "v", "SELECT a FROM t", dialect="spark")
    temporary = {"t": TemporaryView("t", references("select 1"), (), "lake", "main")}
    (view,) = session.bound("select * from other.v", temporary=temporary).relations
    assert isinstance(view, BoundQuery)
    (table,) = view.body.relations
    assert isinstance(table, BoundTable)
    assert table.table.schema_name == "other"


def test_a_temporary_view_is_resolved_when_it_is_used(session: Session) -> None:
    temporary = {"v": TemporaryView("v", references("select max(a) as n from t"), ("n",), "lake", "main")}
    before = session.bound("select * from V", temporary=temporary)
    add_file(session, 0, 9)
    after = session.bound("select * from v", temporary=temporary)
    assert before.pieces[1] != after.pieces[1]
    assert [files.read for files in after.reads] == [1]
    assert list(after.depends_on) == [RowsRead("lake", table_in(session).table_id)]


def test_a_name_with_a_schema_means_a_temporary_view_if_there_is_no_such_relation(session: Session) -> None:
    view = TemporaryView("v", references("select 1"), (), "lake", "main")
    hidden = TemporaryView("t", references("select 2"), (), "lake", "main")
    temporary = {"v": view, "t": hidden}
    for name in ("v", "main.V", "lake.main.v"):
        (found,) = session.bound(f"select * from {name}", temporary=temporary).relations
        assert isinstance(found, BoundQuery), name
    (table,) = session.bound("select * from main.t", temporary=temporary).relations
    assert isinstance(table, BoundTable)
    assert shape(session.bound("select * from elsewhere.v", temporary=temporary)) == "select * from elsewhere.v"
    with pytest.raises(NotFoundError):
        session.bound("select * from lake.elsewhere.v", temporary=temporary)
    with pytest.raises(NotFoundError):
        session.bound("select * from main.v version as of 1", temporary=temporary)


@pytest.mark.parametrize("text", ["select * from T", "select * from (select 1 as b) s join t on s.b = t.a"])
def test_a_temporary_view_does_not_read_a_table_in_place_of_a_temporary_view_that_was_dropped(session: Session, text: str) -> None:
    view = TemporaryView("v", references(text), (), "lake", "main", frozenset({"t"}))
    dropped = TemporaryView("t", references("select 1 as a"), (), "lake", "main")
    with pytest.raises(LakeError, match=r"view v is broken: temporary view [Tt] does not exist"):
        session.bound("select * from v", temporary={"v": view})
    bound = session.bound("select * from v", temporary={"v": view, "t": dropped})
    assert list(bound.depends_on) == []
    outer = TemporaryView("w", references("select * from v"), (), "lake", "main", frozenset({"v"}))
    assert session.bound("select * from w", temporary={"w": outer, "v": view, "t": dropped})
    with pytest.raises(LakeError, match=r"temporary view [Tt] does not exist"):
        session.bound("select * from w", temporary={"w": outer, "v": view})
    in_spark = session.bound("select * from v", temporary={"v": view}, in_spark=lambda name: name.lower() == "t")
    assert list(in_spark.depends_on) == []


def test_a_text_in_double_quotes_that_is_a_column_is_a_warning(session: Session) -> None:
    warnings: list[str] = []
    session.planning = replace(session.planning, warn=warnings.append)
    (first, *_) = (column.name for column in table_in(session).columns)
    temporary = {"v": TemporaryView("v", references("select * from t"), (), "lake", "main")}
    for text in (
        f'select "{first}" from t',
        f'select "{first.upper()}" from main.v',
        f'with c as (select * from t) select "{first}" from c',
    ):
        warnings.clear()
        session.bound(text, temporary=temporary)
        assert len(warnings) == 1, text
        assert f'{first.lower()}" in double quotes' in warnings[0].lower()
    for text in (
        'with c as (select a as sender from t) select "sender" from c',
        'select "sender" from (select (a + 1) as `Sender` from t)',
        'select * from t where exists (select 1 from (values (1)) as v(x)) and "sender" in (select max(a) as sender from t)',
    ):
        warnings.clear()
        session.bound(text, temporary=temporary)
        assert [each.split(" in double quotes")[0] for each in warnings] == ['The query has "sender"'], text
    warnings.clear()
    for text in (
        'select a as sender, "sender" from t',
        'select "sender" from (t) as sender',
        'select cast("int" as int), "inner" from t as inner',
    ):
        session.bound(text, temporary=temporary)
    for text in (f"select '{first}' from t", 'select "other" from t', f'select `{first}`, r"x" from t -- "{first}"', f'select "{first}"'):
        session.bound(text, temporary=temporary)
    session.planning = replace(session.planning, usual_literals=lambda: False)
    session.bound(f'select "{first}" from t')
    assert warnings == []


def test_a_function_is_resolved_with_the_relations_in_its_body(session: Session) -> None:
    schema = session.write().schema("main")
    assert schema is not None
    session.write().objects.put_schema(replace(schema, tags={FUNCTION_TAG + "newest": "() RETURNS INT RETURN (SELECT max(a) FROM t)"}))
    bound = session.bound("select main.newest(), main.other()")
    assert shape(bound) == "select <BoundFunction main.newest>(), main.other()"
    (function,) = bound.relations
    assert isinstance(function, BoundFunction)
    assert list(bound.depends_on) == [RowsRead("lake", table_in(session).table_id)]


def test_an_earlier_snapshot_depends_on_no_concurrent_writer(session: Session) -> None:
    add_file(session, 0, 9)
    session.commit()
    assert list(session.bound("select * from t version as of 1").depends_on) == []
    assert list(session.bound("select * from t").depends_on) != []
    assert session.bound("select * from t version as of 1").pieces[1] != session.bound("select * from t version as of 2").pieces[1]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("select * from nope version as of 1", NotFoundError, "Only tables of the lake have earlier versions"),
        ("select * from main.nope", NotFoundError, r"table or view main\.nope does not exist"),
        ("select * from lake.nope.t", NotFoundError, "CREATE SCHEMA nope"),
        ("select * from loop", LakeError, "refers to itself"),
        ("select * from broken", LakeError, "view broken is broken: table or view main.nope does not exist"),
    ],
)
def test_errors_name_what_is_missing(session: Session, text: str, error: type[Exception], message: str) -> None:
    temporary = {
        name: TemporaryView(name, references(query), (), "lake", "main", frozenset({name}))
        for name, query in (("loop", "select * from loop"), ("broken", "select * from main.nope"))
    }
    with pytest.raises(error, match=message):
        session.bound(text, temporary=temporary)


def test_a_name_outside_the_lakes_cannot_be_changed(session: Session) -> None:
    with pytest.raises(StatementError, match="the lakes are lake, raw"):
        session.names.place(Name(("x", "y", "z")))
    place = session.names.place(Name(("raw", "t")))
    assert (place.names.lake, place.schema, place.name) == ("raw", "main", "t")
