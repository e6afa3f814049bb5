"""A few of the random commands of `tests/torture/publishing.py`, without processes that are killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.places import USUAL_DATABASES, empty_place, selected_databases
from tests.torture.publishing import random_commands

COMMANDS = 6
SEED = 11


@pytest.mark.nightly
@pytest.mark.parametrize("database", selected_databases(USUAL_DATABASES))
def test_readers_see_the_old_or_the_new_lake(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    outcomes = random_commands(empty_place(database, request, tmp_path), COMMANDS, SEED, killed=0)
    assert len(outcomes) > 2, "the commands of this seed end in different ways"
