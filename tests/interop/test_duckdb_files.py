"""What only catalogs in DuckDB files have: rows inlined in DuckDB's own types, and its storage beneath them."""

from __future__ import annotations

from tests.catalogs import CatalogUnderTest
from tests.interop.conftest import Both
from tests.interop.oracle import connect

CATALOGS = ["duckdb"]


def other_client(catalog: CatalogUnderTest, *statements: str) -> list[tuple[object, ...]]:
    """What the last statement gives to a DuckDB that opens the file anew and inlines up to ten rows."""
    client = connect(catalog, data_inlining_row_limit=10)
    client.execute("USE lake")
    try:
        return [client.execute(each).fetchall() for each in statements][-1]
    finally:
        client.close()


def test_zeros_with_a_sign_are_not_inlined_because_the_file_loses_it(both: Both, catalog: CatalogUnderTest) -> None:
    columns = "(a DOUBLE, b DOUBLE[], c STRUCT(f DOUBLE), d MAP(VARCHAR, DOUBLE))"
    both.spark("CALL set_option('data_inlining_row_limit', 10, schema => 'main')")

    def zeros(signs: str, word: str = "DOUBLE") -> list[str]:
        return [f"CAST('{sign.strip()}0.0' AS {word})" for sign in signs]

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
    assert signs("theirs") == [(0, 0, 0, 0)]  # the fault: its compression compares values
    other_client(catalog, f"CREATE TABLE ours {columns}")
    for each in ("    ", "-   ", " -  ", "  - ", "   -"):
        both.spark(ours(each))
    assert signs("ours") == [(1, 1, 1, 1)]
    assert other_client(catalog, "SELECT count(*) FROM ducklake_list_files('lake', 'ours')") == [(4,)]
