"""A rollback of a schema or the lake with concurrent changes: they would survive it, so it does not commit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.transaction.transaction import Transaction
from dbt.adapters.ducklake.errors import ConflictError, NotFoundError
from dbt.adapters.ducklake.lake.context import Context
from dbt.adapters.ducklake.lake.rollback import roll_back
from tests.catalog_objects import COLUMNS, committed, table_of, view_of
from tests.unit.catalog.conftest import create


def no_spark() -> NoReturn:
    raise AssertionError("a rollback needs no Spark")


def rolled_back(lake: LakeCatalog, version: int, schema: str | None) -> Transaction:
    transaction = lake.begin()
    roll_back(Context(lake, transaction, no_spark), lake.resolve(version=version), schema)
    return transaction


@pytest.fixture
def prepared(lake: LakeCatalog) -> LakeCatalog:
    """Snapshot 3 has table `t`, view `v` and schema `s`; snapshot 4 adds `extra`."""
    create(lake)
    committed(lake, lambda tx: tx.objects.new_view(tx.schema("main"), "v", "SELECT 1"))
    committed(lake, lambda tx: tx.objects.new_schema("s"))
    create(lake, "extra")
    return lake


def new_table(schema: str) -> Callable[[Transaction], Any]:
    return lambda tx: tx.objects.new_table(tx.schema(schema), "theirs", COLUMNS)  # type: ignore[arg-type]


def rename(tx: Transaction) -> None:
    tx.objects.put_table(replace(table_of(tx), name="renamed"))


CHANGES = {
    "table": new_table("main"),
    "view": lambda tx: tx.objects.new_view(tx.schema("main"), "theirs", "SELECT 1"),
    "rename": rename,
    "comment": lambda tx: tx.objects.put_view(replace(view_of(tx, "v"), comment="theirs")),
    "drop": lambda tx: tx.objects.drop_view(view_of(tx, "v")),
}


@pytest.mark.parametrize("schema", [None, "main"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_concurrent_change_conflicts_with_the_rollback(prepared: LakeCatalog, schema: str | None, change: str) -> None:
    me = rolled_back(prepared, 3, schema)
    committed(prepared, CHANGES[change])
    before = prepared.latest()
    with pytest.raises(ConflictError, match="cannot roll back"):
        me.commit()
    assert prepared.latest() == before
    rolled_back(prepared, 3, schema).commit()
    assert [name.name for name in prepared.reader().names("main")] == ["t", "v"]
    assert view_of(prepared.reader(), "v").comment is None


def test_a_concurrent_change_in_another_schema(prepared: LakeCatalog) -> None:
    of_main, of_all = rolled_back(prepared, 3, "main"), rolled_back(prepared, 3, None)
    committed(prepared, new_table("s"))
    with pytest.raises(ConflictError, match="cannot roll back the lake: snapshot 5 created a table in it"):
        of_all.commit()
    assert of_main.commit() is not None
    assert {name.name for name in prepared.reader().names()} == {"t", "v", "theirs"}


def test_a_concurrent_new_schema_conflicts_only_with_the_rollback_of_the_lake(prepared: LakeCatalog) -> None:
    of_main, of_all = rolled_back(prepared, 3, "main"), rolled_back(prepared, 3, None)
    committed(prepared, lambda tx: tx.objects.new_schema("theirs"))
    with pytest.raises(ConflictError, match="created a schema"):
        of_all.commit()
    assert of_main.commit() is not None


def test_the_target_snapshot_expires_while_the_rollback_is_planned(prepared: LakeCatalog) -> None:
    """The tables are planned one after the other. The snapshot expires after the first of them."""
    then = prepared.resolve(version=3)
    transaction = prepared.begin()
    earlier = prepared.reader(then)
    table = table_of(earlier)
    earlier.rollback_plan(table, transaction.snapshot)
    prepared.maintenance.expire(versions=[3], dry_run=False)
    with pytest.raises(ConflictError, match="snapshot 3, which this transaction reads, was expired"):
        earlier.rollback_plan(table, transaction.snapshot)
    with pytest.raises(NotFoundError, match="snapshot 3"):
        prepared.resolve(version=3)
