"""The layout that a node's configs ask for, and the ALTER actions that apply the differences to a table.

A property of the table lists the parts of its layout that configs have set. So a removed config is undone, while a layout that was set
by hand is kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from .column import DuckLakeColumn
from .format.identifiers import backquoted, fold, spark_literal
from .format.objects import PROPERTY_TAG, Relation, Table
from .format.option_values import is_option, stored_value
from .format.options import Options
from .format.partitioning import bucket_count, key_columns, quoted_key_texts
from .format.sort_text import names_in, names_in_spark

CONFIGURED = "dbt.configured"
"""The property that lists the parts of the layout that configs have set."""
TAGS, META = "dbt.tags", "dbt.meta"
_BIGQUERY_FIELDS = ("field", "data_type", "granularity", "copy_partitions")
"""The fields of `partition_by` in dbt-bigquery's form."""
_TIMES = ("timestamp", "datetime")
_PARTS = ("year", "month", "day", "hour")
"""The partition keys of calendar parts; a granularity needs all parts up to its own, since `month` alone is the same in every year."""
_PLAIN_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Layout:
    """The layout of configs: keys and expressions as SQL, and properties with their values as strings."""

    partitioned_by: tuple[str, ...] = ()
    sorted_by: tuple[str, ...] = ()
    properties: Mapping[str, str] | None = None

    @property
    def with_record(self) -> dict[str, str]:
        """The properties, including the one that lists what is configured."""
        given = dict(self.properties or {})
        return {**given, CONFIGURED: json.dumps(sorted(self.names))} if self.names else given

    @property
    def names(self) -> set[str]:
        """The names of what is configured, as in the property `dbt.configured`."""
        found = {f"properties.{key}" for key in self.properties or {}}
        return found | {name for name in ("partitioned_by", "sorted_by") if getattr(self, name)}


PARTITIONED = ("partitioned_by", "partition_by")
SORTED = ("sorted_by", "sort_by", "liquid_clustered_by", "zorder", "cluster_by")
"""The names of one config: ours first, then those of other adapters."""


def layout_of(configs: Mapping[str, Any]) -> Layout:
    """Return the layout that the configs of a node ask for, under our names or those of other adapters.

    Raises:
        DbtRuntimeError: a value has the wrong type, or two configs contradict each other.
    """
    properties: dict[str, str] = {}
    for name in ("tblproperties", "options"):
        given = configs.get(name)
        if given and not isinstance(given, Mapping):
            raise DbtRuntimeError(f"the config {name} must be a map, such as {{parquet_compression: zstd}}; it is {given!r}")
        for key, value in (given or {}).items():
            known = properties.setdefault(_property_name(str(key)), str(value))
            if known != str(value):
                raise DbtRuntimeError(f"the configs tblproperties and options give {key} two values: {known} and {value}")
    if CONFIGURED in properties:
        raise DbtRuntimeError(f"the property {CONFIGURED} is reserved for the adapter; choose another name")
    return Layout(_with_buckets(_one_of(configs, PARTITIONED), configs), _one_of(configs, SORTED), properties)


def _property_name(key: str) -> str:
    """Return the name of an option in lower case, because its case has no meaning, and that of another property unchanged."""
    return fold(key) if is_option(key) else key


def bucketed_column(configs: Mapping[str, Any]) -> str | None:
    """Return the column of dbt-spark's `clustered_by` and `buckets`; None if there is none, or more than one.

    Buckets of several columns together have no counterpart in a lake, where each column has its own buckets.
    """
    columns = _listed("clustered_by", configs.get("clustered_by"))
    return columns[0] if configs.get("buckets") and len(columns) == 1 else None


def _with_buckets(keys: tuple[str, ...], configs: Mapping[str, Any]) -> tuple[str, ...]:
    column = bucketed_column(configs)
    if column is None:
        return keys
    bucket = f"bucket({configs['buckets']}, {column})"
    for key in keys:
        name, _, arguments = key.partition("(")
        if fold(name.strip()) == "bucket" and fold(arguments.rpartition(",")[2].strip(" )`")) == fold(column.strip(" `")):
            if _plain(key) == _plain(bucket):
                return keys
            raise DbtRuntimeError(f"the configs ask for {key} and, by clustered_by and buckets, for {bucket}; leave one of them out")
    return (*keys, bucket)


def _one_of(configs: Mapping[str, Any], names: Sequence[str]) -> tuple[str, ...]:
    """Return the value of a config that has several names."""
    given = {name: _keys(name, configs[name]) for name in names if configs.get(name)}
    found = next(iter(given.items()), None)
    for name, value in given.items():
        if found is not None and _plain(", ".join(value)) != _plain(", ".join(found[1])):
            raise DbtRuntimeError(
                f"the configs {found[0]} and {name} mean the same and have different values: {', '.join(found[1])} and {', '.join(value)}; "
                "leave one of them out"
            )
    return () if found is None else found[1]


def _plain(text: str) -> str:
    return fold("".join(text.split()).replace("`", ""))


def reset_actions(table: Table, wanted: Layout) -> list[str]:
    """Return the actions of ALTER TABLE that undo removed configs, and keys with a column that is not a key any more and may be dropped."""
    recorded = _recorded(table)
    gone = recorded - wanted.names
    reset = gone | (_with_lost_columns(table, wanted) & recorded)
    actions = [f"reset {name.replace('_', ' ')}" for name in ("partitioned_by", "sorted_by") if name in reset]
    unset = sorted(name.removeprefix("properties.") for name in gone if name.startswith("properties."))
    if gone and not wanted.names:
        unset.append(CONFIGURED)
    return actions + unset_action(unset)


def _with_lost_columns(table: Table, wanted: Layout) -> set[str]:
    """Return which of `partitioned_by` and `sorted_by` have, in the table, a column that is not wanted there."""
    present = {
        "partitioned_by": {fold(column.name) for column in key_columns(table.columns, table.partition_fields)},
        "sorted_by": {name for key in table.sorting for name in names_in(key.expression)},
    }
    return {kind for kind, names in present.items() if names - {name for key in getattr(wanted, kind) for name in names_in_spark(key)}}


def layout_actions(table: Table, options: Options, wanted: Layout, *, never_inlined: bool = False) -> list[str]:
    """Return the actions of ALTER TABLE that give a table the wanted layout for new rows.

    Args:
        table: the table.
        options: the options of its lake.
        wanted: the layout.
        never_inlined: whether its limit of inlined rows is always 0, because the catalog database cannot store them.
    """
    actions = reset_actions(table, wanted)
    actions += [
        f"set {name.replace('_', ' ')} ({', '.join(keys)})"
        for name, keys in (("partitioned_by", wanted.partitioned_by), ("sorted_by", wanted.sorted_by))
        if keys
    ]
    differing = {}
    for key, value in wanted.with_record.items():
        if is_option(key):
            stored = "0" if never_inlined and key == "data_inlining_row_limit" else stored_value(key, value)
            is_same = options.at(key, "table", table.table_id) == stored
        else:
            is_same = _property(table, key) == value
        if not is_same:
            differing[key] = value
    return actions + set_action(differing)


def key_actions(table: Table, column: DuckLakeColumn, new_type: str) -> list[str]:
    """Return the actions of ALTER TABLE that set those keys of a table again, by their names, that contain a column.

    Between renaming the column and dropping it, they give its place among the keys to a new column with its name.

    Raises:
        DbtRuntimeError: the column is the key of buckets, by which DuckDB finds rows only in files that were written with them.
    """
    fields, changed = table.partition_fields, table.column(column.name)
    keys = quoted_key_texts(table.columns, fields)
    own = [(key, field) for key, field in zip(keys, fields, strict=True) if changed is not None and field.column_id == changed.column_id]
    for key, field in own:
        if bucket_count(field.transform) is not None:
            raise DbtRuntimeError(
                f"column {column.name} of {table.schema_name}.{table.name} is {column.dtype} and cannot become {new_type}: the table is "
                f"partitioned by {key}, and its rows would be in other buckets. Rebuild the table with --full-refresh"
            )
    actions = [f"set partitioned by ({', '.join(keys)})"] if own else []
    if any(fold(column.name) in names_in(key.expression) for key in table.sorting):
        from .plan.sorting import sort_text

        actions.append(f"set sorted by ({', '.join(map(sort_text, table.sorting))})")
    return actions


def attribute_actions(table: Table, source: str, column: DuckLakeColumn) -> list[str]:
    """Return the actions of ALTER TABLE that give a column the comment, the default and the NOT NULL of another one of the table."""
    from .plan.defaults import default_ddl

    old = table.column(source)
    assert old is not None
    actions = [] if old.comment is None else [f"comment {spark_literal(old.comment)}"]
    if old.default is not None:
        actions.append(f"set default {default_ddl(old, old.default)}")
    if not old.nullable:
        actions.append("set not null")
    return [f"alter column {column.quoted} {action}" for action in actions]


def documentation_actions(relation: Relation, tags: Sequence[str] | None, meta: Mapping[str, Any] | None) -> list[str]:
    """Return the actions of ALTER that store dbt's tags and meta with a table or view."""
    wanted = {
        TAGS: json.dumps(list(tags), ensure_ascii=False) if tags else None,
        META: json.dumps(dict(meta), ensure_ascii=False, default=str) if meta else None,
    }
    differing = {key: value for key, value in wanted.items() if _property(relation, key) != value}
    return set_action({key: value for key, value in differing.items() if value is not None}) + unset_action(
        key for key, value in differing.items() if value is None
    )


def set_action(properties: Mapping[str, str]) -> list[str]:
    """Return the action SET TBLPROPERTIES; nothing for no properties."""
    listed = ", ".join(f"{spark_literal(key)} = {spark_literal(value)}" for key, value in properties.items())
    return [f"set tblproperties ({listed})"] if listed else []


def unset_action(names: Iterable[str]) -> list[str]:
    """Return the action UNSET TBLPROPERTIES; nothing for no names."""
    listed = ", ".join(map(spark_literal, names))
    return [f"unset tblproperties ({listed})"] if listed else []


def _recorded(table: Table) -> set[str]:
    """Return the names in the property `dbt.configured`; an earlier version wrote those of options in upper or lower case."""
    names = json.loads(_property(table, CONFIGURED) or "[]")
    prefix = "properties."
    return {prefix + _property_name(name.removeprefix(prefix)) if name.startswith(prefix) else name for name in names}


def _property(relation: Relation, key: str) -> str | None:
    return relation.tags.get(PROPERTY_TAG + key)


def _keys(name: str, given: Any) -> tuple[str, ...]:
    return _bigquery_keys(given) if name in PARTITIONED and isinstance(given, Mapping) else _listed(name, given)


def _bigquery_keys(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a lake for `partition_by` in dbt-bigquery's form, which packages use for every adapter that they do not know.

    Args:
        given: a map with `field`, a column; `data_type`: `date` (the default), `timestamp` or `datetime`; `granularity`: `day` (the
            default), `month`, `year`, or for times `hour`. `copy_partitions` is about how BigQuery replaces partitions, and has no effect.

    Raises:
        DbtRuntimeError: a lake has no such partitions; the message names the config.
    """
    field, kind = given.get("field"), str(given.get("data_type") or "date").lower()
    granularity = str(given.get("granularity") or "day").lower()
    unknown = [name for name in given if name not in _BIGQUERY_FIELDS and given[name]]
    if not isinstance(field, str) or not field:
        raise DbtRuntimeError(f"the config partition_by is a map without a column as its `field`: {dict(given)!r}")
    if kind not in ("date", *_TIMES) or unknown:
        reason = f"{', '.join(unknown)} of the map" if unknown else f"the data_type {kind}"
        raise DbtRuntimeError(
            f"the config partition_by: a lake has no counterpart of {reason} in {dict(given)!r}; "
            f"write a column or an expression, such as {field} or bucket(16, {field})"
        )
    if granularity not in (_PARTS if kind in _TIMES else _PARTS[:3]):
        raise DbtRuntimeError(
            f"the config partition_by: the granularity of a {kind} is {', '.join(_PARTS[: 4 if kind in _TIMES else 3])}, not {granularity}"
        )
    column = field if _PLAIN_NAME.fullmatch(field) else backquoted(field)
    if kind == "date" and granularity == "day":
        return (column,)
    return tuple(f"{part}({column})" for part in _PARTS[: _PARTS.index(granularity) + 1])


def _listed(name: str, given: str | Sequence[str] | None) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else ()
    if (given and not found) or not all(isinstance(key, str) for key in found):
        raise DbtRuntimeError(f"the config {name} must be a column or an expression, or a list of them; it is {given!r}")
    return found
