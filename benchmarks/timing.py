"""Time several ways of doing the same work in turn, in one process on one machine, and print them as ratios."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

Times = dict[str, list[float]]


def in_turn(ways: Mapping[str, Callable[[int], object]], rounds: int) -> Times:
    """Run each way once unmeasured and then `rounds` times, in turn within each round, so that noise hits all alike.

    Args:
        ways: name → function of the round's number (0 is the unmeasured one).

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


def report(title: str, times: Mapping[str, list[float]], baseline: str) -> None:
    """Print best and median of each way, and the medians' ratio to the baseline."""
    width = max(len(name) for name in times)
    print(f"\n{title}")
    print(f"  {'':{width}}  {'best s':>8} {'median s':>9} {'ratio':>7}")
    reference = statistics.median(times[baseline])
    for name, seconds in times.items():
        median = statistics.median(seconds)
        print(f"  {name:{width}}  {min(seconds):8.3f} {median:9.3f} {median / reference:7.2f}")
