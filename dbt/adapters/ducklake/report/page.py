"""Render a report as one HTML file that loads nothing: style and charts are inside, and there are no scripts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ..catalog.read.lake_metrics import FileTotals
from . import svg
from .formatting import age, counted, duration, number, percent, short, size, timestamp
from .gather import SIZES, GrowthPoint, Report, TableLine
from .runs import NodeCommit, Run

TOP = 15
"""The length of the lists of tables and nodes."""
NODES = 40
"""How many nodes of a run are shown: those that took longest or, where that is unknown, wrote most."""
_POINTS = 400
"""How many points a line has at most."""


@dataclass(frozen=True)
class NodeLine:
    """A node in the lineage: its commits in the shown runs, newest first, and in which of the runs it has one, oldest run first."""

    node_id: str
    commits: tuple[NodeCommit, ...]
    in_runs: tuple[NodeCommit | None, ...]

    @property
    def changed(self) -> tuple[str, ...]:
        """The relations that it changed."""
        return tuple(dict.fromkeys(name for commit in self.commits for name in commit.changed))


def render(report: Report) -> str:
    """Return the page."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {each.__name__: each for each in (number, counted, size, percent, timestamp, duration)}
    nodes = lineage(report.runs)
    return environment.get_template("page.html").render(
        report=report,
        style=Markup(Path(__file__).with_name("page.css").read_text(encoding="utf-8")),
        age=lambda time: age(time, report.created_at),
        share=svg.share,
        growth=_growth(report, lambda point: point.size_bytes, size, "Size of the live data files after each snapshot"),
        files=_growth(report, lambda point: point.count, number, "Number of live data files after each snapshot"),
        days=_days(report),
        sizes=_sizes(report.sizes),
        costly=sorted(report.tables, key=lambda line: (-line.stored_bytes, line.name))[:TOP],
        stale=sorted(filter(_has_rows, report.tables), key=lambda line: line.summary.last_snapshot_id or 0)[:TOP],
        largest=max((line.stored_bytes for line in report.tables), default=0),
        runs=[(run, _timeline(run)) for run in report.runs],
        nodes=nodes[:TOP],
        more_nodes=len(nodes) - TOP,
        top=TOP,
        most_nodes=NODES,
    )


def write(report: Report, path: Path) -> Path:
    """Write the page to a file, whose folder is created, and return its absolute path."""
    path = path.expanduser().absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(render(report), encoding="utf-8")
    return path


def lineage(runs: Sequence[Run]) -> list[NodeLine]:
    """Return the nodes of some runs, newest run first, ordered by their newest snapshot."""
    found: dict[str, list[NodeCommit]] = {}
    for run in runs:
        for commit in reversed(run.commits):
            found.setdefault(commit.node_id, []).append(commit)
    by_run = [{commit.node_id: commit for commit in run.commits} for run in reversed(runs)]
    lines = [NodeLine(node, tuple(commits), tuple(each.get(node) for each in by_run)) for node, commits in found.items()]
    return sorted(lines, key=lambda line: line.commits[0].snapshot_id, reverse=True)


def _growth(report: Report, value: Callable[[GrowthPoint], int], label: Callable[[float], str], title: str) -> Markup | None:
    points = report.growth
    if not any(map(value, points)):
        return None
    begin, length = points[0].time, (report.created_at - points[0].time).total_seconds() or 1.0
    places = [(min((point.time - begin).total_seconds() / length, 1.0), float(value(point))) for point in points]
    by_pixel = {round(place * _POINTS): (place, count) for place, count in places}
    return svg.steps(list(by_pixel.values()), label, (timestamp(begin), timestamp(report.created_at)), title)


def _has_rows(line: TableLine) -> bool:
    return line.summary.last_snapshot_id is not None


def _days(report: Report) -> Markup:
    found = [
        svg.Column((day.by_dbt, day.others), f"{day.day}: {number(day.by_dbt)} by dbt, {number(day.others)} by others")
        for day in report.days
    ]
    return svg.columns(found, number, (str(report.days[0].day), str(report.days[-1].day)), "Snapshots by day")


def _sizes(sizes: Sequence[FileTotals]) -> Markup | None:
    if not any(each.count for each in sizes):
        return None
    labels = [f"< {size(bound)}" for bound in SIZES] + [f"≥ {size(SIZES[-1])}"]
    found = [
        svg.Bar(label, each.count, number(each.count), f"{counted(each.count, 'file')} {label}, {size(each.size_bytes)}")
        for label, each in zip(labels, sizes, strict=True)
    ]
    return svg.bars(found, "Live data files by size")


def _timeline(run: Run) -> Markup:
    begin, length = run.begin, run.seconds or 1.0

    def place(time: datetime) -> float:
        return min((time - begin).total_seconds() / length, 1.0)

    spans = [
        svg.Span(
            short(commit.name, 44),
            place(commit.begin),
            place(commit.time),
            "" if commit.written is None else size(commit.written.size_bytes),
            _title(commit),
        )
        for commit in sorted(sorted(run.commits, key=_weight, reverse=True)[:NODES], key=lambda commit: commit.snapshot_id)
    ]
    return svg.timeline(spans, ("0 s", duration(run.seconds)), "When each node of the run began and committed")


def _weight(commit: NodeCommit) -> tuple[timedelta, int]:
    return commit.time - commit.begin, commit.written.size_bytes if commit.written is not None else 0


def _title(commit: NodeCommit) -> str:
    took = "" if commit.started_at is None else f", {duration((commit.time - commit.begin).total_seconds())}"
    return f"{commit.node_id}: snapshot {commit.snapshot_id} at {timestamp(commit.time)}{took}"
