"""The statement of SHOW CREATE TABLE creates a table that DuckDB describes like the one before."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import StatementError
from tests.interop.conftest import Both
from tests.interop.types.cases import CASES

CATALOGS = ["sqlite"]
DESCRIBED = (
    "SELECT column_name, data_type, is_nullable, column_default, comment FROM duckdb_columns() WHERE table_name = 't' ORDER BY column_index"
)


def created_again(both: Both) -> str:
    """Create the table `t` again by the statement that SHOW CREATE TABLE returns, check that nothing has changed, and return it."""
    described = both.duck.execute(DESCRIBED).fetchall()
    ((text,),) = both.session.execute("SHOW CREATE TABLE t").fetch()
    both.spark("DROP TABLE t")
    both.spark(text)
    assert both.duck.execute(DESCRIBED).fetchall() == described
    assert both.session.execute("SHOW CREATE TABLE t").fetch() == [(text,)]
    return str(text)


def test_duckdb_describes_both_tables_alike(both: Both) -> None:
    columns = [f"c{index} {case.duck}" for index, case in enumerate(CASES)]
    columns += [
        "d INTEGER NOT NULL DEFAULT -7",
        "e VARCHAR DEFAULT 'it''s'",
        "f TIMESTAMP DEFAULT '2020-01-02 03:04:05'",
        "g INTEGER DEFAULT 1 + 1",
    ]
    columns += [
        'h STRUCT(a INTEGER, "b c" VARCHAR[])',
        "i MAP(VARCHAR, STRUCT(u UUID))",
        '"select" DECIMAL(38, 10)',
    ]
    both.duckdb(f"CREATE TABLE t ({', '.join(columns)})")
    both.duckdb("COMMENT ON COLUMN t.e IS 'a ''comment'''")
    both.duckdb("ALTER TABLE t SET PARTITIONED BY (bucket(4, d), year(f), e)")
    both.duckdb("ALTER TABLE t SET SORTED BY (lower(e) DESC NULLS LAST, d ASC)")
    text = created_again(both)
    assert "PARTITIONED BY (bucket(4, `d`), year(`f`), `e`)" in text


def test_the_statement_has_the_expressions_of_defaults_and_constraints(both: Both) -> None:
    both.spark("CREATE TABLE t (id INT, n INT DEFAULT 1 + 1, v STRING, CONSTRAINT c CHECK (length(v) < 9))")
    text = created_again(both)
    assert "`n` INT DEFAULT 1 + 1" in text
    assert "CONSTRAINT `c` CHECK (length(v) < 9)" in text


def test_a_default_that_only_duckdb_has_is_an_error(both: Both) -> None:
    both.duckdb("CREATE TABLE t (id INTEGER, b BLOB DEFAULT '\\x00\\xFF'::BLOB)")

    with pytest.raises(StatementError, match=r"the default of column b, .* has no counterpart in Spark; only DuckDB can set it"):
        both.session.execute("SHOW CREATE TABLE t")
