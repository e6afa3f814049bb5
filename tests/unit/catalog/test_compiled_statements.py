"""SQLAlchemy keeps compiled statements: their number and length must not grow with the schema versions of a table."""

from __future__ import annotations

import gc
from pathlib import Path

from sqlalchemy.engine.base import Engine

from dbt.adapters.ducklake.format.objects import Table
from tests.places import CatalogPlace


def test_no_statement_is_kept_for_a_set_of_inlined_tables(tmp_path: Path) -> None:
    with CatalogPlace(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/").lake() as lake, lake.session() as session:
        session.execute("CREATE TABLE t (id INT)")
        for number in range(5):
            session.execute("INSERT INTO t VALUES " + ", ".join(["(1" + ", NULL" * number + ")"]))
            with session.reading() as transaction:
                table = transaction.find("main", "t")
                assert isinstance(table, Table)
                assert len(transaction.scan_plan(table).inlined) == number + 1
            session.execute(f"ALTER TABLE t ADD COLUMN c{number} INT")
        texts = [
            str(compiled.string)
            for engine in gc.get_objects()
            if isinstance(engine, Engine)
            for compiled in (engine._compiled_cache or {}).values()
        ]
    assert len(texts) > 10
    assert max(len({word for word in text.split('"') if word.startswith("ducklake_inlined_data_")}) for text in texts) == 1
