"""A chain of three incremental models after 1 % of the rows of their source changed: the strategy `changes` compared with merges.

The same chain runs in three ways on one lake: with `ducklake_changes`; with a merge of all rows that updates those with a newer
timestamp; and with a merge of the rows whose timestamp is newer than the newest one in the model, which misses late rows and deletes.
Before each round 1 % of the source's rows are updated, anywhere in the table. At the end the models must be equal.

    python benchmarks/bench_changes.py --rows 10000000 --rounds 3
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from timing import report

if TYPE_CHECKING:
    from dbt.adapters.ducklake.session import LakeSession

COLUMNS = "id, customer, amount, note, updated_at"
CONFIG = "{{{{ config(materialized='incremental', incremental_strategy='changes', unique_key='id'{}) }}}} "
MERGE = CONFIG.replace("'changes'", "'merge'")
IS_NEWER = "DBT_INTERNAL_SOURCE.updated_at > DBT_INTERNAL_DEST.updated_at"
NEWER = " {% if is_incremental() %} where updated_at > (select max(updated_at) from {{ this }}) {% endif %}"
BASELINE = "full merge by timestamp"
WAYS = {
    "changes": CONFIG.format("") + f"select {COLUMNS}, _change_type from {{{{ ducklake_changes(%s) }}}}",
    "merge of newer rows": MERGE.format("") + f"select {COLUMNS} from {{{{ %s }}}}" + NEWER,
    BASELINE: MERGE.format(f", merge_update_condition='{IS_NEWER}'") + f"select {COLUMNS} from {{{{ %s }}}}",
}
"""Way → the text of each of its models, with a placeholder for the input."""
CREATE = (
    "create table main.orders as select id, id % 1000 as customer, cast(rand(1) * 1000 as decimal(10, 2)) as amount, "
    "concat('order ', id, ' of customer ', id % 1000) as note, timestamp '2026-01-01 00:00:00' as updated_at "
    "from range(0, {rows}, 1, 8) r(id)"
)
CHANGE = (
    "update main.orders set amount = amount + 1, updated_at = timestamp '2026-01-01 00:00:00' + interval {round} hours "
    "where pmod(xxhash64(id, {round}), {share}) = 0"
)


def names(way: str) -> list[str]:
    """Return the names of the models of a way, in order."""
    return [f"{way.replace(' ', '_')}_{number}" for number in range(3)]


def write_project(folder: Path) -> None:
    """Write the project with the models of all ways."""
    (folder / "models").mkdir(parents=True)
    (folder / "dbt_project.yml").write_text("name: changes\nversion: '1.0'\nprofile: changes\nflags: {send_anonymous_usage_stats: false}\n")
    target = {"type": "ducklake", "path": "sqlite:///lake.sqlite", "data_path": "data/", "schema": "main", "threads": 1}
    profile = {"changes": {"target": "dev", "outputs": {"dev": target}}}
    (folder / "profiles.yml").write_text(json.dumps(profile))  # JSON is YAML
    (folder / "models" / "sources.yml").write_text("sources: [{name: shop, schema: main, tables: [{name: orders}]}]\n")
    for way, text in WAYS.items():
        read = "source('shop', 'orders')"
        for name in names(way):
            (folder / "models" / f"{name}.sql").write_text(text.replace("%s", read))
            read = f"ref('{name}')"


def dbt(*arguments: str) -> None:
    """Run a command of dbt in this process."""
    from dbt.cli.main import dbtRunner

    with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
        done = dbtRunner().invoke([*arguments, "--profiles-dir", ".", "--project-dir", ".", "--log-level", "none"])
    if not done.success:
        raise SystemExit(f"{' '.join(arguments)} failed: {done.exception or [result.message for result in done.result if result.message]}")


def require_equal(session: LakeSession, name: str) -> None:
    """Exit with an error unless a model has the rows of the source."""
    source, model = "select * from main.orders", f"select * from main.{name}"
    differences = f"({source} except all {model}) union all ({model} except all {source})"
    ((differing,),) = session.execute(f"select count(*) from ({differences})").fetch()
    if differing:
        raise SystemExit(f"{name} differs from its source in {differing} rows")


def main() -> None:
    """Run the benchmark."""
    from dbt.adapters.ducklake.session import connect

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--share", type=int, default=100, help="update one in this many rows in each round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory(prefix="bench-changes-") as folder:
        write_project(Path(folder))
        os.chdir(folder)
        with connect("sqlite:///lake.sqlite", data_path="data/") as session:  # its Spark serves the runs, too
            session.execute(CREATE.format(rows=options.rows))
            dbt("run")
            for number in range(1, options.rounds + 2):
                session.execute(CHANGE.format(round=number, share=options.share))
                for way in WAYS:
                    started = time.perf_counter()
                    dbt("run", "--select", *names(way))
                    if number > 1:  # the first round is a warm-up
                        times[way].append(time.perf_counter() - started)
            for way in WAYS:
                require_equal(session, names(way)[-1])
        os.chdir("/")
    report(
        f"Three models in a chain, 1 of {options.share} of {options.rows:,} rows updated ({options.rounds} rounds)",
        times,
        baseline=BASELINE,
    )


if __name__ == "__main__":
    if importlib.util.find_spec("dbt.adapters.ducklake") is None:
        sys.exit("dbt-ducklake is not installed here; run `make venv` and use its Python")
    main()
