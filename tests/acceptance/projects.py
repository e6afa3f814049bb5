"""Whole projects, run as a user runs them: the `dbt` command in a separate process, and DuckDB to read the result."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

from tests.duckdb_instances import open_duckdb

Rows = list[tuple[Any, ...]]
DBT = str(Path(sys.executable).with_name("dbt"))


@dataclass(frozen=True)
class Project:
    """A dbt project in a folder that also contains the lake of its profile `ducklake`."""

    folder: Path

    def write_profiles(self, profile: str, outputs: dict[str, dict[str, object]], target: str) -> None:
        """Write profiles.yml. JSON is valid YAML."""
        content = {profile: {"target": target, "outputs": outputs}}
        (self.folder / "profiles.yml").write_text(json.dumps(content, indent=2), encoding="utf-8")

    def ducklake(self, schema: str, threads: int) -> dict[str, object]:
        """Return an output of type `ducklake` with an SQLite catalog in the project's folder."""
        return {
            "type": "ducklake",
            "path": "ducklake:sqlite:lake.sqlite",
            "data_path": "data/",
            "schema": schema,
            "threads": threads,
            "spark": {"fast_start": True},
        }

    def dbt(self, *arguments: str, code: int = 0, program: Sequence[str] = (DBT,)) -> str:
        """Run a dbt command in the folder and return its output. An exit code other than `code` fails the test, with the output as its text."""
        command = [*program, "--no-use-colors", *arguments, "--profiles-dir", "."]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=1800)
        assert done.returncode == code, (
            f"dbt {' '.join(arguments)} ended with {done.returncode}:\n{done.stdout[-6000:]}\n{done.stderr[-2000:]}"
        )
        return done.stdout

    def attach(self, *extensions: str) -> duckdb.DuckDBPyConnection:
        """Open DuckDB with the lake attached as `lake`."""
        connection = open_duckdb("ducklake", "sqlite_scanner", *extensions)
        connection.execute(f"ATTACH 'ducklake:sqlite:{self.folder / 'lake.sqlite'}' AS lake (READ_ONLY)")
        return connection


def in_order(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Sort rows in an order that does not depend on the type of numbers or their last digits."""
    plain = [tuple(float(v) if isinstance(v, Decimal) else v for v in row) for row in rows]
    return sorted(plain, key=lambda row: [f"{v:.4g}" if isinstance(v, float) else str(v) for v in row])


def same_row(ours: Sequence[Any], theirs: Sequence[Any]) -> bool:
    """Return whether two rows have equal values, up to rounding if one of them is not an integer."""
    return len(ours) == len(theirs) and all(map(_same_value, ours, theirs))


def _same_value(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float) or isinstance(theirs, float):
        return ours is not None and theirs is not None and math.isclose(ours, theirs, rel_tol=1e-6, abs_tol=1e-6)
    return bool(ours == theirs)
