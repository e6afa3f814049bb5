"""A dbt project on an encrypted lake: all materializations, which DuckDB reads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.tests.util import run_dbt, write_file

from tests.interop.oracle import connect as connect_duckdb
from tests.places import CatalogPlace

SEED = "id,name\n1,GEHEIMNIS one\n2,two\n3,three\n"
MODELS = {
    "orders.sql": """{{ config(materialized='table') }}
select s.id, n.id as number, concat(name, n.id) as name from {{ ref('names') }} s cross join (select explode(sequence(1, 1000)) as id) n""",
    "merged.sql": """{{ config(materialized='incremental', unique_key=['id', 'number']) }}
select *, '{{ var("version", "first") }}' as version from {{ ref('orders') }} {% if is_incremental() %} where number < 100 {% endif %}""",
    "counted.py": """
def model(dbt, session):
    dbt.config(materialized='table')
    return dbt.ref('orders').groupBy('name').count().toPandas()
""",
    "shown.sql": "select count(*) as n from {{ ref('merged') }}",
}
SNAPSHOT = """{% snapshot names_history %}{{ config(strategy='check', unique_key='id', check_cols=['name']) }}
select * from {{ ref('names') }}{% endsnapshot %}"""


class TestProject:
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
        folder = tmp_path_factory.mktemp("lake")
        return {
            "type": "ducklake",
            "path": f"ducklake:sqlite:{folder}/lake.sqlite",
            "data_path": f"{folder}/files/",
            "encrypted": True,
            "data_inlining_row_limit": 0,
            "threads": 2,
            "spark": {"master": "local[2]"},
        }

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return MODELS

    @pytest.fixture(scope="class")
    def seeds(self) -> dict[str, str]:
        return {"names.csv": SEED}

    @pytest.fixture(scope="class")
    def snapshots(self) -> dict[str, str]:
        return {"history.sql": SNAPSHOT}

    @pytest.fixture(scope="class")
    def duck(self, project: Any) -> Iterator[Any]:
        target = project.adapter.config.credentials
        connection = connect_duckdb(CatalogPlace(target.path, target.data_path))
        yield connection
        connection.close()

    @pytest.mark.nightly  # `tests/interop/test_encryption.py` has the statements
    def test_build_twice(self, project: Any, duck: Any) -> None:
        schema = f"lake.{project.test_schema}"
        data = Path(project.adapter.config.credentials.data_path)
        run_dbt(["build"])
        write_file(SEED.replace("two", "zwei"), project.project_root, "seeds", "names.csv")
        run_dbt(["build", "--vars", "version: second"])
        counts = duck.execute(f"SELECT version, count(*) FROM {schema}.merged GROUP BY ALL ORDER BY ALL").fetchall()
        assert counts == [("first", 2703), ("second", 297)]
        assert duck.execute(f"SELECT count(*), count(dbt_valid_to) FROM {schema}.names_history").fetchone() == (4, 1)
        assert duck.execute(f"SELECT sum(count) FROM {schema}.counted").fetchone() == (3000,)
        assert run_dbt(["show", "--inline", "select n from {{ ref('shown') }}"]).results[0].agate_table.rows[0][0] == 3000
        found = list(data.rglob("*.parquet"))
        assert len(found) >= 8
        assert all(path.read_bytes()[:4] == path.read_bytes()[-4:] == b"PARE" for path in found)
