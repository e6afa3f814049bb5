"""A struct whose fields are in another order than the column's is stored by the names of its fields."""

from __future__ import annotations

import pytest

from dbt.adapters.ducklake.errors import StatementError
from dbt.adapters.ducklake.session import LakeSession

CATALOGS = ["sqlite"]
"""The result does not depend on the catalog database."""

TURNED = "named_struct('lng', 2, 'lat', 1)"


@pytest.fixture(params=["true", "false"], ids=["ansi", "not ansi"])
def session(request: pytest.FixtureRequest, lake: LakeSession) -> LakeSession:
    lake.execute(f"SET spark.sql.ansi.enabled = {request.param}")
    return lake


def stored(session: LakeSession, query: str = "SELECT to_json(p) FROM t ORDER BY id") -> list[str]:
    return [row[0] for row in session.execute(query).fetch()]


KINDS = ["INT", "BIGINT", "STRING", "TINYINT"]


@pytest.mark.parametrize("rows", ["VALUES (1, {})", "SELECT 1, {}", "SELECT id, {} FROM range(1, 2)"])
def test_an_inserted_struct_is_stored_by_name(session: LakeSession, rows: str) -> None:
    session.execute(f"CREATE TABLE t (id INT, {', '.join(f'p{n} STRUCT<lat: {kind}, lng: {kind}>' for n, kind in enumerate(KINDS))})")
    session.execute(f"INSERT INTO t {rows.format(', '.join([TURNED] * len(KINDS)))}")

    for number, kind in enumerate(KINDS):
        found = session.execute(f"SELECT CAST(p{number}.lat AS INT), CAST(p{number}.lng AS INT) FROM t").fetch()
        assert found == [(1, 2)], kind


def test_updates_and_merges_store_by_name(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT, p STRUCT<lat: INT, lng: INT>)")
    session.execute("INSERT INTO t SELECT id, NULL FROM range(3)")
    session.execute(f"UPDATE t SET p = {TURNED} WHERE id = 0")
    source = f"(SELECT id, {TURNED} AS p FROM range(1, 5))"
    session.execute(
        f"MERGE INTO t USING {source} s ON t.id = s.id WHEN MATCHED AND t.id = 1 THEN UPDATE SET p = s.p "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )

    assert stored(session) == ['{"lat":1,"lng":2}'] * 5


DEEP = [
    ("ARRAY<STRUCT<lat: INT, lng: INT>>", f"array({TURNED}, NULL)", '[{"lat":1,"lng":2},null]'),
    ("MAP<STRING, STRUCT<lat: INT, lng: INT>>", f"map('k', {TURNED})", '{"k":{"lat":1,"lng":2}}'),
    ("STRUCT<at: STRUCT<lat: INT, lng: INT>, z: INT>", f"named_struct('at', {TURNED}, 'z', 3)", '{"at":{"lat":1,"lng":2},"z":3}'),
    ("STRUCT<at: STRUCT<lat: INT, lng: INT>, z: INT>", f"named_struct('Z', 3, 'AT', {TURNED})", '{"at":{"lat":1,"lng":2},"z":3}'),
    ("STRUCT<lat: INT, lng: STRING>", "named_struct('lng', 'east', 'lat', 1)", '{"lat":1,"lng":"east"}'),
    ("STRUCT<lat: INT, lng: INT>", "named_struct('x', 1, 'y', 2)", '{"lat":1,"lng":2}'),  # other names: by position
    ("STRUCT<lat: INT, lng: INT>", "struct(1, 2)", '{"lat":1,"lng":2}'),
    ("STRUCT<id: BIGINT, lng: INT>", "struct(id, 2)", '{"id":0,"lng":2}'),  # its fields are id and col2
    ("ARRAY<STRUCT<a: INT, b: INT>>", "arrays_zip(array(1), array(2))", '[{"a":1,"b":2}]'),  # its fields are 0 and 1
]
"""Type, a value, and how it is stored."""


def test_structs_at_any_depth_are_stored_by_name(session: LakeSession) -> None:
    session.execute(f"CREATE TABLE t (id INT, {', '.join(f'p{number} {kind}' for number, (kind, _, _) in enumerate(DEEP))})")
    session.execute(f"INSERT INTO t SELECT id, {', '.join(value for _, value, _ in DEEP)} FROM range(1)")

    ((*found,),) = session.execute(f"SELECT {', '.join(f'to_json(p{number})' for number in range(len(DEEP)))} FROM t").fetch()
    for text, (kind, value, expected) in zip(found, DEEP, strict=True):
        assert text == expected, (kind, value)


def test_keys_of_maps_are_stored_by_name(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT, p MAP<STRUCT<lat: INT, lng: INT>, INT>)")
    session.execute(f"INSERT INTO t SELECT id, map({TURNED}, 1) FROM range(1)")

    assert session.execute("SELECT map_keys(p)[0].lat, map_keys(p)[0].lng FROM t").fetch() == [(1, 2)]


def test_no_struct_stays_no_struct(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT, p STRUCT<lat: INT, lng: INT>)")
    session.execute(f"INSERT INTO t SELECT id, IF(id = 0, NULL, {TURNED}) FROM range(2)")

    assert session.execute("SELECT p IS NULL, p.lat FROM t ORDER BY id").fetch() == [(True, None), (False, 1)]


def test_a_table_with_a_constraint_stores_by_name(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT, p STRUCT<lat: INT, lng: INT>, CONSTRAINT north CHECK (p.lat < 2))")
    session.execute(f"INSERT INTO t SELECT id, {TURNED} FROM range(1)")

    assert stored(session) == ['{"lat":1,"lng":2}']


OTHER_NAMES = ["named_struct('lng', 20, 'alt', 30)", "named_struct('alt', 3, 'lat', 1)", "named_struct('lat', 1, 'alt', 2)"]


def test_a_struct_with_some_of_the_names_is_refused(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT, p STRUCT<lat: INT, lng: INT>)")
    session.execute(f"INSERT INTO t SELECT id, {TURNED} FROM range(1)")
    for change in ("INSERT INTO t SELECT id, {} FROM range(1)", "UPDATE t SET p = {}"):
        for value in OTHER_NAMES:
            with pytest.raises(StatementError, match="column p has the fields lat, lng, and its new value has"):
                session.execute(change.format(value))

    assert stored(session) == ['{"lat":1,"lng":2}']
