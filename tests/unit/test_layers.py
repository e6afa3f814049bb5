"""Imports point down: which package of dbt-ducklake can import which (ARCHITECTURE.md, Layers)."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.modules import PACKAGE, graph, imports, modules, small_with_one_importer

MAY_IMPORT = {
    "errors": set(),
    "format": {"errors"},
    "catalog": {"format", "errors"},
    "spark": {"format", "errors"},
    "sql": {"format", "errors"},
    "translate": {"sql", "format", "errors"},
    "lake": {"catalog", "spark", "translate", "format", "errors"},
    "plan": {"sql", "translate", "format", "errors"},
    "run": {"plan", "lake", "catalog", "spark", "sql", "translate", "format", "errors", "__version__"},
    "report": {"catalog", "format", "errors"},
    "publishing": {"provenance", "session", "format", "errors"},
    "session": {"run", "plan", "lake", "catalog", "spark", "sql", "format", "errors"},
    "cli": {"credentials", "targets", "report", "session", "spark", "sql", "format", "errors", "__version__"},
}
OF_DBT = {"cli", "publishing"}
"""The layers that may import dbt: a command reads a profile, and publishing is a part of the dbt layer."""
MAY_IMPORT_WITHIN = {
    "catalog": {
        "store": set(),
        "staged": set(),
        "read": {"store", "staged"},
        "commit": {"read", "store", "staged"},
        "transaction": {"commit", "read", "store", "staged"},
        "maintenance": {"commit", "read", "store"},
        "lake": {"transaction", "maintenance", "commit", "read", "store"},
    },
    "publishing": {
        "settings": set(),
        "results": {"settings"},
        "plans": {"results", "settings"},
    },
    "spark": {
        "session": set(),
        "encrypted": {"session"},
        "files": {"session", "encrypted"},
        "values": {"session"},
        "errors": {"values", "files"},
        "rows": {"files", "values", "session"},
        "arrow": {"rows", "files", "values"},
        "read": {"rows", "files", "values", "session", "encrypted"},
        "write": {"read", "files", "values", "session", "encrypted"},
    },
}
"""Package → part of it → the other parts that it may import."""
LIBRARY_LAYERS = {
    "sqlalchemy": {"catalog"},
    "sqlglot": {"translate", "plan"},
    "pyspark": {"spark"},
    "py4j": {"spark"},
    "pyarrow": {"spark"},
    "pyroaring": {"format"},
    "mmh3": {"format"},
    "tenacity": {"catalog"},
    "click": {"cli", "selection"},
    "rich": {"cli"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "openlineage": {"lineage_events", "lineage_sender"},
}
TYPES_ONLY = {("session.transacting", "session.lake")}
"""(module, imported module) pairs that close a circle, but only for type checking.

A lake makes its sessions, and a session calls most methods of its lake. A protocol for these would repeat the class `Lake`.
"""
INPUT_AND_OUTPUT = {"asyncio", "http", "io", "pathlib", "shutil", "socket", "sqlite3", "subprocess", "tempfile", "urllib.request"}
SMALL_MODULES = {
    "cli.main": "lists the commands; the package exports it",
    "change_reading": "a part of the adapter class: `impl` would have more than 400 lines",
    "layout_changes": "a part of the adapter class: `impl` would have more than 400 lines",
    "early_start": "`impl` would have more than 400 lines",
    "selection": "`connections` would have more than 400 lines",
    "spark.files.cache": "keeps contents of files of any kind, and `deletes` reads delete files",
    "spark.files.footer_bounds": "changes the bytes of a footer, and `footers` only what PyArrow has parsed",
    "spark.session.clock_changes": "asks Java for time zones, and `plan_types` Spark for types",
    "spark.session.machine": "reads what the kernel says of processors and memory, and `settings` only the profile",
    "sql.values.constants": "one of the modules of values, which the package exports together",
    "storage_secrets": "checks entries of `secrets`, and `credentials` the fields of a profile",
}
"""Modules of fewer than 70 lines that stay by themselves although one module of their package imports them, and why."""
HEAVY_LIBRARIES = {"pyspark", "sqlalchemy", "sqlglot", "pyarrow", "pandas", "tenacity", "openlineage"}


def layer_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path: Path) -> None:
    layer = layer_of(path)
    for name in imports(path):
        if name.startswith("dbt.adapters.ducklake."):
            target = name.split(".")[3]
            if target != layer and layer in MAY_IMPORT:
                assert target in MAY_IMPORT[layer], f"{layer} imports {name}"
            assert target != "cli" or layer == "cli", f"{layer} imports {name}: the command line is above the dbt files"
        root = name.split(".")[0]
        if root == "dbt" and layer in MAY_IMPORT and layer not in OF_DBT:
            assert name.startswith("dbt.adapters.ducklake"), f"{layer} imports {name}: dbt belongs to the dbt layer"


@pytest.mark.parametrize("package", MAY_IMPORT_WITHIN)
def test_imports_inside_a_package_point_down(package: str) -> None:
    for path in sorted((PACKAGE / package).rglob("*.py")):
        part = path.relative_to(PACKAGE / package).parts[0].removesuffix(".py")
        if part == "__init__":
            continue
        for name in imports(path):
            if name.startswith(f"dbt.adapters.ducklake.{package}."):
                target = name.split(".")[4]
                assert target == part or target in MAY_IMPORT_WITHIN[package][part], f"{package}/{part} imports {name}"


def test_no_module_imports_itself_indirectly() -> None:
    """This covers imports inside a package and in the dbt layer, and those for type checking."""
    found = graph()
    for module, imported in TYPES_ONLY:
        found[module].remove(imported)
    try:
        tuple(TopologicalSorter(found).static_order())
    except CycleError as error:
        pytest.fail(f"these modules import one another: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_each_library_is_imported_in_one_place(path: Path) -> None:
    layer = layer_of(path)
    for name in imports(path):
        layers = LIBRARY_LAYERS.get(name.split(".")[0])
        if layers is not None:
            assert layer in layers, f"{layer} imports {name}"


def test_plugin_load_is_light() -> None:
    """Loading the plug-in imports none of the heavy libraries, so that `dbt parse` is fast."""
    import subprocess
    import sys

    code = (
        "import sys; import dbt.adapters.spark; before = set(sys.modules); import dbt.adapters.ducklake; "
        f"print(sorted(({HEAVY_LIBRARIES!r} & set(sys.modules)) - before))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parents[2], check=True)
    assert out.stdout.strip() == "[]"


def test_the_format_does_no_input_or_output() -> None:
    for path in sorted((PACKAGE / "format").rglob("*.py")):
        names = imports(path)
        assert not [name for name in names if any(f"{name}.".startswith(f"{each}.") for each in INPUT_AND_OUTPUT)], path
        calls = [
            node.func.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        assert "open" not in calls, path


def test_a_small_module_with_one_importer_is_a_subject_of_its_own() -> None:
    assert small_with_one_importer() == set(SMALL_MODULES)
