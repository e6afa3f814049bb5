"""A missing file is a conflict if the catalog no longer lists it. A missing file that the catalog still lists, or the catalog's, is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.errors import EngineError, LakeError, MissingFileError
from dbt.adapters.ducklake.lake.missing_files import removal_conflict
from tests.catalog_objects import COLUMNS, committed, main_of
from tests.places import empty_place
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


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
def test_a_missing_catalog_file_is_an_error_and_is_not_replaced(
    database: str, read_only: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = empty_place(database, request, tmp_path)
    with place.open() as lake:
        create(lake)
    with place.open(read_only=read_only) as lake:
        before = lake.latest()
        file = Path(str(lake.location.file))
        moved = file.rename(file.with_name("moved"))
        with pytest.raises(EngineError, match=f"the catalog file {file} is missing"):
            lake.latest()
        if not read_only:
            with pytest.raises(EngineError, match="is missing"):
                committed(lake, lambda tx: tx.objects.new_table(main_of(tx), "u", COLUMNS))
        assert not file.exists()
        moved.rename(file)
        assert lake.latest() == before
