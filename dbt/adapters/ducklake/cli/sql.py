"""`ducklake sql`: run statements and show their rows."""

from __future__ import annotations

import sys

import click

from .output import format_option, show
from .place import Place


@click.command()
@click.argument("statements", nargs=-1, required=True)
@click.option("--limit", type=click.IntRange(min=0), default=1000, show_default=True, help="Show at most this many rows of each statement.")
@format_option
@click.pass_obj
def sql(place: Place, statements: tuple[str, ...], limit: int, form: str) -> None:
    """Run SQL statements in one session; `-` reads one from the standard input.

    Each is its own snapshot, unless BEGIN and COMMIT surround them. Rows go to the standard output, messages to the standard error.
    """
    with place.session(creates=True) as session:
        for text in statements:
            result = session.execute(sys.stdin.read() if text == "-" else text)
            if result.columns:
                rows = result.fetch(limit + 1)
                show([column.name for column in result.columns], rows[:limit], form)
                if len(rows) > limit:
                    click.echo(f"only the first {limit} rows are shown; --limit shows more", err=True)
            else:
                click.echo(result.message, err=True)
