"""`ducklake diff`: what changed in a table between two snapshots, or compared with another table, lake or target."""

from __future__ import annotations

from typing import Any

import click

from ..format.diff_text import FORMATS
from ..format.identifiers import backquoted, spark_literal
from .place import Place, located
from .wrong_input import WrongInput


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
def diff(place: Place, /, table: str, other: str | None, other_lake: str | None, other_target: str | None, **given: Any) -> None:
    """Show what changed in TABLE since a snapshot, or compared with OTHER: columns, and rows by key with examples.

    What only TABLE has is added, and what only OTHER has is removed. In another lake or target, OTHER is by default the table of that name.
    """
    if other_lake is not None and other_target is not None:
        raise WrongInput("--other-lake and --other-target cannot be used together: give one of them")
    with place.session(reads=True) as session:
        lake, schema, name = located(session, table)
        if other_lake is not None or other_target is not None:
            other = place.other(session, other_lake, other_target, other, (schema, name))
        named = {"schema": schema, "other": other, **given, "key": list(given["key"]) or None}
        arguments = [spark_literal(name), *(f"{word} => {_literal(value)}" for word, value in named.items() if value is not None)]
        ((found,),) = session.execute(f"CALL {backquoted(lake)}.diff({', '.join(arguments)})").fetch()
    click.echo(found)


def _literal(value: str | int | list[str]) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(spark_literal, value))}]"
    return spark_literal(value) if isinstance(value, str) else str(value)
