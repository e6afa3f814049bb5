"""The commands of `ducklake`, one function for each. `snapshots`, `history` and `report` only read the catalog."""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from ..format.diff_text import FORMATS
from ..format.identifiers import backquoted, spark_literal
from ..format.objects import Table
from ..format.origin import origin
from .input_error import InputError
from .lake_options import LakeOptions, resolved_table
from .output import format_option, show

_SNAPSHOT_COLUMNS = ("snapshot_id", "snapshot_time", "author", "commit_message", "node_id", "invocation_id", "changed")
_limit_option = click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="Show at most this many of the newest snapshots."
)


@click.command()
@click.argument("statements", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=0), default=1000, show_default=True, help="Show at most this many rows of each statement.")
@format_option
@click.pass_obj
def sql(options: LakeOptions, statements: tuple[str, ...], limit: int, form: str) -> None:
    """Run SQL statements in one session; `-` reads one from the standard input.

    Each is its own snapshot, unless BEGIN and COMMIT surround them. Rows go to the standard output, messages to the standard error.
    """
    with options.session(may_create=True) as session:
        for text in statements:
            result = session.execute(sys.stdin.read() if text == "-" else text)
            if result.columns:
                rows = result.fetch(limit + 1)
                show([column.name for column in result.columns], rows[:limit], form)
                if len(rows) > limit:
                    click.echo(f"only the first {limit} rows are shown; --limit shows more", err=True)
            else:
                click.echo(result.message, err=True)


@click.command()
@_limit_option
@format_option
@click.pass_obj
def snapshots(options: LakeOptions, limit: int, form: str) -> None:
    """List the newest snapshots of the lake, and what each changed."""
    from ..report.runs import changed_relations

    with options.session(read_only=True) as session:
        catalog = session.catalog
        newest = catalog.latest()
        names = {each.relation_id: f"{each.schema_name}.{each.name}" for each in catalog.reader(newest).names()}
        rows = []
        for record in reversed(catalog.snapshots(until=newest.snapshot_id, limit=limit)):
            made_by, made = origin(record.extra_info), record.snapshot
            who = (record.author, record.message, made_by.node_id, made_by.invocation_id)
            rows.append((made.snapshot_id, made.time, *who, changed_relations(record, names)))
    show(_SNAPSHOT_COLUMNS, rows, form, whole_seconds=True)


@click.command()
@click.argument("table", metavar="[SCHEMA.]TABLE")
@_limit_option
@format_option
@click.pass_obj
def history(options: LakeOptions, table: str, limit: int, form: str) -> None:
    """List the snapshots that changed a table: who, when, with which model, and how many rows and files."""
    with options.session(read_only=True) as session:
        lake, schema, name = resolved_table(session, table)
        arguments = f"{spark_literal(name)}, schema => {spark_literal(schema)}, limit => {limit}"
        result = session.execute(f"CALL {backquoted(lake)}.history({arguments})")
        show([column.name for column in result.columns], result.fetch(), form, whole_seconds=True)


@click.command()
@click.argument("table", metavar="[SCHEMA.]TABLE")
@click.argument("other", metavar="[[SCHEMA.]OTHER]", required=False)
@click.option("--from", metavar="SNAPSHOT", help="Compare with this snapshot, a number or a timestamp.")
@click.option("--to", metavar="SNAPSHOT", help="The later snapshot of TABLE, a number or a timestamp; by default the newest.")
@click.option("--key", multiple=True, metavar="COLUMN", help="A column that identifies a row; give it once for each column of the key.")
@click.option("--examples", type=click.IntRange(min=0), default=5, show_default=True, help="Show at most this many rows of each kind.")
@click.option("--other-lake", metavar="PATH_OR_URL", help="The lake of the other table, in any form of --lake.")
@click.option("--other-target", metavar="NAME", help="The dbt target of the other table, in the same profile.")
@click.option("--format", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True, help="How the differences are shown.")
@click.pass_obj
def diff(options: LakeOptions, /, table: str, other: str | None, other_lake: str | None, other_target: str | None, **given: Any) -> None:
    """Show what changed in TABLE since a snapshot, or compared with OTHER: columns, and rows by key with examples.

    What only TABLE has is added, and what only OTHER has is removed. In another lake or target, OTHER is by default the table of that name.
    """
    if other_lake is not None and other_target is not None:
        raise InputError("--other-lake and --other-target cannot be used together: give one of them")
    with options.session(read_only=True) as session:
        lake, schema, name = resolved_table(session, table)
        if other_lake is not None or other_target is not None:
            other = options.other(session, other_lake, other_target, other, (schema, name))
        named = {"schema": schema, "other": other, **given, "key": list(given["key"]) or None}
        arguments = [spark_literal(name), *(f"{word} => {_literal(value)}" for word, value in named.items() if value is not None)]
        ((found,),) = session.execute(f"CALL {backquoted(lake)}.diff({', '.join(arguments)})").fetch()
    click.echo(found)


def _literal(value: str | int | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(spark_literal, value))}]"
    return spark_literal(value) if isinstance(value, str) else str(value)


@click.command()
@click.option("-o", "--output", default="ducklake_report.html", show_default=True, help="The file to write.")
@click.pass_obj
def report(options: LakeOptions, output: str) -> None:
    """Write a report on the lake as one HTML file, and print its path."""
    from ..report.gather import gather
    from ..report.page import write

    with options.session(read_only=True) as session:
        found = gather(session.catalog, session.database)
    try:
        click.echo(write(found, Path(output)))
    except OSError as error:
        raise InputError(f"the report cannot be written: {error}; choose another file with --output") from error


@click.command()
@click.option("--dry-run", is_flag=True, help="Change nothing, and show what the catalog says a checkpoint would do.")
@format_option
@click.pass_obj
def checkpoint(options: LakeOptions, dry_run: bool, form: str) -> None:
    """Flush, expire, merge, rewrite and clean up, with the lake's options."""
    with options.session(read_only=dry_run) as session:
        if not dry_run:
            result = session.execute("CHECKPOINT")
            show([column.name for column in result.columns], result.fetch(), form)
            return
        from ..report.forecast import forecast

        reader = session.catalog.reader()
        tables = [each for each in reader.relations() if isinstance(each, Table)]
        summaries = session.catalog.table_summaries(reader.snapshot, tables)
        steps = forecast(
            session.catalog, reader, [each for each in tables if each.table_id in summaries], summaries, datetime.now(timezone.utc)
        )
    show(("step", "needed", "outcome"), [(step.name, step.is_needed, step.outcome) for step in steps], form)


@click.command()
@format_option
@click.pass_context
def doctor(context: click.Context, form: str) -> None:
    """Check what `dbt debug` checks: catalogs, data paths, Java, Spark; and statistics of tables. The exit code is 1 if a check fails."""
    from ..session.doctor import run_checks
    from ..session.lake import spark_settings
    from ..spark.session.runtime import SparkRuntime

    options: LakeOptions = context.obj
    settings = options.settings()
    with SparkRuntime(spark_settings(settings)) as runtime:
        findings = run_checks(settings, runtime, with_statistics=True)
        rows = [(found.check, "failed" if found.error else "ok", found.error or found.detail) for found in findings]
    show(("check", "result", "detail"), rows, form)
    context.exit(any(result == "failed" for _, result, _ in rows))
