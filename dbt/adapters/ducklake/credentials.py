"""A profile of type `ducklake`: unknown fields and contradictions are refused by name, and no secret is ever shown."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, make_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, get_type_hints
from urllib.parse import quote

from dbt.adapters.contracts.connection import Credentials
from dbt_common.dataclass_schema import ValidationError
from dbt_common.exceptions import DbtRuntimeError, env_secrets, scrub_secrets

from .attachments import LAKE_FIELDS, attachments, catalog_settings
from .catalog.store.location import redacted_path
from .catalog.store.redaction import HIDDEN
from .catalog.store.settings import CatalogSettings
from .errors import ConfigurationError
from .lineage_sender import LineageSettings, redacted_settings
from .publishing.settings import Publishing
from .spark.session.s3_secrets import S3Secret, with_storage
from .spark.session.sensitive import SENSITIVE, may_show
from .spark.session.settings import SparkSettings
from .storage_secrets import storage_secrets
from .target_type import ADAPTER, TARGET_TYPES, TargetType
from .unknown import refuse_other_types, refuse_unknown

if TYPE_CHECKING:
    from .session import LakeSettings

_PASSWORD_IN_URL = re.compile(r"(?P<before>://[^:/?@\s]*:).*(?=@)", re.DOTALL)  # up to the last @: passwords may contain any character
_SECRET_PAIR = re.compile(
    rf"(?P<before>\b[\w.\-]*(?:{SENSITIVE.pattern})[\w.\-]*\s*=\s*)(?:'(?:[^'\\]|\\.)*'|\"[^\"]*\"|[^\s&;,]+)", SENSITIVE.flags
)

_KINDS = {
    "object": "a map",
    "array": "a list",
    "string": "a string",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}
"""The names of the types of JSON schema in messages."""
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
        secrets: how to reach object stores, see `storage_secrets`.
        author: the author of the snapshots.
        module_paths: folders with Python modules that Python models import.
        publish: `node`, `tested` or `run`, see `publishing`; the variable `ducklake_publish` has precedence.
        publish_on: which results allow to publish: `warn`, `success` or `always`.
        openlineage: where to send events of OpenLineage, see `lineage_sender`; true leaves it to the client's environment.
        target_type: the other adapter, one of `TARGET_TYPES`, for which packages choose their branches and macros.
    """

    schema: str = "main"
    attach: list[Any] | None = field(default=None, repr=False)
    retries: dict[str, Any] = field(default_factory=dict)
    spark: dict[str, Any] = field(default_factory=dict, repr=False)
    secrets: list[Any] | dict[str, Any] | None = field(default=None, repr=False)
    author: str | None = None
    module_paths: list[str] = field(default_factory=list)
    publish: str | None = None
    publish_on: str | None = None
    openlineage: bool | dict[str, Any] | None = field(default=None, repr=False)
    target_type: str | None = None

    _ALIASES = {"catalog": "database"}  # noqa: RUF012 -- dbt's base class declares it as a ClassVar

    @property
    def type(self) -> str:
        """The name of this adapter in dbt; with `target_type` it also equals that type."""
        return ADAPTER if self.target_type is None else TargetType(ADAPTER, self.target_type)

    @property
    def unique_field(self) -> str:
        """The value that dbt hashes to distinguish lakes; it contains no secret."""
        return redacted_path(self.path)

    def _connection_keys(self) -> tuple[str, ...]:
        return tuple(each.name for each in dataclasses.fields(self) if not each.name.startswith("_"))

    def connection_info(self, *, with_aliases: bool = False) -> Iterable[tuple[str, Any]]:
        """Yield the fields that `dbt debug` prints and `target` contains, without secrets and unset fields."""
        if with_aliases not in self._shown:
            shown = {key: value for key, value in super().connection_info(with_aliases=with_aliases) if value not in (None, {}, [])}
            if "openlineage" in shown:
                shown["openlineage"] = redacted_settings(shown["openlineage"])
            self._shown[with_aliases] = hidden(shown)
        yield from self._shown[with_aliases].items()

    @cached_property
    def _shown(self) -> dict[bool, dict[str, Any]]:
        """What `connection_info` yields, by `with_aliases`: dbt asks for it once for each macro and each block of documentation."""
        return {}

    @classmethod
    def validate(cls, data: Any) -> None:
        """Refuse unknown fields by name, and values of a wrong type without showing them.

        Raises:
            DbtRuntimeError: the message names the field, and a similar known one or the type.
        """
        types = get_type_hints(cls)
        refuse_unknown("the profile", data, [*(f.name for f in dataclasses.fields(cls)), *cls._ALIASES])
        refuse_other_types("", data, types)
        try:
            super().validate(data)
        except ValidationError as error:
            schema = error.schema
            kinds = [_KINDS[each["type"]] for each in schema.get("anyOf", [schema]) if each.get("type") in _KINDS]
            raise DbtRuntimeError(f"`{'.'.join(map(str, error.path))}` must be {' or '.join(kinds)}") from None

    def __post_init__(self) -> None:
        if not self.path:
            raise DbtRuntimeError(
                "The profile has no `path`. Set it to the catalog database, "
                "for example `path: ducklake:sqlite:lake.sqlite` or `path: postgresql+psycopg://user@host/database`"
            )
        self.catalog_settings()
        self.attachments()
        self.storage_secrets()
        Publishing.of(self)
        self.lineage_settings()
        if self.target_type not in (None, *TARGET_TYPES):
            raise DbtRuntimeError(f"`target_type` must be {' or '.join(TARGET_TYPES)}, not {self.target_type!r}")
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
            return LakeSettings(**vars(lake), retry=retry, spark=self.spark_settings(), secrets=secrets, attached=tuple(attached))

        secrets = self.storage_secrets()
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

    def storage_secrets(self) -> tuple[S3Secret, ...]:
        """Return the `secrets` block, checked.

        Raises:
            DbtRuntimeError: see `storage_secrets`.
        """
        return storage_secrets(self.secrets)

    def lineage_settings(self) -> LineageSettings | None:
        """Return the `openlineage` block as checked settings; None if no events are sent.

        Raises:
            DbtRuntimeError: see `LineageSettings.of`.
        """
        return LineageSettings.of(self.openlineage)

    def spark_settings(self) -> SparkSettings:
        """Return the `spark` block as checked settings, with those of the `secrets`. Spark hides what has the value of a secret variable.

        Raises:
            DbtRuntimeError: a setting is unknown or contradicts another; the message names it.
        """
        fields = {f.name for f in dataclasses.fields(SparkSettings)}
        refuse_unknown("`spark`", self.spark, fields)
        refuse_other_types("spark.", self.spark, {**get_type_hints(SparkSettings), "config": dict})
        try:
            return with_storage(SparkSettings(**self.spark), self.storage_secrets()).hiding(env_secrets())
        except ConfigurationError as error:
            raise DbtRuntimeError(f"`spark`: {error}") from error


def redacted(text: str) -> str:
    """Return a string with its passwords, tokens and keys hidden, and with the values of the `DBT_ENV_SECRET_` variables."""
    text = _PASSWORD_IN_URL.sub(lambda match: match["before"] + HIDDEN, text)
    return _without_environment(_SECRET_PAIR.sub(lambda match: match["before"] + HIDDEN, text))


def hidden(value: Any, name: str = "") -> Any:
    """Return a value of a profile with all secrets hidden: in strings by their form, in mappings by their names.

    Args:
        value: a field of the profile, or a part of one.
        name: the name of the field; a catalog's `path` and Spark's `config` have forms of their own.
    """
    match value:
        case str():
            return _without_environment(redacted_path(value)) if name.lower() == "path" else redacted(value)
        case dict() if name == "config":
            may_be_shown = may_show({str(key): str(inner) for key, inner in value.items()})
            return {key: hidden(inner) if may_be_shown(str(key), str(inner)) else HIDDEN for key, inner in value.items()}
        case dict():
            return {key: HIDDEN if SENSITIVE.search(str(key)) else hidden(inner, str(key)) for key, inner in value.items()}
        case list():
            return [hidden(inner) for inner in value]
        case _:
            return value


def _without_environment(text: str) -> str:
    """Hide the values of the `DBT_ENV_SECRET_` variables, also in the quoted form of URLs."""
    secrets = env_secrets()
    return str(scrub_secrets(text, [*secrets, *(quote(each, safe=safe) for each in secrets for safe in ("", "/"))]))
