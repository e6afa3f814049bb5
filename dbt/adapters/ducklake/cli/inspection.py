"""`ducklake snapshots`, `history` and `report`: what happened in a lake. They only read the catalog."""

from __future__ import annotations

from pathlib import Path

import click

from ..format.identifiers import backquoted, spark_literal
from ..format.origin import origin
from .output import format_option, show
from .place import Place, located
from .wrong_input import WrongInput

_SNAPSHOT_COLUMNS = ("snapshot_id", "snapshot_time", "author", "commit_message", "node_id", "invocation_id", "changed")
limit_option = click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most this many of the newest snapshots."
)


@click.command()
@limit_option
@format_option
@click.pass_obj
def snapshots(place: Place, limit: int, form: str) -> None:
    """List the newest snapshots of the lake, and what each changed."""
    from ..report.runs import changed_relations

    with place.session(reads=True) as session:
        catalog = session.catalog
        newest = catalog.latest()
        names = {each.relation_id: f"{each.schema_name}.{each.name}" for each in catalog.reader(newest).names()}
        rows = []
        for record in reversed(catalog.snapshots(until=newest.snapshot_id, limit=limit)):
            made_by, made = origin(record.extra_info), record.snapshot
            who = (record.author, record.message, made_by.node_id, made_by.invocation_id)
            rows.append((made.snapshot_id, made.time, *who, changed_relations(record, names)))
    show(_SNAPSHOT_COLUMNS, rows, form)


@click.command()
@click.argument("table", metavar="[SCHEMA.]TABLE")
@limit_option
@format_option
@click.pass_obj
def history(place: Place, table: str, limit: int, form: str) -> None:
    """List the snapshots that changed a table: who, when, with which model, and how many rows and files."""
    with place.session(reads=True) as session:
        lake, schema, name = located(session, table)
        arguments = f"{spark_literal(name)}, schema => {spark_literal(schema)}, limit => {limit}"
        result = session.execute(f"CALL {backquoted(lake)}.history({arguments})")
        show([column.name for column in result.columns], result.fetch(), form)


@click.command()
@click.option("-o", "--output", default="ducklake_report.html", show_default=True, help="The file to write.")
@click.pass_obj
def report(place: Place, output: str) -> None:
    """Write a report on the lake as one HTML file, and print its path."""
    from ..report.gather import gather
    from ..report.page import write

    with place.session(reads=True) as session:
        found = gather(session.catalog, session.database)
    try:
        click.echo(write(found, Path(output)))
    except OSError as error:
        raise WrongInput(f"the report cannot be written: {error}; choose another file with --output") from error
