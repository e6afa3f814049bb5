"""Modules of code that is run from a text, such as that of a Python model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def imported(module: ModuleType) -> Iterator[None]:
    """Have Python find a module by its name, as dataclasses and type hints do; Spark still sends its functions to executors by value."""
    from pyspark import cloudpickle

    sys.modules[module.__name__] = module
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)  # type: ignore[no-untyped-call]
        del sys.modules[module.__name__]
