"""The command line: each command on a lake by its path and by a dbt target, its formats, and its errors. None of this starts Spark."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from dbt.adapters.ducklake.cli import main
from dbt.adapters.ducklake.cli.main import COMMANDS
from dbt.adapters.ducklake.cli.output import show
from dbt.adapters.ducklake.session import connect
from dbt.adapters.ducklake.spark.files import s3
from dbt.adapters.ducklake.spark.files.s3 import secret_of
from tests.duckdb_instances import open_duckdb

EXTRA = {"node_id": "model.shop.orders", "invocation_id": "1f"}
PROFILES = """
shop:
  target: dev
  outputs:
    dev: {type: ducklake, path: "ducklake:sqlite:{{ env_var('LAKE_FOLDER') }}/lake.sqlite", schema: sales, author: anna, database: shop}
    other: {type: spark, method: session, schema: main, host: x}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a lake, in which commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAKE_FOLDER", str(tmp_path))
    monkeypatch.delenv("DBT_PROFILES_DIR", raising=False)
    with connect("lake.sqlite", "files/") as session:
        session.execute("CREATE SCHEMA sales")
        session.set_commit_message("me", "dbt run", json.dumps(EXTRA))
        session.load_seed("sales", "orders", [("a", "int")], [(number,) for number in range(100)])
    with open_duckdb("ducklake", "sqlite_scanner") as duck:
        duck.execute("ATTACH 'ducklake:sqlite:lake.sqlite' AS lake")
        duck.execute("INSERT INTO lake.sales.orders SELECT range FROM range(20)")
    return tmp_path


def ducklake(*arguments: str, **more: Any) -> Result:
    return CliRunner().invoke(main, arguments, **more)


def on_lake(*arguments: str, **more: Any) -> Result:
    return ducklake("--lake", "lake.sqlite", *arguments, **more)


def rows(result: Result) -> list[dict[str, Any]]:
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, list)
    return found


@pytest.mark.usefixtures("folder")
def test_snapshots_are_listed_newest_first() -> None:
    found = rows(on_lake("snapshots", "--format", "json"))
    assert [row["snapshot_id"] for row in found] == [3, 2, 1, 0]
    assert [row["changed"] for row in found[:2]] == [["sales.orders"], ["sales.orders"]]
    assert (found[1]["author"], found[1]["node_id"], found[1]["invocation_id"]) == ("me", "model.shop.orders", "1f")
    assert rows(on_lake("snapshots", "--limit", "1", "--format", "json")) == found[:1]


@pytest.mark.usefixtures("folder")
def test_history_of_a_table() -> None:
    found = rows(on_lake("history", "sales.orders", "--format", "json"))
    assert [(row["changes"], row["rows_inserted"]) for row in found] == [(["insert"], 20), (["create", "insert"], 100)]
    assert rows(on_lake("history", "lake.sales.orders", "--limit", "1", "--format", "json")) == found[:1]


@pytest.mark.usefixtures("folder")
def test_the_three_formats_show_the_same() -> None:
    found = rows(on_lake("history", "sales.orders", "--format", "json"))
    lines = list(csv.DictReader(io.StringIO(on_lake("history", "sales.orders", "--format", "csv").stdout)))
    assert [(line["snapshot_id"], line["rows_inserted"], json.loads(line["changes"])) for line in lines] == [
        (str(row["snapshot_id"]), str(row["rows_inserted"]), row["changes"]) for row in found
    ]
    table = on_lake("history", "sales.orders").stdout
    assert "create, insert" in table
    assert "model.shop.orders" in table
    assert "…" not in table


@pytest.mark.usefixtures("folder")
def test_a_diff_of_snapshots_without_a_change_starts_no_spark() -> None:
    on_lake("sql", "COMMENT ON TABLE sales.orders IS 'x'")
    text = on_lake("diff", "sales.orders", "--from", "3").stdout
    assert text.splitlines()[2:] == ["no differences"]
    assert "from lake.sales.orders at snapshot 3 (" in text
    assert on_lake("diff", "sales.orders", "--from", "3", "--to", "4", "--format", "markdown").stdout.startswith(
        "### `lake.sales.orders`: no diff"
    )
    assert json.loads(on_lake("diff", "sales.orders", "--from", "3", "--key", "a", "--format", "json").stdout)["equal"]


def test_a_report_is_written(folder: Path) -> None:
    result = on_lake("report", "-o", "new/report.html")
    assert result.stdout.strip() == str(folder / "new/report.html")
    assert "sales.orders" in (folder / "new/report.html").read_text()


@pytest.mark.usefixtures("folder")
def test_statements_share_a_session() -> None:
    result = on_lake("sql", "USE sales", "BEGIN", "COMMENT ON TABLE orders IS 'x'", "SHOW TABLES", "COMMIT", "--format", "csv")
    assert result.stdout == "namespace,tableName,isTemporary\nsales,orders,false\n"
    assert result.stderr.splitlines()[:2] == ["USE sales", "BEGIN"]
    assert rows(on_lake("snapshots", "--limit", "1", "--format", "json"))[0]["commit_message"] == "ducklake sql"
    assert rows(on_lake("sql", "-", "--format", "json", input="SHOW SCHEMAS"))[0] == {"namespace": "main"}


@pytest.mark.usefixtures("folder")
def test_long_results_are_cut() -> None:
    result = on_lake("sql", "SHOW SCHEMAS", "--limit", "1", "--format", "csv")
    assert result.stdout == "namespace\nmain\n"
    assert "only the first 1 rows are shown" in result.stderr


@pytest.mark.usefixtures("folder")
def test_a_lake_is_created_where_its_data_path_is_given() -> None:
    assert "no catalog at" in ducklake("--lake", "new.sqlite", "sql", "SHOW SCHEMAS").stderr
    assert "no catalog at" in ducklake("--lake", "new.sqlite", "--data-path", "new/", "snapshots").stderr
    assert not Path("new.sqlite").exists()
    assert ducklake("--lake", "new.sqlite", "--data-path", "new/", "sql", "CREATE SCHEMA s").exit_code == 0
    assert Path("new.sqlite").exists()


@pytest.mark.usefixtures("folder")
def test_a_checkpoint_does_what_its_dry_run_says() -> None:
    on_lake("sql", "CALL set_option('expire_older_than', '0 seconds')")
    with connect("lake.sqlite") as session:
        session.load_seed("main", "few", [("a", "int")], [(1,)])
    planned = {row["step"]: row for row in rows(on_lake("checkpoint", "--dry-run", "--format", "json"))}
    assert planned["flush_inlined_data"] == {
        "step": "flush_inlined_data",
        "needed": True,
        "outcome": "1 inlined row in 1 table to write to files",
    }
    assert planned["delete_orphaned_files"]["needed"] is None
    assert len(rows(on_lake("snapshots", "--format", "json"))) == 5
    on_lake("sql", "CALL set_option('auto_compact', false, schema => 'sales')")  # merging files would start Spark
    done = {row["step"]: row for row in rows(on_lake("checkpoint", "--format", "json"))}
    assert planned["expire_snapshots"]["outcome"] == "4 snapshots older than 0 seconds"
    assert done["expire_snapshots"]["outcome"] == "EXPIRE SNAPSHOTS: 5 expired"  # the flush is a snapshot too


def test_the_doctor_names_what_fails(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbt.adapters.ducklake.session.doctor._spark_findings", lambda *_: iter(()))
    result = on_lake("doctor", "--format", "json")
    assert {row["result"] for row in rows(result)} == {"ok"}
    (folder / "files").rename(folder / "elsewhere")
    (folder / "files").write_text("not a folder")
    result = on_lake("doctor", "--format", "json")
    assert result.exit_code == 1
    (failed,) = [row for row in json.loads(result.stdout) if row["result"] == "failed"]
    assert failed["check"] == "the data path of lake can be used"
    assert "cannot be written to" in failed["detail"]


def test_the_doctor_uses_the_secrets_of_the_profile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def findings(runtime: Any, _: object) -> Iterator[Any]:
        seen.append((secret_of("shop-bucket"), runtime))
        return iter(())

    seen: list[Any] = []
    monkeypatch.setattr("dbt.adapters.ducklake.session.doctor._spark_findings", findings)
    monkeypatch.setattr("dbt.adapters.ducklake.spark.session.runtime.SparkRuntime", _Runtime)
    monkeypatch.setattr("dbt.adapters.ducklake.spark.files.s3._SECRETS", type(s3._SECRETS)())
    secret = "{type: s3, key_id: k, secret: s, scope: 's3://shop-bucket'}"
    (folder / "profiles.yml").write_text(PROFILES.replace("author: anna", f"secrets: [{secret}]"))
    assert ducklake("doctor").exit_code == 0
    ((found, runtime),) = seen
    assert found.key_id == "k"
    assert "spark.hadoop.fs.s3a.bucket.shop-bucket.access.key" in runtime.spark.config


class _Runtime:
    """A runtime that starts no Spark."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def __enter__(self) -> _Runtime:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class TestTargets:
    @pytest.fixture(autouse=True)
    def profiles(self, folder: Path) -> None:
        (folder / "profiles.yml").write_text(PROFILES)

    def test_a_target_has_a_schema_and_an_author(self) -> None:
        assert len(rows(ducklake("history", "orders", "--format", "json"))) == 2
        assert len(rows(ducklake("--profile", "shop", "--target", "dev", "history", "shop.sales.orders", "--format", "json"))) == 2
        assert ducklake("sql", "COMMENT ON TABLE orders IS 'y'").exit_code == 0
        assert rows(ducklake("snapshots", "--limit", "1", "--format", "json"))[0]["author"] == "anna"

    def test_the_project_names_the_profile(self, folder: Path) -> None:
        (folder / "profiles.yml").write_text(PROFILES + PROFILES.replace("shop:", "second:", 1))
        assert ducklake("snapshots").stderr.strip().endswith("has several profiles: give --profile with one of shop, second")
        (folder / "project").mkdir()
        (folder / "project" / "dbt_project.yml").write_text("name: p\nprofile: shop\n")
        assert len(rows(ducklake("--project-dir", "project", "--profiles-dir", ".", "snapshots", "--format", "json"))) == 4

    def test_the_name_of_the_profile_may_be_a_variable_of_the_environment(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "profiles.yml").write_text(PROFILES + PROFILES.replace("shop:", "second:", 1))
        (folder / "dbt_project.yml").write_text("name: p\nprofile: \"{{ env_var('MY_PROFILE', 'shop') }}\"\n")
        assert len(rows(ducklake("snapshots", "--format", "json"))) == 4
        monkeypatch.setenv("MY_PROFILE", "nothing")
        assert "has no profile nothing" in ducklake("snapshots").stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--profile", "nothing", "snapshots"], "has no profile nothing: give --profile with one of shop"),
            (["--target", "nothing", "snapshots"], "does not have a target named 'nothing'"),
            (["--target", "other", "snapshots"], "is of type spark: choose a target of type ducklake"),
            (["diff", "orders", "--other-target", "nothing"], "does not have a target named 'nothing'"),
            (["diff", "orders", "--other-target", "other"], "is of type spark: choose a target of type ducklake"),
            (
                ["diff", "orders", "--other-target", "dev", "--other-lake", "x.sqlite"],
                "--other-lake and --other-target cannot be used together",
            ),
            (["--data-path", "x", "snapshots"], "--data-path needs --lake"),
            (["--lake", "lake.sqlite", "--target", "dev", "snapshots"], "--lake and --target cannot be used together"),
            (["--project-dir", ".", "--profiles-dir", ".", "snapshots"], "has no dbt_project.yml: check --project-dir"),
        ],
    )
    def test_wrong_targets_are_one_line(self, arguments: list[str], message: str) -> None:
        result = ducklake(*arguments)
        assert result.exit_code == 2
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["history", "nothing"], 1, "main.nothing does not exist"),
        (["history", "a b"], 1, "was not expected here"),
        (["history", "nowhere.sales.orders"], 2, "there is no lake nowhere"),
        (["history", "sales.orders", "--limit", "0"], 2, "0 is not in the range x>=1. See `ducklake history --help`"),
        (["snapshots", "--format", "xml"], 2, "'xml' is not one of"),
        (["diff", "nothing", "--from", "1"], 1, "main.nothing does not exist"),
        (["diff", "sales.orders"], 1, "needs `from`, a snapshot or timestamp, or `other`, another relation"),
        (["diff", "sales.orders", "--from", "9"], 1, "snapshot 9 does not exist"),
        (["diff", "sales.orders", "--from", "soon"], 1, "from must be the number of a snapshot or a timestamp"),
        (["diff", "sales.orders", "--from", "3", "--key", "x"], 1, "column x of lake.sales.orders, for the key does not exist"),
        (["diff", "sales.orders", "--other-lake", "new.sqlite", "--key", "a"], 2, "there is no catalog at"),
        (["diff", "sales.orders", "--other-target", "dev"], 2, "--other-target needs a dbt target"),
        (["diff", "sales.orders", "--from", "3", "--format", "csv"], 2, "'csv' is not one of"),
        (["sql"], 2, "Missing argument 'STATEMENTS...'"),
        (["sql", "SHOW COLUMNS"], 1, "SHOW COLUMNS needs IN"),
        (["report", "-o", "lake.sqlite/x.html"], 2, "the report cannot be written"),
        (["frobnicate"], 2, "No such command 'frobnicate'"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_errors_are_one_line_with_an_exit_code(arguments: list[str], code: int, message: str) -> None:
    result = on_lake(*arguments, prog_name="ducklake")
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_without_a_lake_the_error_says_how_to_give_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = ducklake("--profiles-dir", ".", "snapshots")
    assert (result.exit_code, "give --lake PATH_OR_URL" in result.stderr) == (2, True)


def test_values_of_every_kind_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    row = [
        None,
        True,
        1.5,
        float("nan"),
        Decimal("1.10"),
        b"\x01\xff",
        datetime(2026, 1, 31, tzinfo=timezone.utc),
        timedelta(1),
        {"a": [1]},
        "[b]\x1b[31m",
    ]
    names = [f"c{number}" for number in range(len(row))]
    show(names, [row], "json")
    assert json.loads(capsys.readouterr().out)[0] == dict(
        zip(
            names,
            [None, True, 1.5, "nan", "1.10", "01ff", "2026-01-31T00:00:00+00:00", "1 day, 0:00:00", {"a": [1]}, "[b]\x1b[31m"],
            strict=True,
        )
    )
    show(names, [row], "csv")
    assert capsys.readouterr().out.splitlines()[1].startswith(",true,1.5,nan,1.10,01ff,2026-01-31T00:00:00+00:00,")
    show(names, [row], "table")
    shown = capsys.readouterr().out
    assert "[b]\\x1b[31m" in shown
    assert "2026-01-31 00:00:00Z" in shown


def test_every_command_is_on_the_page_of_the_command_line() -> None:
    page = (Path(__file__).parents[3] / "docs/command-line.md").read_text(encoding="utf-8")
    assert [command.name for command in COMMANDS if f"`ducklake {command.name}" not in page] == []
    options = [option for command in (main, *COMMANDS) for each in command.params for option in each.opts if option.startswith("--")]
    assert [option for option in options if f"`{option}" not in page] == []


def test_an_object_has_each_column_of_a_repeated_name(capsys: pytest.CaptureFixture[str]) -> None:
    show(["a", "a", "a_1"], [(1, 2, 3)], "json")
    assert json.loads(capsys.readouterr().out) == [{"a": 1, "a_2": 2, "a_1": 3}]


def test_a_table_shows_the_fractions_of_seconds_unless_they_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = datetime(2026, 1, 31, 12, 0, 0, 5), datetime(2026, 1, 31, 13, 0, 0, 250_000, tzinfo=timezone(timedelta(hours=1)))
    show(["first", "second"], [(first, second)], "table")
    assert "2026-01-31 12:00:00.000005   2026-01-31 12:00:00.250000Z" in " ".join(capsys.readouterr().out.splitlines())
    show(["first", "second"], [(first, second)], "table", whole_seconds=True)
    assert "2026-01-31 12:00:00   2026-01-31 12:00:00Z" in " ".join(capsys.readouterr().out.splitlines())
