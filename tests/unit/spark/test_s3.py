"""S3: how many requests the driver needs for its files, and what it does with a store that lacks some of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dbt.adapters.ducklake.errors import EngineError
from dbt.adapters.ducklake.format.files import WriteOptions
from dbt.adapters.ducklake.format.objects import Column
from dbt.adapters.ducklake.lake.data_path import Owners
from dbt.adapters.ducklake.session import connect
from dbt.adapters.ducklake.spark.arrow.write import write_arrow
from dbt.adapters.ducklake.spark.errors import translate
from dbt.adapters.ducklake.spark.files import s3, storage
from dbt.adapters.ducklake.spark.files.deletes import write_delete_file
from dbt.adapters.ducklake.spark.files.footer_bytes import read_footer, replace_footer
from tests.counted_requests import DELETED, LISTED
from tests.object_store import ObjectStore
from tests.places import nightly

COLUMNS = (Column(1, "id", "int64"), Column(2, "place", "geometry"))


def test_a_seed_is_one_request_and_an_inlined_one_none(object_store: ObjectStore, tmp_path: Path) -> None:
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", object_store.folder, secrets=(object_store.secret,)) as session:
        object_store.proxy.counted()
        session.load_seed("main", "few", [("id", "bigint")], [(number,) for number in range(5)])
        assert object_store.proxy.counted() == {}
        session.load_seed("main", "seed", [("id", "bigint"), ("ids", "array<bigint>")], [(number, f"[{number}]") for number in range(500)])
        assert object_store.proxy.counted() == {"PUT": 1}
        session.execute("INSERT INTO main.few VALUES (7)")
        assert object_store.proxy.counted() == {}


@pytest.mark.parametrize("extra", [True, *nightly(False)])
def test_a_hundred_files_are_cleaned_up_with_one_request(
    object_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, extra: bool
) -> None:
    """`extra`: whether botocore is installed, which deletes many files at once."""
    if not extra:
        monkeypatch.setattr(s3, "_has_botocore", lambda: False)
    with connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", object_store.folder, secrets=(object_store.secret,)) as session:
        for number in range(101):
            session.load_seed("main", "seed", [("id", "bigint")], [(number + row,) for row in range(20)])
        session.execute("CALL ducklake_expire_snapshots('lake', older_than => now())")
        object_store.proxy.counted()
        removed = session.execute("CALL ducklake_cleanup_old_files('lake', cleanup_all => true)")
        counts = object_store.proxy.counted()
        assert len(removed.fetch()) == 100
    owners = {"HEAD": 3, "GET": 1}  # the marks of the folders: do they belong to another lake?
    if extra:
        assert counts == {DELETED: 1, **owners}
    else:
        assert counts == {"HEAD": 203, "DELETE": 100, "directory marker": 100, "GET": 1}
    kept = [path.rpartition("/")[2] for path, _ in storage.list_files(object_store.folder)]
    assert len(kept) == 2, kept
    assert "_dbt_ducklake.json" in kept


def test_a_store_without_bulk_deletes_deletes_one_at_a_time(object_store: ObjectStore) -> None:
    paths = [f"{object_store.folder}{name}" for name in ("a", "b", "c")]
    for path in paths:
        storage.write_small(path, b"1")
    object_store.proxy.refused = {DELETED}
    storage.remove([*paths, f"{object_store.folder}missing"])
    assert storage.list_files(object_store.folder) == []


def test_files_that_the_store_keeps_are_named(object_store: ObjectStore) -> None:
    path = f"{object_store.folder}a"
    storage.write_small(path, b"1")
    object_store.proxy.refused = {DELETED, "DELETE"}
    failed = storage.remove_each([path])
    assert list(failed) == [path]
    with pytest.raises(OSError, match=path):
        storage.remove([path])


def test_a_folder_is_removed_without_directory_markers(object_store: ObjectStore) -> None:
    for name in ("job/a", "job/k=1/b", "other"):
        storage.write_small(object_store.folder + name, b"1")
    object_store.proxy.counted()
    storage.remove_tree(object_store.folder + "job/")
    assert object_store.proxy.counted() == {LISTED: 1, DELETED: 1}
    assert [path for path, _ in storage.list_files(object_store.folder)] == [object_store.folder + "other"]


def test_the_end_of_a_large_object_is_replaced_by_the_store_itself(object_store: ObjectStore) -> None:
    path, start = f"{object_store.folder}large", bytes(range(256)) * 24_000
    storage.write_small(path, start + b"old end")
    object_store.proxy.counted()
    storage.replace_end(path, len(start), b"new")
    counts = object_store.proxy.counted()
    assert counts == {"start of an upload": 1, "part copy": 1, "part": 1, "end of an upload": 1}
    assert storage.read_small(path) == start + b"new"


@pytest.mark.parametrize("refused", [set(), {"part copy"}])
def test_an_object_that_the_store_cannot_copy_in_parts_is_written_again(object_store: ObjectStore, refused: set[str]) -> None:
    path = f"{object_store.folder}object"
    start = b"0" * (s3.MIN_PART_BYTES - 1 if not refused else s3.MIN_PART_BYTES)
    storage.write_small(path, start + b"old end")
    object_store.proxy.refused = refused
    object_store.proxy.counted()
    storage.replace_end(path, len(start), b"new")
    assert refused or object_store.proxy.counted() == {"GET": 1, "PUT": 1}
    assert storage.read_small(path) == start + b"new"


def test_parts_to_copy_cover_the_object_and_are_neither_too_small_nor_too_large() -> None:
    for length in (s3.MIN_PART_BYTES, s3.MAX_PART_BYTES, s3.MAX_PART_BYTES + 1, 3 * s3.MAX_PART_BYTES + 7):
        ranges = s3._ranges(length)
        assert [first for first, _ in ranges] == [0, *(last + 1 for _, last in ranges[:-1])]
        assert ranges[-1][1] == length - 1
        assert all(s3.MIN_PART_BYTES <= last - first + 1 <= s3.MAX_PART_BYTES for first, last in ranges)


def test_a_footer_is_read_with_one_request_and_replaced(object_store: ObjectStore) -> None:
    path = f"{object_store.folder}t.parquet"
    with storage.written_locally(path) as local:
        pq.write_table(pa.table({"x": [1, 2]}), local)
        size = storage.size(local)
    object_store.proxy.counted()
    footer = read_footer(path, size)
    assert object_store.proxy.counted() == {"GET": 1}
    replace_footer(path, size, len(footer), footer)
    assert read_footer(path, storage.size(path)) == footer
    with pytest.raises(FileNotFoundError):
        read_footer(path + "x", size)


def test_a_file_whose_footer_needs_changes_is_uploaded_once(object_store: ObjectStore) -> None:
    point = bytes.fromhex("0101000000000000000000f03f0000000000000040")
    rows = pa.table({"id": pa.array([1], pa.int64()), "place": pa.array([point], pa.binary())})
    (file,) = write_arrow(rows, COLUMNS, object_store.folder + "main/t/", WriteOptions())
    assert object_store.proxy.counted() == {"PUT": 1}
    assert storage.size(file.path) == file.size_bytes


def test_a_delete_file_is_one_request(object_store: ObjectStore) -> None:
    written = write_delete_file(object_store.folder + "main/t/x.parquet", 1, object_store.folder + "main/t/", [0, 5])
    assert object_store.proxy.counted() == {"PUT": 1}
    assert (storage.size(written.path), written.footer_size) == (written.size_bytes, len(read_footer(written.path, written.size_bytes)))


def test_a_failed_block_stores_nothing(object_store: ObjectStore) -> None:
    def write() -> None:
        with storage.written_locally(object_store.folder + "x") as local:
            Path(local).write_bytes(b"1")
            raise KeyError

    with pytest.raises(KeyError):
        write()
    assert object_store.proxy.counted() == {}


def test_an_object_that_is_interrupted_is_removed_without_a_marker(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def copy_partly(source: Any, target: Any, _length: int) -> None:
        target.write(source.read(2))
        raise KeyboardInterrupt

    monkeypatch.setattr("dbt.adapters.ducklake.spark.files.storage.shutil.copyfileobj", copy_partly)
    with pytest.raises(KeyboardInterrupt):
        write_delete_file(object_store.folder + "main/t/x.parquet", 1, object_store.folder + "main/t/", [0, 5])
    assert object_store.proxy.counted() == {"PUT": 1, DELETED: 1}
    assert [path for path, _ in storage.list_files(object_store.folder)] == []


def test_folders_of_jobs_are_not_asked_for_the_mark_of_a_lake(object_store: ObjectStore) -> None:
    job = f"{object_store.folder}main/t/ducklake-01a206da-55a1-7b56-b795-1cf8abb3467e/__ducklake_key_0=v1/"
    assert Owners(object_store.folder, set()).foreign_mark(job + "part-0.parquet") is None
    assert object_store.proxy.counted()["HEAD"] == 3  # main/t/, main/ and the data path


def test_an_error_of_the_store_names_the_server_and_what_to_check(object_store: ObjectStore) -> None:
    for text in (
        "When uploading key 'x' in bucket 'b': AWS Error NETWORK_CONNECTION during PutObject operation: curlCode: 7",
        "org.apache.hadoop.fs.s3a.AWSBadRequestException: getFileStatus on s3a://b/x: software.amazon.awssdk",
    ):
        error = translate(OSError(text))
        assert isinstance(error, EngineError)
        assert f"{object_store.proxy.endpoint} in the region {object_store.secret.region} for the bucket {object_store.bucket}" in str(
            error
        )
        assert "`endpoint`" in str(error)
        assert str(object_store.secret.secret) not in str(error)
    assert "object store" not in str(translate(OSError("No space left on device")))


@pytest.mark.parametrize("s3_server", nightly("versitygw"), indirect=True)
def test_a_wrong_region_is_refused_with_what_to_check(object_store: ObjectStore, tmp_path: Path) -> None:
    wrong = replace(object_store.secret, region="lake-south-1")
    with (
        connect(f"ducklake:sqlite:{tmp_path}/lake.sqlite", object_store.folder, secrets=(wrong,)) as session,
        pytest.raises(EngineError, match=r"in the region lake-south-1 for the bucket .*Check `endpoint`, `region`"),
    ):
        session.load_seed("main", "seed", [("id", "bigint")], [(number,) for number in range(500)])


def test_the_region_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Botocore itself only reads AWS_DEFAULT_REGION, and then signs each request twice."""
    pytest.importorskip("botocore")
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-north-7")
    monkeypatch.setattr(s3, "_SECRETS", s3._Secrets())
    s3._client.cache_clear()
    assert s3.client("bucket").meta.region_name == "eu-north-7"
    s3._client.cache_clear()


def test_user_names_in_an_endpoint_of_the_environment_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://me:secret@minio:9000")
    monkeypatch.setattr(s3, "_SECRETS", s3._Secrets())
    assert "http://minio:9000" in s3.hint("AWS Error")
    assert "secret@" not in s3.hint("AWS Error")


def test_without_the_extra_pyarrow_does_it_all(object_store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_path: str) -> Any:
        return None

    monkeypatch.setattr(s3, "split", nothing)
    paths = [f"{object_store.folder}job/{name}" for name in ("a", "b")]
    for path in paths:
        storage.write_small(path, b"0123456789")
    assert storage.read_range(paths[0], 2, 3) == b"234"
    storage.replace_end(paths[0], 4, b"new")
    assert storage.read_small(paths[0]) == b"0123new"
    storage.remove([paths[0], paths[0] + "missing"])
    storage.remove_tree(object_store.folder + "job/")
    assert storage.list_files(object_store.folder) == []
