"""Time several ways of doing the same work alternately in one process, and print their ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Times = dict[str, list[float]]


def in_turn(ways: Mapping[str, Callable[[int], object]], rounds: int) -> Times:
    """Run each way once without measurement and then `rounds` times, alternately, so that noise affects all equally.

    Args:
        ways: name → function of the number of the round; 0 is not measured.
        rounds: how many rounds are measured.

    Returns:
        Seconds by name.
    """
    times: Times = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, work in ways.items():
            started = time.perf_counter()
            work(number)
            if number:
                times[name].append(time.perf_counter() - started)
    return times


def require_equal(title: str, results: Mapping[str, Iterable[Any]]) -> None:
    """Compare the rows that the ways produced, in any order.

    Raises:
        SystemExit: they differ.
    """
    rows = {name: sorted(map(tuple, result), key=repr) for name, result in results.items()}
    expected = next(iter(rows.values()))
    if any(each != expected for each in rows.values()):
        shown = "\n".join(f"  {name}: {each[:5]}" for name, each in rows.items())
        raise SystemExit(f"{title}: the rows differ\n{shown}")


def report(title: str, times: Mapping[str, list[float]], baseline: str) -> None:
    """Print the best time and the median of each way, and the ratio of its median to that of the baseline.

    Args:
        title: the first line.
        times: name → seconds of each round.
        baseline: the name of the way to compare with.
    """
    width = max(len(name) for name in times)
    print(f"\n{title}")
    print(f"  {'':{width}}  {'best s':>8} {'median s':>9} {'ratio':>7}")
    reference = statistics.median(times[baseline])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"  {name:{width}}  {min(seconds):8.3f} {median:9.3f} {median / reference:7.2f}")
