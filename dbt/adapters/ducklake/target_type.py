"""The field `target_type` of a profile, with which packages choose their branches and macros for Spark or Databricks.

Packages compare `target.type` with the types of adapters that they know, and dispatch by the same names. dbt finds adapters by that type,
so its text stays `ducklake`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbt.adapters.factory import AdapterContainer

ADAPTER = "ducklake"
TARGET_TYPES = ("spark", "databricks")
"""The adapters that a profile may name, both of which speak Spark's SQL."""


class TargetType(str):
    """The text of an adapter's type, which is also equal to the type of another adapter. The hash is that of the text."""

    also: str

    def __new__(cls, text: str, also: str) -> TargetType:
        """Return a string that is also equal to `also`."""
        made = super().__new__(cls, text)
        made.also = also
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return what a copy is made of."""
        return str(self), self.also

    def __eq__(self, other: object) -> bool:
        """Compare with a string."""
        return isinstance(other, str) and (str.__eq__(self, other) or str.__eq__(self.also, other))

    def __ne__(self, other: object) -> bool:
        """Compare with a string; the inherited method of `str` would ignore `also`."""
        return not self == other

    __hash__ = str.__hash__


def add_macro_prefix(container: AdapterContainer) -> None:
    """Make dbt's dispatch also search macros with the prefix of the profile's `target_type`.

    They come after those of this adapter and its parents, and before `default__`.

    dbt searches by the types of an adapter and its parents, which have to be installed. dbt-databricks is not needed for its name.
    """
    of_parents = container.get_adapter_type_names

    def get_adapter_type_names(name: str | None) -> list[str]:
        types = of_parents(name)
        adapter: Any = container.adapters.get(name) if name == ADAPTER else None
        also = None if adapter is None else adapter.config.credentials.target_type
        return types if also is None or also in types else [*types, also]

    container.get_adapter_type_names = get_adapter_type_names  # type: ignore[method-assign]
