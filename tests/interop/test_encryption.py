"""Encrypted lakes are refused before anything is written, because the available libraries cannot decrypt their files."""

from __future__ import annotations

import base64
import hashlib
import sqlite3
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow.parquet.encryption import create_decryption_properties

from dbt.adapters.ducklake.errors import LakeError
from tests.catalogs import CatalogUnderTest
from tests.interop.oracle import connect as connect_duckdb


@pytest.fixture
def encrypted(tmp_path: Path) -> CatalogUnderTest:
    """A lake that DuckDB created with ENCRYPTED."""
    place = CatalogUnderTest("sqlite", f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/lake_files/")
    with connect_duckdb(place, encrypted=True) as duck:
        duck.execute("SET force_mbedtls_unsafe = 'true'")  # otherwise DuckDB needs httpfs to write encrypted files
        duck.execute("CREATE TABLE lake.t AS SELECT range AS a FROM range(1000)")
    return place


def test_an_encrypted_lake_is_refused_with_a_reason_and_nothing_is_written(encrypted: CatalogUnderTest, tmp_path: Path) -> None:
    def contents() -> dict[str, str]:
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in tmp_path.rglob("*") if path.is_file()}

    before = contents()
    with pytest.raises(LakeError, match="encrypted; Spark cannot read files that DuckDB encrypted"):
        encrypted.open()
    assert contents() == before


def test_parquet_readers_cannot_decrypt_what_duckdb_encrypts(encrypted: CatalogUnderTest, tmp_path: Path) -> None:
    """DuckDB omits the additional authenticated data of the Parquet specification. If this test fails, encryption can be supported."""
    with sqlite3.connect(tmp_path / "lake.sqlite") as catalog:
        path, key = catalog.execute("SELECT path, encryption_key FROM ducklake_data_file").fetchone()
    file = next((tmp_path / "lake_files").rglob(Path(path).name))
    with pytest.raises(OSError, match="Failed decryption"):
        pq.read_table(file, decryption_properties=create_decryption_properties(footer_key=base64.b64decode(key)))
