"""The modules of the adapter and what they import. `python -m tests.modules [FOLDER]` prints their number, size and imports of a checkout."""

from __future__ import annotations

import ast
import functools
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

PREFIX = "dbt.adapters.ducklake."
ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dbt" / "adapters" / "ducklake"
SMALL = 70
"""A module with fewer lines is small."""


def modules(package: Path = PACKAGE) -> list[Path]:
    """Return the files of all modules."""
    return sorted(package.rglob("*.py"))


@functools.cache
def imports(path: Path, *, types: bool = False, package: Path = PACKAGE) -> list[str]:
    """Return the absolute name of each module and member that a file imports.

    Args:
        path: the file.
        types: whether to return also what it imports for type checking only.
        package: the folder of the adapter's package.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    parents = [*PREFIX.rstrip(".").split("."), *path.relative_to(package).parts[:-1]]
    guarded = {
        id(node)
        for block in ([] if types else ast.walk(tree))
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for node in ast.walk(block)
    }
    found: list[str] = []
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = parents[: len(parents) - node.level + 1] if node.level else []
            found += [".".join([*base, *([node.module] if node.module else []), alias.name]) for alias in node.names]
    return found


def graph(package: Path = PACKAGE) -> dict[str, set[str]]:
    """Return the other modules that each module imports, for type checking too, by their names below `dbt.adapters.ducklake`."""
    names = {
        ".".join(part for part in path.relative_to(package).with_suffix("").parts if part != "__init__"): path for path in modules(package)
    }
    found: dict[str, set[str]] = {}
    for name, path in names.items():
        imported = [each.removeprefix(PREFIX) for each in imports(path, types=True, package=package) if each.startswith(PREFIX)]
        found[name] = {each if each in names else each.rpartition(".")[0] for each in imported} & names.keys() - {name, ""}
    return found


def importers(modules_and_imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Return the modules that import each module."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, imported in modules_and_imports.items():
        for each in imported:
            found[each].add(name)
    return found


def small_with_one_importer(package: Path = PACKAGE) -> set[str]:
    """Return the small modules that only one module imports, one of the same package."""
    users = importers(graph(package))
    found = set()
    for name, by in users.items():
        path = package.joinpath(*name.split(".")).with_suffix(".py")
        package_name = name.rpartition(".")[0]
        is_neighbor = len(by) == 1 and package_name in (next(iter(by)), next(iter(by)).rpartition(".")[0])
        if is_neighbor and path.is_file() and path.read_text(encoding="utf-8").count("\n") < SMALL:
            found.add(name)
    return found


def _report(package: Path) -> str:
    found = graph(package)
    users = importers(found)
    arrows = {(name.split(".")[0], each.split(".")[0]) for name, imported in found.items() for each in imported}
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in modules(package))
    one = sum(1 for name, by in users.items() if len(by) == 1 and package.joinpath(*name.split(".")).with_suffix(".py").is_file())
    return (
        f"{len(found)} modules, {lines} lines, {one} with one importer, {len(small_with_one_importer(package))} of them small and in its package, "
        f"{sum(1 for source, target in arrows if source != target)} arrows between the parts of the adapter"
    )


if __name__ == "__main__":
    print(_report(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT).resolve() / "dbt" / "adapters" / "ducklake"))
