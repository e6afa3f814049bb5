"""A project on a lake whose files are in an object store: built twice, maintained, and read and written by DuckDB.

It needs an S3 server on which we can create a bucket, and the jars of Hadoop's connector (docs/object-storage.md). `make test-all` starts
moto's server and fetches the jars; another server and other jars are named by variables:

    S3_ENDPOINT=http://127.0.0.1:9000 S3_JARS=…/folder-of-jars pytest tests/acceptance/test_object_storage.py
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from uuid import uuid4

import duckdb
import pytest
from pyarrow.fs import FileSelector, S3FileSystem

from dbt.adapters.ducklake.lake.data_path import MARK
from tests.acceptance.projects import Project, Rows
from tests.duckdb_instances import open_duckdb

pytestmark = pytest.mark.slow
FILES = {
    "seeds/prices.csv": "id,price\n1,1.50\n2,2.50\n3,\n",
    "models/events.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', partitioned_by=['kind'],
                  tblproperties={'data_inlining_row_limit': 0}) }}
        select id, id % 3 as kind, array(id, id + 1) as ids, '{{ var("run") }}' as run
        from range({{ 0 if var("run") == "one" else 50 }}, {{ 100 if var("run") == "one" else 150 }})""",
    "models/totals.sql": "select kind, count(*) as events, sum(price) as price from {{ ref('events') }} left join {{ ref('prices') }} using (id) group by kind",
    "dbt_project.yml": "{name: stored, profile: stored, version: '1.0', flags: {send_anonymous_usage_stats: false}}",
}
READ = "SELECT kind, count(*), sum(id), sum(list_sum(ids)), count(DISTINCT run) FROM lake.main.events GROUP BY kind ORDER BY kind"


@pytest.fixture
def store(s3_endpoint: str) -> S3FileSystem:
    return S3FileSystem(endpoint_override=s3_endpoint, allow_bucket_creation=True)


@pytest.fixture
def stored(project: Project, s3_endpoint: str, s3_jars: str, store: S3FileSystem) -> Project:
    """A project on a lake with its files in a new bucket."""
    bucket = f"lake-{uuid4().hex}"
    store.create_dir(bucket)
    for name, text in FILES.items():
        path = project.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    config = {
        "spark.jars": s3_jars,
        "spark.hadoop.fs.s3a.endpoint": s3_endpoint,
        "spark.hadoop.fs.s3a.path.style.access": True,
    }
    output = project.ducklake("main", threads=2) | {"data_path": f"s3://{bucket}/lake/", "spark": {"fast_start": True, "config": config}}
    project.write_profiles("stored", {"test": output}, "test")
    return project


@pytest.fixture
def duck(stored: Project, s3_endpoint: str) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = open_duckdb("ducklake", "sqlite_scanner", "httpfs")
    connection.execute(
        f"CREATE SECRET (TYPE s3, KEY_ID '{os.environ['AWS_ACCESS_KEY_ID']}', SECRET '{os.environ['AWS_SECRET_ACCESS_KEY']}', "
        f"REGION '{os.environ['AWS_REGION']}', ENDPOINT '{s3_endpoint.partition('://')[2]}', URL_STYLE 'path', "
        f"USE_SSL {s3_endpoint.startswith('https')})"
    )
    yield connection
    connection.close()


def read(duck: duckdb.DuckDBPyConnection, stored: Project, query: str) -> Rows:
    """Return the rows that DuckDB reads from the current lake."""
    duck.execute(f"ATTACH 'ducklake:sqlite:{stored.folder / 'lake.sqlite'}' AS lake")
    found = duck.execute(query).fetchall()
    duck.execute("DETACH lake")
    return found


def test_a_project_is_built_maintained_and_shared(stored: Project, duck: duckdb.DuckDBPyConnection, store: S3FileSystem) -> None:
    stored.dbt("build", "--vars", "run: one")
    first = read(duck, stored, READ)
    assert [row[:2] for row in first] == [(0, 34), (1, 33), (2, 33)]
    ((version,),) = read(duck, stored, "SELECT max(snapshot_id) FROM lake.snapshots()")
    stored.dbt("build", "--vars", "run: two")
    second = read(duck, stored, READ)
    assert [row[:2] for row in second] == [(0, 50), (1, 50), (2, 50)]
    assert {row[4] for row in second} == {2}
    assert read(duck, stored, "SELECT count(*), sum(events), sum(price) FROM lake.main.totals") == [(3, 150, 4)]
    assert read(duck, stored, READ.replace("events", f"events AT (VERSION => {version})")) == first

    read(duck, stored, "INSERT INTO lake.main.events SELECT i, i % 3, [i, i + 1], 'three' FROM range(200, 260) r (i)")
    read(duck, stored, "DELETE FROM lake.main.events WHERE id < 40")
    third = read(duck, stored, READ)
    stored.dbt("run-operation", "ducklake_rewrite_data_files", "--args", "{delete_threshold: 0}")
    stored.dbt("run-operation", "ducklake_checkpoint")
    assert read(duck, stored, READ) == third

    stored.dbt("run-operation", "ducklake_rollback", "--args", f"{{version: {version}, table_name: events}}")
    assert read(duck, stored, READ) == first
    stored.dbt("run-operation", "ducklake_expire_snapshots", "--args", "{older_than: '2100-01-01'}")
    stored.dbt("run-operation", "ducklake_cleanup_old_files", "--args", "{cleanup_all: true}")
    stored.dbt("run-operation", "ducklake_delete_orphaned_files", "--args", "{cleanup_all: true}")
    assert read(duck, stored, READ) == first
    bucket = read(duck, stored, "SELECT data_file FROM ducklake_list_files('lake', 'events') LIMIT 1")[0][0].split("/")[2]
    kept = {f"s3://{info.path}" for info in store.get_file_info(FileSelector(bucket, recursive=True)) if info.is_file}
    listed = read(
        duck,
        stored,
        " UNION ALL ".join(
            f"SELECT unnest([data_file, delete_file]) FROM ducklake_list_files('lake', '{table}')"
            for table in ("events", "totals", "prices")
        ),
    )
    assert {path for path in kept if not path.endswith("/" + MARK)} == {path for (path,) in listed if path}
    assert len(kept) == len({path for (path,) in listed if path}) + 1
