"""Layout configs under our names and those of other adapters."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.ducklake.foreign_configs import config_notes, config_warnings
from dbt.adapters.ducklake.format.objects import PROPERTY_TAG, Column, Table
from dbt.adapters.ducklake.format.options import Options, StoredOption
from dbt.adapters.ducklake.layout import CONFIGURED, layout_actions, layout_of, reset_actions


@pytest.mark.parametrize(
    ("configs", "partitioned", "ordered"),
    [
        ({}, (), ()),
        ({"partition_by": "a", "sort_by": "b desc"}, ("a",), ("b desc",)),
        ({"partitioned_by": ["a"], "partition_by": "A"}, ("a",), ()),
        ({"zorder": ["a", "b"]}, (), ("a", "b")),
        ({"liquid_clustered_by": "a, b", "sorted_by": ["a", "b"]}, (), ("a", "b")),
        ({"clustered_by": ["a"], "buckets": 8}, ("bucket(8, a)",), ()),
        ({"clustered_by": "a", "buckets": "8", "partition_by": ["day(c)", "bucket(8,a)"]}, ("day(c)", "bucket(8,a)"), ()),
        ({"clustered_by": "a", "buckets": 8, "partition_by": "bucket(4, b)"}, ("bucket(4, b)", "bucket(8, a)"), ()),
        ({"clustered_by": ["a", "b"], "buckets": 8}, (), ()),
        ({"cluster_by": ["a"], "partition_by": {"field": "d", "data_type": "date"}}, ("d",), ("a",)),
        ({"partition_by": {"field": "d", "data_type": "DATE", "granularity": "day", "copy_partitions": True}}, ("d",), ()),
        ({"partition_by": {"field": "d", "granularity": "month"}}, ("year(d)", "month(d)"), ()),
        ({"partition_by": {"field": "d", "granularity": "year"}}, ("year(d)",), ()),
        ({"partition_by": {"field": "t s", "data_type": "timestamp"}}, ("year(`t s`)", "month(`t s`)", "day(`t s`)"), ()),
        (
            {"partition_by": {"field": "t", "data_type": "datetime", "granularity": "hour"}},
            ("year(t)", "month(t)", "day(t)", "hour(t)"),
            (),
        ),
        ({"clustered_by": "a"}, (), ()),
        ({"buckets": 8}, (), ()),
    ],
)
def test_other_names_have_the_same_meaning(configs: dict[str, Any], partitioned: tuple[str, ...], ordered: tuple[str, ...]) -> None:
    layout = layout_of(configs)
    assert (layout.partitioned_by, layout.sorted_by) == (partitioned, ordered)


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ({"partitioned_by": "a", "partition_by": "b"}, "partitioned_by and partition_by mean the same and have different values: a and b"),
        ({"sorted_by": "a desc", "zorder": "a"}, "sorted_by and zorder mean the same"),
        ({"sort_by": ["a", "b"], "liquid_clustered_by": ["b", "a"]}, "sort_by and liquid_clustered_by"),
        ({"clustered_by": "a", "buckets": 8, "partition_by": "bucket(4, A)"}, r"ask for bucket\(4, A\) and, by clustered_by and buckets"),
        ({"zorder": {"a": 1}}, "the config zorder must be a column"),
        ({"partition_by": 5}, "the config partition_by must be a column or an expression, or a list of them; it is 5"),
        ({"partition_by": ["a", 5]}, r"the config partition_by must be a column .* it is \['a', 5\]"),
        ({"partition_by": {"data_type": "date"}}, "a map without a column as its `field`"),
        (
            {"partition_by": {"field": "a", "data_type": "int64"}},
            r"no counterpart of the data_type int64 in .*; write a column or an expression",
        ),
        ({"partition_by": {"field": "a", "range": {"start": 0}}}, "no counterpart of range of the map"),
        ({"partition_by": {"field": "a", "granularity": "hour"}}, "the granularity of a date is year, month, day, not hour"),
        ({"clustered_by": True, "buckets": 3}, "the config clustered_by must be a column"),
        ({"tblproperties": 5}, "the config tblproperties must be a map, such as .*; it is 5"),
        ({"options": ["a"]}, r"the config options must be a map, such as .*; it is \['a'\]"),
    ],
)
def test_contradictions_are_refused(configs: dict[str, Any], message: str) -> None:
    with pytest.raises(DbtRuntimeError, match=message):
        layout_of(configs)


def test_warnings_and_notes() -> None:
    assert config_warnings({"clustered_by": "a", "buckets": 8, "sort_by": "a"}) == []
    for half in ({"clustered_by": "a"}, {"buckets": 8}, {"clustered_by": ["a", "b"], "buckets": 8}):
        (warning,) = config_warnings(half)
        assert "do nothing on a lake unless both are given, and only one column" in warning
    assert config_notes({"cluster_by": "a"}) == ["The config `cluster_by` sorts files when they are written, as `sorted_by` does."]
    assert config_notes({"zorder": "a", "sorted_by": "a"}) == [
        "The config `zorder` sorts files when they are written, as `sorted_by` does."
    ]


def test_the_case_of_an_option_has_no_meaning() -> None:
    layout = layout_of({"tblproperties": {"Parquet_Compression": "zstd", "Team": "a"}, "options": {"PARQUET_COMPRESSION": "zstd"}})
    assert layout.names == {"properties.parquet_compression", "properties.Team"}
    with pytest.raises(DbtRuntimeError, match="give parquet_compression two values: zstd and gzip"):
        layout_of({"tblproperties": {"Parquet_Compression": "zstd"}, "options": {"parquet_compression": "gzip"}})


def test_an_option_whose_case_changes_is_not_reset() -> None:
    recorded = json.dumps(["properties.Parquet_Compression", "properties.Team"])
    table: Any = SimpleNamespace(tags={PROPERTY_TAG + CONFIGURED: recorded}, columns=(), partition_fields=(), sorting=())
    assert reset_actions(table, layout_of({"options": {"parquet_compression": "zstd", "Team": "a"}})) == []
    assert reset_actions(table, layout_of({"options": {"Team": "a"}})) == ["unset tblproperties ('parquet_compression')"]


def test_the_limit_of_a_table_whose_rows_cannot_be_inlined_is_in_order_if_it_is_0() -> None:
    wanted = layout_of({"tblproperties": {"data_inlining_row_limit": 100}})
    tags = {PROPERTY_TAG + CONFIGURED: wanted.with_record[CONFIGURED]}
    table = Table(1, "u", "main", "t", "p/", (Column(1, "xmin", "int32"),), 2, tags=tags)
    for stored, never_inlined, is_same in (("0", True, True), ("100", False, True), ("0", False, False), ("100", True, False)):
        options = Options.of([StoredOption("data_inlining_row_limit", stored, "table", 1)])
        assert (layout_actions(table, options, wanted, never_inlined=never_inlined) == []) is is_same
