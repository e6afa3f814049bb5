"""SQL leaves out only files that `format/pruning.py` leaves out: random statistics, partition values and filters, on each database."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from dbt.adapters.ducklake.catalog.lake import LakeCatalog
from dbt.adapters.ducklake.catalog.read import pruning, scan_plan
from dbt.adapters.ducklake.catalog.read.pruning import Pruning
from dbt.adapters.ducklake.format.buckets import bucket
from dbt.adapters.ducklake.format.files import ColumnFilter, ColumnRange, ColumnStats, WrittenFile
from dbt.adapters.ducklake.format.objects import Column, PartitionField, Partitioning
from tests.catalog_objects import committed, table_of
from tests.places import FULL_MATRIX
from tests.unit.catalog.conftest import create, file_of, insert

pytestmark = pytest.mark.parity

SEED = random.SystemRandom().randrange(10**9)
TEXTS: dict[str, list[str]] = {
    "int32": ["-2147483648", "-10", "-9", "-1", "0", "7", "8", "10", "12", "100", "2147483647", "true", "x", ""],
    "int64": ["-9223372036854775808", "9007199254740992", "9007199254740993", "9223372036854775807", "5", "-", "9" * 50],
    "decimal(10,2)": ["-1.50", "-0.01", "0.00", "0.01", "1.50", "12.00", "9.99", "-.5", "NaN", ".", "1e400"],
    "float64": ["-inf", "-1e300", "-1.5", "-0.0", "0.0", "5e-324", "0.1", "1.5", "1e+20", "inf", "nan", "1,5"],
    "float32": ["0.1", "0.10000000149011612", "16777216.0", "3.4e+38", "1.4e-45", "-0.1"],
    "varchar": ["", " ", "a", "A", "a ", "ab", "a\x1f", "B", "ä", "é", "z", "Z", "~", "😀", "ﬀ", "a" * 256, "50", "100%", "a_b"],
    "uuid": ["00000000-0000-0000-0000-00000000000A", "00000000-0000-0000-0000-00000000000b", "FFFFFFFF-0000-0000-0000-000000000000"],
    "date": ["0044-03-15 (BC)", "0001-01-01", "2024-02-29", "2024-03-01", "9999-12-31", "12024-01-01", "infinity", "-infinity", "soon"],
    "timestamp": [
        *("0044-03-15 (BC) 00:00:00", "2024-02-29 23:59:59", "2024-02-29 23:59:59.5", "2024-02-29 23:59:59.999999"),
        *("2024-03-01", "2024-03-01T00:00:00", "2024-03-01 00:00:00", "12024-01-01 00:00:00", "infinity"),
    ],
    "timestamptz": ["2024-02-29 23:59:59+00", "2024-03-01 01:00:00+02", "2024-03-01 00:00:00.25+00", "2024-03-01 00:00:00", "-infinity"],
    "boolean": ["0", "1", "true", "false"],
    "time": ["00:00:00", "01:02:03.5", "23:59:59.999999"],
    "blob": ["", "00", "FF"],
    "timestamp_s": ["2024-02-29 23:59:58.5", "2024-02-29 23:59:59", "2024-02-29 23:59:59.5", "2024-03-01 00:00:00", "0001-01-01 00:00:00"],
}
COLUMNS = tuple(Column(number, f"c{number}", type_name) for number, type_name in enumerate(TEXTS, 1))
FILES = 80


def statistics(rng: random.Random, column: Column) -> ColumnStats:
    texts = TEXTS[column.type]
    empty = rng.random() < 0.1
    low, high = (None if empty or rng.random() < 0.1 else rng.choice(texts) for _ in range(2))
    values, nulls, nan = rng.choice([None, 3, 0]), rng.choice([None, 0, 2]), rng.choice([None, True, False])
    return ColumnStats(column.column_id, 50, 0 if empty else values, nulls, low, high, nan)


def filter_of(rng: random.Random, column: Column) -> ColumnFilter:
    texts = TEXTS[column.type]
    ranges = []
    for _ in range(rng.choice([0, 1, 1, 1, 2, 5, 12])):
        low = rng.choice([None, *texts])
        ranges.append(ColumnRange(column.column_id, low, rng.choice([None, low, low, *texts])))
    return ColumnFilter(column.column_id, tuple(ranges), nulls=rng.random() < 0.2)


def filled(lake: LakeCatalog, rng: random.Random) -> None:
    """Create a table with files of three partition specs, some without statistics of some columns or without partition values."""
    keys = [
        (PartitionField(1, "identity"), PartitionField(6, "bucket(3)")),
        (PartitionField(6, "identity"), PartitionField(1, "bucket(3)"), PartitionField(8, "year")),
    ]
    table = create(lake, columns=COLUMNS, partitioning=keys[0])
    for spec in (keys[0], keys[1]):
        if spec is keys[1]:
            with_spec(lake, spec)
        files: list[WrittenFile] = []
        for _ in range(FILES // 2):
            stats = tuple(statistics(rng, column) for column in COLUMNS if rng.random() < 0.9)
            files.append(file_of(table, stats=stats, partition_values=tuple(value(rng, field) for field in spec)))
        insert(lake, *files)


def with_spec(lake: LakeCatalog, spec: tuple[PartitionField, ...]) -> None:
    committed(lake, lambda staged: staged.objects.put_table(replace(table_of(staged), partitioning=Partitioning(-1, spec))))


def value(rng: random.Random, field: PartitionField) -> str | None:
    if rng.random() < 0.2:
        return None
    match field.transform:
        case "identity":
            return rng.choice(TEXTS[COLUMNS[field.column_id - 1].type])
        case "year":
            return rng.choice(["2023", "2024"])
    return str(rng.randrange(3))


def test_the_same_files_are_left_out_with_and_without_sql(lake: LakeCatalog, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(SEED)
    filled(lake, rng)
    reader = lake.reader()
    table = table_of(reader)
    everything = {file.data_file_id for file in reader.scan_plan(table).files}
    filters = [
        tuple(filter_of(rng, column) for column in rng.sample(COLUMNS, rng.choice([1, 1, 2]))) for _ in range(50 if FULL_MATRIX else 20)
    ]
    in_sql: list[Any] = []
    candidates = Pruning.candidates

    def counted(self: Pruning, *arguments: Any) -> Any:
        in_sql.append(candidates(self, *arguments))
        return in_sql[-1]

    def kept(within: Sequence[ColumnFilter], few: int) -> tuple[set[int], int]:
        monkeypatch.setattr(scan_plan, "_FEW_FILES", few)
        plan = reader.scan_plan(table, within)
        return {file.data_file_id for file in plan.files}, plan.pruned_files

    for number, within in enumerate(filters):
        monkeypatch.setattr(pruning, "_MAX_IDS", 10**6)
        expected = kept(within, 10**6)
        if number % 2:  # the statistics are then found by the query of the files, not by a list of ids
            monkeypatch.setattr(pruning, "_MAX_IDS", 0)
            assert kept(within, 10**6) == expected, f"seed {SEED}: {within}"
        monkeypatch.setattr(Pruning, "candidates", counted)
        assert kept(within, 0) == expected, f"seed {SEED}: {within}"
        assert expected[1] == len(everything) - len(expected[0])
        monkeypatch.setattr(Pruning, "candidates", candidates)
    filters_in_sql = lake._database.dialect.parse_number is not None
    assert filters_in_sql or lake.database_kind not in ("sqlite", "postgresql", "duckdb")
    if filters_in_sql:
        assert sum(each is not None for each in in_sql) > len(filters) // 2


def test_one_file_of_many_is_found_in_sql(lake: LakeCatalog) -> None:
    table = create(lake, partitioning=(PartitionField(2, "bucket(1000)"),))
    count = scan_plan._FEW_FILES + 20
    insert(lake, *(file_of(table, 10 * number, 10 * number + 9, partition_values=(str(number),)) for number in range(count)))
    reader = lake.reader()
    ids = sorted(file.data_file_id for file in reader.scan_plan(table_of(reader)).files)
    plan = reader.scan_plan(table_of(reader), [ColumnFilter.between(1, "35", "35")])
    assert (len(plan.files), plan.pruned_files) == (1, count - 1)
    hit = int(bucket(b"xx", "varchar", 1000))
    plan = reader.scan_plan(table_of(reader), [ColumnFilter.between(2, "xx", "xx")])
    assert [file.data_file_id for file in plan.files] == ids[hit : hit + 1]


@pytest.mark.parametrize(
    ("type_name", "stored", "read"),
    [
        ("timestamp_s", "2024-02-29 23:59:59.7", "2024-03-01 00:00:00"),
        ("timestamp_ms", "2024-02-29 23:59:59.9997", "2024-03-01 00:00:00"),
        ("timestamp", "1969-12-31 23:59:59.999999999", "1970-01-01 00:00:00"),
        ("timestamptz", "1969-12-31 23:59:59.999999999+00", "1970-01-01 00:00:00+00"),
    ],
)
def test_a_file_whose_timestamps_are_rounded_up_is_not_left_out(
    lake: LakeCatalog, monkeypatch: pytest.MonkeyPatch, type_name: str, stored: str, read: str
) -> None:
    table = create(lake, columns=(Column(1, "c", type_name),))
    earlier = stored.replace("1969", "1960").replace("2024", "2020")
    insert(lake, *(file_of(table, stats=(ColumnStats(1, 50, 10, 0, bound, bound),)) for bound in (earlier, stored)))
    for few in (0, 10**6):
        monkeypatch.setattr(scan_plan, "_FEW_FILES", few)
        for low, high in ((read, read), (read, None)):
            plan = lake.reader().scan_plan(table_of(lake.reader()), [ColumnFilter.between(1, low, high)])
            assert (len(plan.files), plan.pruned_files) == (1, 1)
