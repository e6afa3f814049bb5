"""Geometries: well-known binary and text, and extents. The texts and bytes are DuckDB's (`ST_AsWKB`, casts to VARCHAR)."""

from __future__ import annotations

import duckdb
import pytest

from dbt.adapters.ducklake.format.geometry import Extent, extent_of, extent_of_json, wkb_of_text

TEXTS = (
    "POINT (1 2)",
    "POINT EMPTY",
    "POINT ZM (1 2 3 4)",
    "LINESTRING Z EMPTY",
    "LINESTRING (0 0, 5.5 -3)",
    "POLYGON ((0 0, 1 0, 1 1, 0 0), (0.1 0.1, 0.2 0.1, 0.2 0.2, 0.1 0.1))",
    "MULTIPOINT (1 2, 3 4)",
    "MULTIPOINT M ((1 2 3))",
    "MULTILINESTRING ((0 0, 1 1), (2 2, 3 3))",
    "MULTIPOLYGON (((0 0, 1 0, 1 1, 0 0)))",
    "GEOMETRYCOLLECTION Z (POINT Z (1 2 3), MULTILINESTRING Z ((0 0 1, 1 1 1)))",
    "GEOMETRYCOLLECTION EMPTY",
)


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_converted_to_the_bytes_of_duckdb(text: str) -> None:
    with duckdb.connect() as duck:
        assert wkb_of_text(text) == duck.execute("SELECT ST_AsWKB(CAST(? AS GEOMETRY))", [text]).fetchone()[0]


@pytest.mark.parametrize("text", ["POINT (1", "POINT (1 2 3)", "CIRCLE (1 2)", "POINT (a b)", "POINT (1 2) x", "", "LINESTRING ((1 2))"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a geometry"):
        wkb_of_text(text)


@pytest.mark.parametrize("text", TEXTS)
def test_bytes_of_a_wrong_length_are_refused(text: str) -> None:
    data = wkb_of_text(text)
    extent_of([data, None])
    for wrong in (data[:-1], data + b"\0", b"\0" + data[1:], b""):
        with pytest.raises(ValueError, match="geometry"):
            extent_of([wrong])


def test_an_extent_is_the_bounding_box_and_the_set_of_types() -> None:
    extent = extent_of([wkb_of_text("POINT (1 2)"), None, wkb_of_text("POINT EMPTY"), wkb_of_text("LINESTRING Z (0 0 7, 5.5 -3 9)")])
    text = (
        '{"bbox": {"xmin": 0.000000, "xmax": 5.500000, "ymin": -3.000000, "ymax": 2.000000, "zmin": 7.000000, "zmax": 9.000000, '
        '"mmin": null, "mmax": null}, "types": ["linestring_z", "point"]}'
    )
    assert extent.to_json() == text
    assert extent_of_json(text) == extent
    assert Extent().union(extent) == extent


@pytest.mark.parametrize("text", ["{}", '{"bbox": {}, "types": null}', '{"bbox": {}, "types": 1}', '{"bbox": [], "types": []}'])
def test_a_damaged_extent_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not the extent"):
        extent_of_json(text)


def test_bounds_are_never_rounded_into_the_box() -> None:
    assert '"xmin": 4e-07' in str(extent_of([wkb_of_text("POINT (0.0000004 1)")]).to_json())
    assert extent_of([wkb_of_text("POINT (1e999 1)")]).to_json() is None
