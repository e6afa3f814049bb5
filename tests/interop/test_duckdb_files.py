"""Features of catalogs in DuckDB files only: rows inlined in DuckDB's own types, and their storage format."""

from __future__ import annotations

from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both
from tests.interop.oracle import connect

CATALOGS = ["duckdb"]


def other_client(catalog: CatalogUnderTest, *statements: str) -> list[tuple[object, ...]]:
    """Return the result of the last statement from a DuckDB that opens the file again and inlines up to ten rows."""
    client = connect(catalog, data_inlining_row_limit=10)
    client.execute("USE lake")
    try:
        return [client.execute(each).fetchall() for each in statements][-1]
    finally:
        client.close()


def test_signed_zeros_are_not_inlined_because_the_file_loses_the_sign(both: Both, catalog: CatalogUnderTest) -> None:
    columns = "(a DOUBLE, b DOUBLE[], c STRUCT(f DOUBLE), d MAP(VARCHAR, DOUBLE))"
    both.spark("CALL set_option('data_inlining_row_limit', 10, schema => 'main')")

    def zeros(signs: str) -> list[str]:
        return [f"CAST('{sign.strip()}0.0' AS DOUBLE)" for sign in signs]

    def theirs(signs: str) -> str:
        a, b, c, d = zeros(signs)
        return f"INSERT INTO theirs VALUES ({a}, [{b}], {{'f': {c}}}, MAP {{'k': {d}}})"

    def ours(signs: str) -> str:
        a, b, c, d = zeros(signs)
        return f"INSERT INTO ours VALUES ({a}, array({b}), named_struct('f', {c}), map('k', {d}))"

    def signs(table: str) -> list[tuple[object, ...]]:
        parts = ", ".join(f"sum(signbit({part})::INT)" for part in ("a", "b[1]", "c.f", "d['k']"))
        return other_client(catalog, f"SELECT {parts} FROM {table}")

    other_client(catalog, f"CREATE TABLE theirs {columns}", theirs("    "), theirs("----"))
    assert signs("theirs") == [(0, 0, 0, 0)]  # a fault of DuckDB: its compression treats -0.0 and 0.0 as equal
    other_client(catalog, f"CREATE TABLE ours {columns}")
    for each in ("    ", "-   ", " -  ", "  - ", "   -"):
        both.spark(ours(each))
    assert signs("ours") == [(1, 1, 1, 1)]
    assert other_client(catalog, "SELECT count(*) FROM ducklake_list_files('lake', 'ours')") == [(4,)]


def test_variants_that_duckdb_inlined_are_read(both: Both, catalog: CatalogUnderTest) -> None:
    """The catalog stores them with types that JSON does not have. DuckDB 1.5 cannot flush nested ones to files."""
    value = "{'d': DATE '2020-01-02', 'n': 1.25::DECIMAL(5, 2), 'l': [1, NULL]}::VARIANT"
    shapes = {
        "v": ("VARIANT", value),
        "l": ("VARIANT[]", f"[{value}, NULL]"),
        "s": ('STRUCT("a b" VARIANT, k INT)', f"{{'a b': {value}, 'k': 1}}"),
    }
    shapes |= {"m": ("MAP(VARCHAR, VARIANT)", f"MAP {{'k': {value}}}"), "x": ("STRUCT(l VARIANT[])[]", f"[{{'l': [{value}]}}, NULL]")}
    shapes |= {"u": ("STRUCT(v VARIANT)", f"{{'v': {value}}}")}
    names = ", ".join(f"{name} {kind}" for name, (kind, _) in shapes.items())
    values = ", ".join(value for _, value in shapes.values())
    other_client(catalog, f"CREATE TABLE t (id INT, {names})", f"INSERT INTO t VALUES (1, {values})", "INSERT INTO t (id) VALUES (2)")
    assert other_client(catalog, "FROM ducklake_list_files('lake', 't')") == []
    leaves = ("v", "l[0]", "s.`a b`", "m['k']", "x[0].l[0]", "u.v")
    shown = ", ".join(f"schema_of_variant({leaf}), to_json({leaf})" for leaf in leaves)
    rows = both.session.execute(f"SELECT {shown} FROM t ORDER BY id").fetch()
    kind, text = "OBJECT<d: DATE, l: ARRAY<BIGINT>, n: DECIMAL(3,2)>", '{"d":"2020-01-02","l":[1,null],"n":1.25}'
    assert rows == [(kind, text) * len(leaves), (None,) * (2 * len(leaves))]
    assert both.session.execute("SELECT l[1] IS NULL, x[1] IS NULL, s.k, is_variant_null(v) FROM t WHERE id = 1").fetch() == [
        (True, True, 1, False)
    ]


def test_inlined_variants_are_flushed_to_files(both: Both, catalog: CatalogUnderTest) -> None:
    other_client(
        catalog, "CREATE TABLE t (id INT, v VARIANT)", "INSERT INTO t VALUES (1, {'a': DATE '2020-01-02'}::VARIANT), (2, NULL), (3, 4)"
    )
    both.spark("CALL set_option('data_inlining_row_limit', 10, table_name => 't')")
    both.spark("INSERT INTO t SELECT 5, parse_json('[1]')")
    both.spark("UPDATE t SET id = id + 10 WHERE id = 2")
    query = "SELECT id, nullif(v::JSON::VARCHAR, 'null'), coalesce(variant_typeof(v), 'VARIANT_NULL') FROM t ORDER BY id"
    before = other_client(catalog, query)
    assert before == [(1, '{"a":"2020-01-02"}', "OBJECT(a)"), (3, "4", "INT32"), (5, "[1]", "ARRAY(1)"), (12, None, "VARIANT_NULL")]
    both.spark("CALL flush_inlined_data(table_name => 't')")
    assert other_client(catalog, query) == before
    assert both.session.execute("SELECT schema_of_variant(v) FROM t WHERE id = 1").fetch() == [("OBJECT<a: DATE>",)]


def test_every_field_of_a_wide_variant_is_found(both: Both, catalog: CatalogUnderTest) -> None:
    names = [f"k{number * 7 % 40}" for number in range(40)]
    wide = "{" + ", ".join(f"'{name}': {number}" for number, name in enumerate(names)) + "}"
    other_client(catalog, "CREATE TABLE t (v VARIANT)", f"INSERT INTO t VALUES ({wide}::VARIANT)")
    fields = [f"variant_get(v, '$.{name}', 'int')" for name in names]
    query = f"SELECT {', '.join(fields)} FROM t"
    assert both.session.execute(query).fetch() == [tuple(range(40))]
    both.spark("CALL flush_inlined_data(table_name => 't')")
    assert both.session.execute(query).fetch() == [tuple(range(40))]
