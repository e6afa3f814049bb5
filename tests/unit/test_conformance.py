"""`docs/conformance.md` lists every class of dbt's suite for adapters, with the tests that inherit it or the reason why none does.

`python -m tests.unit.test_conformance` rewrites the page and keeps its reasons.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections import defaultdict
from pathlib import Path

import dbt.tests.adapter as suite

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "conformance.md"
OURS = ROOT / "tests" / "functional" / "adapter"
ROW = re.compile(r"^\| `(?P<module>[\w.]+)` \| `(?P<name>\w+)` \| (?P<answer>.*) \|$")
HEAD = "| Module of `dbt.tests.adapter` | Class | Inherited by, or why not |\n| --- | --- | --- |\n"


def suite_classes() -> dict[type, tuple[str, str]]:
    """Return the classes of dbt's suite that define or inherit a test, without those named `Test…`, which run a base class for PostgreSQL."""
    root = Path(next(iter(suite.__path__)))
    found = {}
    for path in sorted(root.rglob("*.py")):
        short = ".".join(path.relative_to(root).with_suffix("").parts)
        module = importlib.import_module(f"{suite.__name__}.{short}")
        for name, value in vars(module).items():
            if not inspect.isclass(value) or value.__module__ != module.__name__ or name.startswith("Test"):
                continue
            if any(attribute.startswith("test_") for attribute in dir(value)):
                found[value] = (short, name)
    return found


def inherited() -> dict[tuple[str, str], set[str]]:
    """Return our test classes by the class of the suite that they inherit, directly or indirectly."""
    wanted, found = suite_classes(), defaultdict(set)
    for path in sorted(OURS.glob("test_*.py")):
        module = importlib.import_module(f"tests.functional.adapter.{path.stem}")
        for name, value in vars(module).items():
            if name.startswith("Test") and inspect.isclass(value) and value.__module__ == module.__name__:
                for parent in value.__mro__:
                    if parent in wanted:
                        found[wanted[parent]].add(f"{path.stem}::{name}")
    return found


def answer(users: set[str]) -> str:
    """Return the page's text for a class that some of ours inherit: the names of the first few."""
    first = sorted(users)
    more = f" and {len(first) - 2} more" if len(first) > 2 else ""
    return ", ".join(f"`{user}`" for user in first[:2]) + more


def page_rows() -> dict[tuple[str, str], str]:
    """Return the rows of the page."""
    matches = filter(None, map(ROW.match, PAGE.read_text(encoding="utf-8").splitlines()))
    return {(match["module"], match["name"]): match["answer"] for match in matches}


def test_the_page_lists_every_class_of_the_suite() -> None:
    assert set(page_rows()) == set(suite_classes().values())


def test_the_page_names_the_tests_that_inherit_each_class() -> None:
    rows = page_rows()
    assert {key: rows[key] for key in inherited()} == {key: answer(users) for key, users in inherited().items()}


def test_a_class_that_no_test_inherits_has_a_reason() -> None:
    users = inherited()
    without = {key: text for key, text in page_rows().items() if key not in users}
    assert not [key for key, text in without.items() if len(text.split()) < 3 or "::" in text]


def test_the_page_counts_its_rows_correctly() -> None:
    counts = re.search(r"inherits (\d+) of (\d+)", PAGE.read_text(encoding="utf-8"))
    assert counts is not None
    assert [int(count) for count in counts.groups()] == [len(inherited()), len(suite_classes())]


def _write() -> None:
    text, reasons, users = PAGE.read_text(encoding="utf-8"), page_rows(), inherited()
    keys = sorted(suite_classes().values())
    lines = [
        f"| `{module}` | `{name}` | {answer(users[key]) if (key := (module, name)) in users else reasons.get(key, '')} |"
        for module, name in keys
    ]
    text = text[: text.index(HEAD)] + HEAD + "\n".join(lines) + "\n"
    PAGE.write_text(re.sub(r"inherits \d+ of \d+", f"inherits {len(users)} of {len(keys)}", text), encoding="utf-8")


if __name__ == "__main__":
    _write()
