"""A missing file is a conflict if the catalog no longer lists it. A missing file that the catalog still lists is lost."""

from __future__ import annotations

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.errors import LakeError, MissingFileError
from dbt.adapters.ducklake.lake.missing_files import removal_conflict
from tests.unit.catalog.conftest import create, file_of, insert


def missing_file(path: str) -> MissingFileError:
    return MissingFileError("no such file", path)


def test_a_missing_file_that_the_catalog_no_longer_lists_is_a_conflict(sqlite_lake: LakeCatalog) -> None:
    table = create(sqlite_lake)
    for path in (f"{table.path}gone.parquet", f"file://{table.path}k=a%20b/gone.parquet"):
        conflict = removal_conflict(missing_file(path), {}, [sqlite_lake])
        assert conflict is not None
        assert path in str(conflict)


def test_a_missing_file_that_the_catalog_still_lists_is_not_a_conflict(sqlite_lake: LakeCatalog) -> None:
    table = create(sqlite_lake)
    file = file_of(table)
    insert(sqlite_lake, file)
    for path in (file.path, f"file://{file.path}", f"file:{file.path}"):
        assert removal_conflict(missing_file(path), {}, [sqlite_lake]) is None


def test_missing_files_outside_the_data_path_and_other_errors_are_not_conflicts(sqlite_lake: LakeCatalog) -> None:
    table = create(sqlite_lake)
    assert removal_conflict(missing_file("/elsewhere/gone.parquet"), {}, [sqlite_lake]) is None
    assert removal_conflict(missing_file("s3://elsewhere/gone.parquet"), {}, [sqlite_lake]) is None
    assert removal_conflict(LakeError(f"{table.path}gone.parquet"), {}, [sqlite_lake]) is None
    assert removal_conflict(KeyError(f"{table.path}gone.parquet"), {}, [sqlite_lake]) is None
