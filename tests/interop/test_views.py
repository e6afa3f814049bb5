"""Views in DuckDB's dialect: those that can be translated are read, and each of the others is refused on its own."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import LakeError
from tests.interop.conftest import Both

CATALOGS = ["sqlite"]
READ = {
    "plain": "SELECT a, upper(b) AS b FROM t WHERE a >= 2",
    "casts": "SELECT a::VARCHAR || '!' AS note FROM t",
    "on_view": "SELECT count(*) AS n FROM plain",
}
REFUSED = {
    "pivoted": "PIVOT t ON a IN (1, 2) USING count(*)",
    "joined": "SELECT * FROM t POSITIONAL JOIN t AS other",
    "of_files": "SELECT * FROM duckdb_settings()",
    "on_refused": "SELECT * FROM pivoted",
}


def test_views_are_refused_one_by_one(both: Both) -> None:
    both.duckdb("CREATE TABLE t AS SELECT i AS a, 'x' || i AS b FROM range(4) s(i)")
    for name, text in {**READ, **REFUSED}.items():
        both.duckdb(f"CREATE VIEW {name} AS {text}")
    for name in READ:
        assert both.rows(f"SELECT * FROM {name}"), name
    for name in REFUSED:
        with pytest.raises(LakeError, match=f"(?i){name.replace('on_refused', 'pivoted')}"):
            both.session.execute(f"SELECT * FROM {name}").fetch()
    listed = {row[1] for row in both.session.execute("SHOW VIEWS").fetch()}
    assert listed >= {*READ, *REFUSED}
    both.spark("DROP VIEW joined")
    both.spark("CREATE OR REPLACE VIEW pivoted AS SELECT a FROM t")
    assert both.rows("SELECT count(*) FROM on_refused") == [(4,)]
