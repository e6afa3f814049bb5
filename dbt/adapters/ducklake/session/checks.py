"""The checks of an open lake before work needs it: catalogs can be read, files can be written, and Java is installed. None starts Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ..lake.probe import probe_data_path
from ..spark.session.java import find_java
from .lake import Lake


def checks(lake: Lake) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the name of each check, and the function that raises an error if it fails."""
    for name in lake.names:
        yield f"the catalog of {name} can be read", partial(_read, lake, name)
        yield f"the data path of {name} can be used", partial(_probe, lake, name)
    if lake.settings.spark.remote is None:
        yield "Java is installed for Spark", find_java


def _read(lake: Lake, name: str) -> None:
    lake.catalog_of(name).reader().schemas()


def _probe(lake: Lake, name: str) -> None:
    probe_data_path(lake.catalog_of(name))
