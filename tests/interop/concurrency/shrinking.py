"""Shortens a failing script: removes steps as long as it still fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .history import Kind, Script, Step


def shrink(script: Script, fails: Callable[[Script], bool], *, tries: int = 60) -> Script:
    """Return the shortest script found by removing actors, then transactions, then single steps, then statements of the setup.

    Args:
        script: The script that fails.
        fails: Runs a script and returns whether it still fails.
        tries: The maximum number of runs.
    """
    left = tries

    def better(candidate: Script) -> bool:
        nonlocal left
        left -= 1
        return left >= 0 and fails(candidate)

    for group in [*_actors(script.steps), *_transactions(script.steps)]:
        kept = tuple(step for step in script.steps if not any(step is each for each in group))
        if len(group) > 1 and len(kept) < len(script.steps) and better(replace(script, steps=kept)):
            script = replace(script, steps=kept)
    for step in reversed(script.steps):
        kept = tuple(other for other in script.steps if other is not step)
        if step.statement.kind is not Kind.BEGIN and better(replace(script, steps=kept)):
            script = replace(script, steps=kept)
    for number in reversed(range(len(script.setup))):
        text = script.setup[number]
        kept_setup = script.setup[:number] + script.setup[number + 1 :]
        if not text.startswith("CREATE TABLE") and better(replace(script, setup=kept_setup)):
            script = replace(script, setup=kept_setup)
    return script


def _actors(steps: tuple[Step, ...]) -> list[list[Step]]:
    """Return the steps of each actor."""
    return [[step for step in steps if step.actor == actor] for actor in sorted({step.actor for step in steps})]


def _transactions(steps: tuple[Step, ...]) -> list[list[Step]]:
    """Return the steps from each BEGIN to its end."""
    groups: list[list[Step]] = []
    current: dict[str, list[Step]] = {}
    for step in steps:
        if step.statement.kind is Kind.BEGIN:
            current[step.actor] = []
            groups.append(current[step.actor])
        if step.actor in current:
            current[step.actor].append(step)
            if step.statement.kind in (Kind.COMMIT, Kind.ROLLBACK):
                del current[step.actor]
    return groups
