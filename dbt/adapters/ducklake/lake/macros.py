"""DROP MACRO. Macros are DuckDB's to make: only DuckDB can tell whether it will be able to parse them (`catalog/read/macros.py`)."""

from __future__ import annotations

from ..errors import NotFoundError
from ..format.identifiers import fold
from .context import Context


def drop_macro(context: Context, schema: str, name: str, *, is_table: bool = False, if_exists: bool = False) -> None:
    """Stage the end of a scalar macro, or of a table macro.

    Raises:
        NotFoundError: there is none.
    """
    folded = fold(name)
    found = [macro for macro in context.transaction.macros(schema) if fold(macro.name) == folded and macro.is_table == is_table]
    if not found and not if_exists:
        statement = "DROP MACRO TABLE" if is_table else "DROP MACRO"
        raise NotFoundError("table macro" if is_table else "macro", f"{schema}.{name}", f"Write {statement} IF EXISTS to accept that")
    for macro in found:
        context.transaction.objects.drop_macro(macro)
