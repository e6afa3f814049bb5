"""The catalog databases for tests, and an empty location for a lake on one of them.

`make test` runs a test whose outcome does not depend on the catalog database on one of them: the first that its module names. Tests marked
`parity` run on all databases that their module names. If DUCKLAKE_TEST_MATRIX is "full" (`make test-all`), all tests do.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.store.settings import CatalogSettings
from dbt.adapters.ducklake.session import Lake, LakeSettings
from tests.fast_files import fast_folder

ENCRYPTED = os.environ.get("DUCKLAKE_TEST_ENCRYPTED", "") == "true"
"""Whether the lakes of the fixtures are encrypted, so that tests that exist cover encrypted files too."""
FULL_MATRIX = os.environ.get("DUCKLAKE_TEST_MATRIX", "") == "full"
NIGHTLY = "NIGHTLY: runs in `make test-all` (DUCKLAKE_TEST_MATRIX=full)"
"""Why `make test` skips a test."""
USUAL_DATABASES: list[Any] = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
"""For modules without `CATALOGS`."""
REFERENCE_DATABASES: list[Any] = [*USUAL_DATABASES, "duckdb"]
"""The databases that DuckDB can use as a catalog."""
EVERY_DATABASE: list[Any] = [*REFERENCE_DATABASES, pytest.param("mysql", marks=pytest.mark.mysql)]
METADATA_SCHEMA_NAME = "my meta"
METADATA_SCHEMA = pytest.param("postgres schema", marks=pytest.mark.postgres)
"""PostgreSQL with a schema for the lake's metadata, for tests that read or write every metadata table."""


@dataclass(frozen=True)
class CatalogPlace:
    """A location for one lake. `path` is an attach string of DuckDB, or the URL of a PostgreSQL or MySQL database."""

    path: str
    data_path: str
    metadata_schema: str | None = None

    def open(self, **more: Any) -> LakeCatalog:
        """Open the lake's catalog, without a session; `more` are other settings."""
        return LakeCatalog.open(CatalogSettings(self.path, self.data_path, metadata_schema=self.metadata_schema, **more))

    def lake(self, **more: Any) -> Lake:
        """Open the lake for sessions; `more` are other settings."""
        return Lake.open(LakeSettings(self.path, self.data_path, metadata_schema=self.metadata_schema, **more))


def selected_databases(databases: Sequence[Any], *, parity: bool = False) -> Sequence[Any]:
    """Return the databases that a test runs on: the first only, unless `parity` is set or the full matrix is requested."""
    return databases if parity or FULL_MATRIX else databases[:1]


def skip_unless_chosen(test: str, variant: int, variants: int) -> None:
    """Skip a variant of a test in `make test`, unless the name of the test chooses it, so that each variant runs with some of the tests.

    Args:
        test: the name of the test without that of the variant.
        variant: the number of the variant, from 0.
        variants: the number of all variants.
    """
    if not FULL_MATRIX and zlib.crc32(test.encode()) % variants != variant:
        pytest.skip(NIGHTLY)


def nightly(*values: Any) -> list[Any]:
    """Return parameters of a test that run in the full matrix only, for the variants of a long test."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]


def nightly_rows(*rows: tuple[Any, ...]) -> list[Any]:
    """Return rows of several parameters that run in the full matrix only."""
    return [pytest.param(*row, marks=pytest.mark.nightly) for row in rows]


def empty_place(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> CatalogPlace:
    path, schema = address_of(database, request)
    return CatalogPlace(path, f"{tmp_path}/files/", schema)


def _folder(request: pytest.FixtureRequest) -> Path:
    folder = fast_folder("lake-")
    request.addfinalizer(lambda: shutil.rmtree(folder, ignore_errors=True))
    return folder


def address_of(database: str, request: pytest.FixtureRequest) -> tuple[str, str | None]:
    """Return an attach string or a URL, and the schema of the metadata tables."""
    match database:
        case "sqlite" | "duckdb":
            return f"ducklake:{database}:{_folder(request)}/lake.{database}", None
        case "postgres schema":
            return request.getfixturevalue("postgres_url"), METADATA_SCHEMA_NAME
    return request.getfixturevalue(f"{database}_url"), None
