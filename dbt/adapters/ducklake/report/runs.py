"""The last runs of dbt: which node committed which snapshot, when, and how much it wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..catalog.lake import LakeCatalog
from ..catalog.read.history import SnapshotRecord
from ..catalog.read.lake_metrics import FileTotals
from ..format.changes import CREATIONS, Kind
from ..format.objects import Snapshot
from ..format.origin import nodes_of, origin

_READ = 2000
"""How many of the newest snapshots are read."""
_OF_TABLES = frozenset(
    {Kind.INSERTED_INTO_TABLE, Kind.DELETED_FROM_TABLE, Kind.ALTERED_TABLE, Kind.INLINED_INSERT, Kind.INLINED_DELETE, Kind.INLINE_FLUSH}
    | {Kind.MERGE_ADJACENT, Kind.REWRITE_DELETE, Kind.DROPPED_TABLE}
)


@dataclass(frozen=True)
class NodeCommit:
    """A snapshot that a node of a run committed."""

    snapshot_id: int
    time: datetime
    node_id: str
    started_at: datetime | None
    """When the node began; None for snapshots of versions that did not record it."""
    message: str | None
    changed: tuple[str, ...]
    """The names of the relations that it changed."""
    written: FileTotals | None
    """The data files that it wrote; None if they have been merged since."""

    @property
    def begin(self) -> datetime:
        """The start of the node, or else its commit."""
        return self.time if self.started_at is None else min(self.started_at, self.time)

    @property
    def name(self) -> str:
        """The node without its kind and project."""
        return self.node_id.split(".", 2)[-1]


@dataclass(frozen=True)
class Run:
    """The snapshots of one invocation of dbt, oldest first."""

    invocation_id: str
    target: str | None
    author: str | None
    commits: tuple[NodeCommit, ...]
    whole_bytes: int = 0
    """The size of the data files of snapshots of several nodes, which are not known to be of one of them."""

    @property
    def begin(self) -> datetime:
        """The earliest start that is known."""
        return min(commit.begin for commit in self.commits)

    @property
    def end(self) -> datetime:
        """The last commit."""
        return max(commit.time for commit in self.commits)

    @property
    def seconds(self) -> float:
        """The time from the first start to the last commit."""
        return (self.end - self.begin) / timedelta(seconds=1)

    @property
    def size_bytes(self) -> int:
        """The bytes of the data files that are known to be its own."""
        return self.whole_bytes + sum(commit.written.size_bytes for commit in self.commits if commit.written is not None)


def last_runs(catalog: LakeCatalog, until: Snapshot, names: Mapping[int, str], limit: int) -> list[Run]:
    """Return the last runs that committed a node, newest first.

    Args:
        catalog: the lake.
        until: the newest snapshot to consider.
        names: id → name of each table; others have been dropped.
        limit: the number of runs.
    """
    found: dict[str, list[SnapshotRecord]] = {}
    for record in reversed(catalog.snapshots(until=until.snapshot_id, limit=_READ)):
        made_by = origin(record.extra_info)
        if made_by.invocation_id is not None and (made_by.node_id is not None or nodes_of(record.extra_info)):
            found.setdefault(made_by.invocation_id, []).append(record)
    kept = dict(list(found.items())[:limit])
    written = catalog.files_written_by({each.snapshot.snapshot_id: _tables(each) for records in kept.values() for each in records})
    return [_run(invocation_id, records[::-1], names, written) for invocation_id, records in kept.items()]


def _run(invocation_id: str, records: list[SnapshotRecord], names: Mapping[int, str], written: Mapping[int, FileTotals | None]) -> Run:
    target = (origin(records[-1].extra_info).entries or {}).get("target")
    commits = tuple(commit for record in records for commit in _commits(record, names, written[record.snapshot.snapshot_id]))
    together = [totals for record in records if nodes_of(record.extra_info) and (totals := written[record.snapshot.snapshot_id])]
    return Run(invocation_id, target, records[-1].author, commits, sum(totals.size_bytes for totals in together))


def _commits(record: SnapshotRecord, names: Mapping[int, str], written: FileTotals | None) -> list[NodeCommit]:
    """Return the commits of the nodes of a snapshot: one node, or all nodes of a run that was published at once."""
    snapshot, together = record.snapshot, dict[str, NodeCommit]()
    for node in nodes_of(record.extra_info):
        known = together.get(node.node_id)
        changed = tuple(dict.fromkeys((*(known.changed if known else ()), *node.changed)))
        started = known.started_at if known else node.started_at
        together[node.node_id] = NodeCommit(snapshot.snapshot_id, snapshot.time, node.node_id, started, node.message, changed, None)
    return list(together.values()) or [_commit(record, names, written)]


def _commit(record: SnapshotRecord, names: Mapping[int, str], written: FileTotals | None) -> NodeCommit:
    made_by, snapshot = origin(record.extra_info), record.snapshot
    changed = tuple(changed_relations(record, names))
    return NodeCommit(snapshot.snapshot_id, snapshot.time, made_by.node_id or "", made_by.started_at, record.message, changed, written)


def changed_relations(record: SnapshotRecord, names: Mapping[int, str]) -> list[str]:
    """Return the names of the tables and views that a snapshot changed, without duplicates."""
    return list(dict.fromkeys(_changed(record, names)))


def _changed(record: SnapshotRecord, names: Mapping[int, str]) -> Iterable[str]:
    for change in record.changes:
        if change.kind in CREATIONS and change.name is not None:
            yield f"{change.schema}.{change.name}"
        elif change.kind in _OF_TABLES and change.object_id is not None:
            yield names.get(change.object_id, f"table {change.object_id} (dropped)")


def _tables(record: SnapshotRecord) -> set[int]:
    return {change.object_id for change in record.changes if change.kind in _OF_TABLES and change.object_id is not None}
