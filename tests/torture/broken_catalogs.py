"""Each cell of a catalog, one at a time, becomes NULL, a wrong text or a negative number: see `tests/broken_catalogs.py`.

About 550 cases. It takes three minutes on a quiet machine, and at most ten.
"""

from __future__ import annotations

import time
from pathlib import Path

from tests.broken_catalogs import BrokenLake, cases, make_lake

SECONDS = 600


def test_a_broken_cell_harms_only_what_depends_on_it(tmp_path: Path) -> None:
    good = make_lake(tmp_path)
    lake, end = BrokenLake(good, tmp_path), time.monotonic() + SECONDS
    found: dict[str, list[str]] = {}
    for case in cases(good):
        assert time.monotonic() < end, f"not done in {SECONDS} seconds; found so far: {found}"
        wrongs = lake.wrongs(case)
        if wrongs:
            found[str(case)] = wrongs
    assert not found, "\n".join(f"{case}\n    " + "\n    ".join(wrongs) for case, wrongs in found.items())
