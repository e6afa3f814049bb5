"""An open lake, the lakes that are attached to it, and their Spark."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from ..catalog.lake import LakeCatalog
from ..catalog.store.retries import RetrySettings
from ..catalog.store.settings import CatalogSettings
from ..catalog.transaction.transaction import Transaction
from ..errors import ConfigurationError, DuckLakeError, EngineError
from ..format.identifiers import fold
from ..lake.data_path import remove_mark, require_own_mark, require_own_path, write_mark
from ..lake.migrate import migrate
from ..spark.encrypted.packages import require_packages
from ..spark.files.s3 import use_secrets
from ..spark.files.storage import is_local
from ..spark.session.runtime import SparkRuntime
from ..spark.session.s3_secrets import S3Secret, bucket_of, secrets_to_add, with_storage
from ..spark.session.settings import SparkSettings
from .session import LakeSession
from .staged_nodes import NodePlan, StagedNodes
from .staged_run import StagedRun
from .transactions import TablesByLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LakeSettings(CatalogSettings):
    """The settings of a lake, of its retries and of Spark, and the attached lakes; docs/profile.md describes each field."""

    retry: RetrySettings = field(default_factory=RetrySettings)
    """How often, and after how many milliseconds, commits and connections are retried."""
    spark: SparkSettings = field(default_factory=SparkSettings)
    """How to get Spark."""
    secrets: tuple[S3Secret, ...] = field(default=(), repr=False)
    """How to reach object stores, in this process and in a Spark that it starts."""
    attached: tuple[LakeSettings, ...] = ()
    """Further lakes, each with its own name as `database`; they share one Spark."""


class Lake:
    """An open lake, with the attached lakes, which are opened at their first use. Thread-safe."""

    def __init__(self, settings: LakeSettings, catalog: LakeCatalog, runtime: SparkRuntime, warn: Callable[[str], None]) -> None:
        self.settings = settings
        self.catalog = catalog
        self.runtime = runtime
        self._warn = warn
        self._attached = {each.database: each for each in settings.attached}
        self._catalogs: dict[str, LakeCatalog] = {settings.database: catalog}
        self._secrets = settings.secrets
        """The secrets in use: those of the settings, and those that other lakes need."""
        self._lock = threading.Lock()
        """Guards the dictionaries and the secrets. A thread that has it does not wait for a database."""
        self._openings = {each.database: threading.Lock() for each in settings.attached}
        self.run: StagedRun | None = None
        """The run that `stage_run` began, until it ends."""
        self.nodes: StagedNodes | None = None
        """The nodes that `stage_nodes` stages, until `end_run`."""
        self._turns: dict[tuple[str, int], threading.Lock] = {}
        """(lake, table id) → the lock of `turn`."""

    @classmethod
    def open(
        cls,
        settings: LakeSettings,
        spark: SparkSession | SparkRuntime | None = None,
        warn: Callable[[str], None] = logger.warning,
    ) -> Lake:
        """Open the catalog; create or migrate it if the settings allow. Spark is not started.

        Args:
            settings: the lake and how to get Spark.
            spark: a Spark session or a runtime shared with other lakes; None: Spark as the settings describe.
            warn: receives a warning about the data path of a lake, when it is opened or its data path is replaced.

        Raises:
            ConfigurationError: the settings contradict each other or the catalog.
            EngineError: the catalog database does not answer.
            LakeError: the format version is unknown.
            NotFoundError: the snapshot of the settings does not exist.
        """
        use_secrets(settings.secrets)
        if not isinstance(spark, SparkRuntime):
            spark = SparkRuntime(spark_settings(settings) if spark is None else spark)
        return cls(settings, _open(settings, warn), spark, warn)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the lake and of the attached lakes."""
        return (self.settings.database, *self._attached)

    def has(self, name: str) -> bool:
        """Whether one of the lakes has a name, ignoring case."""
        return fold(name) in map(fold, self.names)

    def named(self, name: str) -> str:
        """Return the name of a lake as the profile writes it.

        Raises:
            ConfigurationError: no lake has that name.
        """
        for each in self.names:
            if fold(each) == fold(name):
                return each
        raise ConfigurationError(f"there is no lake {name}; the lakes are {', '.join(self.names)}, and `attach` in the profile adds others")

    def attach(self, settings: LakeSettings) -> str:
        """Attach another lake, which is opened at its first use, and return its name; one that is attached already keeps its name.

        Raises:
            ConfigurationError: another lake has the name.
        """
        with self._lock:
            for name, known in {self.settings.database: self.settings, **self._attached}.items():
                if known.location == settings.location and known.snapshot == settings.snapshot:
                    return name
            if self.has(settings.database):
                raise ConfigurationError(
                    f"the name {settings.database} is already used by another lake; the lakes are {', '.join(self.names)}. Choose another"
                )
            self._openings[settings.database] = threading.Lock()
            self._attached = {**self._attached, settings.database: settings}
            return settings.database

    @property
    def open_catalogs(self) -> tuple[LakeCatalog, ...]:
        """The catalogs of the lakes that have been used."""
        with self._lock:
            return tuple(self._catalogs.values())

    def catalog_of(self, name: str) -> LakeCatalog:
        """Return the catalog of a lake by its name from `named`; the first call opens an attached lake.

        Raises:
            ConfigurationError: the lake cannot be opened, or its secrets contradict those in use; the message names it.
        """
        catalog = self._catalogs.get(name)
        if catalog is not None:
            return catalog
        with self._openings[name]:
            if name not in self._catalogs:
                try:
                    opened = self._open_attached(self._attached[name])
                except DuckLakeError as error:
                    raise ConfigurationError(f"the attached lake {name} cannot be opened: {error}") from error
                with self._lock:
                    self._catalogs[name] = opened
            return self._catalogs[name]

    def _open_attached(self, settings: LakeSettings) -> LakeCatalog:
        """Open the catalog of an attached lake, and use its secrets for the buckets that need them."""
        catalog = _open(settings, self._warn)
        try:
            with self._lock:
                paths = [each.data_path for each in self._catalogs.values()]
                paths += [each.data_path or "" for each in self._attached.values() if each is not settings]
                added = secrets_to_add(self._secrets, set(map(bucket_of, paths)), settings.secrets, bucket_of(catalog.data_path))
                self._secrets += added
            if added:
                use_secrets(added)
                self.runtime.use_secrets(added)
        except BaseException:
            catalog.close()
            raise
        return catalog

    def begin(self, name: str, allow: Callable[[], None] = lambda: None, node: str | None = None) -> Transaction:
        """Begin a transaction on a lake: part of the staged run or node if there is one, else on the newest snapshot.

        Args:
            name: the name from `named`.
            allow: called before every change; raises an error to refuse it.
            node: the node whose transaction it is.
        """
        nodes, run = self.nodes, self.run
        if nodes is not None:
            return nodes.begin(node, name, allow)
        return self.catalog_of(name).begin(allow) if run is None else run.begin(name, allow)

    def stage_run(self) -> None:
        """Collect the changes of all transactions from now on, until `end_run`."""
        self.run = StagedRun(self.catalog_of)

    def stage_nodes(self, plans: Mapping[str, NodePlan]) -> None:
        """Publish each node of a plan when its tests have passed, from now on until `end_run`."""
        self.nodes = StagedNodes(self.catalog_of, plans)

    def deferred_statements(self, node: str | None) -> list[str] | None:
        """Return the list that collects maintenance statements until the run or the node is published; None if they can run now."""
        nodes, run = self.nodes, self.run
        if nodes is not None:
            return nodes.deferred_of(node)
        return None if run is None else run.deferred

    def end_run(self) -> None:
        """Discard the changes that are staged and not published; from now on each transaction commits its own snapshot."""
        ended = self.run, self.nodes
        self.run = self.nodes = None
        for staged in ended:
            if staged is not None:
                staged.discard()

    @contextmanager
    def turn(self, tables: TablesByLake) -> Iterator[None]:
        """Hold the lock of the smallest (lake, table id) of these tables.

        Sessions that change the same single table take turns. Others may run at the same time, and then conflict and retry.
        """
        key = min(((lake, table.table_id) for lake, changed in tables.items() for table in changed), default=("", 0))
        with self._lock:
            turn = self._turns.setdefault(key, threading.Lock())
        with turn:
            yield

    def close_catalogs(self) -> None:
        """Close the catalogs and leave Spark running."""
        with ExitStack() as stack:
            for catalog in self.open_catalogs:
                stack.callback(catalog.close)

    def session(self, schema: str = "main") -> LakeSession:
        """Return a new session; sessions share only the lake and Spark."""
        return LakeSession(self, schema)

    def close(self) -> None:
        """Close the catalogs and stop Spark if this process started it."""
        try:
            self.runtime.stop()
        finally:
            self.close_catalogs()

    def __enter__(self) -> Lake:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def spark_settings(settings: LakeSettings) -> SparkSettings:
    """Return the settings of Spark with those that the object stores and encrypted lakes need."""
    spark = with_storage(settings.spark, settings.secrets)
    return spark.with_encrypted_files() if any(lake.encrypted for lake in (settings, *settings.attached)) else spark


def _open(settings: LakeSettings, warn: Callable[[str], None]) -> LakeCatalog:
    """Open a catalog; retry as the settings specify if the database does not answer."""
    return settings.retry.policy(EngineError, settings.retry.connect_attempts)(_open_once, settings, warn)


def _check_creation(settings: LakeSettings, data_path: str) -> None:
    """Check a data path before a lake gets it, and the packages that an encrypted lake needs."""
    require_own_path(data_path)
    if settings.encrypted:
        require_packages()


def _open_once(settings: LakeSettings, warn: Callable[[str], None]) -> LakeCatalog:
    catalog = LakeCatalog.open(settings, settings.retry, partial(_check_creation, settings))
    try:
        _prepare(catalog, settings, warn)
        _check_owner(catalog, warn)
    except BaseException:
        catalog.close()
        raise
    return catalog


def _prepare(catalog: LakeCatalog, settings: LakeSettings, warn: Callable[[str], None]) -> None:
    """Check that an encrypted lake's packages are installed, mark a new data path, and migrate the lake if the settings say so."""
    if catalog.encrypted:
        require_packages()
    if catalog.earlier_data_path is not None:
        warn(
            f"The lake {settings.database} has no tables yet, so its data path is now {catalog.data_path} instead of "
            f"{catalog.earlier_data_path}"
        )
        remove_mark(catalog.earlier_data_path, catalog.identities())
    if catalog.is_new or catalog.earlier_data_path is not None:
        write_mark(catalog)
    if settings.automatic_migration:
        migrate(catalog)


def _check_owner(catalog: LakeCatalog, warn: Callable[[str], None]) -> None:
    """Warn if another lake has marked the data path. An object store is not asked: each command would wait for the answer."""
    if is_local(catalog.data_path):
        try:
            require_own_mark(catalog.data_path, catalog.identities())
        except ConfigurationError as error:
            warn(str(error))
