"""Collects garbage less often, as a pytest plug-in.

Python visits all living objects in each full collection, which takes a sixth of the processor time of tests with dbt or many modules. Most of these objects, such as
modules, collected tests and dbt's parsed macros, live as long as the process.
"""

from __future__ import annotations

import gc

YOUNG_OBJECTS = 20_000
"""How many more objects are made than freed before the young ones are visited; Python's default is 700."""
COLLECTIONS = 20
"""How many collections of one generation pass before one of the next; Python's default is 10."""


def pytest_collection_finish() -> None:
    """Leave out the objects that exist now from all later collections."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, COLLECTIONS, COLLECTIONS)
