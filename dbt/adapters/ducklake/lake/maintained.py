"""Select the tables that a maintenance action applies to.

Specification: the pages "Flush Inlined Data", "Merge Adjacent Files" and "Rewrite Heavily Deleted Files", the option `auto_compact`.
"""

from __future__ import annotations

from ..format.objects import Table
from ..format.options import truth
from .context import Context
from .schemas import required_schema
from .tables import required_table


def maintained_tables(context: Context, schema: str | None, table: str | None) -> list[Table]:
    """Return the named table, or the tables of a schema or of the lake whose option `auto_compact` is not false.

    Tables that this transaction created have no committed files and are left out.

    Raises:
        NotFoundError: the schema or table does not exist.
        ConfigurationError: the lake is read-only.
    """
    context.transaction.require_writable()
    if table is not None:
        tables = [required_table(context, schema or "main", table)]
    else:
        wanted = None if schema is None else required_schema(context, schema).name
        relations = context.transaction.relations(wanted)
        tables = [each for each in relations if isinstance(each, Table) and is_maintained(context, each)]
    return [each for each in tables if each.table_id >= 0]


def is_maintained(context: Context, table: Table) -> bool:
    """Whether the option `auto_compact` allows maintenance of the table by statements that do not name it."""
    schema_id = required_schema(context, table.schema_name).schema_id
    return truth(context.transaction.options().get("auto_compact", schema_id=schema_id, table_id=table.table_id))
