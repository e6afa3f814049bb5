"""Every DuckLake type in every way in which values pass from one side to the other, generated from `types/cases.py`.

Wide tables contain all types at once, so that an operation needs only a few statements. Each test checks one type of one operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest

from dbt.adapters.ducklake.errors import DuckLakeError, StatementError
from dbt.adapters.ducklake.format.files import ColumnRange, ColumnStats
from dbt.adapters.ducklake.format.statistics import outside
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from tests.catalogs import CatalogUnderTest
from tests.interop import oracle
from tests.interop.types.cases import CASES, SHAPES, Case, column, duck_leaf, duck_value, our_type, spark_leaf
from tests.interop.types.operations import (
    Operations,
    add_default,
    default_columns,
    expected,
    file_statistics,
    grid,
    height,
    key_cases,
    key_values,
    partition_values,
    read_defaults,
    seed_rows,
)
from tests.places import REFERENCE_DATABASES, selected_databases

BY_TYPE = pytest.mark.parametrize("case", CASES, ids=lambda case: case.stored)


@pytest.fixture(scope="module", params=selected_databases(REFERENCE_DATABASES))
def sides(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, runtime: SparkRuntime) -> Iterator[Operations]:
    """Both sides of one lake. Inlined rows of every type are tested in `test_types_on_catalogs.py`."""
    directory = tmp_path_factory.mktemp("matrix")
    path = f"ducklake:{request.param}:{directory}/lake.{request.param}"
    if request.param == "postgres":
        path = request.getfixturevalue("new_postgres_url")()
    place = CatalogUnderTest(request.param, path, f"{directory}/files/")
    opened = place.open(runtime)
    duck = oracle.connect(place)
    duck.execute("USE lake")
    with opened.session() as session:
        yield Operations(session, duck, directory)
    duck.close()
    opened.catalog.close()


def _shapes_in_files(case: Case) -> tuple[str, ...]:
    return () if not case.in_duckdb_files else SHAPES if case.nested_in_duckdb_files else ("column",)


@pytest.fixture(scope="module")
def in_files(sides: Operations) -> tuple[Any, Any]:
    """What both sides read from a file that DuckDB wrote."""
    columns = [(case, shape) for case in CASES for shape in _shapes_in_files(case)]
    sides.duck_table("in_files", columns, lambda case: case.in_files, 0)
    return sides.theirs("in_files", columns), sides.ours("in_files", columns)


@BY_TYPE
def test_we_read_what_duckdb_writes_to_files(in_files: tuple[Any, Any], case: Case) -> None:
    theirs, ours = in_files
    for shape in _shapes_in_files(case):
        assert ours[case.stored, shape] == theirs[case.stored, shape], shape


@pytest.fixture(scope="module")
def inserted(sides: Operations) -> tuple[Any, Any]:
    """What both sides read from a file that our INSERT wrote."""
    columns = [(case, shape) for case, shape in grid() if shape in sides.shapes(case)]
    sides.our_table("inserted", columns)
    sides.insert("insert", "inserted", columns)
    return sides.theirs("inserted", columns), sides.ours("inserted", columns)


@BY_TYPE
def test_duckdb_reads_what_our_insert_writes(sides: Operations, inserted: tuple[Any, Any], case: Case) -> None:
    theirs, ours = inserted
    truth = expected(sides.truth(case, case.ordinary), height(lambda each: each.ordinary))
    for shape in sides.shapes(case):
        assert sides.errors.get(("insert", case.stored, shape)) is None, shape
        assert theirs[case.stored, shape] == truth, shape
        assert ours[case.stored, shape] == truth, shape


@pytest.fixture(scope="module")
def loaded(sides: Operations) -> tuple[Any, Any]:
    """What both sides read from a file that PyArrow wrote: the rows of a seed, as texts."""
    cases = [case for case in CASES if case.stored != "variant"]
    columns = [(case, "column") for case in cases]
    names = [("id", "INT"), *((column(case, shape), our_type(case, shape)) for case, shape in columns)]
    sides.session.load_seed("main", "loaded", names, seed_rows(cases, lambda case: case.ordinary))
    return sides.theirs("loaded", columns), sides.ours("loaded", columns)


@BY_TYPE
def test_duckdb_reads_what_pyarrow_writes(sides: Operations, loaded: tuple[Any, Any], case: Case) -> None:
    if case.stored == "variant":
        with pytest.raises(StatementError, match="variant"):
            sides.session.load_seed("main", "no_variants", [("v", "VARIANT")], [("1",)])
        return
    theirs, ours = loaded
    truth = expected(sides.truth(case, case.ordinary), height(lambda each: each.ordinary) - 1)
    assert theirs[case.stored, "column"] == truth
    assert ours[case.stored, "column"] == truth


@pytest.fixture(scope="module")
def rewritten(sides: Operations, in_files: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """What DuckDB read from its own files before we rewrote every row, and what DuckDB and we read afterwards."""
    columns = [(case, shape) for case in CASES for shape in _shapes_in_files(case)]
    before, _ = in_files
    sides.session.execute("UPDATE in_files SET k = k + 1 WHERE id % 2 = 0")
    sides.session.execute(
        "MERGE INTO in_files USING (SELECT explode(sequence(1, 99, 2)) AS n) s ON id = n WHEN MATCHED THEN UPDATE SET k = k + 1"
    )
    assert sides.duck.execute("SELECT count(*) FROM in_files WHERE k <> 1").fetchone() == (0,)
    return before, sides.theirs("in_files", columns), sides.ours("in_files", columns)


@BY_TYPE
def test_a_row_that_we_rewrite_keeps_its_values(rewritten: tuple[Any, Any, Any], case: Case) -> None:
    before, theirs, ours = rewritten
    for shape in _shapes_in_files(case):
        assert theirs[case.stored, shape] == before[case.stored, shape], shape
        assert ours[case.stored, shape] == before[case.stored, shape], shape


DEFAULTED = [case for case in CASES if case.has_default]


@pytest.fixture(scope="module", params=["duckdb", "ours"])
def with_defaults(sides: Operations, request: pytest.FixtureRequest) -> tuple[Any, Any, Any]:
    """Add columns with every value as their default to a table with rows in a file and one inlined row.

    Returns what was refused, and what both sides read.
    """
    table = f"defaults_{request.param}"
    sides.duck.execute(f"CREATE TABLE {table} (id INTEGER)")
    sides.duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 1, table_name => '{table}')")
    sides.duck.execute(f"INSERT INTO {table} SELECT i FROM range(5) r(i)")
    sides.duck.execute(f"INSERT INTO {table} VALUES (100)")
    refused: dict[str, Exception] = {}
    session = sides.session
    (sides.duck.execute("BEGIN") if request.param == "duckdb" else session.begin())
    for case, number, name in default_columns(DEFAULTED):
        try:
            (sides.duck.execute if request.param == "duckdb" else session.execute)(
                f"ALTER TABLE {table} {add_default(case, number, request.param)}"
            )
        except Exception as error:
            refused[name] = error
    (sides.duck.execute("COMMIT") if request.param == "duckdb" else session.commit())
    theirs = read_defaults(DEFAULTED, table, duck_leaf, lambda query: sides.duck.execute(query).fetchall())
    return refused, theirs, read_defaults(DEFAULTED, table, spark_leaf, lambda query: sides.session.execute(query).fetch())


@pytest.mark.parametrize("case", DEFAULTED, ids=lambda case: case.stored)
def test_old_rows_have_the_default_of_a_new_column(sides: Operations, with_defaults: tuple[Any, Any, Any], case: Case) -> None:
    refused, theirs, ours = with_defaults
    assert {name: error for name, error in refused.items() if name.endswith(f"_{case.name}")} == {}
    truth = sides.truth(case, case.ordinary)
    assert theirs[case.stored] == truth
    assert ours[case.stored] == truth


NOT_HASHED = ("timetz", "interval")
"""DuckDB hashes its own text form of these values, but here a text is stored as it was given: bucket(n) is refused."""
TRANSFORMS = {
    "identity": [(case, column(case, "column")) for case in key_cases()],
    "bucket": [(case, f"bucket(5, {column(case, 'column')})") for case in key_cases() if case.stored not in NOT_HASHED],
    "parts": [
        (case, f"{part}({column(case, 'column')})")
        for case in key_cases()
        if case.stored == "date" or case.stored.startswith("timestamp")
        for part in ("year", "month", "day", "hour")
    ],
}


CASES_OF = {transform: list(dict.fromkeys(case for case, _ in keys)) for transform, keys in TRANSFORMS.items()}
KeyedTables = tuple[str, dict[str, str]]
"""The name of DuckDB's table, and for each of our writers the name of its table. Each has all types, and one row per file."""


def by_key(*transforms: str) -> Any:
    """Parametrize a test with each type that is a key in one of the transforms. Buckets are nightly: shorter tests are in `test_bucket_keys.py`."""
    pairs = [(transform, case) for transform in transforms for case in CASES_OF[transform]]
    rows = [
        pytest.param(transform, case, id=f"{transform}-{case.stored}", marks=[pytest.mark.nightly] if transform == "bucket" else [])
        for transform, case in pairs
    ]
    return pytest.mark.parametrize(("transform", "case"), rows)


@pytest.fixture(scope="module")
def partitioned(sides: Operations) -> Callable[[str], KeyedTables]:
    """A function that returns the tables of a transform and creates them at the first call."""
    return cache(lambda transform: _partition(sides, transform))


def _partition(sides: Operations, transform: str) -> KeyedTables:
    cases = CASES_OF[transform]
    columns = [(case, "column") for case in cases]
    theirs = f"keys_{transform}"
    keys = TRANSFORMS[transform]
    spec = ", ".join(["id", *(key for _, key in keys)])
    rows = max(len(key_values(case)) for case in cases) + 1
    sides.duck.execute(f"CREATE TABLE {theirs} (id INTEGER, {', '.join(f'{column(c, s)} {c.duck}' for c, s in columns)})")
    sides.duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => '{theirs}')")
    sides.duck.execute(f"ALTER TABLE {theirs} SET PARTITIONED BY ({spec})")
    for number in range(rows):
        values = [key_values(case)[number] if number < len(key_values(case)) else None for case in cases]
        cells = ", ".join(duck_value(case, value) for case, value in zip(cases, values, strict=True))
        sides.duck.execute(f"INSERT INTO {theirs} VALUES ({number}, {cells})")
    ours = {"spark": f"{theirs}_spark", "arrow": f"{theirs}_arrow"}
    for table in ours.values():
        defined = ", ".join(f"{column(c, s)} {our_type(c, s)}" for c, s in columns)
        sides.session.execute(f"CREATE TABLE {table} (id INT, {defined}) PARTITIONED BY ({spec})")
    sides.session.execute(f"INSERT INTO {ours['spark']} SELECT * FROM {theirs}")
    names = [("id", "INT"), *((column(c, s), our_type(c, s)) for c, s in columns)]
    sides.session.load_seed("main", ours["arrow"], names, seed_rows(cases, key_values), rebuild=False)
    return theirs, ours


@pytest.fixture(scope="module")
def values_of(sides: Operations) -> Callable[[str], dict[str, dict[tuple[int, str], str | None]]]:
    """A function that returns the partition values of a table and reads them once."""
    return cache(lambda table: partition_values(sides.duck, table))


@pytest.fixture(scope="module")
def statistics_of(sides: Operations) -> Callable[[str], dict[str, list[tuple[Any, ...]]]]:
    """A function that returns the statistics of a table's files and reads them once."""
    return cache(lambda table: file_statistics(sides.duck, table))


@by_key(*TRANSFORMS)
def test_partition_values_are_those_of_duckdb(values_of: Any, partitioned: Any, transform: str, case: Case) -> None:
    theirs, ours = partitioned(transform)
    wanted = values_of(theirs)[column(case, "column")]
    for writer, table in ours.items():
        if writer == "spark" and case.stored in NOT_HASHED:  # its rows come from DuckDB's file, which stores these types inexactly
            continue
        assert values_of(table)[column(case, "column")] == wanted, writer


COMPARISONS = ("=", "<=", ">", "<>")


@by_key("identity", "bucket")
def test_duckdb_keeps_every_row_when_it_prunes_our_files(sides: Operations, partitioned: Any, transform: str, case: Case) -> None:
    _, ours = partitioned(transform)
    name = column(case, "column")
    conditions = [f"{name} {sign} {duck_value(case, value)}" for value in key_values(case) for sign in COMPARISONS]
    conditions.append(f"{name} IS NULL")
    for table in ours.values():
        sides.duck.execute(f"CREATE OR REPLACE TEMP TABLE copied AS SELECT id, {name} FROM {table}")
        found, wanted = (
            sides.duck.execute(
                " UNION ALL ".join(f"SELECT {i} AS i, id FROM {place} WHERE {condition}" for i, condition in enumerate(conditions))
                + " ORDER BY ALL"
            ).fetchall()
            for place in (table, "copied")
        )
        assert found == wanted, [(conditions[number], id_) for number, id_ in set(found) ^ set(wanted)]


@by_key(*TRANSFORMS)
def test_we_keep_every_row_when_we_prune_duckdbs_files(
    sides: Operations, statistics_of: Any, partitioned: Any, transform: str, case: Case
) -> None:
    theirs, _ = partitioned(transform)
    name = column(case, "column")
    stats = statistics_of(theirs)
    by_id = {int(id_[2]): value for id_, value in zip(stats["id"], stats[name], strict=True)}
    pairs = sides.duck.execute(f"SELECT a.id, b.id FROM {theirs} a, {theirs} b WHERE a.{name} >= b.{name}").fetchall()
    for greater, less in pairs:
        for number, other, side in ((greater, less, "low"), (less, greater, "high")):
            count, nulls, least, greatest, nan, _ = by_id[number]
            bound = by_id[other][2]
            if bound is not None:
                file_stats = ColumnStats(1, 0, count, nulls, least, greatest, nan)
                assert not outside(ColumnRange(1, **{side: bound}), file_stats, case.stored), (number, other, side)


@pytest.fixture(scope="module")
def statistics(sides: Operations) -> tuple[Any, Any]:
    """What the catalog stores about one file of DuckDB and one file of ours with the same rows."""
    columns = [(case, shape) for case in CASES for shape in _shapes_in_files(case)]
    sides.duck_table("stats_theirs", columns, lambda case: case.in_files, 0)
    sides.our_table("stats_ours", columns)
    sides.session.execute("INSERT INTO stats_ours SELECT * FROM stats_theirs")
    return file_statistics(sides.duck, "stats_theirs"), file_statistics(sides.duck, "stats_ours")


NOT_COUNTED_BY_DUCKDB = ("timetz", "interval")


@BY_TYPE
def test_column_statistics_are_those_of_duckdb(sides: Operations, statistics: tuple[Any, Any], case: Case) -> None:
    theirs, ours = statistics
    leaves = {"column": "", "list": ".element", "struct": ".f", "map": ".value"}
    for shape in _shapes_in_files(case):
        if case.stored == "variant":
            continue
        name = column(case, shape) + leaves[shape]
        if case.stored in NOT_COUNTED_BY_DUCKDB:
            assert theirs[name] == [(0, 0, None, None, None, None)]
            assert ours[name][0][2:] == (None, None, None, None)
        elif case.kind == "float" and not sides.session.catalog.encrypted:  # Spark's footers have no bounds if a column contains NaN
            ((count, nulls, _, _, nan, extra),) = theirs[name]
            assert ours[name] == [(count, nulls, None, None, nan, extra)]
        else:
            assert ours[name] == theirs[name], shape


BEYOND_SPARK = [(case, value) for case in CASES for value in case.not_in_spark]


@pytest.mark.parametrize(("case", "value"), BEYOND_SPARK, ids=[f"{case.stored}-{value[:24]}" for case, value in BEYOND_SPARK])
def test_the_error_for_a_value_that_spark_cannot_represent_names_the_column(sides: Operations, case: Case, value: str) -> None:
    number = CASES.index(case) * 10 + case.not_in_spark.index(value)
    for place, limit in (("inlined", 10), ("files", 0)):
        if limit == 0 and value in case.not_in_duckdb_files:
            continue
        table = f"beyond_{place}_{number}"
        sides.duck.execute(f"CREATE TABLE {table} (id INTEGER, c {case.duck})")
        sides.duck.execute(f"CALL lake.set_option('data_inlining_row_limit', {limit}, table_name => '{table}')")
        sides.duck.execute(f"INSERT INTO {table} VALUES (1, {duck_value(case, value)})")
        with pytest.raises(DuckLakeError, match=r"column c|A TIME is 24:00:00"):
            sides.session.execute(f"SELECT CAST(c AS STRING) FROM {table}").fetch()
    table = f"beyond_default_{number}"
    sides.duck.execute(f"CREATE TABLE {table} (id INTEGER)")
    sides.duck.execute(f"CALL lake.set_option('data_inlining_row_limit', 0, table_name => '{table}')")
    sides.duck.execute(f"INSERT INTO {table} VALUES (1)")
    sides.duck.execute(f"ALTER TABLE {table} ADD COLUMN c {case.duck} DEFAULT '{value}'")
    assert sides.session.execute(f"SELECT id FROM {table}").fetch() == [(1,)]
    with pytest.raises(DuckLakeError, match="column c"):
        sides.session.execute(f"SELECT c FROM {table}").fetch()
