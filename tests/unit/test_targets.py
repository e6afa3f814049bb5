"""Other targets of a profile: errors name the target, their lakes are attached once, and names are completed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import ConfigurationError, StatementError
from dbt.adapters.ducklake.session import Lake, LakeSettings
from dbt.adapters.ducklake.targets import attach_to_read, name_in_target, target_credentials


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"endpiont": "x"}, "the profile has the unknown field `endpiont`"),
        ({"path": ""}, "no `path`"),
        ({"threads_": 1, "path": 5}, "unknown field `threads_`"),
        ({"read_only": "maybe"}, "`read_only` must be"),
        ({"data_inlining_row_limit": -1}, "`data_inlining_row_limit` must be 0"),
    ],
)
def test_an_error_in_a_target_names_it(field: dict[str, Any], message: str) -> None:
    prod = {"type": "ducklake", "path": "lake.sqlite", "schema": "main", **field}
    with pytest.raises(ConfigurationError, match=f"^the target prod of the profile shop: .*{message}"):
        target_credentials({"target": "dev", "outputs": {"prod": prod}}, "shop", "prod")


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    with Lake.open(LakeSettings(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")) as opened:
        yield opened


def test_a_lake_is_attached_once_at_each_snapshot(lake: Lake, tmp_path: Path) -> None:
    other = LakeSettings(f"ducklake:sqlite:{tmp_path}/other.sqlite", f"{tmp_path}/other/")
    first, second = replace(other, snapshot_version=1), replace(other, snapshot_version=2)
    assert [attach_to_read(lake, each, "prod") for each in (first, first, other, second, other, first)] == [
        *("prod", "prod", "prod_", "prod__", "prod_", "prod")
    ]
    assert attach_to_read(lake, lake.settings, "prod") == "lake"
    assert lake.names == ("lake", "prod", "prod_", "prod__")


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (None, "`prod`.`shop`.`orders`"),
        ("b", "`prod`.`shop`.`b`"),
        ("`a.b`", "`prod`.`shop`.`a.b`"),
        ("s.`b c`", "`prod`.`s`.`b c`"),
    ],
)
def test_the_name_of_a_relation_is_completed(other: str | None, expected: str) -> None:
    assert name_in_target("prod", "shop", other, ("DEV", "orders"), "dev") == expected


def test_a_table_of_another_schema_keeps_it() -> None:
    assert name_in_target("prod", "shop", None, ("raw", "orders"), "dev") == "`prod`.`raw`.`orders`"
    with pytest.raises(StatementError, match="was not expected here"):
        name_in_target("prod", "shop", "a b", ("raw", "orders"), "dev")
