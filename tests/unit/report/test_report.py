"""The report on a lake: valid HTML that loads nothing and escapes every name, on each catalog database and on lakes of any size."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.tables import metadata
from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.files import WrittenFile
from dbt.adapters.ducklake.format.paths import new_uuid
from dbt.adapters.ducklake.report import formatting, svg
from dbt.adapters.ducklake.report.gather import Report, gather
from dbt.adapters.ducklake.report.page import NODES, TOP, lineage, render, write
from dbt.adapters.ducklake.report.runs import NodeCommit, Run
from dbt.adapters.ducklake.session import LakeSession
from tests.catalog_objects import COLUMNS, committed
from tests.duckdb_instances import open_duckdb
from tests.places import EVERY_DATABASE, CatalogPlace, empty_place

NODE = 'model.shop.<script>alert("x")</script>'
TABLE = "<b onclick='x'>orders & \"more\"</b>"
VOID = frozenset({"meta", "br", "link", "img", "input", "hr"})
STARTED = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)


class Checker(HTMLParser):
    """Require balanced tags, and collect tags, attributes and text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def checked(report: Report) -> Checker:
    """Render a report and require that the page is valid and loads nothing."""
    page = render(report)
    found = Checker(page)
    assert not found.tags & {"script", "link", "img", "iframe", "object", "a", "form", "b onclick"}
    assert not [name for name, _ in found.attributes if name in ("src", "href", "xlink:href", "action", "style") or name.startswith("on")]
    assert not [word for word in ("http:", "https:", "//", "url(", "@import", "javascript:") if word in page.partition("<main>")[0]]
    return found


@pytest.fixture(params=EVERY_DATABASE)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    return empty_place(request.param, request, tmp_path)


@pytest.fixture
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LakeCatalog]:
    with empty_place("sqlite", request, tmp_path).open() as opened:
        yield opened


def run_node(session: LakeSession, name: str, count: int, invocation: str, **more: Any) -> None:
    extra = {"invocation_id": invocation, "node_id": NODE, "target": "<i>prod</i>", **more}
    session.set_commit_message("<u>me</u>", "dbt run", json.dumps(extra))
    session.load_seed("main", name, [("a", "int")], [(number,) for number in range(count)])


def test_a_report_on_each_database(place: CatalogPlace) -> None:
    with place.lake(database="<lake>") as opened, opened.session() as session:
        run_node(session, TABLE, 100, "first")
        run_node(session, TABLE, 50, "second", started_at=STARTED.isoformat())
        run_node(session, "few", 3, "second")
        session.execute("CALL set_option('expire_older_than', '0 seconds')")
        report = gather(opened.catalog, "<lake>")
        checkpoint = {step.name: step for step in report.steps}
        expired = session.execute("CALL expire_snapshots(dry_run => true)").rowcount
        flushed = session.execute("CALL flush_inlined_data()").fetch()
    page = checked(report)
    assert (report.rows, report.inlined_rows, report.live.count, report.ended.count, report.table_count) == (53, 3, 1, 1, 2)
    assert {line.name: line.ended.count for line in report.tables} == {f"main.{TABLE}": 1, "main.few": 0}
    assert [point.count for point in report.growth] == [0, 1, 1, 1]
    assert report.growth[-1].size_bytes == report.live.size_bytes
    assert sum(day.by_dbt + day.others for day in report.days) == report.snapshot_count == 4
    assert flushed == [("main", "few", 3)]
    assert checkpoint["flush_inlined_data"].outcome == "3 inlined rows in 1 table to write to files"
    assert checkpoint["expire_snapshots"].outcome == f"{expired} snapshots older than 0 seconds"
    for text in ("<lake>", TABLE, NODE, "<i>prod</i>", "<u>me</u>"):
        assert text in page.text


@pytest.mark.parametrize(
    ("limit", "statements", "outcome"),
    [
        (10, ["DELETE FROM t"], "2 inlined rows in 1 table to write to files"),
        (0, None, "1 inlined delete in 1 table to write to files"),
        (10, [], "2 inlined rows in 1 table to write to files"),
        (10, ["DROP TABLE t"], "no inlined rows"),
    ],
)
def test_the_forecast_of_a_flush_includes_deleted_rows_and_deletes(
    tmp_path: Path, limit: int, statements: list[str] | None, outcome: str
) -> None:
    """Only DuckDB inlines deletes of a file: without statements, its table is written here."""
    with CatalogPlace(f"ducklake:sqlite:{tmp_path}/l.sqlite", f"{tmp_path}/files/").lake() as opened, opened.session() as session:
        session.execute("CREATE TABLE t (n INT)")
        session.execute(f"CALL set_option('data_inlining_row_limit', '{limit}')")
        session.execute("INSERT INTO t VALUES (1), (2)")
        for statement in statements or ():
            session.execute(statement)
        if statements is None:
            with closing(sqlite3.connect(tmp_path / "l.sqlite", isolation_level=None)) as connection:
                connection.execute("CREATE TABLE ducklake_inlined_delete_1 (file_id BIGINT, row_id BIGINT, begin_snapshot BIGINT)")
                connection.execute("INSERT INTO ducklake_inlined_delete_1 SELECT data_file_id, 0, begin_snapshot FROM ducklake_data_file")
        step = gather(opened.catalog, "lake").steps[0]
        before = opened.catalog.latest().snapshot_id
        session.execute("CALL flush_inlined_data()")
        assert (step.outcome, step.is_needed) == (outcome, opened.catalog.latest().snapshot_id > before)


@pytest.mark.usefixtures("lake")
def test_runs_are_the_snapshots_of_an_invocation(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with empty_place("sqlite", request, tmp_path).lake() as opened, opened.session() as session:
        run_node(session, "a", 100, "first")
        session.set_commit_message(None, None, "not JSON")
        session.load_seed("main", "a", [("a", "int")], [(number,) for number in range(10)])
        run_node(session, "a", 100, "second", started_at=STARTED.isoformat())
        run_node(session, "b", 200, "second")
        newest, oldest = gather(opened.catalog, "lake").runs
        sizes = {line.name: line.summary.size_bytes for line in gather(opened.catalog, "lake").tables}
    assert [(run.invocation_id, run.target, run.author, len(run.commits)) for run in (newest, oldest)] == [
        ("second", "<i>prod</i>", "<u>me</u>", 2),
        ("first", "<i>prod</i>", "<u>me</u>", 1),
    ]
    first, second = newest.commits
    assert (first.started_at, second.started_at, newest.begin) == (STARTED, None, min(STARTED, second.time))
    assert [commit.changed for commit in newest.commits] == [("main.a",), ("main.b",)]
    assert newest.size_bytes == sum(sizes.values())
    (line,) = lineage([newest, oldest])
    assert [commit.snapshot_id for commit in line.commits] == [4, 3, 1]
    assert [commit is not None for commit in line.in_runs] == [True, True]


def test_a_run_that_was_published_at_once_shows_its_nodes(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with empty_place("sqlite", request, tmp_path).lake() as opened, opened.session() as session:
        opened.stage_run()
        run_node(session, "a", 100, "first", started_at=STARTED.isoformat())
        run_node(session, "b", 200, "first", node_id="model.shop.b")
        session.load_seed("main", "a", [("a", "int")], [(1,)] * 100)
        assert opened.run is not None
        opened.run.publish("me", "dbt build", json.dumps({"invocation_id": "first", "target": "prod"}))
        opened.end_run()
        report = gather(opened.catalog, "lake")
    checked(report)
    (run,) = report.runs
    assert [(commit.node_id, commit.changed, commit.snapshot_id) for commit in run.commits] == [
        (NODE, ("main.a",), 1),
        ("model.shop.b", ("main.b", "main.a"), 1),
    ]
    assert (run.begin, run.target, run.author) == (min(STARTED, run.end), "prod", "me")
    assert run.size_bytes == report.live.size_bytes


def test_of_a_run_with_many_nodes_the_longest_are_shown(lake: LakeCatalog) -> None:
    commits = [
        NodeCommit(number, STARTED + timedelta(seconds=number), f"model.shop.m{number:03}", STARTED, None, ("main.m",), None)
        for number in range(NODES + 5)
    ]
    page = checked(replace(gather(lake, "lake"), runs=(Run("1f", None, None, tuple(commits)),)))
    assert [number for number in range(NODES + 5) if f"m{number:03}: snapshot" not in page.text] == [0, 1, 2, 3, 4]
    assert "5 nodes that took less time or wrote less not shown." in page.text


@pytest.mark.parametrize(
    ("option", "value"), [("expire_older_than", "soon"), ("delete_older_than", "-1 day"), ("rewrite_delete_threshold", "half")]
)
def test_a_wrong_value_that_another_program_stored_is_named(lake: LakeCatalog, option: str, value: str) -> None:
    def fill(transaction: Any) -> None:
        table = transaction.objects.new_table(transaction.schema("main"), "t", COLUMNS)
        transaction.rows.add_files(table, [WrittenFile(f"{table.path}{new_uuid()}.parquet", 10, 1000, 300) for _ in range(2)])

    committed(lake, fill)
    with lake._database.writing() as connection:
        connection.execute(metadata.insert().values(key=option, value=value))
    with pytest.raises(LakeError, match=f"option {option} of the lake has the value '{value}'.*; set it again"):
        gather(lake, "lake")


def test_a_lake_without_tables(lake: LakeCatalog) -> None:
    page = checked(gather(lake, "lake"))
    for text in ("The lake has no tables yet.", "No data files yet.", "None of the newest snapshots names an invocation of dbt."):
        assert text in page.text


def test_a_lake_of_a_thousand_tables_has_short_lists(lake: LakeCatalog) -> None:
    def fill(transaction: Any) -> None:
        for number in range(1000):
            table = transaction.objects.new_table(transaction.schema("main"), f"t{number:04}", COLUMNS)
            transaction.rows.add_files(table, [WrittenFile(f"{table.path}{new_uuid()}.parquet", 10, 1000 + number, 300)])

    committed(lake, fill)
    page = render(gather(lake, "lake"))
    assert Checker(page).text.count("main.t") == 2 * TOP
    assert "main.t0999" in page
    assert len(page) < 60_000


def test_duckdb_as_the_writer(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = empty_place("sqlite", request, tmp_path)
    with place.lake() as opened, open_duckdb("ducklake", "sqlite_scanner") as duck:
        duck.execute(f"ATTACH '{place.path}' AS lake")
        duck.execute("CALL lake.set_option('data_inlining_row_limit', 0)")
        duck.execute("CREATE TABLE lake.t AS SELECT range AS a FROM range(1000)")
        duck.execute("INSERT INTO lake.t SELECT range FROM range(10)")
        duck.execute("INSERT INTO lake.t SELECT range FROM range(20)")
        duck.execute("DELETE FROM lake.t WHERE a >= 40")
        duck.execute("CREATE TABLE lake.gone AS SELECT 1 AS a")
        duck.execute("DROP TABLE lake.gone")
        report = gather(opened.catalog, "lake")
        steps = {step.name: step.outcome for step in report.steps}
        merged = duck.execute("CALL ducklake_merge_adjacent_files('lake')").fetchall()
        rewritten = duck.execute("CALL ducklake_rewrite_data_files('lake')").fetchall()
    checked(report)
    by_name = {line.name: line for line in report.tables}
    assert (report.rows, report.deleted_rows, by_name["main.t"].deleted_share) == (70, 960, 960 / 1030)
    assert by_name["(dropped tables)"].ended.count == 1
    assert steps["merge_adjacent_files"] == f"{merged[0][2]} files to merge into {merged[0][3]}"
    assert steps["rewrite_data_files"] == f"{rewritten[0][2]} file to rewrite, which lost most of their rows"


def test_the_folder_of_the_page_is_created(lake: LakeCatalog, tmp_path: Path) -> None:
    path = write(gather(lake, "lake"), tmp_path / "new" / "report.html")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_pinned_lake_shows_its_snapshot(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    place = empty_place("sqlite", request, tmp_path)
    with place.lake() as opened, opened.session() as session:
        run_node(session, "a", 100, "first")
        run_node(session, "a", 50, "second")
    with place.open(snapshot_version=1) as pinned:
        report = gather(pinned, "lake")
    assert (report.rows, report.snapshot_count, [run.invocation_id for run in report.runs]) == (100, 2, ["first"])
    checked(report)


def test_passwords_in_urls_are_not_shown(lake: LakeCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LakeCatalog, "data_path", "https://me:hunter2@host/lake/?sig=hunter2")
    assert "hunter2" not in render(gather(lake, "lake"))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (formatting.size(0), "0 B"),
        (formatting.size(999), "999 B"),
        (formatting.size(1500), "1.5 kB"),
        (formatting.size(999_999), "1 MB"),
        (formatting.size(123_456_789_012_345), "123 TB"),
        (formatting.percent(0.00001), "<0.1%"),
        (formatting.percent(0.5), "50%"),
        (formatting.counted(1, "file"), "1 file"),
        (formatting.counted(2000, "file"), "2,000 files"),
        (formatting.duration(0.44), "0.4 s"),
        (formatting.duration(600), "10 min"),
        (formatting.duration(86400 * 3), "3 days"),
        (formatting.age(STARTED, STARTED + timedelta(hours=3)), "3 h ago"),
        (formatting.short("a" * 9, 5), "aaaa…"),
    ],
)
def test_numbers_are_short(found: str, expected: str) -> None:
    assert found == expected


def test_charts_escape_their_texts() -> None:
    drawn = [
        svg.bars([svg.Bar("<a>", 1, "<b>", "<c>"), svg.Bar("d", 0, "", "")], "<e>"),
        svg.columns([svg.Column((1, 2), "<a>")], formatting.number, ("<b>", "<c>"), "<d>"),
        svg.steps([(0, 0), (0.5, 17)], formatting.number, ("<b>", "<c>"), "<d>"),
        svg.timeline([svg.Span("<a>", 0, 0.5, "<b>", "<c>"), svg.Span("d", 1, 1, "", "")], ("<e>", "<f>"), "<g>"),
    ]
    for chart in drawn:
        assert Checker(str(chart)).tags <= {"svg", "title", "text", "rect", "circle", "line", "path"}
