"""The frozen lakes of `tests/lakes`, each copied to where it can be opened, with the rows that the DuckDB release that wrote it reads."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LAKES = Path(__file__).parent / "lakes"
OLDER = ("0.1", "0.2", "0.3", "0.4")


@dataclass(frozen=True)
class FrozenLake:
    """A copy of a frozen lake. `path` is the attach string for both DuckDB and this adapter."""

    version: str
    path: str
    file: Path
    data_path: str
    snapshots: dict[int, dict[str, Any]]
    """Maps a snapshot to a map of "schema.name" to columns and rows."""
    metadata_schema: str | None = None

    def content(self) -> str:
        """Return a hash of the catalog's bytes."""
        return hashlib.sha256(self.file.read_bytes()).hexdigest()


def thaw(version: str, kind: str, target: Path) -> FrozenLake:
    """Copy a frozen lake into an empty directory and set its data path to the copied files."""
    source = LAKES / f"{version}-{kind}"
    shutil.copytree(source, target, dirs_exist_ok=True)
    data_path = f"{target}/files/"
    expected = json.loads((source / "expected.json").read_text())
    if kind == "sqlite":
        file = target / "lake.sqlite"
        path = f"ducklake:sqlite:{file}"
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'", [data_path])
        connection.close()
    else:
        import duckdb

        file = target / "lake.duckdb"
        path = f"ducklake:{file}"
        file.write_bytes(gzip.decompress((target / "lake.duckdb.gz").read_bytes()))
        with duckdb.connect(str(file)) as catalog:
            catalog.execute("UPDATE ducklake_metadata SET value = ? WHERE key = 'data_path'", [data_path])
    return FrozenLake(version, path, file, data_path, {int(key): value for key, value in expected["snapshots"].items()})
