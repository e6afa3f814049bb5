"""dbt snapshots in one process: how many seconds the snapshot's node takes, for a few rows and for many, with changes and without.

The first two runs of each snapshot are printed separately: the first one creates the table. At the end the number of versions is compared
with the number of changes.

    python benchmarks/bench_snapshot.py --rows 150000 --rounds 3
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import tempfile
from pathlib import Path

SNAPSHOT = (
    "{{% snapshot {name} %}}{{{{ config(unique_key='id', strategy='check', check_cols=['n'], target_schema='main') }}}} "
    "select id, concat('name ', cast(id as string)) as name, case when id % {every} = 0 then {{{{ var('day') }}}} else 0 end as n "
    "from range({rows}){{% endsnapshot %}}"
)


def write_project(folder: Path, sizes: dict[str, tuple[int, int]]) -> None:
    """Write a dbt project with these snapshots: name → (number of rows, n), where every nth row changes each day."""
    (folder / "snapshots").mkdir()
    (folder / "dbt_project.yml").write_text(
        "name: bench\nversion: '1.0'\nprofile: bench\nflags: {send_anonymous_usage_stats: false}\nvars: {day: 0}\n"
    )
    output = {"type": "ducklake", "path": "sqlite:///lake.sqlite", "data_path": "data/", "schema": "main", "threads": 1}
    (folder / "profiles.yml").write_text(json.dumps({"bench": {"target": "dev", "outputs": {"dev": output}}}))
    for name, (rows, every) in sizes.items():
        (folder / "snapshots" / f"{name}.sql").write_text(SNAPSHOT.format(name=name, rows=rows, every=every))


def snapshot(day: int, name: str) -> float:
    """Run `dbt snapshot` in the current folder and return how many seconds the node took.

    Args:
        day: the value of `var('day')`: a new day changes every nth row.
        name: the snapshot to run.
    """
    from dbt.cli.main import dbtRunner

    arguments = ["snapshot", "--profiles-dir", ".", "--project-dir", ".", "--log-level", "none", "--vars", f"day: {day}", "--select", name]
    with open(os.devnull, "w") as sink, contextlib.redirect_stdout(sink):
        done = dbtRunner().invoke(arguments)
    if not done.success:
        raise SystemExit(f"{name}: {done.exception or [result.message for result in done.result]}")
    return float(done.result[0].execution_time)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=150_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sizes = {"few": (10, 5), "many": (options.rows, 100)}
    with tempfile.TemporaryDirectory(prefix="bench-snapshot-") as name:
        os.chdir(name)
        write_project(Path(name), sizes)
        for each, (rows, every) in sizes.items():
            first = [snapshot(0, each), snapshot(1, each)]
            changed = [snapshot(2 + number, each) for number in range(options.rounds)]
            unchanged = [snapshot(1 + options.rounds, each) for _ in range(options.rounds)]
            print(f"{rows:,} rows, {(rows + every - 1) // every:,} changed: first {first[0]:.2f} s, second {first[1]:.2f}", end="; ")
            print(f"then {statistics.median(changed):.2f} s, without a change {statistics.median(unchanged):.2f} s")
            check_versions(rows, (rows + every - 1) // every, options.rounds + 1, each)
        os.chdir("/")


def check_versions(rows: int, changed: int, days: int, name: str) -> None:
    """Require that the first run made one version of each row, and each later day one more of each changed row."""
    from dbt.adapters.ducklake.session import connect

    with connect("sqlite:///lake.sqlite") as lake:
        ((found, current),) = lake.execute(f"SELECT count(*), count_if(dbt_valid_to IS NULL) FROM {name}").fetch()
    if (found, current) != (rows + changed * days, rows):
        raise SystemExit(f"{name} has {found} versions, {current} of them current; expected {rows + changed * days} and {rows}")


if __name__ == "__main__":
    main()
