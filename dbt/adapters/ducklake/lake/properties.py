"""Properties of tables and views: the comment, lake options set for one table, and any other key that a user sets.

Specification: the tables `ducklake_metadata` and `ducklake_tag`. DuckDB ignores tags that it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..errors import NotFoundError, StatementError
from ..format.objects import PROPERTY_TAG, Relation, Table, View
from ..format.option_values import is_option, require_property
from .alter import comment_on
from .context import Context
from .options import set_option, unset_option
from .tables import kind_of, required_relation


def properties(relation: Relation) -> dict[str, str]:
    """Return the properties of a table or view that are neither its comment nor options."""
    return {key.removeprefix(PROPERTY_TAG): value for key, value in relation.tags.items() if key.startswith(PROPERTY_TAG)}


def shown_properties(context: Context, relation: Relation) -> dict[str, str]:
    """Return the properties of a table or view and the options that are set for this table alone, ordered by key, without the comment."""
    found = properties(relation)
    if isinstance(relation, Table):
        rows = context.transaction.options().rows
        found |= {row.key: row.value for row in rows if (row.scope, row.scope_id) == ("table", relation.table_id) and row.value is not None}
    return dict(sorted(found.items()))


def set_properties(context: Context, kind: str, schema: str, name: str, pairs: Sequence[tuple[str, str | None]]) -> None:
    """Stage new values of properties. An unchanged tag or comment stages nothing.

    Args:
        context: the catalog and the transaction.
        kind: "table" or "view".
        schema: the schema of the table or view.
        name: the name of the table or view.
        pairs: (key, value) pairs; None removes a property. `comment` and names of options, in upper or lower case, set the table's comment
            and options; every other key is stored as a property tag.

    Raises:
        NotFoundError: there is no relation with this name and kind.
        StatementError: an option is given for a view or has an invalid value, or a new key looks like a misspelled option.
    """
    relation = required_relation(context, schema, name)
    if kind_of(relation) != kind:
        raise NotFoundError(kind, f"{schema}.{name}", f"It is a {kind_of(relation)}")
    custom: dict[str, str | None] = {}
    for key, value in pairs:
        if key.lower() == "comment":
            comment_on(context, kind, schema, name, value)
        elif not is_option(key):
            if value is not None:
                require_property(key)
            custom[key] = value
        elif isinstance(relation, View):
            raise StatementError(f"{key} is an option for writing files, and {schema}.{name} is a view, which has no files")
        elif value is None:
            unset_option(context, key, relation)
        else:
            set_option(context, key, value, schema=relation.schema_name, table=relation.name)
    if custom:
        _put(context, required_relation(context, schema, name), custom)


def _put(context: Context, relation: Relation, changes: Mapping[str, str | None]) -> None:
    tags = {**relation.tags, **{PROPERTY_TAG + key: value for key, value in changes.items()}}
    changed = {key: value for key, value in tags.items() if value is not None}
    if isinstance(relation, Table):
        context.transaction.objects.put_table(replace(relation, tags=changed))
    else:
        context.transaction.objects.put_view(replace(relation, tags=changed))
