"""DROP MACRO. There is no CREATE MACRO, because only DuckDB can check that it can parse a macro (`catalog/read/definition_rows.py`)."""

from __future__ import annotations

from ..errors import NotFoundError
from ..format.identifiers import fold
from .context import Context


def drop_macro(context: Context, schema: str, name: str, *, is_table: bool = False, if_exists: bool = False) -> None:
    """Stage the drop of a macro.

    Args:
        context: the transaction.
        schema: the macro's schema.
        name: the macro's name.
        is_table: whether to drop the table macro of that name; otherwise the scalar macro.
        if_exists: whether the macro may be missing.

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
