"""A statement and a commit report the files that they themselves wrote."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.session import Lake, LakeSettings


def settings(folder: Path, name: str) -> LakeSettings:
    return LakeSettings(f"ducklake:sqlite:{folder}/{name}.sqlite", f"{folder}/{name}/", database=name)


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """Two lakes, `lake` and `other`, without inlined rows."""
    with Lake.open(replace(settings(tmp_path, "lake"), attached=(settings(tmp_path, "other"),))) as opened:
        with opened.session() as session:
            for name in opened.names:
                session.execute(f"CREATE TABLE {name}.main.t (n INT)")
                session.execute(f"CALL {name}.set_option('data_inlining_row_limit', '0')")
        yield opened


def test_a_transaction_of_a_staged_run_reports_only_its_own_files(lake: Lake) -> None:
    lake.stage_run()
    for number in range(3):
        with lake.session() as session:
            session.begin()
            session.execute(f"INSERT INTO t VALUES ({number})")
            session.commit()
            assert session.last_commit.written.count == 1


def test_a_file_that_another_transaction_of_the_run_has_added_is_not_added_again(lake: Lake, tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": pa.array([1], pa.int32())}), tmp_path / "added.parquet")
    lake.stage_run()
    with lake.session() as session:
        add = f"CALL lake.add_data_files('t', '{tmp_path}/added.parquet')"
        session.execute(add)
        with pytest.raises(LakeError, match="is already a file of this lake"):
            session.execute(add)


@pytest.mark.parametrize("name", ["lake", "other"])
def test_a_statement_reports_the_files_that_it_wrote_in_any_lake(lake: Lake, name: str) -> None:
    with lake.session() as session:
        session.execute(f"INSERT INTO {name}.main.t VALUES (1)")
        session.begin()
        for _ in range(2):
            written = session.execute(f"INSERT INTO {name}.main.t VALUES (2)").written
            assert (written.count, written.size_bytes > 0) == (1, True)
