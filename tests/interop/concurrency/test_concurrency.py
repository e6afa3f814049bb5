"""Two of our sessions and DuckDB work on one lake in random interleavings, and each history is as isolated as its level requires.

The long run is `make concurrency HISTORIES=500`. It tests both isolation levels; `ARGS="-k serializable"` chooses one. `SEED=107` starts
with the history of that seed, so a run can be repeated. A failing history is shortened and printed as a script.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter

import pytest

from tests.places import FULL_MATRIX

from .checker import Finding, Verdict, check
from .history import History, Script
from .model import Model
from .playing import Player
from .scripts import FEATURES, script_of
from .shrinking import shrink

LONG = "CONCURRENCY_HISTORIES" in os.environ
HISTORIES = int(os.environ.get("CONCURRENCY_HISTORIES") or (3 if FULL_MATRIX else 2))
SEED = int(os.environ.get("CONCURRENCY_SEED") or (random.randrange(10**6) if LONG else 1))
"""The seed of the first history; each further history uses the next seed. The short run always uses the same seeds."""
WITHOUT = frozenset(filter(None, os.environ.get("CONCURRENCY_WITHOUT", "").split(",")))
"""The features that the scripts do not use."""
ACCEPTED = {
    "serializable": {Verdict.SERIALIZABLE},
    "snapshot": {Verdict.SERIALIZABLE, Verdict.REORDERED, Verdict.WRITE_SKEW},
}
"""The verdicts that each isolation level accepts."""
SHORT = [("sqlite", "serializable"), ("postgres", "snapshot")]
"""The databases and isolation levels of the short run."""
MAX_REPORTS = int(os.environ.get("CONCURRENCY_REPORTS", "3"))
"""Each database and isolation level stops after this many failures. Shortening a history runs it about twenty more times."""


def report(history: History, finding: Finding) -> str:
    """Return the verdict on a history, the reasons for it, and the history as a script with its answers."""
    return "\n".join([finding.verdict.value, *(f"  ! {reason}" for reason in finding.reasons), *(f"    {line}" for line in history.lines)])


def shortened(script: Script, verdict: Verdict, player: Player, model: Model) -> str:
    """Return the report of the shortest script found that has the same verdict."""
    short = shrink(script, lambda candidate: check(player.play(candidate), model).verdict is verdict)
    history = player.play(short)
    return report(history, check(history, model))


def test_random_histories_are_as_isolated_as_their_level_requires(
    player: Player, model: Model, database: str, isolation_level: str
) -> None:
    if not (LONG or FULL_MATRIX or (database, isolation_level) in SHORT):
        pytest.skip("NIGHTLY: at this isolation level in `make test-all` (DUCKLAKE_TEST_MATRIX=full)")
    assert set(FEATURES) >= WITHOUT, f"CONCURRENCY_WITHOUT may list only these features: {', '.join(FEATURES)}"
    print(f"\n{database}, {isolation_level}: CONCURRENCY_SEED={SEED} CONCURRENCY_HISTORIES={HISTORIES}", flush=True)
    seen: Counter[str] = Counter()
    failed: list[str] = []
    seconds: list[float] = []
    for seed in range(SEED, SEED + HISTORIES):
        script = script_of(seed, spanning=database == "postgres", without=WITHOUT)
        start = time.monotonic()
        history = player.play(script)
        finding = check(history, model)
        seconds.append(time.monotonic() - start)
        seen[finding.verdict.value] += 1
        seen["committed"] += sum(each.committed for each in history.transactions)
        seen["aborted"] += sum(not each.committed for each in history.transactions)
        seen["replayed"] += sum(each.replays for each in history.transactions if each.explicit)
        if finding.verdict not in ACCEPTED[isolation_level]:
            failed.append(f"seed {seed}: {shortened(script, finding.verdict, player, model)}")
            print(failed[-1], flush=True)
            if len(failed) >= MAX_REPORTS:
                break
    print(f"{len(seconds)} histories: {dict(seen)}, {sum(seconds) / len(seconds):.2f} s each", flush=True)
    if failed:
        pytest.fail("\n\n".join(failed), pytrace=False)
    if HISTORIES >= 100:
        assert seen["replayed"], "no transaction was replayed, so the run did not test replays"
