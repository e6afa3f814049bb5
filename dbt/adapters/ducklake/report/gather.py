"""Gather the values of a report from a lake's catalog."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

from ..catalog.lake import LakeCatalog
from ..catalog.read.lake_metrics import FileTotals, LakeMetrics
from ..catalog.read.table_summaries import TableSummary
from ..format.objects import Snapshot, Table
from .forecast import Step, forecast
from .runs import Run, last_runs

MB = 1_000_000
SIZES = (MB // 10, MB, 16 * MB, 128 * MB, 512 * MB)
"""The sizes in bytes that divide the files into ranges."""
RUNS = 12
"""The number of runs of dbt that the report shows."""
DAYS = 60
"""The number of days for which the report shows snapshots."""
_CREDENTIALS = re.compile(r"//[^/@:]*:[^/@]*@")
_SMALL_DIVISOR = 8
"""A file is small if it is smaller than `target_file_size` divided by this number."""


@dataclass(frozen=True)
class TableLine:
    """What the report shows of one table, or of all dropped tables."""

    name: str
    summary: TableSummary
    small_files: int
    ended: FileTotals
    """Data files that only older snapshots read."""

    @property
    def stored_bytes(self) -> int:
        """The size of the live and ended data files and of the live delete files, in bytes."""
        return self.summary.size_bytes + self.summary.delete_size_bytes + self.ended.size_bytes

    @property
    def deleted_share(self) -> float:
        """The fraction of the rows in data files that are deleted."""
        stored = self.summary.record_count - self.summary.inlined_rows + self.summary.deleted_rows
        return self.summary.deleted_rows / stored if stored else 0.0


@dataclass(frozen=True)
class GrowthPoint:
    """The live data files at a snapshot."""

    time: datetime
    """The time of the snapshot."""
    count: int
    size_bytes: int


@dataclass(frozen=True)
class Day:
    """The number of snapshots on one day in UTC, those of dbt and the others."""

    day: date
    by_dbt: int
    others: int


@dataclass(frozen=True)
class Report:
    """Everything that the page shows."""

    lake: str
    """The lake's name."""
    catalog: str
    """The address of the catalog database, without passwords."""
    database_kind: str
    data_path: str
    format_version: str
    created_at: datetime
    """When the report was created."""
    snapshot: Snapshot
    """The snapshot that the report describes."""
    snapshot_count: int
    first_time: datetime
    """The time of the oldest snapshot that has not expired."""
    table_count: int
    view_count: int
    small_below: int
    """The size in bytes below which a file is small."""
    tables: tuple[TableLine, ...]
    growth: tuple[GrowthPoint, ...]
    """One point for each snapshot that has not expired."""
    days: tuple[Day, ...]
    sizes: tuple[FileTotals, ...]
    """The live data files in each range of sizes: below the first of `SIZES`, between two of them, and from the last one on."""
    steps: tuple[Step, ...]
    """What each step of a checkpoint would do now."""
    runs: tuple[Run, ...]
    """The last runs of dbt."""

    @property
    def rows(self) -> int:
        """The number of rows in all tables, with inlined rows and without deleted ones."""
        return sum(line.summary.record_count for line in self.tables)

    @property
    def live(self) -> FileTotals:
        """The data files that the snapshot of the report reads."""
        return FileTotals(sum(line.summary.file_count for line in self.tables), sum(line.summary.size_bytes for line in self.tables))

    @property
    def ended(self) -> FileTotals:
        """The data files that only older snapshots read, including those of dropped tables."""
        return FileTotals(sum(line.ended.count for line in self.tables), sum(line.ended.size_bytes for line in self.tables))

    @property
    def small_files(self) -> int:
        """The number of small data files."""
        return sum(line.small_files for line in self.tables)

    @property
    def inlined_rows(self) -> int:
        """The number of rows that are stored in the catalog database."""
        return sum(line.summary.inlined_rows for line in self.tables)

    @property
    def deleted_rows(self) -> int:
        """The number of rows that data files contain but that are deleted."""
        return sum(line.summary.deleted_rows for line in self.tables)

    @property
    def deleted_share(self) -> float:
        """The fraction of the rows in data files that are deleted."""
        stored = self.rows - self.inlined_rows + self.deleted_rows
        return self.deleted_rows / stored if stored else 0.0


def gather(catalog: LakeCatalog, lake: str, created_at: datetime | None = None) -> Report:
    """Read the values of a report at the newest snapshot, or at the one at which the lake was opened.

    Args:
        catalog: the catalog of the lake.
        lake: the lake's name.
        created_at: the time of the report, to which ages are relative; None for now.

    Raises:
        EngineError: the catalog database failed.
    """
    now = created_at or datetime.now(timezone.utc)
    reader = catalog.reader()
    snapshot = reader.snapshot
    relations = reader.relations()
    tables = [each for each in relations if isinstance(each, Table)]
    view_count = len(relations) - len(tables)
    summaries = catalog.table_summaries(snapshot, tables)
    tables = [each for each in tables if each.table_id in summaries]
    small_below = catalog.options().write_options().target_file_size // _SMALL_DIVISOR
    metrics = catalog.metrics(snapshot, SIZES, small_below)
    names = {each.table_id: f"{each.schema_name}.{each.name}" for each in tables}
    return Report(
        lake=lake,
        catalog=str(catalog.location),
        database_kind=catalog.database_kind,
        data_path=_CREDENTIALS.sub("//", catalog.data_path.partition("?")[0]),
        format_version=catalog.format_version,
        created_at=now,
        snapshot=snapshot,
        snapshot_count=len(metrics.snapshots),
        first_time=metrics.snapshots[0].time,
        table_count=len(tables),
        view_count=view_count,
        small_below=small_below,
        tables=tuple(_lines(names, summaries, metrics)),
        growth=tuple(_growth(metrics)),
        days=tuple(_days(metrics)),
        sizes=metrics.sizes,
        steps=tuple(forecast(catalog, reader, tables, summaries, now)),
        runs=tuple(last_runs(catalog, snapshot, names, RUNS)),
    )


def _lines(names: Mapping[int, str], summaries: Mapping[int, TableSummary], metrics: LakeMetrics) -> list[TableLine]:
    """Return a line for each table, and one line for all dropped tables that still have files."""
    lines = [
        TableLine(name, summaries[table_id], metrics.small.get(table_id, 0), metrics.ended.get(table_id, FileTotals()))
        for table_id, name in names.items()
    ]
    dropped = [each for table_id, each in metrics.ended.items() if table_id not in names]
    if dropped:
        ended = FileTotals(sum(each.count for each in dropped), sum(each.size_bytes for each in dropped))
        lines.append(TableLine("(dropped tables)", TableSummary(0, 0, 0, None, None), 0, ended))
    return lines


def _growth(metrics: LakeMetrics) -> list[GrowthPoint]:
    """Return the live data files at each snapshot that has not expired: the sum of all changes up to it, even by expired ones."""
    points: list[GrowthPoint] = []
    changes = sorted(metrics.changes.items())
    applied = count = size = 0
    for snapshot in metrics.snapshots:
        while applied < len(changes) and changes[applied][0] <= snapshot.snapshot_id:
            count += changes[applied][1].count
            size += changes[applied][1].size_bytes
            applied += 1
        points.append(GrowthPoint(snapshot.time, count, size))
    return points


def _days(metrics: LakeMetrics) -> Sequence[Day]:
    """Return at most `DAYS` days, from that of the oldest snapshot to that of the newest; days without snapshots are included."""
    by_dbt: Counter[date] = Counter()
    others: Counter[date] = Counter()
    for each in metrics.snapshots:
        (by_dbt if each.by_dbt else others)[each.time.astimezone(timezone.utc).date()] += 1
    last = max([*by_dbt, *others])
    first = max(min([*by_dbt, *others]), last - timedelta(days=DAYS - 1))
    return [Day(day, by_dbt[day], others[day]) for day in (first + timedelta(days=number) for number in range((last - first).days + 1))]
