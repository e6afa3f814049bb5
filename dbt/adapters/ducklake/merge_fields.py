"""The list of the merge configs, each with the type of its value and what it does. All else about their names and types derives from it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Annotated, Any, get_args, get_origin, get_type_hints


@dataclass
class MergeConfigs:
    """The merge configs of a model; docs/configs/strategies/merge.md has the same list for users."""

    merge_update_columns: Annotated[list[str] | None, "the columns that a matched row gets from the source; the default is all"] = None
    merge_exclude_columns: Annotated[list[str] | None, "the columns that a matched row does not get from the source"] = None
    merge_update_condition: Annotated[str | None, "only matched rows that satisfy it are updated (dbt-duckdb)"] = None
    merge_insert_condition: Annotated[str | None, "only new rows that satisfy it are inserted (dbt-duckdb)"] = None
    merge_update_set_expressions: Annotated[
        dict[str, str] | None, "the values of these columns in a matched row, instead of the source's"
    ] = None
    merge_on_using_columns: Annotated[list[str] | None, "the columns by which rows match, instead of `unique_key`"] = None
    merge_clauses: Annotated[
        dict[str, Any] | None, "all clauses in order, in dbt-duckdb's form; the first whose condition a row satisfies applies"
    ] = None
    matched_condition: Annotated[str | None, "dbt-databricks' name of `merge_update_condition`"] = None
    not_matched_condition: Annotated[str | None, "dbt-databricks' name of `merge_insert_condition`"] = None
    not_matched_by_source_action: Annotated[str | None, "what happens to rows of the table that no row of the source matches"] = None
    not_matched_by_source_condition: Annotated[str | None, "limits this to rows that satisfy it"] = None
    skip_matched_step: Annotated[bool | None, "matched rows do not change"] = None
    skip_not_matched_step: Annotated[bool | None, "new rows are not inserted"] = None
    source_alias: Annotated[str | None, "the source's name in conditions"] = None
    target_alias: Annotated[str | None, "the table's name in conditions"] = None
    update_condition: Annotated[str | None, "as `merge_update_condition` (dbt-athena)"] = None
    insert_condition: Annotated[str | None, "as `merge_insert_condition` (dbt-athena)"] = None
    delete_condition: Annotated[str | None, "matched rows that satisfy it are deleted; the others may be updated (dbt-athena)"] = None
    merge_update_columns_default_rule: Annotated[
        str | None, "the rule of all other updated columns except keys; the default is `replace`"
    ] = None
    merge_update_columns_rules: Annotated[dict[str, str] | None, "how these columns of a matched row are computed (dbt-athena)"] = None


MERGE_CONFIGS = tuple(each.name for each in fields(MergeConfigs))
"""The names of the merge configs."""


def configs_of(kind: type) -> list[str]:
    """Return the names of the merge configs whose values have a type: `str`, `list`, `dict` or `bool`."""
    types = {name: [get_origin(each) or each for each in get_args(hint)] for name, hint in get_type_hints(MergeConfigs).items()}
    return [name for name in MERGE_CONFIGS if kind in types[name]]


def effects() -> dict[str, str]:
    """Return what each merge config does, in a few words."""
    return {name: hint.__metadata__[0] for name, hint in get_type_hints(MergeConfigs, include_extras=True).items()}
