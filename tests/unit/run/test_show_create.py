"""SHOW CREATE TABLE returns the statement that creates an equal table or view, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dbt.adapters.ducklake.errors import NotFoundError
from dbt.adapters.ducklake.format.leaf_types import LEAF_TYPES
from dbt.adapters.ducklake.format.objects import Table, View
from dbt.adapters.ducklake.session import Lake, LakeSession, LakeSettings

TYPES = ", ".join(f"c{index} {leaf.written[0]}" for index, leaf in enumerate(LEAF_TYPES.values()) if leaf.written)


@pytest.fixture
def session(tmp_path: Path) -> Iterator[LakeSession]:
    with Lake.open(LakeSettings(f"sqlite:///{tmp_path}/lake.sqlite", f"{tmp_path}/files/")) as lake, lake.session() as session:
        yield session
        assert not session.runtime.started


def shown(session: LakeSession, name: str) -> str:
    ((text,),) = session.execute(f"SHOW CREATE TABLE {name}").fetch()
    return str(text)


def definition(session: LakeSession, name: str) -> tuple[Table | View, list[tuple[str, str]]]:
    """Return a table or view without what differs for each new one, and its options."""
    with session.reading() as reader:
        found = reader.find("main", name)
        assert found is not None
        options = [
            (row.key, str(row.value)) for row in reader.options().rows if isinstance(found, Table) and row.scope_id == found.table_id
        ]
    if isinstance(found, View):
        return replace(found, view_id=0, uuid=""), options
    keys = None if found.partitioning is None else replace(found.partitioning, partition_id=0)
    return replace(found, table_id=0, uuid="", partitioning=keys), sorted(options)


@pytest.mark.parametrize(
    "definitions",
    [
        "(id INT)",
        f"({TYPES}, d DECIMAL(12,3), e DECIMAL(30,0))",
        "(a ARRAY<STRUCT<`x.y`: MAP<STRING, UUID>, z: TIMESTAMP_NS COMMENT 'it\\'s'>>, `select` JSON)",
        "(id BIGINT NOT NULL DEFAULT -5 COMMENT 'a \\\\ key', v STRING DEFAULT 'it\\'s', b BINARY DEFAULT X'00FF') COMMENT 'rows; -- signs'",
        "(d DATE DEFAULT DATE'2020-01-02', at TIMESTAMP DEFAULT TIMESTAMP'2020-01-02 03:04:05', z STRING DEFAULT '007')",
        "(id INT, v STRING, `d d` DATE, CONSTRAINT `the key` PRIMARY KEY (id), UNIQUE (v, `d d`))",
        "(id INT, `a b` STRING, at TIMESTAMP) PARTITIONED BY (bucket(4, id), `a b`, day(at)) SORTED BY (`a b` DESC NULLS FIRST, id)",
        "(id INT) TBLPROPERTIES ('own.key' = 'x', parquet_compression = 'zstd')",
    ],
)
def test_the_statement_creates_an_equal_table(session: LakeSession, definitions: str) -> None:
    session.execute(f"CREATE TABLE t {definitions}")
    before, text = definition(session, "t"), shown(session, "t")
    session.execute("DROP TABLE t")
    session.execute(text)

    assert definition(session, "t") == before
    assert shown(session, "lake.main.t") == text


def test_the_statement_is_readable(session: LakeSession) -> None:
    session.execute("CREATE TABLE t (id INT NOT NULL, name STRING COMMENT 'of a person') PARTITIONED BY (name) COMMENT 'people'")

    assert shown(session, "t") == (
        "CREATE TABLE `lake`.`main`.`t` (\n"
        "  `id` INT NOT NULL,\n"
        "  `name` STRING COMMENT 'of a person')\n"
        "PARTITIONED BY (`name`)\n"
        "COMMENT 'people'"
    )


def test_what_does_not_exist_is_an_error(session: LakeSession) -> None:
    with pytest.raises(NotFoundError, match="nothing"):
        session.execute("SHOW CREATE TABLE nothing")
