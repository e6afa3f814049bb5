"""Select the tables that a maintenance action applies to, and describe what it did to one of them.

Specification: the pages "Flush Inlined Data", "Merge Adjacent Files" and "Rewrite Heavily Deleted Files", the option `auto_compact`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from ..format.objects import Table
from ..format.options import truth
from .context import Context
from .schemas import required_schema
from .tables import required_table

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Maintained(Generic[T]):
    """What maintenance of a table committed. `files_left` files are as before, because concurrent writers had changed them."""

    results: Sequence[T] = ()
    files_left: int = 0


def maintained_tables(context: Context, schema: str | None, table: str | None) -> list[Table]:
    """Return the named table, or the tables of a schema or of the lake; without those whose option `auto_compact` is false.

    As in DuckDB, the option applies to a named table too; unlike DuckDB, we log that it is skipped. Tables that this transaction created
    have no committed files and are left out.

    Raises:
        NotFoundError: the schema or table does not exist.
        ConfigurationError: the lake is read-only.
    """
    context.transaction.require_writable()
    if table is not None:
        tables = [required_table(context, schema or "main", table)]
    else:
        wanted = None if schema is None else required_schema(context, schema).name
        tables = [each for each in context.transaction.relations(wanted) if isinstance(each, Table)]
    maintained = [each for each in tables if _is_maintained(context, each)]
    if table is not None and not maintained:
        logger.warning("%s.%s is skipped, because its option auto_compact is false", tables[0].schema_name, tables[0].name)
    return [each for each in maintained if each.table_id >= 0]


def _is_maintained(context: Context, table: Table) -> bool:
    """Whether the option `auto_compact` of the table, its schema or the lake allows maintenance."""
    schema_id = required_schema(context, table.schema_name).schema_id
    return truth(context.transaction.options().get("auto_compact", schema_id=schema_id, table_id=table.table_id))
