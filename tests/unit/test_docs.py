"""The catalog of `dbt docs generate` as an agate table."""

from __future__ import annotations

from types import SimpleNamespace

from dbt_common.contracts.metadata import StatsItem

from dbt.adapters.ducklake.docs import Described, catalog_rows


def described(name: str, column: str, comment: str | None, *stats: StatsItem) -> Described:
    relation = SimpleNamespace(schema_name="2024", name=name, comment=comment)
    return Described(relation, ((column, "int", comment),), stats)  # type: ignore[arg-type]


def test_strings_that_look_like_other_types_stay_strings() -> None:
    stats = (StatsItem("row_count", "Rows", 3, True, "Rows"), StatsItem("partitioned_by", "Keys", "007", True, "Keys"))
    table = catalog_rows("1", [described("007", "null", "true", *stats)])

    row = dict(table.rows[0])
    assert [row[f"table_{part}"] for part in ("database", "schema", "name", "comment", "owner")] == ["1", "2024", "007", "true", None]
    assert (row["column_name"], row["column_comment"], row["column_index"]) == ("null", "true", 1)
    assert (row["stats:row_count:value"], row["stats:partitioned_by:value"]) == (3, "007")


def test_the_catalog_of_no_relations_has_no_rows() -> None:
    assert len(catalog_rows("lake", []).rows) == 0
