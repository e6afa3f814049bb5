"""An empty place for a lake on a catalog database, without any session: for tests of the catalog itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.location import parse_location

DATABASES = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]


@dataclass(frozen=True)
class CatalogPlace:
    """`path` is an attach string of DuckDB or the URL of a PostgreSQL database."""

    path: str
    data_path: str
    metadata_schema: str | None = None

    def open(self, **options: Any) -> LakeCatalog:
        location = parse_location(self.path, metadata_schema=self.metadata_schema)
        return LakeCatalog.open(location, data_path=self.data_path, **options)


def empty_place(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    data_path = f"{tmp_path}/files/"
    if database == "sqlite":
        return CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", data_path)
    return CatalogPlace(request.getfixturevalue("postgres_url"), data_path)
