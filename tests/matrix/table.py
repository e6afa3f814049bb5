"""The results as a table in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from .trial import Outcome, Result


def table(results: Sequence[Result]) -> str:
    """Return a row for each result."""
    head = [
        "| Spark | Java | Python | dbt-core | libraries | catalog | result | seconds |",
        "| --- | --- | --- | --- | --- | --- | --- | ---: |",
    ]
    return "\n".join([*head, *map(_row, results)])


def _row(result: Result) -> str:
    one, installed = result.combination, result.installed
    duckdb = f"DuckDB {installed.get('duckdb', one.duckdb)}"
    catalog = "SQLite" if one.duckdb is None else f"SQLite, files encrypted by {duckdb}" if one.encrypted else duckdb
    detail = f": {result.detail.splitlines()[0]}" if result.detail else ""
    seconds = "" if result.outcome is Outcome.NOT_AVAILABLE else f"{result.seconds:.0f}"
    versions = [
        installed.get("pyspark", one.pyspark),
        str(one.java),
        one.python,
        installed.get("dbt-core", one.dbt),
        one.libraries,
        catalog,
    ]
    return f"| {' | '.join([*versions, f'{result.outcome.value}{detail}'.replace('|', '/'), seconds])} |"
