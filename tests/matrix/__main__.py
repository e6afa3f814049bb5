"""Try combinations of versions: `make matrix`, or `python -m tests.matrix --pyspark 4.1 --java 25`."""

from __future__ import annotations

import argparse
import datetime as dt
import platform
import shutil
import sys
from pathlib import Path

from .combinations import DBTS, DUCKDBS, JAVAS, LIBRARIES, PYSPARKS, PYTHONS, Combination, combinations
from .environments import cache, own_python
from .table import table
from .trial import Outcome, try_combination


def main() -> int:
    """Return 1 if a combination failed, and otherwise 0."""
    options = _options()
    chosen = [each for each in combinations(own_python()) if _is_chosen(each, options)]
    if not chosen:
        print("No combination has all of these versions; --list prints those that exist", file=sys.stderr)
        return 2
    if options.list:
        print(*chosen, sep="\n")
        return 0
    cache().mkdir(parents=True, exist_ok=True)
    results = []
    for number, each in enumerate(chosen, 1):
        print(f"{number} of {len(chosen)}: {each} ... ", end="", file=sys.stderr, flush=True)
        result = try_combination(each)
        results.append(result)
        print(f"{result.outcome.value} ({result.seconds:.0f} s) {result.detail}", file=sys.stderr, flush=True)
    text = f"Measured on {dt.date.today()}, {platform.system()} {platform.machine()}\n\n{table(results)}\n"
    print(text)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    if options.clean:
        shutil.rmtree(cache())
    return 1 if any(each.outcome is Outcome.FAILED for each in results) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make matrix", description="Each option takes several versions; without options all are tried.")
    parser.add_argument("--pyspark", nargs="+", choices=PYSPARKS)
    parser.add_argument("--java", nargs="+", type=int, choices=JAVAS)
    parser.add_argument("--python", nargs="+", choices=PYTHONS)
    parser.add_argument("--duckdb", nargs="+", choices=DUCKDBS)
    parser.add_argument("--dbt", nargs="+", choices=DBTS)
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES)
    parser.add_argument("--list", action="store_true", help="print the combinations only")
    parser.add_argument("--output", type=Path, help="a file for the table, too")
    parser.add_argument("--clean", action="store_true", help="remove the environments at the end; they need about 1 GB each")
    return parser.parse_args()


def _is_chosen(combination: Combination, options: argparse.Namespace) -> bool:
    names = ("pyspark", "java", "python", "duckdb", "dbt", "libraries")
    return all(getattr(options, name) is None or getattr(combination, name) in getattr(options, name) for name in names)


if __name__ == "__main__":
    sys.exit(main())
