"""A limit of inlined rows, for tables of which PostgreSQL cannot store inlined rows because a column has the name of a system column."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbt.adapters.ducklake.format.options import Options
from dbt.adapters.ducklake.session import LakeSession
from tests.catalog_objects import table_of
from tests.catalogs import session_on
from tests.places import CatalogPlace

PROPERTIES = "TBLPROPERTIES ('data_inlining_row_limit' = '100')"


@pytest.fixture
def session(place: CatalogPlace) -> Iterator[LakeSession]:
    """A session with a table `plain`, and a table `geo` whose column has the name of a system column of PostgreSQL."""
    with session_on(place.lake()) as opened:
        opened.execute("CREATE TABLE plain (a INT)")
        opened.execute("CREATE TABLE geo (a INT, xmin DOUBLE)")
        yield opened


def limit(session: LakeSession, table: str) -> str | None:
    options: Options = session.catalog.options()
    return options.at("data_inlining_row_limit", "table", table_of(session.catalog.reader(), table).table_id)


@pytest.mark.parametrize("place", [pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True)
@pytest.mark.parametrize(
    "statement",
    [
        "CALL set_option('data_inlining_row_limit', 100)",
        "CALL set_option('data_inlining_row_limit', 100, schema => 'main')",
        "CALL set_option('data_inlining_row_limit', 100, table_name => 'geo')",
        f"ALTER TABLE geo SET {PROPERTIES}",
        f"CREATE OR REPLACE TABLE geo (a INT, xmin DOUBLE) {PROPERTIES}",
        "ALTER TABLE geo UNSET TBLPROPERTIES ('data_inlining_row_limit')",
    ],
)
def test_a_table_with_the_name_of_a_system_column_gets_the_limit_0(session: LakeSession, statement: str) -> None:
    session.execute("CALL set_option('data_inlining_row_limit', 5, table_name => 'plain')")
    session.execute(statement)
    assert (limit(session, "geo"), limit(session, "plain")) == ("0", "5")


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_other_databases_store_the_limit(session: LakeSession) -> None:
    session.execute(f"ALTER TABLE geo SET {PROPERTIES}")
    assert limit(session, "geo") == "100"
    session.execute("ALTER TABLE geo UNSET TBLPROPERTIES ('data_inlining_row_limit')")
    assert limit(session, "geo") is None


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_a_table_with_too_many_columns_for_sqlite_keeps_the_limit_0(session: LakeSession) -> None:
    session.execute(f"CREATE TABLE wide ({', '.join(f'c{number} INT' for number in range(1998))}) {PROPERTIES}")
    assert limit(session, "wide") == "0"
    session.execute("ALTER TABLE wide UNSET TBLPROPERTIES ('data_inlining_row_limit')")
    assert limit(session, "wide") == "0"
