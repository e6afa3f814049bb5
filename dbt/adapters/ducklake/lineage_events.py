"""The events of OpenLineage as values, and their form in its Python client, which is imported only when an event is sent.

Specification: https://openlineage.io/docs/spec/object-model and its naming conventions; names of jobs are those of `openlineage-dbt`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from .__version__ import version
from .catalog.store.location import CatalogLocation

if TYPE_CHECKING:
    from openlineage.client.event_v2 import InputDataset, OutputDataset, RunEvent

PRODUCER = f"https://pypi.org/project/dbt-ducklake/{version}/"
START, COMPLETE, FAIL, ABORT = "START", "COMPLETE", "FAIL", "ABORT"
_PORTS = {"postgresql": 5432, "mysql": 3306}
_ADDRESS = re.compile(
    r"(?P<kind>\w+)[^:]*://(?:.*@)?(?P<host>\[[\da-f:]+\]|[\w.\-]*)(?::(?P<port>\d+))?/(?P<name>[^?&@=]*)(?:\?.*)?",
    re.DOTALL | re.IGNORECASE,
)
"""A URL; a password may contain every character but `@`."""


@dataclass(frozen=True)
class Run:
    """One run of a job: of the dbt command, or of a node in it.

    Args:
        run_id: a UUID.
        namespace: the namespace of the job.
        name: the name of the job.
        kind: JOB for the command, else the kind of the node in upper case.
        parent: the run that this one is part of.
        sql: the query of the node.
        description: the description of the node in the project.
    """

    run_id: str
    namespace: str
    name: str
    kind: str = "JOB"
    parent: Run | None = None
    sql: str | None = None
    description: str | None = None

    @property
    def root(self) -> Run:
        """The outermost run."""
        return self if self.parent is None else self.parent.root


@dataclass(frozen=True)
class Written:
    """What a run wrote to a table; None if it is unknown."""

    rows: int | None
    size_bytes: int | None
    files: int | None


@dataclass(frozen=True)
class Dataset:
    """A table or view of a lake.

    Args:
        namespace: the lake; see `lake_namespace`.
        name: schema and name with a dot between them.
        version: the snapshot that was read or written; None if it is not known, as for a view that was read.
        columns: (name, Spark type, comment) of each column.
        description: the comment of the table or view.
        written: what the run wrote to it.
    """

    namespace: str
    name: str
    version: int | None = None
    columns: tuple[tuple[str, str, str | None], ...] = ()
    description: str | None = None
    written: Written | None = None


@dataclass(frozen=True)
class Event:
    """The start or the end of a run."""

    state: str
    run: Run
    inputs: tuple[Dataset, ...] = ()
    outputs: tuple[Dataset, ...] = ()
    error: str | None = None
    time: datetime = field(default_factory=lambda: datetime.now(timezone.utc))


def lake_namespace(location: CatalogLocation, database: str) -> str:
    """Return the namespace of a lake's tables: the address of its catalog, without user, password and options.

    Args:
        location: the catalog database.
        database: the name of the lake in the profile, which is used if the address cannot be read.
    """
    if location.file is not None:
        path = location.file.replace("\\", "/")
        return f"ducklake://{path if path.startswith('/') else '/' + path}"
    found = _ADDRESS.fullmatch(location.url)
    if found is None:
        return f"ducklake://{database}"
    host = found["host"].lower()
    port = found["port"] or _PORTS.get(found["kind"].lower())
    address = f"{host}:{port}" if host and port else host
    return "/".join([f"ducklake://{address}", found["name"], *filter(None, [location.metadata_schema])])


def client_event(event: Event) -> RunEvent:
    """Return an event of the client.

    Raises:
        ValueError: an id is not a UUID.
    """
    from openlineage.client import event_v2 as e

    return e.RunEvent(
        eventType=e.RunState(event.state),
        eventTime=event.time.isoformat(timespec="milliseconds"),
        run=e.Run(event.run.run_id, _run_facets(event)),
        job=e.Job(event.run.namespace, event.run.name, _job_facets(event.run)),
        inputs=[_input(each) for each in event.inputs],
        outputs=[_output(each) for each in event.outputs],
        producer=PRODUCER,
    )


def _run_facets(event: Event) -> dict[str, Any]:
    from openlineage.client.facet_v2 import error_message_run, parent_run, processing_engine_run

    facets: dict[str, Any] = {
        "processing_engine": processing_engine_run.ProcessingEngineRunFacet(
            version=version, name="dbt-ducklake", openlineageAdapterVersion=version, producer=PRODUCER
        )
    }
    parent = event.run.parent
    if parent is not None:
        root = parent.root
        facets["parent"] = parent_run.ParentRunFacet(
            run=parent_run.Run(parent.run_id),
            job=parent_run.Job(parent.namespace, parent.name),
            root=parent_run.Root(run=parent_run.RootRun(root.run_id), job=parent_run.RootJob(root.namespace, root.name)),
            producer=PRODUCER,
        )
    if event.error is not None:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(event.error, "SQL", producer=PRODUCER)
    return facets


def _job_facets(run: Run) -> dict[str, Any]:
    from openlineage.client.facet_v2 import documentation_job, job_type_job, sql_job

    facets: dict[str, Any] = {
        "jobType": job_type_job.JobTypeJobFacet(processingType="BATCH", integration="DBT", jobType=run.kind, producer=PRODUCER)
    }
    if run.sql:
        facets["sql"] = sql_job.SQLJobFacet(run.sql, dialect="spark", producer=PRODUCER)
    if run.description:
        facets["documentation"] = documentation_job.DocumentationJobFacet(run.description, producer=PRODUCER)
    return facets


def _input(dataset: Dataset) -> InputDataset:
    from openlineage.client.event_v2 import InputDataset

    return InputDataset(dataset.namespace, dataset.name, facets=_dataset_facets(dataset))


def _output(dataset: Dataset) -> OutputDataset:
    from openlineage.client.event_v2 import OutputDataset
    from openlineage.client.facet_v2 import output_statistics_output_dataset as statistics

    facets: dict[str, Any] = {}
    if dataset.written is not None:
        facets["outputStatistics"] = statistics.OutputStatisticsOutputDatasetFacet(
            rowCount=dataset.written.rows, size=dataset.written.size_bytes, fileCount=dataset.written.files, producer=PRODUCER
        )
    return OutputDataset(dataset.namespace, dataset.name, outputFacets=facets, facets=_dataset_facets(dataset))


def _dataset_facets(dataset: Dataset) -> dict[str, Any]:
    from openlineage.client.facet_v2 import dataset_version_dataset as versions
    from openlineage.client.facet_v2 import datasource_dataset, documentation_dataset, schema_dataset

    facets: dict[str, Any] = {
        "dataSource": datasource_dataset.DatasourceDatasetFacet(name=dataset.namespace, uri=dataset.namespace, producer=PRODUCER)
    }
    if dataset.columns:
        fields = [
            schema_dataset.SchemaDatasetFacetFields(name, type=type_, description=comment, ordinal_position=position)
            for position, (name, type_, comment) in enumerate(dataset.columns, start=1)
        ]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields, producer=PRODUCER)
    if dataset.version is not None:
        facets["version"] = versions.DatasetVersionDatasetFacet(str(dataset.version), producer=PRODUCER)
    if dataset.description:
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(dataset.description, producer=PRODUCER)
    return facets
