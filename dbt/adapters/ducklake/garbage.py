"""Keep Python's garbage collector from scanning modules, which live until the process ends.

Each full collection of a dbt process takes a tenth of a second, and a short command has six of them.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def exempt_modules() -> None:
    """Exempt all objects that exist now from collections, if this process is a dbt command. They are almost only modules.

    Programs that run dbt in their own process (`dbtRunner`) have other objects too, so nothing is exempted there.
    """
    if sys.argv and Path(sys.argv[0]).stem == "dbt":
        gc.freeze()


@contextmanager
def importing() -> Iterator[None]:
    """Collect no garbage while modules are imported."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
