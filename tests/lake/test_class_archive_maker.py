"""The maker of class archives leaves nothing in the folder of archives, so that a later maker can work there."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.ducklake.spark.session.class_archive import ClassArchive
from dbt.adapters.ducklake.spark.session.class_archive_maker import _require_usable
from dbt.adapters.ducklake.spark.session.java import find_java
from dbt.adapters.ducklake.spark.session.jvm import spark_home


def test_an_unusable_archive_is_refused_each_time(tmp_path: Path) -> None:
    archive = ClassArchive(str(find_java().home), str(spark_home()), "key")
    for _ in range(2):
        with pytest.raises(OSError, match="the archive cannot be used"):
            _require_usable(archive, tmp_path / "missing.jsa")
    assert list(tmp_path.iterdir()) == []
