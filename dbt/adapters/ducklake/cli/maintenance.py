"""`ducklake checkpoint` and `doctor`: maintain a lake, and check that it can be used."""

from __future__ import annotations

from datetime import datetime, timezone

import click

from ..format.objects import Table
from .output import format_option, show
from .place import Place


@click.command()
@click.option("--dry-run", is_flag=True, help="Change nothing, and show what the catalog says a checkpoint would do.")
@format_option
@click.pass_obj
def checkpoint(place: Place, dry_run: bool, form: str) -> None:
    """Flush, expire, merge, rewrite and clean up, with the lake's options."""
    with place.session(reads=dry_run) as session:
        if not dry_run:
            result = session.execute("CHECKPOINT")
            show([column.name for column in result.columns], result.fetch(), form)
            return
        from ..report.forecast import forecast

        reader = session.catalog.reader()
        tables = [each for each in reader.relations() if isinstance(each, Table)]
        facts = session.catalog.table_facts(reader.snapshot, tables)
        steps = forecast(session.catalog, reader, tables, facts, datetime.now(timezone.utc))
    show(("step", "needed", "outcome"), [(step.name, step.is_needed, step.outcome) for step in steps], form)


@click.command()
@format_option
@click.pass_context
def doctor(context: click.Context, form: str) -> None:
    """Check what `dbt debug` checks: catalogs, data paths, Java and Spark. The exit code is 1 if a check fails."""
    from ..session.doctor import examine
    from ..spark.session.runtime import SparkRuntime

    place: Place = context.obj
    settings = place.settings()
    with SparkRuntime(settings.spark) as runtime:
        rows = [(found.check, "failed" if found.error else "ok", found.error or found.detail) for found in examine(settings, runtime)]
    show(("check", "result", "detail"), rows, form)
    context.exit(any(result == "failed" for _, result, _ in rows))
