"""Arrow tables with the types that Spark supports, and the values that they lose or refuse."""

from __future__ import annotations

import pyarrow as pa
import pytest

from dbt.adapters.ducklake.spark.rows.frames import with_spark_types, without_empty_chunks

NANOS, SECONDS = pa.timestamp("ns"), pa.timestamp("s")
FAR = 10**15
"""A second that does not fit 64 bits as microseconds."""


def _nested(shape: str, timestamp: int) -> pa.Array:
    """Return one value that contains 1001 nanoseconds and a timestamp in seconds."""
    pair = pa.StructArray.from_arrays([pa.array([1001], NANOS), pa.array([timestamp], SECONDS)], ["nanos", "seconds"])
    match shape:
        case "list":
            return pa.ListArray.from_arrays([0, 1], pair)
        case "map":
            return pa.MapArray.from_arrays([0, 1], pa.array(["k"]), pair)
    return pair


def test_empty_chunks_are_left_out_because_spark_stops_at_them() -> None:
    table = pa.table({"a": list(range(10))})
    empty = table.schema.empty_table()
    joined = pa.concat_tables([empty, table.slice(0, 3), empty, table.slice(3), empty])
    found = without_empty_chunks(joined)
    assert found.equals(table)
    assert [len(chunk) for chunk in found.column("a").chunks] == [3, 7]
    assert without_empty_chunks(empty).schema == table.schema
    assert without_empty_chunks(pa.table({})).num_columns == 0


@pytest.mark.parametrize("shape", ["struct", "list", "map"])
def test_nanoseconds_are_cut_off_at_any_depth_and_nothing_else_is_lost(shape: str) -> None:
    found = with_spark_types(pa.table({"flat": pa.array([1001], NANOS), "nested": _nested(shape, 5)}))
    assert found.schema.field("flat").type == pa.timestamp("us")
    assert "ns" not in str(found.schema.field("nested").type)
    for far in ({"flat": pa.array([FAR], SECONDS)}, {"nested": _nested(shape, FAR)}):
        with pytest.raises(pa.ArrowInvalid, match="out of bounds"):
            with_spark_types(pa.table(far))
