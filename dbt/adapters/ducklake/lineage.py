"""Send the lineage of a dbt command as OpenLineage events.

They say when the command and each node start and end, and which tables each node reads and writes.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timezone
from functools import cache
from typing import TYPE_CHECKING, Any

from dbt_common.events.event_manager_client import add_callback_to_manager
from dbt_common.invocation import get_invocation_id, get_invocation_started_at

from .credentials import DuckLakeCredentials, redacted
from .docs import columns_of
from .errors import CancelledError, DuckLakeError
from .format.identifiers import fold
from .format.objects import Table
from .lineage_events import ABORT, COMPLETE, FAIL, START, Dataset, Event, Run, Written, lake_namespace
from .lineage_sender import LineageSettings, Sender

if TYPE_CHECKING:
    from collections.abc import Callable

    from .catalog.read.view import CatalogView
    from .cursor import CommitOutcome, LakeHandle
    from .format.objects import Relation
    from .session import LakeSession

COMMANDS = ("run", "build", "seed", "snapshot")
"""The commands whose nodes have events. A `dbt retry` has the arguments of the command that it repeats."""
KINDS = ("model", "seed", "snapshot")
"""The kinds of nodes that have events."""
Key = tuple[str, str, str]
"""Lake, schema and name of a relation, folded."""


class CommandLineage:
    """The events of one dbt command, from its creation until dbt says that the command is completed.

    Args:
        config: dbt's runtime configuration.
        settings: the profile's `openlineage`.
        warn: receives a warning about events that were not sent.

    Raises:
        ConfigurationError: see `LineageSettings.client`.
    """

    def __init__(self, config: Any, settings: LineageSettings, warn: Callable[[str], None]) -> None:
        self._sender = Sender(settings.client())
        self._warn = warn
        self._credentials: DuckLakeCredentials = config.credentials
        project = getattr(config, "project_name", None)
        self._namespace = settings.namespace or os.environ.get("OPENLINEAGE_NAMESPACE") or project or "dbt"
        self.command = Run(get_invocation_id(), self._namespace, f"dbt-run-{project or 'dbt'}", parent=_outer_run())
        self._sender.send(Event(START, self.command, time=get_invocation_started_at().replace(tzinfo=timezone.utc)))
        add_callback_to_manager(self._on_event)

    def start(self, node: Any) -> Run | None:
        """Send the start of a node's run, and return the run; None if such nodes have no events."""
        if node.resource_type not in KINDS:
            return None
        sql = getattr(node, "compiled_code", None) if getattr(node, "language", "sql") == "sql" else None
        run = Run(
            str(uuid.uuid4()), self._namespace, node.unique_id, node.resource_type.upper(), self.command, sql, node.description or None
        )
        self._sender.send(Event(START, run, outputs=(self._output(node),)))
        return run

    def end(self, run: Run, node: Any, handle: LakeHandle, manifest: Any, error: BaseException | None) -> None:
        """Send the end of a node's run.

        Args:
            run: the run that `start` returned.
            node: the node.
            handle: the connection of the node, which knows what its transaction has read and written.
            manifest: dbt's manifest, which knows what the node refers to.
            error: why the node failed; None if it did not.
        """
        if error is not None:
            stopped = isinstance(error, KeyboardInterrupt | SystemExit) or isinstance(error.__cause__, CancelledError)
            text = redacted(str(error)) or type(error).__name__
            self._sender.send(Event(ABORT if stopped else FAIL, run, outputs=(self._output(node),), error=text))
        elif handle.last_outcome is None and getattr(node, "batch", None) is not None:  # dbt catches the errors of batches
            self._sender.send(Event(FAIL, run, outputs=(self._output(node),), error="The batch failed; dbt's log has the error"))
        else:
            inputs, output = self._described(node, handle.session, manifest, handle.last_outcome)
            self._sender.send(Event(COMPLETE, run, inputs, (output,)))

    def finish(self, success: bool) -> None:
        """Send the end of the command, wait at most `FLUSH_SECONDS` for events not yet sent, and warn if some were not."""
        self._sender.send(Event(COMPLETE if success else FAIL, self.command, error=None if success else "The command failed"))
        failure = self._sender.close()
        if failure is not None:
            self._warn(f"Some OpenLineage events of this command were not sent: {failure}. The nodes and their results are not affected")

    def _on_event(self, message: Any) -> None:
        if message.info.name == "CommandCompleted":
            self.finish(bool(message.data.success))

    def _output(self, node: Any) -> Dataset:
        """Return the relation that a node writes, without version, columns and statistics."""
        return Dataset(self._namespace_of(node.database), f"{node.schema}.{node.alias}")

    def _namespace_of(self, lake: str) -> str:
        """Return the namespace of a lake by its name; that of the profile's own lake if no attached lake has the name."""
        settings = (self._credentials.catalog_settings(), *self._credentials.attachments())
        found = next((each for each in settings if fold(each.database) == fold(lake)), settings[0])
        return lake_namespace(found.location, found.database)

    def _described(
        self, node: Any, session: LakeSession, manifest: Any, outcome: CommitOutcome | None
    ) -> tuple[tuple[Dataset, ...], Dataset]:
        """Return the inputs and the output of a node with versions and columns, and the statistics of the output, if they can be read."""
        output = (fold(node.database), fold(node.schema), fold(node.alias))
        staged = outcome is not None and outcome.staged
        inputs: dict[Key, int | None] = dict.fromkeys(_declared(manifest, node))
        for files in () if outcome is None else outcome.read:
            key = (fold(files.table.lake), fold(files.table.schema), fold(files.table.name))
            inputs[key] = None if staged else max(files.table.snapshot_id, inputs.get(key) or 0)
        inputs.pop(output, None)
        version = None if outcome is None or staged else outcome.snapshot_id
        try:
            with ExitStack() as stack:

                @cache
                def view(lake: str, at: int | None) -> CatalogView:
                    if at is None:
                        return stack.enter_context(session.reading(lake))
                    catalog = session.lake.catalog_of(session.lake.named(lake))
                    return catalog.reader(catalog.resolve(version=at))

                found = [
                    _dataset(session, lake, relation, at)
                    for (lake, schema, name), at in inputs.items()
                    if session.lake.has(lake) and (relation := view(lake, at).find(schema, name)) is not None
                ]
                target = view(output[0], version).find(*output[1:])
            if target is None:
                return tuple(found), self._output(node)
            written = _written(session, output[0], target, version)
            return tuple(found), replace(_dataset(session, output[0], target, version), written=written)
        except DuckLakeError:  # the catalog cannot be read, so only names and versions are known
            known = ((key, at) for key, at in inputs.items() if session.lake.has(key[0]))
            plain = [Dataset(self._namespace_of(lake), f"{schema}.{name}", at) for (lake, schema, name), at in known]
            return tuple(plain), replace(self._output(node), version=version)


def _dataset(session: LakeSession, lake: str, relation: Relation, version: int | None) -> Dataset:
    """Return a relation with its columns and its comment; `version` is a snapshot id."""
    namespace = lake_namespace(session.lake.catalog_of(session.lake.named(lake)).location, session.lake.named(lake))
    name = f"{relation.schema_name}.{relation.name}"
    return Dataset(namespace, name, version, tuple(columns_of(relation)), relation.comment)


def _written(session: LakeSession, lake: str, relation: Relation, version: int | None) -> Written | None:
    """Return what a snapshot wrote to a table; None for a view, and if the snapshot did not change the table."""
    if version is None or not isinstance(relation, Table):
        return None
    catalog = session.lake.catalog_of(session.lake.named(lake))
    entries = catalog.table_log(relation, catalog.resolve(version=version), limit=1)
    if not entries or entries[0].record.snapshot.snapshot_id != version:
        return None
    return Written(entries[0].rows_inserted, entries[0].bytes_added, entries[0].files_added)


def _declared(manifest: Any, node: Any) -> Iterator[Key]:
    """Yield the relations to which a node refers. For an ephemeral model, those to which the model refers are yielded instead."""
    nodes, sources = getattr(manifest, "nodes", None) or {}, getattr(manifest, "sources", None) or {}
    for key in getattr(getattr(node, "depends_on", None), "nodes", ()):
        parent = nodes.get(key) or sources.get(key)
        if parent is None:
            continue
        if getattr(parent, "is_ephemeral_model", False):
            yield from _declared(manifest, parent)
        elif parent.database and parent.schema:
            yield fold(parent.database), fold(parent.schema), fold(parent.identifier)


def _outer_run() -> Run | None:
    """Return the run of the scheduler that started dbt: `namespace/job/run id` in OPENLINEAGE_PARENT_ID, as for openlineage-dbt."""

    def named(variable: str) -> Run | None:
        parts = os.environ.get(variable, "").rsplit("/", 2)
        try:
            return Run(str(uuid.UUID(parts[2])), parts[0], parts[1])
        except (IndexError, ValueError):
            return None

    outer = named("OPENLINEAGE_PARENT_ID")
    return None if outer is None else replace(outer, parent=named("OPENLINEAGE_ROOT_PARENT_ID"))
