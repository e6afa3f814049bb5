"""A project on a lake whose files are in an object store: built twice, maintained, and read and written by DuckDB.

It uses the servers of `tests/object_store.py`. `make test-all` fetches the jars of Hadoop's connector; otherwise:

    S3_JARS=…/folder-of-jars pytest tests/acceptance/test_object_storage.py
    S3_ENDPOINT=http://127.0.0.1:7070 AWS_REGION=… AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… S3_JARS=… pytest …
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path

import duckdb
import pytest

from dbt.adapters.ducklake.lake.data_path import MARK_FILE
from dbt.adapters.ducklake.spark.files.storage import list_files
from dbt.adapters.ducklake.spark.session.s3_secrets import S3Secret
from tests.acceptance.projects import Project, Rows
from tests.counted_requests import COPIED, DELETED, LISTED
from tests.duckdb_instances import open_duckdb
from tests.metadata_service import metadata_service
from tests.object_store import ObjectStore
from tests.places import nightly

pytestmark = pytest.mark.slow
FILES = {
    "seeds/prices.csv": "id,price\n1,1.50\n2,2.50\n3,\n",
    "models/events.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', partitioned_by=['kind'],
                  tblproperties={'data_inlining_row_limit': 0}) }}
        select id, id % 3 as kind, array(id, id + 1) as ids, '{{ var("run") }}' as run
        from range({{ 0 if var("run") == "one" else 50 }}, {{ 100 if var("run") == "one" else 150 }})""",
    "models/totals.sql": "select kind, count(*) as events, sum(price) as price from {{ ref('events') }} left join {{ ref('prices') }} using (id) group by kind",
    "models/single.sql": "{{ config(materialized='table') }} select id, cast(id as string) as name from range(1000)",
    "models/merged.sql": """
        {{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
        select id, '{{ var("run") }}' as run from range({{ 0 if var("run") == "one" else 990 }}, {{ 1000 if var("run") == "one" else 1010 }})""",
    "models/small_array.sql": "{{ config(materialized='table') }} select id, array(id, id + 1) as ids from range(0, 1000, 1, 1)",
    "models/large_array.sql": """
        {{ config(materialized='table') }} select id, array(sha2(cast(id as string), 256)) as hashes from range(0, 100000, 1, 1)""",
    "models/partitioned.sql": """
        {{ config(materialized='table', partitioned_by=['kind']) }} select id, id % 3 as kind from range(0, 3000, 1, 1)""",
    "seeds/many.csv": "id,price\n" + "".join(f"{number},{number}.5\n" for number in range(500)),
    "dbt_project.yml": "{name: stored, profile: stored, version: '1.0', flags: {send_anonymous_usage_stats: false}}",
}
TABLES = [Path(name).stem for name in FILES if name.startswith(("models/", "seeds/"))]
one_way = pytest.mark.parametrize("stored", ["secrets"], indirect=True)  # the test has its own way to give dbt the keys
READ = "SELECT kind, count(*), sum(id), sum(list_sum(ids)), count(DISTINCT run) FROM lake.main.events GROUP BY kind ORDER BY kind"


@dataclass(frozen=True)
class Stored(Project):
    """A project in the local folder `folder`, on a lake whose files are in a bucket."""

    store: ObjectStore
    environment: bool
    """Whether dbt gets the credentials from environment variables instead of the profile."""

    def dbt(self, *arguments: str, code: int = 0) -> str:
        """Run a dbt command with the credentials of the profile's `secrets` or of environment variables, and return its output."""
        with pytest.MonkeyPatch.context() as patch:
            if self.environment:
                secret = self.store.secret
                patch.setenv("AWS_ENDPOINT_URL", self.store.proxy.endpoint)
                patch.setenv("AWS_REGION", str(secret.region))
                patch.setenv("AWS_ACCESS_KEY_ID", str(secret.key_id))
                patch.setenv("AWS_SECRET_ACCESS_KEY", str(secret.secret))
            return super().dbt(*arguments, code=code)

    def write(self, secret: S3Secret, **spark: object) -> None:
        """Write the profile, with the secret unless dbt gets it by the environment, and further fields of the block `spark`."""
        output = self.ducklake("main", threads=2) | {"data_path": self.store.folder, "spark": {"fast_start": True, **spark}}
        if not self.environment:
            output["secrets"] = [{"type": "s3", **_fields(secret)}]
        self.write_profiles("stored", {"test": output}, "test")

    def counted(self, *arguments: str) -> Counter[str]:
        """Run a dbt command and return the number of its requests of each kind."""
        self.store.proxy.counted()  # the next call counts from here
        self.dbt(*arguments)
        return self.store.proxy.counted()


@pytest.fixture(params=["secrets", "environment"])
def stored(request: pytest.FixtureRequest, project: Project, s3_jars: str, object_store: ObjectStore) -> Stored:
    """A project on a lake with its files in a new bucket."""
    result = Stored(project.folder, object_store, environment=request.param == "environment")
    for name, text in FILES.items():
        path = result.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    result.write(object_store.secret, config={"spark.jars": s3_jars})
    return result


def _fields(secret: S3Secret) -> dict[str, object]:
    """Return the fields of the secret, by their names in profiles and in DuckDB."""
    return {each.name: value for each in fields(secret) if (value := getattr(secret, each.name)) is not None}


@pytest.fixture
def duck(stored: Stored) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = open_duckdb("ducklake", "sqlite_scanner", "httpfs")
    values = {name: str(value).lower() if isinstance(value, bool) else f"'{value}'" for name, value in _fields(stored.store.secret).items()}
    connection.execute(f"CREATE SECRET (TYPE s3, {', '.join(f'{name} {value}' for name, value in values.items())})")
    yield connection
    connection.close()


def read(duck: duckdb.DuckDBPyConnection, stored: Stored, query: str) -> Rows:
    """Return the rows that DuckDB reads from the current lake."""
    duck.execute(f"ATTACH 'ducklake:sqlite:{stored.folder / 'lake.sqlite'}' AS lake")
    rows = duck.execute(query).fetchall()
    duck.execute("DETACH lake")
    return rows


def test_a_project_is_built_maintained_and_shared(stored: Stored, duck: duckdb.DuckDBPyConnection) -> None:
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
    (before,), (after,) = [
        *read(duck, stored, "SELECT count(*) FROM ducklake_list_files('lake', 'events')"),
        *read(
            duck, stored, "CALL ducklake_merge_adjacent_files('lake', 'events'); SELECT count(*) FROM ducklake_list_files('lake', 'events')"
        ),
    ]
    assert after < before, "DuckDB merges files of a partition that both programs have written"
    assert read(duck, stored, READ) == third
    stored.dbt("run-operation", "ducklake_rewrite_data_files", "--args", "{delete_threshold: 0}")
    stored.dbt("run-operation", "ducklake_checkpoint")
    assert read(duck, stored, READ) == third

    stored.dbt("run-operation", "ducklake_rollback", "--args", f"{{version: {version}, table_name: events}}")
    assert read(duck, stored, READ) == first
    stored.dbt("run-operation", "ducklake_expire_snapshots", "--args", "{older_than: '2100-01-01'}")
    stored.dbt("run-operation", "ducklake_cleanup_old_files", "--args", "{cleanup_all: true}")
    stored.dbt("run-operation", "ducklake_delete_orphaned_files", "--args", "{cleanup_all: true}")
    assert read(duck, stored, READ) == first
    remaining = {path for path, _ in list_files(stored.store.folder)}
    listed = read(
        duck,
        stored,
        " UNION ALL ".join(f"SELECT unnest([data_file, delete_file]) FROM ducklake_list_files('lake', '{table}')" for table in TABLES),
    )
    assert {path for path in remaining if not path.endswith("/" + MARK_FILE)} == {path for (path,) in listed if path}
    assert len(remaining) == len({path for (path,) in listed if path}) + 1


WRITTEN = {"PUT": 1, "HEAD": 1, "GET": 1}
"""The requests of a new file: Spark writes it and asks for its size, dbt reads its footer."""
SINGLE = ("run", "--select", "single", "--vars", "run: one")
QUERY = ("show", "--inline", "select sum(id) from {{ ref('single') }}")


def costs_of(stored: Stored) -> dict[str, Counter[str]]:
    """Return the requests of each kind of command on a new lake, in this order."""
    return {
        "seed": stored.counted("seed", "--select", "many"),
        "table": stored.counted(*SINGLE),
        "first build": stored.counted("run", "--select", "merged", "--vars", "run: one"),
        "small merge": stored.counted("run", "--select", "merged", "--vars", "run: two"),
        "select": stored.counted(*QUERY),
        "small array": stored.counted("run", "--select", "small_array", "--vars", "run: one"),
        "large array": stored.counted("run", "--select", "large_array", "--vars", "run: one"),
    }


def test_requests_are_few_and_none_lists_or_renames(stored: Stored, duck: duckdb.DuckDBPyConnection) -> None:
    """docs/object-storage.md ("Requests") has these numbers."""
    opened = stored.counted("seed", "--select", "prices")  # inlined rows
    assert opened == {LISTED: 1, "PUT": 1}  # a new lake checks that its data path is free, and writes its mark
    costs = costs_of(stored)
    partitioned = stored.counted("run", "--select", "partitioned", "--vars", "run: one")
    print(costs, partitioned)
    assert costs["seed"] == {"PUT": 1}
    assert costs["table"] == WRITTEN
    assert costs["first build"] == WRITTEN
    assert costs["small merge"] == {"PUT": 3, "HEAD": 1, "GET": 2}  # the changed rows, the new rows, and the delete file
    assert costs["select"] == {"HEAD": 1, "GET": 2}  # the footer and the rows
    assert costs["small array"] == {"PUT": 2, "HEAD": 1, "GET": 2}
    assert costs["large array"] == {**WRITTEN, "start of an upload": 1, "part copy": 1, "part": 1, "end of an upload": 1}
    for counts in costs.values():
        assert sum(counts.values()) <= 8, costs
        assert not counts.keys() & {LISTED, COPIED, "DELETE", DELETED, "directory marker"}, costs
    assert partitioned == {"PUT": 3, "HEAD": 6, "GET": 3, COPIED: 3, DELETED: 1}  # three files
    assert read(duck, stored, "SELECT count(*), count(DISTINCT run), sum(id) FROM lake.main.merged") == [(1010, 2, 509545)]
    assert read(duck, stored, "SELECT count(*), sum(id) FROM lake.main.single") == [(1000, 499500)]
    assert read(duck, stored, "SELECT kind, count(*) FROM lake.main.partitioned GROUP BY kind ORDER BY kind") == [
        (kind, 1000) for kind in range(3)
    ]
    ((size,),) = read(duck, stored, "SELECT data_file_size_bytes FROM ducklake_list_files('lake', 'large_array')")
    assert 5 * 2**20 < size < 64 * 2**20


def test_requests_without_the_extra(stored: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    (stored.folder / "sitecustomize.py").write_text("import sys\n\nsys.modules['botocore'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(stored.folder), prepend=os.pathsep)
    assert stored.counted("seed", "--select", "prices") == {LISTED: 1, "PUT": 1}
    costs = costs_of(stored)
    print({name: (sum(counts.values()), dict(counts)) for name, counts in costs.items()})
    assert {name: sum(counts.values()) for name, counts in costs.items()} == {
        "seed": 1,
        "table": 4,
        "first build": 4,
        "small merge": 6,
        "select": 3,
        "small array": 7,
        "large array": 7,
    }


def test_requests_over_spark_connect(stored: Stored, s3_jars: str) -> None:
    """Spark's own committer writes the files."""
    pytest.importorskip("grpc")
    stored.dbt("seed", "--select", "prices")
    stored.write(stored.store.secret, config={"spark.jars": s3_jars}, remote="local[2]")
    counts = stored.counted(*SINGLE)
    assert counts[COPIED] == 2
    assert sum(counts.values()) <= 70, counts


@one_way
@pytest.mark.parametrize("s3_server", nightly("versitygw"), indirect=True)
def test_a_wrong_region_is_named(stored: Stored, s3_jars: str) -> None:
    """The catalog and the table exist, so the query's first request is Spark's."""
    stored.dbt(*SINGLE)
    stored.write(replace(stored.store.secret, region="lake-south-1"), config={"spark.jars": s3_jars})
    for command, code in ((QUERY, 2), (("debug",), 1)):
        output = stored.dbt(*command, code=code)
        assert "in the region lake-south-1 for the bucket" in output
        assert "Check `endpoint`, `region`" in output


@one_way
def test_keys_are_found_in_the_home_folder(stored: Stored, s3_jars: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = stored.store.secret
    credentials = tmp_path / ".aws" / "credentials"
    credentials.parent.mkdir()
    credentials.write_text(f"[default]\naws_access_key_id = {secret.key_id}\naws_secret_access_key = {secret.secret}\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    check_found_keys(stored, s3_jars, secret.key_id)


@one_way
@pytest.mark.parametrize("s3_server", ["moto"], indirect=True)  # versitygw knows no temporary keys
def test_keys_are_those_of_the_role_of_the_machine(stored: Stored, s3_jars: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED", raising=False)
    with metadata_service("ROLEKEY") as endpoint:
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", endpoint)
        check_found_keys(stored, s3_jars, "ROLEKEY")


def check_found_keys(stored: Stored, s3_jars: str, key: str | None) -> None:
    """Build and query with `provider: credential_chain`: Spark, PyArrow and botocore sign every request with the key that they find."""
    found = replace(stored.store.secret, key_id=None, secret=None, provider="credential_chain")
    stored.write(found, config={"spark.jars": s3_jars})
    stored.store.proxy.access_keys.clear()
    stored.dbt("build", "--vars", "run: one")
    stored.dbt("build", "--vars", "run: two")
    stored.dbt("run-operation", "ducklake_expire_snapshots", "--args", "{older_than: '2100-01-01'}")
    stored.store.proxy.counted()
    stored.dbt("run-operation", "ducklake_cleanup_old_files", "--args", "{cleanup_all: true}")
    assert stored.store.proxy.counted()[DELETED] == 1
    assert stored.store.proxy.access_keys == {key}
