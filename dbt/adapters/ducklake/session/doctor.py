"""The checks of `dbt debug` and `ducklake doctor`: whether everything that a run needs works. They change nothing and create no lake."""

from __future__ import annotations

import glob
import re
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from ..catalog.lake import LakeCatalog
from ..catalog.store.attach import new_data_path
from ..catalog.store.database_checks import try_creation
from ..errors import CancelledError, ConfigurationError, DuckLakeError, EngineError
from ..format.versions import CURRENT
from ..lake.data_path import require_own_mark, require_own_path
from ..lake.probe import probe_data_path, probe_with_spark
from ..spark.encrypted.packages import require_packages
from ..spark.errors import translate
from ..spark.files.s3 import use_secrets
from ..spark.session.java import find_java
from ..spark.session.jvm import hadoop_version, spark_home
from ..spark.session.kept import states
from ..spark.session.runtime import SparkRuntime
from .lake import LakeSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MAX_CLOCK_DIFFERENCE = timedelta(seconds=30)
MAX_FAULTS = 5
"""How many faults of a catalog an error names."""
JARS = "spark.jars"
PACKAGES = "spark.jars.packages"
_HADOOP_JAR = re.compile(r"\b(hadoop-[a-z]+)[-:](\d+\.\d+\.\d+)")
"""Hadoop's connector to a storage, in a file's name or in Maven's coordinates: its name and its version."""
_WITH_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:")
"""Spark downloads such a JAR; those with `local:` are on the machines of the executors."""
ANSWER_SECONDS = 5
"""How long a Spark master may take to accept a connection."""
JOB_SECONDS = 120
"""How long the job of the check may take, with the start of executors."""
_UNREACHABLE = (
    "Check that the database server runs, that this machine can reach it, and that `path` has the right host, port, database, user "
    "and password"
)
_UNREADABLE = "Check that `path` names the file of a catalog, that no other program keeps it locked, and that it is not damaged"


@dataclass(frozen=True)
class Finding:
    """The result of a check."""

    check: str
    error: str | None = None
    """Why it failed, and how to fix it; None if it passed."""
    detail: str = ""
    """What was found."""


@dataclass
class _Place:
    """A lake, or the place of a lake that will be created."""

    settings: LakeSettings
    data_path: str | None = None
    """None if it is not known, because the catalog cannot be read."""
    encrypted: bool = False
    identities: Sequence[str] = ()
    """The uuids of the lake's schemas; none if it will be created, or will get another data path."""
    faults: Sequence[str] | None = None
    """What is wrong in the catalog for DuckDB; None if it was not read."""


def run_checks(settings: LakeSettings, runtime: SparkRuntime, *, with_statistics: bool = False) -> Iterator[Finding]:
    """Yield the results of all checks of a lake, the attached lakes and Spark, each as soon as it is known.

    Args:
        settings: the lake and the attached lakes.
        runtime: starts Spark.
        with_statistics: check the statistics of tables too, which reads those of all files.
    """
    use_secrets(settings.secrets)
    places = [_Place(each) for each in (settings, *settings.attached)]
    for place in places:
        yield from _lake_findings(place, with_statistics)
        if place.faults is not None:
            subject = "definitions and statistics" if with_statistics else "definitions"
            yield _checked(f"DuckDB can use the {subject} of {place.settings.database}", partial(_no_faults, place.faults))
    yield from _spark_findings(runtime, [place for place in places if place.data_path is not None and not place.settings.only_reads])


def _lake_findings(place: _Place, with_statistics: bool) -> Iterator[Finding]:
    name = place.settings.database
    clock: timedelta | None = None

    def catalog() -> str:
        nonlocal clock
        try:
            found = LakeCatalog.find(place.settings)
        except EngineError as error:
            advice = _UNREACHABLE if place.settings.location.file is None else _UNREADABLE
            raise ConfigurationError(f"{' '.join(str(error).split()).rstrip('.?')}. {advice}") from error
        if found is None:
            return _creation(place)
        with found:
            data_path = found.effective_data_path(place.settings)
            snapshot = found.reader().snapshot
            found.reader().schemas()
            if found.encrypted:
                require_packages()
            place.data_path, place.encrypted = data_path, found.encrypted
            if data_path == found.data_path:
                place.identities = found.identities()
            else:
                require_own_path(data_path)
            clock = found.clock_ahead()
            if not found.read_only and found.format_version == CURRENT:
                found.try_writing()
            place.faults = found.faults(with_statistics=with_statistics)
            return f"{found.database_kind}, format {found.format_version}, snapshot {snapshot.snapshot_id}"

    yield _checked(f"the catalog of {name} can be {'read' if place.settings.only_reads else 'read and written'}", catalog)
    if clock is not None:
        yield _checked(f"the clock of the catalog database of {name} is right", lambda: _clock("the catalog database", clock))
    if place.data_path is None:
        return
    data_path, storage = place.data_path, None

    def files() -> str:
        nonlocal storage
        storage = probe_data_path(data_path, read_only=place.settings.only_reads)
        require_own_mark(data_path, place.identities)
        return data_path

    yield _checked(f"the data path of {name} can be used", files)
    if storage is not None:
        yield _checked(f"the clock of the storage of {name} is right", lambda: _clock("the storage", storage))


def _creation(place: _Place) -> str:
    """Check that a lake can be created in its place."""
    if place.settings.encrypted:
        place.encrypted = True
        require_packages()
    with suppress(ConfigurationError):
        place.data_path = new_data_path(place.settings)  # checked even if the catalog cannot be created
    try_creation(place.settings)
    require_own_path(new_data_path(place.settings))
    return f"there is no lake in {place.settings.location}, and one can be created"


def _spark_findings(runtime: SparkRuntime, places: list[_Place]) -> Iterator[Finding]:
    session: SparkSession | None = None

    def start() -> str:
        nonlocal session
        session = runtime.session()
        return f"Spark {session.version}"

    for kept in states():
        used = "a command uses it" if kept["idle_seconds"] is None else f"unused for {kept['idle_seconds']} s"
        yield Finding("a Spark is kept for further commands", detail=f"process {kept['pid']}, {used}")
    if not runtime.started:
        if runtime.settings.starts_jvm:
            found = _checked("Spark and a suitable Java are installed", _java)
            yield found
            if found.error is not None:
                return
            config = runtime.settings.config
            if config.get(JARS):
                yield _checked("the JARs of Spark exist", lambda: _jars(config[JARS]))
            connectors = _HADOOP_JAR.findall(f"{config.get(JARS, '')},{config.get(PACKAGES, '')}")
            if connectors:
                yield _checked("the JARs of Hadoop fit Spark", lambda: _hadoop(connectors))
        address = master_address(runtime.settings.remote or runtime.settings.master or "")
        if address:
            found = _checked("Spark's master answers", lambda: _connect(address))
            yield found
            if found.error is not None:
                return
    yield _checked("Spark starts", start)
    if session is None:
        return
    for place in places:
        yield _checked(f"Spark can use the data path of {place.settings.database}", partial(_run_spark_job, runtime, session, place))


def _checked(check: str, work: Callable[[], str]) -> Finding:
    try:
        return Finding(check, detail=work())
    except DuckLakeError as error:
        return Finding(check, str(error))


def _java() -> str:
    java = find_java()
    return f"Java {java.version} of {java.origin}" + (f"; {java.warning}" if java.warning else "")


def _jars(paths: str) -> str:
    """Require that the local files of a list exist: Spark only logs a missing one, and fails later because a class is missing."""
    named = (each.strip() for each in paths.split(","))
    local = [each for each in named if each.startswith("file:") or not _WITH_SCHEME.match(each)]
    missing = [each for each in local if not glob.glob("/" + each[len("file:") :].lstrip("/") if each.startswith("file:") else each)]
    if missing:
        raise ConfigurationError(
            f"these JARs do not exist: {', '.join(missing)}; correct `spark.jars`. The documentation (object storage) lists those for "
            "object stores"
        )
    return f"{len(local)} local files"


def _hadoop(connectors: Sequence[tuple[str, str]]) -> str:
    """Require that connectors have the version of Spark's own Hadoop: with another one, classes or methods are missing."""
    own = hadoop_version(spark_home())
    for name, version in connectors:
        if own is not None and own.partition("-")[0] != version:  # a vendor's version has a suffix
            raise ConfigurationError(
                f"{name} {version} does not fit this Spark, whose Hadoop is {own}. Use {name} {own} in `{JARS}` or `{PACKAGES}`"
            )
    return ", ".join(f"{name} {version}" for name, version in connectors)


def _no_faults(faults: Sequence[str]) -> str:
    if faults:
        rest = len(faults) - MAX_FAULTS
        more = [f"{rest} more faults are not shown" if rest > 1 else "1 more fault is not shown"] if rest > 0 else []
        raise ConfigurationError(". ".join([*faults[:MAX_FAULTS], *more]))
    return ""


def _clock(where: str, ahead: timedelta) -> str:
    seconds = ahead.total_seconds()
    if abs(ahead) > MAX_CLOCK_DIFFERENCE:
        raise ConfigurationError(
            f"the clock of {where} is {abs(seconds):.0f} seconds {'ahead of' if seconds > 0 else 'behind'} this machine's. Times of "
            "snapshots and the age of files would be wrong; synchronize both clocks (NTP)"
        )
    return f"{abs(seconds):.1f} s difference"


def master_address(url: str) -> list[tuple[str, int]]:
    """Return the hosts and ports of a standalone master or a Spark Connect server; none if the URL has no known address."""
    scheme, _, rest = url.partition("://")
    default = {"spark": 7077, "sc": 15002}.get(scheme)
    if default is None:
        return []
    found = []
    for each in rest.partition("/")[0].partition(";")[0].split(","):
        host, _, port = each.rpartition(":") if each.rpartition(":")[2].isdecimal() else (each, "", "")
        found.append((host.strip("[]"), int(port or default)))
    return found


def _connect(addresses: list[tuple[str, int]]) -> str:
    problems = []
    for host, port in addresses:
        try:
            socket.create_connection((host, port), timeout=ANSWER_SECONDS).close()
            return f"{host}:{port}"
        except OSError as error:
            problems.append(f"{host}:{port}: {error}")
    raise ConfigurationError(
        f"no connection to Spark was accepted ({'; '.join(problems)}). Start it, or correct `spark.master` or `spark.remote` in the profile"
    )


def _run_spark_job(runtime: SparkRuntime, session: SparkSession, place: _Place) -> str:
    assert place.data_path is not None
    late = threading.Event()

    def give_up() -> None:
        late.set()
        runtime.cancel("dbt-debug")

    timer = threading.Timer(JOB_SECONDS, give_up)
    timer.daemon = True
    timer.start()
    try:
        with runtime.scope(session, "dbt-debug", "dbt debug"):
            probe_with_spark(session, place.data_path, encrypted=place.encrypted)
    except Exception as error:
        found = translate(error)
        if late.is_set() and isinstance(found, CancelledError):
            raise ConfigurationError(
                f"no executor has written a file within {JOB_SECONDS} seconds. Either the cluster has no free cores or memory for "
                "executors of the size of `spark.executor.memory` and `spark.executor.cores`, or the executors cannot reach dbt's machine "
                "(`spark.driver.host`); the web UI of the Spark master shows which"
            ) from error
        raise found from error
    finally:
        timer.cancel()
    return "an executor wrote a file and read it back"
