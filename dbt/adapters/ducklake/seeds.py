"""The header of a seed's CSV, the columns of its table, and its rows in the order of an existing table's columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from .format.identifiers import fold

if TYPE_CHECKING:
    from agate.table import Table as AgateTable

_PLAIN_NAME = re.compile(r"(?!\d+$)\w+")
_DELIMITER = re.compile(r"[,;|\t]")
_NUMBER = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*")


def seed_file(config: Any, model: Mapping[str, Any]) -> Path | None:
    """Return the CSV file of a seed in its project or package, where dbt looks for it; None if it does not exist."""
    project = Path(config.project_root)
    if model["package_name"] != config.project_name:
        project /= Path(config.packages_install_path) / model["package_name"]
    folders = (project, Path(model.get("root_path") or project))
    return next((path for folder in folders if (path := folder / model["original_file_path"]).is_file()), None)


def require_header(path: Path, delimiter: str) -> None:
    """Require that the first line of a CSV file names the columns.

    Without this check, dbt would name an unnamed column with a letter, and add a number to the second of two equal names.

    Raises:
        DbtRuntimeError: a name is missing or used twice, or all names are numbers; the message has the file and the line.
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        names = next(csv.reader(file, delimiter=delimiter or ","), [])
    problem = _header_problem(names)
    if problem is not None:
        raise DbtRuntimeError(f"{path}, line 1: {problem}. The first line of a seed names its columns")


def _header_problem(names: Sequence[str]) -> str | None:
    """Return what is wrong with a header; None if it is valid."""
    if not names:
        return "it is empty"
    if "" in (name.strip() for name in names):
        return f"column {[name.strip() for name in names].index('') + 1} has no name"
    seen: set[str] = set()
    for name in names:
        if fold(name) in seen:
            return f"two columns have the name {name}"
        seen.add(fold(name))
    if all(map(_NUMBER.fullmatch, names)):
        return f"the names {', '.join(names)} are numbers, so the header seems to be missing"
    return None


def needs_quotes(name: str) -> bool:
    """Whether SQL needs quotes around a column name."""
    return not _PLAIN_NAME.fullmatch(name)


def seed_columns(
    table: AgateTable,
    column_types: Mapping[str, str],
    quote_columns: bool | None,
    inferred: Callable[[AgateTable, int], str | None],
) -> list[tuple[str, str]]:
    """Return (name, type) of each column of a seed.

    Args:
        table: the CSV as dbt read it.
        column_types: column name → type, the seed's config.
        quote_columns: the seed's config. If it is false, names that contain a delimiter are refused.
        inferred: returns the type that dbt infers for the column with an index; if it returns None, the type is `string`.

    Raises:
        DbtDatabaseError: `quote_columns` is false and a name contains a common delimiter, so the seed's `delimiter` is probably wrong.
    """
    for name in table.column_names:
        if quote_columns is False and _DELIMITER.search(name):
            raise DbtDatabaseError(
                f"Syntax error: the seed has a column named {name!r}. Check the seed's `delimiter`, or set `quote_columns: true`"
            )
    return [(name, column_types.get(name) or inferred(table, index) or "string") for index, name in enumerate(table.column_names)]


def unknown_columns(table: AgateTable, column_types: Mapping[str, str]) -> list[str]:
    """Return the names in `column_types` that do not exactly match a column of the CSV."""
    return [name for name in column_types if name not in table.column_names]


def fitted_rows(table: AgateTable, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Return the rows of a seed in the order of its table's columns; a column that is missing from the CSV is NULL.

    Raises:
        DbtRuntimeError: the CSV has a column that is missing from the table.
    """
    positions = {fold(name): index for index, name in enumerate(table.column_names)}
    missing = [name for name in table.column_names if fold(name) not in {fold(column) for column in columns}]
    if missing:
        raise DbtRuntimeError(f"The seed has columns that are not in its table: {', '.join(missing)}. Run `dbt seed --full-refresh`")
    order = [positions.get(fold(column)) for column in columns]
    return (tuple(None if position is None else row[position] for position in order) for row in table.rows)
