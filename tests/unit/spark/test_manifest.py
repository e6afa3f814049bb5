"""The list of files for Spark is in the scratch folder for as long as Spark reads it; programs may have removed the folder."""

from __future__ import annotations

import shutil
from pathlib import Path

from dbt.adapters.ducklake.spark.read.manifest import manifest


def test_a_removed_scratch_folder_is_made_again(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    for _ in range(2):
        with manifest(scratch, [("/lake/main/t/a.parquet", 7)]) as listed:
            assert "/lake/main/t/a.parquet" in (listed / "_spark_metadata" / "0").read_text()
            assert scratch.stat().st_mode & 0o777 == 0o700
        assert list(scratch.iterdir()) == []
        shutil.rmtree(scratch)
