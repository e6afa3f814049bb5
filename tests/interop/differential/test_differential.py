"""DuckDB's extension and our session take random turns on one lake, and both always read the same rows.

`DIFFERENTIAL_STEPS=1000 pytest tests/interop/differential` is the long run; `DIFFERENTIAL_SEED` repeats a run with the seed that it printed.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from dbt.adapters.ducklake.session import LakeSession
from tests.catalogs import CatalogUnderTest
from tests.places import REFERENCE_DATABASES, USUAL_DATABASES

from .comparing import Difference
from .run import Run

CATALOGS = REFERENCE_DATABASES if "DIFFERENTIAL_STEPS" in os.environ else USUAL_DATABASES
STEPS = int(os.environ.get("DIFFERENTIAL_STEPS") or 25)
SEED = int(os.environ.get("DIFFERENTIAL_SEED") or (random.randrange(10**6) if "DIFFERENTIAL_STEPS" in os.environ else 1))
"""The short run always uses the same seed, so that a failure is caused by the current change."""


def test_both_sides_take_random_turns(catalog: CatalogUnderTest, lake: LakeSession, tmp_path: Path) -> None:
    log = tmp_path / "statements.txt"
    print(f"DIFFERENTIAL_SEED={SEED} DIFFERENTIAL_STEPS={STEPS}, statements in {log}")
    run = Run(catalog, lake, SEED, log)
    try:
        run.steps(STEPS)
    except Difference as error:
        print(error, flush=True)  # here, because DuckDB may abort the process when it is closed after an internal error
        raise
    finally:
        run.close()
        print(run.summary())
