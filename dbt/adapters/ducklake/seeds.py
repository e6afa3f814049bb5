"""The columns of a seed's table from its CSV, and the CSV's rows in the order of an existing table's columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from .format.identifiers import fold

if TYPE_CHECKING:
    from agate.table import Table as AgateTable

_PLAIN_NAME = re.compile(r"(?!\d+$)\w+")


def seed_columns(
    table: AgateTable,
    column_types: Mapping[str, str],
    quote_columns: bool | None,
    inferred: Callable[[AgateTable, int], str | None],
) -> list[tuple[str, str]]:
    """Return (name, type) of each column of a seed.

    Raises:
        DbtDatabaseError: `quote_columns` is false and a name needs quotes, for example because the delimiter is wrong.
    """
    for name in table.column_names:
        if quote_columns is False and not _PLAIN_NAME.fullmatch(name):
            raise DbtDatabaseError(
                f"Syntax error: the seed has a column named {name!r}, which needs quotes. "
                "Check the seed's `delimiter`, or set `quote_columns: true`"
            )
    return [(name, column_types.get(name) or inferred(table, index) or "string") for index, name in enumerate(table.column_names)]


def unknown_columns(table: AgateTable, column_types: Mapping[str, str]) -> list[str]:
    """Return the names in `column_types` that are not columns of the CSV, spelled exactly like them."""
    return [name for name in column_types if name not in table.column_names]


def fitted_rows(table: AgateTable, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a seed in the order of its table's columns; a column that the CSV lacks is NULL.

    Raises:
        DbtRuntimeError: the CSV has a column that the table lacks.
    """
    positions = {fold(name): index for index, name in enumerate(table.column_names)}
    missing = [name for name in table.column_names if fold(name) not in {fold(column) for column in columns}]
    if missing:
        raise DbtRuntimeError(f"The seed has new columns ({', '.join(missing)}) that its table lacks. Run `dbt seed --full-refresh`")
    order = [positions.get(fold(column)) for column in columns]
    return (tuple(None if position is None else row[position] for position in order) for row in table.rows)
