"""The merge configs of a model, with the names of dbt, dbt-duckdb, dbt-databricks and dbt-athena, as the clauses of one MERGE.

One error lists all mistakes before anything runs. A config that has no effect because of another one is a mistake.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from .foreign_configs import IGNORED_CONFIGS
from .format.identifiers import fold
from .merge_clauses import Clause, Columns, Names, bare, clause_of, problems_of
from .merge_fields import MERGE_CONFIGS, configs_of

_REFUSED = {
    "merge_returning_columns": "MERGE into a lake returns no rows; remove it",
    "merge_with_schema_evolution": "set on_schema_change: append_new_columns instead",
}
_STRINGS, _MAPS, _LISTS, _FLAGS = map(configs_of, (str, dict, list, bool))
_ALLOWED_WITH_CLAUSES = ("merge_clauses", "merge_on_using_columns", "source_alias", "target_alias")
_ALLOWED_WITH_CHANGES = ("merge_update_columns", "merge_exclude_columns")
_ALIASES = (
    ("merge_update_condition", "matched_condition", "update_condition"),
    ("merge_insert_condition", "not_matched_condition", "insert_condition"),
)
_RULES = {
    "replace": "_new_",
    "coalesce": "coalesce(_new_, _old_)",
    "sum": "_new_ + _old_",
    "append": "_new_ || _old_",
    "append_distinct": "array_distinct(_new_ || _old_)",
}
"""dbt-athena's rules for an updated column, as expressions over the source's value (`_new_`) and the table's (`_old_`)."""
_SIDE = re.compile(r"\b(?:_new_|_old_)\b")
"""Only whole words match, because columns may have names such as `first_old_price`."""
_ATHENA_CONDITIONS = ("update_condition", "insert_condition", "delete_condition")
"""Conditions with dbt-athena's aliases for target and source."""
_UPDATE_CONFIGS = (
    "merge_update_columns", "merge_exclude_columns", "merge_update_set_expressions", "merge_update_columns_rules",
    "merge_update_columns_default_rule", "delete_condition", *_ALIASES[0],
)  # fmt: skip
_PLAIN_KEY = re.compile(r"\s*(?:`([^`]+)`|([^\W\d]\w*))\s*")
_UPDATE_SET = re.compile(r"(?is)\s*update\s+set\s+(?!\*)\S")


@dataclass(frozen=True)
class MergePlan:
    """The parts of a model's MERGE."""

    target_alias: str
    source_alias: str
    using: tuple[str, ...]
    """The columns that match rows instead of `unique_key`; if empty, `unique_key` is used."""
    clauses: tuple[str, ...] = field(default=())
    """The clauses WHEN … THEN …, in order."""


def check(
    configs: Mapping[str, Any], unique_key: str | Sequence[str] | None, config_names: Sequence[str] = (), strategy: str = "merge"
) -> None:
    """Check merge configs.

    Args:
        configs: the values of the configs of `MergeConfigs`; None if a config is not set.
        unique_key: the config `unique_key`.
        config_names: the names of all configs of the node, to find misspelled ones.
        strategy: the incremental strategy; `changes` has few of these configs.

    Raises:
        DbtRuntimeError: a config is wrong; the message has a line for each mistake.
    """
    given = {name: value for name, value in configs.items() if value is not None and value != [] and value != {} and value is not False}
    found = [*_unknown_configs(config_names), *_wrong_types(given)]
    if strategy == "changes":
        found += [f"{name} has no effect with the strategy changes" for name in given if name not in _ALLOWED_WITH_CHANGES]
    if not found:
        found = [*_contradictions(given), *_missing_key(given, unique_key), *problems_of(given.get("merge_clauses"))]
    if found:
        raise DbtRuntimeError("The merge configs are unknown or contradict each other:\n" + "\n".join(f"- {line}" for line in found))


def plan(
    configs: Mapping[str, Any],
    unique_key: str | Sequence[str] | None,
    update_columns: Sequence[str],
    target_columns: Sequence[str],
    source_columns: Callable[[], Sequence[str]],
) -> MergePlan:
    """Return the MERGE that the configs ask for.

    Args:
        configs: values that have passed `check`.
        unique_key: the config `unique_key`.
        update_columns: the columns that a matched row gets from the source, as SQL.
        target_columns: the names of the table's columns.
        source_columns: returns the names of the source's columns; called only if a clause matches columns by position.
    """
    names = _names(configs)
    using = _list(configs.get("merge_on_using_columns"))
    keyed = bool(using or _list(unique_key))
    columns = Columns(tuple(target_columns), tuple(update_columns), source_columns)
    clauses: list[str] = []
    excluded: dict[str, list[str]] = {}
    ruled = _rule_expressions(configs, update_columns, {bare(key) for key in using or _list(unique_key)}, names)
    for clause in _clauses(configs, keyed, ruled):
        clauses += clause.render(names, columns, excluded.setdefault(clause.when, []))
    if not clauses:
        raise DbtRuntimeError("The merge configs leave the merge nothing to do: every clause is do_nothing")
    return MergePlan(names.target, names.source, using, tuple(clauses))


def _names(configs: Mapping[str, Any]) -> Names:
    target, source = (
        ("target", "src") if any(configs.get(name) for name in _ATHENA_CONDITIONS) else ("DBT_INTERNAL_DEST", "DBT_INTERNAL_SOURCE")
    )
    return Names(configs.get("target_alias") or target, configs.get("source_alias") or source)


def _rule_expressions(configs: Mapping[str, Any], update_columns: Sequence[str], keys: set[str], names: Names) -> dict[str, str]:
    """Return the expressions of the columns that have a rule, by column as SQL; the default rule does not apply to keys.

    Raises:
        DbtRuntimeError: a rule is for a column that the merge does not update.
    """
    rules = {bare(name): str(rule) for name, rule in (configs.get("merge_update_columns_rules") or {}).items()}
    unknown = set(rules) - {bare(column) for column in update_columns}
    if unknown:
        raise DbtRuntimeError(
            f"merge_update_columns_rules has {', '.join(sorted(unknown))}, which the merge does not update; "
            f"it updates {', '.join(update_columns)}"
        )
    default = configs.get("merge_update_columns_default_rule") or "replace"
    found = {column: rules.get(bare(column), "replace" if bare(column) in keys else default) for column in update_columns}
    return {column: _expression(rule, column, names) for column, rule in found.items() if rule != "replace"}


def _expression(rule: str, column: str, names: Names) -> str:
    sides = {"_new_": names.source, "_old_": names.target}
    return _SIDE.sub(lambda side: f"{sides[side[0]]}.{column}", _RULES.get(rule, rule))


def _clauses(configs: Mapping[str, Any], keyed: bool, ruled: Mapping[str, str]) -> list[Clause]:
    """Return the configured clauses, and dbt's default clauses where none is configured."""
    own = configs.get("merge_update_set_expressions") or {}
    assigned = {bare(name) for name in own}
    expressions = {**{name: text for name, text in ruled.items() if bare(name) not in assigned}, **own}
    update = Clause("matched", "update", "basic", _condition(configs, 0), set_expressions=expressions)
    insert = Clause("not matched", "insert", "by_name", _condition(configs, 1))
    given = configs.get("merge_clauses")
    if given:
        matched = [clause_of("when_matched", each) for each in given.get("when_matched") or []] or ([update] if keyed else [])
        missing = [clause_of("when_not_matched", each) for each in given.get("when_not_matched") or []] or [insert]
        return [*matched, *missing]
    found = []
    if configs.get("delete_condition"):
        found.append(Clause("matched", "delete", "", configs["delete_condition"]))
    if keyed and not configs.get("skip_matched_step"):
        found.append(update)
    if not configs.get("skip_not_matched_step"):
        found.append(insert)
    action = configs.get("not_matched_by_source_action")
    if action:
        found.append(Clause("not matched by source", "sql", "", configs.get("not_matched_by_source_condition"), text=action.strip()))
    return found


def _condition(configs: Mapping[str, Any], kind: int) -> str | None:
    return next((str(configs[name]) for name in _ALIASES[kind] if configs.get(name)), None)


def _unknown_configs(names: Sequence[str]) -> list[str]:
    found = [f"{name} is not supported: {_REFUSED[name]}" for name in names if name in _REFUSED]
    for name in names:
        if name.startswith(("merge_", "matched_", "not_matched_")) and name not in (*MERGE_CONFIGS, *_REFUSED, *IGNORED_CONFIGS):
            similar = get_close_matches(name, MERGE_CONFIGS, 1)
            found.append(f"there is no config {name}" + (f"; did you mean {similar[0]}?" if similar else ""))
    return found


def _wrong_types(given: Mapping[str, Any]) -> list[str]:
    found = [f"{name} must be a string; it is {given[name]!r}" for name in _STRINGS if name in given and not isinstance(given[name], str)]
    found += [
        f"{name} must be a list of columns; it is {given[name]!r}"
        for name in _LISTS
        if name in given and not (isinstance(given[name], str) or _is_list_of_strings(given[name]))
    ]
    found += [f"{name} must be true or false; it is {given[name]!r}" for name in _FLAGS if name in given and given[name] is not True]
    found += [f"{name} must be a map; it is {given[name]!r}" for name in _MAPS if name in given and not isinstance(given[name], Mapping)]
    for name in ("source_alias", "target_alias"):
        if isinstance(given.get(name), str) and not re.fullmatch(r"[A-Za-z_]\w*", given[name]):
            found.append(f"{name} must be a plain identifier; it is {given[name]!r}")
    action = given.get("not_matched_by_source_action")
    if isinstance(action, str) and action.strip().lower() != "delete" and not _UPDATE_SET.match(action):
        found.append(f"not_matched_by_source_action must be 'delete' or 'update set column = expression, …'; it is {action!r}")
    return found


def _contradictions(given: Mapping[str, Any]) -> list[str]:
    found = [
        f"{' and '.join(names)} are aliases of one config; set only one of them"
        for names in ([name for name in aliases if name in given] for aliases in _ALIASES)
        if len(names) > 1
    ]
    if "merge_update_columns" in given and "merge_exclude_columns" in given:
        found.append("merge_update_columns and merge_exclude_columns cannot be used together")
    if "merge_clauses" in given:
        others = [name for name in MERGE_CONFIGS if name in given and name not in _ALLOWED_WITH_CLAUSES]
        if others:
            found.append(f"merge_clauses defines all clauses; remove {', '.join(others)}")
    if "skip_matched_step" in given:
        found += [f"{name} has no effect with skip_matched_step" for name in _UPDATE_CONFIGS if name in given]
    if "skip_not_matched_step" in given:
        found += [f"{name} has no effect with skip_not_matched_step" for name in _ALIASES[1] if name in given]
    if "skip_matched_step" in given and "skip_not_matched_step" in given and "not_matched_by_source_action" not in given:
        found.append("skip_matched_step and skip_not_matched_step leave the merge nothing to do")
    if "not_matched_by_source_condition" in given and "not_matched_by_source_action" not in given:
        found.append("not_matched_by_source_condition has no effect: set not_matched_by_source_action too")
    names = _names(given)
    if fold(names.target) == fold(names.source):
        found.append(f"target and source are both called {names.target}")
    return [*found, *_wrong_rules(given)]


def _wrong_rules(given: Mapping[str, Any]) -> list[str]:
    """Return the rules that do not exist, and the columns with both a rule and an expression."""
    rules = dict(given.get("merge_update_columns_rules") or {})
    both = {bare(name) for name in rules} & {bare(name) for name in given.get("merge_update_set_expressions") or {}}
    found = [f"{name} has a rule and an expression in merge_update_set_expressions; set only one of them" for name in sorted(both)]
    if "merge_update_columns_default_rule" in given:
        rules["merge_update_columns_default_rule"] = given["merge_update_columns_default_rule"]
    return found + [
        f"{name}: {rule!r} is not a rule; the rules are {', '.join(_RULES)}, and any SQL of _new_ and _old_"
        for name, rule in rules.items()
        if not isinstance(rule, str) or (rule not in _RULES and re.fullmatch(r"\w*", rule) and rule not in ("_new_", "_old_"))
    ]


def _missing_key(given: Mapping[str, Any], unique_key: str | Sequence[str] | None) -> list[str]:
    keys, using = _list(unique_key), _list(given.get("merge_on_using_columns"))
    if keys and using and {fold(key) for key in keys} != {fold(key) for key in using}:
        return ["unique_key and merge_on_using_columns name different columns; set only one of them"]
    if keys or using:
        return []
    need = [name for name in (*_UPDATE_CONFIGS, "skip_matched_step", "not_matched_by_source_action") if name in given]
    clauses = given.get("merge_clauses") or {}
    if clauses.get("when_matched"):
        need.append("merge_clauses.when_matched")
    if any(isinstance(each, Mapping) and str(each.get("by")).lower() == "source" for each in clauses.get("when_not_matched") or []):
        need.append("merge_clauses.when_not_matched by source")
    return [f"{name} needs unique_key or merge_on_using_columns: without a key no row matches another" for name in need]


def _list(given: str | Sequence[str] | None) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) and given else tuple(given or ())


def _is_list_of_strings(given: Any) -> bool:
    return isinstance(given, Sequence) and all(isinstance(each, str) for each in given)


def missing_keys(unique_key: str | Sequence[str] | None, columns: Sequence[str]) -> list[str]:
    """Return the plain names in a `unique_key` that are not columns, ignoring case."""
    known = {fold(name) for name in columns}
    given = [unique_key] if isinstance(unique_key, str) else list(unique_key or ())
    names = [match[1] or match[2] for match in map(_PLAIN_KEY.fullmatch, given) if match]
    return [name for name in names if fold(name) not in known]
