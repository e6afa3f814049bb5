"""A profile of type `ducklake`: unknown fields and contradictions are refused by name, and no secret is ever shown."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, make_dataclass
from typing import TYPE_CHECKING, Any, get_type_hints

from dbt.adapters.contracts.connection import Credentials
from dbt_common.dataclass_schema import ValidationError
from dbt_common.exceptions import DbtRuntimeError

from .attachments import LAKE_FIELDS, attachments, catalog_settings
from .catalog.store.settings import CatalogSettings
from .errors import ConfigurationError
from .publishing import NODE, WARN, require_valid
from .spark.session.settings import SparkSettings
from .unknown import refuse_other_types, refuse_unknown

if TYPE_CHECKING:
    from .session import LakeSettings

HIDDEN = "********"

_PASSWORD_IN_URL = re.compile(r"(?P<before>://[^:/?@\s]*:)[^?\s]*(?=@)")  # up to the last @: passwords may contain @ and slashes
_SECRET_WORD = r"(?:pass(?:word|wd|code|phrase)?|pwd|secret|token|credential|access[_.\-]?key|private[_.\-]?key)"
_SECRET_PAIR = re.compile(rf"(?P<before>\b[\w.\-]*{_SECRET_WORD}[\w.\-]*\s*=\s*)(?:'(?:[^'\\]|\\.)*'|\"[^\"]*\"|[^\s&;,]+)", re.IGNORECASE)
_SECRET_NAME = re.compile(_SECRET_WORD, re.IGNORECASE)

RETRY_FIELDS = {"count": "max_retry_count", "wait_ms": "wait_ms", "backoff": "backoff", "connect_attempts": "connect_attempts"}
"""The field of `RetrySettings` for each name in the profile."""
_ANY_FORM = {"snapshot_version": Any, "snapshot_time": Any}
"""Fields that may come from Jinja or the environment as text; `pin` reads them."""
_LakeFields: Any = make_dataclass(
    "_LakeFields",
    [
        (
            each.name,
            _ANY_FORM.get(each.name, LAKE_FIELDS[each.name]),
            field(default="" if each.name == "path" else each.default, repr=each.repr),
        )
        for each in dataclasses.fields(CatalogSettings)
    ],
)
"""The fields of `CatalogSettings`, made here because dbt's class of credentials cannot inherit from a frozen one."""


@dataclass
class DuckLakeCredentials(_LakeFields, Credentials):  # type: ignore[misc] # the class is made from a list
    """One output of a profile: the fields of `CatalogSettings`, and these. `catalog` is an alias of `database`.

    Args:
        schema: the schema of models that have no other.
        attach: further lakes, each with the fields of `CatalogSettings`, and `alias` for `database`.
        retries: how often, and after how many milliseconds, commits and connections are retried: the names of `RETRY_FIELDS`.
        spark: how to get Spark: the fields of `SparkSettings`.
        author: the author of the snapshots.
        module_paths: folders with Python modules that Python models import.
        publish: `node` or `run`, see `publishing`; a variable of the same name has precedence.
        publish_on: which results allow to publish a run: `warn`, `success` or `always`.
    """

    schema: str = "main"
    attach: list[Any] | None = field(default=None, repr=False)
    retries: dict[str, Any] = field(default_factory=dict)
    spark: dict[str, Any] = field(default_factory=dict, repr=False)
    author: str | None = None
    module_paths: list[str] = field(default_factory=list)
    publish: str = NODE
    publish_on: str = WARN

    _ALIASES = {"catalog": "database"}  # noqa: RUF012 -- dbt's base class declares it as a ClassVar

    @property
    def type(self) -> str:
        """The name of this adapter in dbt."""
        return "ducklake"

    @property
    def unique_field(self) -> str:
        """The value that dbt hashes to distinguish lakes; it contains no secret."""
        return redacted(self.path)

    def _connection_keys(self) -> tuple[str, ...]:
        return tuple(each.name for each in dataclasses.fields(self) if not each.name.startswith("_"))

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """Yield the fields that `dbt debug` prints and `target` contains, without secrets and unset fields."""
        shown = {key: value for key, value in super().connection_info(with_aliases=with_aliases) if value not in (None, {}, [])}
        yield from hidden(shown).items()

    @classmethod
    def validate(cls, data: Any) -> None:
        """Refuse unknown fields by name before dbt checks the types of the others.

        Raises:
            DbtRuntimeError: a field is unknown, and the message names a similar one; or its value has the wrong type.
        """
        types = get_type_hints(cls)
        refuse_unknown("the profile", data, [*(f.name for f in dataclasses.fields(cls)), *cls._ALIASES])
        refuse_other_types("", data, types)
        try:
            super().validate(data)
        except ValidationError as error:
            place = ".".join(map(str, error.absolute_path))
            raise DbtRuntimeError(f"`{place}` has a value of the wrong type: {error.message}") from error

    def __post_init__(self) -> None:
        if not self.path:
            raise DbtRuntimeError(
                "The profile has no `path`. Set it to the catalog database, "
                "for example `path: ducklake:sqlite:lake.sqlite` or `path: postgresql+psycopg://user@host/database`"
            )
        self.catalog_settings()
        self.attachments()
        require_valid(self.publish, self.publish_on, "in the profile")
        refuse_unknown("`retries`", self.retries, RETRY_FIELDS)
        for name, value in self.retries.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
                raise DbtRuntimeError(f"`retries.{name}` must be a number that is not negative, not {value!r}")
        attempts = self.retries.get("connect_attempts", 1)
        if attempts != int(attempts) or attempts < 1:
            raise DbtRuntimeError(f"`retries.connect_attempts` must be a whole number, 1 or more, not {attempts!r}")
        self.spark_settings()

    def lake_settings(self) -> LakeSettings:
        """Return the settings to open the lake and the attached lakes."""
        from .catalog.store.retries import RetrySettings
        from .session import LakeSettings

        retry = RetrySettings(**{RETRY_FIELDS[name]: value for name, value in self.retries.items()})

        def opened(lake: CatalogSettings, attached: Iterable[LakeSettings] = ()) -> LakeSettings:
            return LakeSettings(**vars(lake), retry=retry, spark=self.spark_settings(), attached=tuple(attached))

        return opened(self.catalog_settings(), map(opened, self.attachments()))

    def catalog_settings(self) -> CatalogSettings:
        """Return the settings of the profile's own lake, checked.

        Raises:
            DbtRuntimeError: see `attachments.catalog_settings`.
        """
        return catalog_settings({name: getattr(self, name) for name in LAKE_FIELDS})

    def attachments(self) -> list[CatalogSettings]:
        """Return the attached lakes, checked.

        Raises:
            DbtRuntimeError: see `attachments.attachments`.
        """
        return attachments(self.attach, self.database)

    def spark_settings(self) -> SparkSettings:
        """Return the `spark` block as checked settings.

        Raises:
            DbtRuntimeError: a setting is unknown or contradicts another; the message names it.
        """
        fields = {f.name for f in dataclasses.fields(SparkSettings)}
        refuse_unknown("`spark`", self.spark, fields)
        refuse_other_types("spark.", self.spark, {**get_type_hints(SparkSettings), "config": dict})
        try:
            return SparkSettings(**self.spark)
        except ConfigurationError as error:
            raise DbtRuntimeError(f"`spark`: {error}") from error


def redacted(text: str) -> str:
    """Return a URL or an attach string with its passwords, tokens and keys hidden."""
    text = _PASSWORD_IN_URL.sub(lambda match: match["before"] + HIDDEN, text)
    return _SECRET_PAIR.sub(lambda match: match["before"] + HIDDEN, text)


def hidden(value: Any) -> Any:
    """Return a value of a profile with all secrets hidden: in strings by their form, in mappings by their names."""
    match value:
        case str():
            return redacted(value)
        case dict():
            return {key: HIDDEN if _SECRET_NAME.search(str(key)) else hidden(inner) for key, inner in value.items()}
        case list():
            return [hidden(inner) for inner in value]
        case _:
            return value
