"""The config `merge_clauses`, as in dbt-duckdb: check the clauses of a MERGE and render them as SQL."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from .format.identifiers import backquoted, fold, spark_literal

_KEYS = {
    "when_matched": ("action", "mode", "condition", "update", "error_message"),
    "when_not_matched": ("action", "mode", "condition", "by", "insert", "set_expressions", "error_message"),
}
_ACTIONS = {"matched": ("update", "delete"), "not matched": ("insert",), "not matched by source": ("update", "delete")}
_MODES = ("by_name", "by_position", "star", "explicit")
_INNER = {"update": ("include", "exclude", "set_expressions"), "insert": ("columns", "values")}


@dataclass(frozen=True)
class Names:
    """The aliases of target and source in the statement."""

    target: str
    source: str


@dataclass(frozen=True)
class Columns:
    """The columns of both sides."""

    target: tuple[str, ...]
    """The names of the table's columns."""
    updated: tuple[str, ...]
    """The columns that dbt's default update sets, as SQL."""
    source: Callable[[], Sequence[str]]
    """Returns the names of the source's columns."""


@dataclass(frozen=True)
class Clause:
    """A clause WHEN … THEN … of a MERGE."""

    when: str
    """`matched`, `not matched` or `not matched by source`."""
    action: str
    """`update`, `insert`, `delete`, `do_nothing`, `error`, or `sql`, whose action is `text`."""
    mode: str = "by_name"
    """A mode of `merge_clauses`, or `basic`: dbt's default update."""
    condition: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    set_expressions: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    text: str = ""
    """The message of an error, or the action of `sql`."""

    def render(self, names: Names, columns: Columns, excluded: list[str]) -> list[str]:
        """Return the clause as SQL; none if no row can reach it.

        Args:
            names: the aliases of target and source.
            columns: the columns of target and source.
            excluded: conditions of earlier `do_nothing` clauses for the same rows; this clause appends its own if it is one.
        """
        if "true" in excluded:
            return []
        conditions = [*([f"({self.condition})"] if self.condition else []), *(f"not coalesce(({each}), false)" for each in excluded)]
        if self.action == "do_nothing":
            excluded.append(self.condition or "true")
            return []
        head = " and ".join([f"when {self.when}", *conditions])
        return [f"{head} then {self._action(names, columns)}"]

    def _action(self, names: Names, columns: Columns) -> str:
        match self.action:
            case "update":
                return "update set " + self._assignments(names, columns)
            case "insert":
                return self._insert(names, columns)
            case "error":
                return self._error(columns)
            case "sql":
                return self.text
            case _:
                return "delete"

    def _assignments(self, names: Names, columns: Columns) -> str:
        if self.mode == "star":
            return "*"
        if self.mode == "by_position":
            pairs = [f"{backquoted(to)} = {names.source}.{backquoted(from_)}" for to, from_ in _by_position(columns)]
            return ", ".join(pairs)
        if self.when == "not matched by source":
            copied: Sequence[str] = ()
        elif self.mode == "basic":
            copied = columns.updated
        else:
            copied = _selected(columns.target, self.include, self.exclude)
        own = {bare(name) for name in self.set_expressions}
        pairs = [f"{name} = {expression}" for name, expression in self.set_expressions.items()]
        pairs += [f"{name} = {names.source}.{name}" for name in copied if bare(name) not in own]
        return ", ".join(pairs)

    def _insert(self, names: Names, columns: Columns) -> str:
        if self.mode == "star":
            return "insert *"
        if self.mode == "explicit":
            return f"insert ({', '.join(self.columns)}) values ({', '.join(self.values)})"
        pairs = _by_position(columns) if self.mode == "by_position" else [(name, name) for name in columns.target]
        values = ", ".join(f"{names.source}.{backquoted(name)}" for _, name in pairs)
        return f"insert ({', '.join(backquoted(name) for name, _ in pairs)}) values ({values})"

    def _error(self, columns: Columns) -> str:
        failing = f"raise_error({spark_literal(self.text or f'a row is {self.when}, which the clause refuses')})"
        first = backquoted(columns.target[0])
        return f"insert ({first}) values ({failing})" if self.when == "not matched" else f"update set {first} = {failing}"


def clause_of(place: str, given: Mapping[str, Any]) -> Clause:
    """Convert a clause that `problems_of` accepts; `place` is `when_matched` or `when_not_matched`."""
    condition = given.get("condition")
    if condition and not isinstance(condition, str):
        condition = " and ".join(f"({each})" for each in condition)
    update, insert = given.get("update") or {}, given.get("insert") or {}
    return Clause(
        _when(place, given),
        given["action"],
        given.get("mode") or ("explicit" if update or insert else "by_name"),
        condition or None,
        tuple(update.get("include") or ()),
        tuple(update.get("exclude") or ()),
        update.get("set_expressions") or given.get("set_expressions") or {},
        tuple(insert.get("columns") or ()),
        tuple(map(str, insert.get("values") or ())),
        given.get("error_message") or "",
    )


def problems_of(clauses: Any) -> list[str]:
    """Return a message for each mistake in the config `merge_clauses`; none if it is correct."""
    if not clauses:
        return []
    found = [f"merge_clauses may contain only when_matched and when_not_matched, not {key}" for key in clauses if key not in _KEYS]
    for place in _KEYS:
        listed = clauses.get(place)
        if listed is None:
            continue
        if isinstance(listed, str | Mapping) or not isinstance(listed, Sequence) or not listed:
            found.append(f"merge_clauses.{place} must be a list of clauses; it is {listed!r}")
            continue
        for index, clause in enumerate(listed):
            where = f"merge_clauses.{place}[{index}]"
            found += [f"{where} {problem}" for problem in (_problems(place, clause) if isinstance(clause, Mapping) else ["is not a map"])]
    return found


def _problems(place: str, clause: Mapping[str, Any]) -> list[str]:
    found = [f"has the unknown key {key}; known are {', '.join(_KEYS[place])}" for key in clause if key not in _KEYS[place]]
    if str(clause.get("by", "target")).lower() not in ("source", "target"):
        return [*found, f"has by: {clause['by']}; it must be source or target"]
    when, action, mode = _when(place, clause), clause.get("action"), clause.get("mode")
    allowed = (*_ACTIONS[when], "do_nothing", "error")
    if action not in allowed:
        return [*found, f"has {'no action' if action is None else f'the action {action}'}; when {when} it is one of {', '.join(allowed)}"]
    condition = clause.get("condition")
    if (
        condition
        and not isinstance(condition, str)
        and not (isinstance(condition, Sequence) and all(isinstance(c, str) for c in condition))
    ):
        found.append(f"has a condition that is neither a string nor a list of strings: {condition!r}")
    if mode is not None and (mode not in _MODES or action not in ("update", "insert")):
        found.append(f"has the mode {mode}; an update or insert has one of {', '.join(_MODES)}")
    if "error_message" in clause and action != "error":
        found.append(f"has an error_message, and its action is {action}")
    for key, inner in _INNER.items():
        value = clause.get(key)
        if value is None:
            continue
        if action != key:
            found.append(f"has {key}, which only a clause with the action {key} may have")
            continue
        if not isinstance(value, Mapping):
            found.append(f"has {key}, which must be a map; it is {value!r}")
            continue
        found += [f"has the unknown {key}.{name}; known are {', '.join(inner)}" for name in value if name not in inner]
        if mode not in (None, "explicit"):
            found.append(f"has {key}, which is for the mode explicit, not {mode}")
    return found + _problems_of_values(when, clause)


def _problems_of_values(when: str, clause: Mapping[str, Any]) -> list[str]:
    """Return the problems of values of wrong types, of lists that do not fit each other, and of missing values."""
    found = _wrong_types(clause)
    if found:
        return found
    update, insert = clause.get("update"), clause.get("insert")
    if isinstance(update, Mapping) and update.get("include") and update.get("exclude"):
        found.append("has update.include and update.exclude, which cannot be used together")
    if clause.get("action") == "insert" and clause.get("mode") == "explicit" and not insert:
        found.append("is explicit and needs insert: {columns: […], values: […]}")
    if isinstance(insert, Mapping) and len(insert.get("columns") or ()) != len(insert.get("values") or ()):
        found.append(f"names {len(insert.get('columns') or ())} columns and {len(insert.get('values') or ())} values")
    elif isinstance(insert, Mapping) and not insert.get("columns"):
        found.append("has an insert without columns")
    expressions = clause.get("set_expressions")
    if expressions is not None and (
        when != "not matched by source" or clause.get("action") != "update" or not isinstance(expressions, Mapping)
    ):
        found.append("has set_expressions, which must be a map for updates by source; for matched rows it belongs in update")
    if when == "not matched by source" and clause.get("action") == "update" and not expressions:
        found.append("updates rows that no row of the source matches, so it needs set_expressions")
    if when == "not matched by source" and clause.get("mode"):
        found.append(f"has the mode {clause['mode']}; without a row of the source there is nothing to copy")
    return found


def _wrong_types(clause: Mapping[str, Any]) -> list[str]:
    """Return the problems of lists and maps inside `update` and `insert`; a string would be read as the list of its letters."""
    found = []
    for key, names in (("update", ("include", "exclude")), ("insert", ("columns", "values"))):
        inner = clause.get(key)
        if not isinstance(inner, Mapping):
            continue
        for name in names:
            value = inner.get(name) or ()
            if isinstance(value, str) or not isinstance(value, Sequence):
                found.append(f"has {key}.{name}, which must be a list; it is {value!r}")
    update = clause.get("update")
    if isinstance(update, Mapping) and not isinstance(update.get("set_expressions") or {}, Mapping):
        found.append("has update.set_expressions, which must be a map of columns and expressions")
    return found


def _when(place: str, clause: Mapping[str, Any]) -> str:
    if place == "when_matched":
        return "matched"
    return "not matched by source" if str(clause.get("by", "")).lower() == "source" else "not matched"


def _selected(columns: Sequence[str], include: Sequence[str], exclude: Sequence[str]) -> list[str]:
    if include:
        return list(include)
    left_out = {bare(name) for name in exclude}
    return [backquoted(name) for name in columns if bare(name) not in left_out]


def _by_position(columns: Columns) -> list[tuple[str, str]]:
    source = columns.source()
    if len(source) != len(columns.target):
        raise DbtRuntimeError(f"merge_clauses by_position: the model has {len(source)} columns and its table {len(columns.target)}")
    return list(zip(columns.target, source, strict=True))


def bare(name: str) -> str:
    """Return a column's name for comparison: without quotes, in folded case."""
    return fold(name.strip().strip('`"'))
