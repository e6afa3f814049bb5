"""Gather the values of a report from a lake's catalog."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

from ..catalog.lake import LakeCatalog
from ..catalog.read.facts import TableFacts
from ..catalog.read.lake_figures import FileTotals, LakeFigures
from ..format.objects import Snapshot, Table
from .forecast import Step, forecast
from .runs import Run, last_runs

MB = 1_000_000
SIZES = (MB // 10, MB, 16 * MB, 128 * MB, 512 * MB)
"""The bounds of the classes of file sizes."""
RUNS = 12
DAYS = 60
_CREDENTIALS = re.compile(r"//[^/@:]*:[^/@]*@")
_SMALL_SHARE = 8
"""A file is small below this fraction of `target_file_size`."""


@dataclass(frozen=True)
class TableLine:
    """The figures of one table."""

    name: str
    facts: TableFacts
    small_files: int
    ended: FileTotals
    """Data files that only older snapshots read."""

    @property
    def cost(self) -> int:
        """All bytes that the lake stores for the table."""
        return self.facts.size_bytes + self.facts.delete_size_bytes + self.ended.size_bytes

    @property
    def deleted_share(self) -> float:
        """The share of the stored rows that is deleted."""
        stored = self.facts.record_count - self.facts.inlined_rows + self.facts.deleted_rows
        return self.facts.deleted_rows / stored if stored else 0.0


@dataclass(frozen=True)
class GrowthPoint:
    """The live data files after a snapshot."""

    time: datetime
    count: int
    size_bytes: int


@dataclass(frozen=True)
class Day:
    """The number of snapshots of a day in UTC, by dbt and by others."""

    day: date
    by_dbt: int
    others: int


@dataclass(frozen=True)
class Report:
    """All that the page shows."""

    lake: str
    catalog: str
    database_kind: str
    data_path: str
    format_version: str
    made_at: datetime
    snapshot: Snapshot
    snapshot_count: int
    first_time: datetime
    table_count: int
    views: int
    small_below: int
    tables: tuple[TableLine, ...]
    growth: tuple[GrowthPoint, ...]
    days: tuple[Day, ...]
    sizes: tuple[FileTotals, ...]
    steps: tuple[Step, ...]
    runs: tuple[Run, ...]

    @property
    def rows(self) -> int:
        """Rows that queries return."""
        return sum(line.facts.record_count for line in self.tables)

    @property
    def live(self) -> FileTotals:
        """The data files of the newest snapshot."""
        return FileTotals(sum(line.facts.file_count for line in self.tables), sum(line.facts.size_bytes for line in self.tables))

    @property
    def ended(self) -> FileTotals:
        """The data files that only older snapshots read, also those of dropped tables."""
        return FileTotals(sum(line.ended.count for line in self.tables), sum(line.ended.size_bytes for line in self.tables))

    @property
    def small_files(self) -> int:
        """The number of small data files."""
        return sum(line.small_files for line in self.tables)

    @property
    def inlined_rows(self) -> int:
        """Rows in the catalog database."""
        return sum(line.facts.inlined_rows for line in self.tables)

    @property
    def deleted_rows(self) -> int:
        """Rows of the data files that are deleted."""
        return sum(line.facts.deleted_rows for line in self.tables)

    @property
    def deleted_share(self) -> float:
        """The share of the stored rows that is deleted."""
        stored = self.rows - self.inlined_rows + self.deleted_rows
        return self.deleted_rows / stored if stored else 0.0


def gather(catalog: LakeCatalog, lake: str, made_at: datetime | None = None) -> Report:
    """Read the values of a report at the newest snapshot, or at the one at which the lake was opened.

    Raises:
        EngineError: the catalog database failed.
    """
    now = made_at or datetime.now(timezone.utc)
    reader = catalog.reader()
    snapshot = reader.snapshot
    relations = reader.relations()
    tables = [each for each in relations if isinstance(each, Table)]
    facts = catalog.table_facts(snapshot, tables)
    small_below = catalog.options().write_options().target_file_size // _SMALL_SHARE
    figures = catalog.figures(snapshot, SIZES, small_below)
    names = {each.table_id: f"{each.schema_name}.{each.name}" for each in tables}
    return Report(
        lake=lake,
        catalog=catalog.location.display,
        database_kind=catalog.database_kind,
        data_path=_CREDENTIALS.sub("//", catalog.data_path.partition("?")[0]),
        format_version=catalog.format_version,
        made_at=now,
        snapshot=snapshot,
        snapshot_count=len(figures.snapshots),
        first_time=figures.snapshots[0].time,
        table_count=len(tables),
        views=len(relations) - len(tables),
        small_below=small_below,
        tables=tuple(_lines(names, facts, figures)),
        growth=tuple(_growth(figures)),
        days=tuple(_days(figures)),
        sizes=figures.sizes,
        steps=tuple(forecast(catalog, reader, tables, facts, now)),
        runs=tuple(last_runs(catalog, snapshot, names, RUNS)),
    )


def _lines(names: Mapping[int, str], facts: Mapping[int, TableFacts], figures: LakeFigures) -> list[TableLine]:
    """Return the line of each table; the files of dropped tables have one line together."""
    lines = [
        TableLine(name, facts[table_id], figures.small.get(table_id, 0), figures.ended.get(table_id, FileTotals()))
        for table_id, name in names.items()
    ]
    dropped = [each for table_id, each in figures.ended.items() if table_id not in names]
    if dropped:
        ended = FileTotals(sum(each.count for each in dropped), sum(each.size_bytes for each in dropped))
        lines.append(TableLine("(dropped tables)", TableFacts(0, 0, 0, None, None), 0, ended))
    return lines


def _growth(figures: LakeFigures) -> list[GrowthPoint]:
    """Return the live data after each kept snapshot, which changes of expired snapshots are part of."""
    points: list[GrowthPoint] = []
    changes = sorted(figures.changes.items())
    place = count = size = 0
    for snapshot in figures.snapshots:
        while place < len(changes) and changes[place][0] <= snapshot.snapshot_id:
            count += changes[place][1].count
            size += changes[place][1].size_bytes
            place += 1
        points.append(GrowthPoint(snapshot.time, count, size))
    return points


def _days(figures: LakeFigures) -> Sequence[Day]:
    """Return the last days up to that of the newest snapshot, also those without snapshots."""
    by_dbt: Counter[date] = Counter()
    others: Counter[date] = Counter()
    for each in figures.snapshots:
        (by_dbt if each.by_dbt else others)[each.time.astimezone(timezone.utc).date()] += 1
    last = max([*by_dbt, *others])
    first = max(min([*by_dbt, *others]), last - timedelta(days=DAYS - 1))
    return [Day(day, by_dbt[day], others[day]) for day in (first + timedelta(days=number) for number in range((last - first).days + 1))]
