"""Builds a project with dbt-spark too: the rows that each relation should have."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml  # type: ignore[import-untyped]

from tests.acceptance.package_cases import Case
from tests.acceptance.projects import Project


def build_with_spark(project: Project, folder: Path, case: Case) -> dict[tuple[str, str], str]:
    """Build a copy of a project with dbt-spark. Return the files with the rows of each relation, by its schema and name.

    Its seeds are copies of those of the lake, because dbt-spark loads a missing value as the text `None`. The models for Delta Lake are
    Parquet tables, because its JAR is not here. Other processes write the seeds and read the relations, views too.
    """
    theirs = Project(folder)
    shutil.copytree(project.folder, folder, ignore=shutil.ignore_patterns("data", "lake.sqlite*", "target", "logs", "calls.txt"))
    for file in folder.rglob("models/**/*.sql"):
        file.write_text(re.sub(r"(file_format\s*=\s*)'delta'", r"\1'parquet'", file.read_text()))
    with project.attach() as lake:
        for (name,) in lake.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = ?", [case.schema]).fetchall():
            lake.execute(f'COPY lake."{case.schema}"."{name}" TO \'{folder}/{name}.parquet\'')
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    output = {"type": "spark", "method": "session", "host": "localhost", "schema": case.schema, "threads": 4}
    profile = yaml.safe_load((folder / "dbt_project.yml").read_text())["profile"]
    theirs.write_profiles(profile, {"theirs": output | {"server_side_parameters": settings}}, target="theirs")
    spark(folder, LOAD_SEEDS.format(schema=case.schema))
    theirs.dbt("build", "--exclude", "resource_type:seed", "--vars", f"{{{case.package}_database: lake}}")  # a text in some rows
    spark(folder, COPY_ALL)
    return {(each.parent.name, each.name): f"{each}/*.parquet" for each in (folder / "all").glob("*/*")}


LOAD_SEEDS = """
spark.sql("CREATE DATABASE {schema}")
for file in Path().glob("*.parquet"):
    spark.read.parquet(str(file)).write.saveAsTable(f"{schema}.{{file.stem}}")
"""
COPY_ALL = """
for database in spark.catalog.listDatabases():
    for table in spark.catalog.listTables(database.name):
        spark.table(f"`{database.name}`.`{table.name}`").coalesce(1).write.parquet(f"all/{database.name}/{table.name}")
"""
START = """
from pathlib import Path
from pyspark.sql import SparkSession
settings = {"spark.ui.enabled": "false", "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}
spark = SparkSession.builder.enableHiveSupport().config(map=settings).getOrCreate()
"""


def spark(folder: Path, program: str) -> None:
    """Run a program with a Spark session whose metastore and warehouse are in a folder, as those of dbt-spark."""
    done = subprocess.run([sys.executable, "-c", START + program], cwd=folder, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr[-4000:]
