"""DROP MACRO. Only DuckDB creates macros, because only DuckDB can check that it can parse them (`catalog/read/macros.py`)."""

from __future__ import annotations

from ..errors import NotFoundError
from ..format.identifiers import fold
from .context import Context


def drop_macro(context: Context, schema: str, name: str, *, is_table: bool = False, if_exists: bool = False) -> None:
    """Stage dropping a scalar macro, or with `is_table` a table macro.

    Raises:
        NotFoundError: the macro does not exist and `if_exists` is false.
    """
    folded = fold(name)
    found = [macro for macro in context.transaction.macros(schema) if fold(macro.name) == folded and macro.is_table == is_table]
    if not found and not if_exists:
        statement = "DROP MACRO TABLE" if is_table else "DROP MACRO"
        raise NotFoundError("table macro" if is_table else "macro", f"{schema}.{name}", f"Write {statement} IF EXISTS if it may be missing")
    for macro in found:
        context.transaction.objects.drop_macro(macro)
