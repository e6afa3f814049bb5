"""Renders our macros as dbt would, without a project, a connection or Spark: with dbt's Jinja, its own macros, dbt-spark's, and ours."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dbt.include.global_project as dbt_project
import dbt.include.spark as spark_project
from dbt.adapters.contracts.relation import RelationType
from dbt_common.clients.jinja import get_environment
from dbt_common.exceptions import CompilationError
from dbt_common.exceptions.macros import MacroReturn

import dbt.include.ducklake as our_project
from dbt.adapters.ducklake.column import DuckLakeColumn
from dbt.adapters.ducklake.layout import Layout, layout_of
from dbt.adapters.ducklake.merge_configs import MergePlan, check, plan
from dbt.adapters.ducklake.merge_fields import MERGE_CONFIGS
from dbt.adapters.ducklake.relation import DuckLakeRelation

PREFIXES = ("ducklake", "spark", "default")
_MACRO = "dbt_macro__"


class Config(dict[str, Any]):
    """A node's configuration."""

    def persist_column_docs(self) -> bool:
        return bool(self.get("persist_docs", {}).get("columns"))

    def persist_relation_docs(self) -> bool:
        return bool(self.get("persist_docs", {}).get("relation"))


class Exceptions:
    warnings: list[str]

    def __init__(self) -> None:
        self.warnings = []

    def raise_compiler_error(self, message: str) -> None:
        raise CompilationError(message)

    def warn(self, message: str) -> str:
        self.warnings.append(message)
        return ""


class Adapter:
    """The parts of the adapter that macros use. `calls` records the calls."""

    Column = DuckLakeColumn

    def __init__(self, macros: Macros) -> None:
        self._macros = macros
        self.calls: list[tuple[Any, ...]] = []
        self.columns: dict[str, list[DuckLakeColumn]] = {}
        self.behavior = SimpleNamespace(enable_truthy_nulls_equals_macro=SimpleNamespace(no_warn=False))

    def dispatch(self, name: str, _namespace: str | None = None) -> Callable[..., Any]:
        found: Callable[..., Any] = next(
            self._macros.context[f"{prefix}__{name}"] for prefix in PREFIXES if f"{prefix}__{name}" in self._macros.context
        )
        return found

    def quote(self, identifier: str) -> str:
        return f"`{identifier}`"

    def get_columns_in_relation(self, relation: DuckLakeRelation) -> list[DuckLakeColumn]:
        return self.columns[str(relation.identifier)]

    def layout(self, configs: Any) -> Layout:
        return layout_of(configs)

    def merge_config_names(self) -> tuple[str, ...]:
        return MERGE_CONFIGS

    def check_merge_configs(self, configs: Any, unique_key: Any, known: list[str]) -> str:
        check(configs, unique_key, known)
        return ""

    def merge_plan(self, configs: Any, unique_key: Any, update: list[str], columns: list[str], source: DuckLakeRelation) -> MergePlan:
        return plan(configs, unique_key, update, columns, lambda: [column.name for column in self.get_columns_in_relation(source)])

    def check_foreign_configs(self, _config: Any, _columns: Any) -> str:
        return ""

    def type(self) -> str:
        return "ducklake"

    def __getattr__(self, name: str) -> Callable[..., str]:
        def call(*args: Any, **kwargs: Any) -> str:
            self.calls.append((name, *args, *kwargs.values()))
            return ""

        return call


class Macros:
    """All macros by name. `macros.name(…)` renders one and returns its text with single spaces."""

    def __init__(self) -> None:
        self.context: dict[str, Any] = {}
        self.reset()
        found: dict[str, Callable[..., Any]] = {}
        for project in (dbt_project, spark_project, our_project):
            for path in sorted(Path(project.PACKAGE_PATH, "macros").rglob("*.sql")):
                found |= self._macros_of(path.read_text())
        self._found = found
        self.reset()

    def define(self, text: str) -> None:
        """Add the macros of a file, until `reset`."""
        self.context.update(self._macros_of(text))

    def _macros_of(self, text: str) -> dict[str, Callable[..., Any]]:
        module = get_environment(None, capture_macros=False).from_string(text, globals=self.context).module
        macros = {name.removeprefix(_MACRO): macro for name, macro in vars(module).items() if name.startswith(_MACRO)}
        return {name: self._callable(macro) for name, macro in macros.items() if not name.startswith("statement")}

    def reset(self) -> None:
        """Restore the initial state in the same dictionary, because the templates refer to it."""
        self.config = Config()
        self.statements: list[str] = []
        self.adapter = Adapter(self)
        self.exceptions = Exceptions()
        found = vars(self).get("_found", {})
        self.context.clear()
        self.context.update(
            found,
            dbt=SimpleNamespace(**found),
            adapter=self.adapter,
            config=self.config,
            model=SimpleNamespace(columns={}, language="sql", config=self.config),
            exceptions=self.exceptions,
            api=SimpleNamespace(Column=DuckLakeColumn, Relation=DuckLakeRelation),
            statement=self._statement,
            render=lambda text: text,
            log=lambda *_, **__: "",
            this=relation("model"),
            execute=True,
        )
        self.context["return"] = self._return

    def __getattr__(self, name: str) -> Callable[..., Any]:
        macro = self.context[name]

        def call(*args: Any, **kwargs: Any) -> Any:
            result = macro(*args, **kwargs)
            return one_line(result) if isinstance(result, str) else result

        return call

    def _callable(self, macro: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return macro(*args, **kwargs)
            except MacroReturn as returned:
                return returned.value

        return call

    @staticmethod
    def _return(value: Any) -> None:
        raise MacroReturn(value)

    def _statement(self, *_: Any, caller: Callable[[], str], **__: Any) -> str:
        self.statements.append(one_line(caller()))
        return ""


def one_line(text: str) -> str:
    without_comments = re.sub(r"(?m)^\s*--.*$", "", text)
    return re.sub(r"\s+", " ", without_comments).strip()


def relation(name: str, kind: str = "table") -> DuckLakeRelation:
    return DuckLakeRelation.create(database="lake", schema="main", identifier=name, type=RelationType(kind))


def columns(**types: str) -> list[DuckLakeColumn]:
    return [DuckLakeColumn.from_description(name, kind) for name, kind in types.items()]
