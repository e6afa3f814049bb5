"""Format versions: which are written, read and refused, and the merged files of older ones."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.versions import CURRENT, OLDER, is_older, pieces_of, row_limit


def test_older_versions_are_recognized() -> None:
    assert not is_older(CURRENT)
    assert all(is_older(version) for version in OLDER)


def test_other_versions_are_refused() -> None:
    with pytest.raises(LakeError, match="newer dbt-ducklake"):
        is_older("1.1")
    with pytest.raises(LakeError, match="no entry 'version'"):
        is_older(None)


def test_a_snapshot_reads_the_beginning_of_a_merged_file() -> None:
    assert pieces_of("2:1|4:6") == ((2, 1), (4, 6))
    assert [row_limit("2:1|4:6", snapshot) for snapshot in (1, 2, 3, 4, 5)] == [0, 1, 1, None, None]
    assert pieces_of("partial_max:4") == ()
    assert row_limit("partial_max:4", 1) is None
    assert row_limit(None, 1) is None
