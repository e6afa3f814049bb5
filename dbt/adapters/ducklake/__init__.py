"""The DuckLake adapter for dbt: models run on Apache Spark and are committed as snapshots of a lake."""

from dbt.adapters.base.plugin import AdapterPlugin
from dbt.adapters.factory import FACTORY

from dbt.include import ducklake

from .connections import DuckLakeConnectionManager
from .credentials import DuckLakeCredentials
from .garbage import exempt_modules
from .impl import DuckLakeAdapter
from .target_type import add_macro_prefix

__all__ = ["DuckLakeAdapter", "DuckLakeConnectionManager", "DuckLakeCredentials", "Plugin"]

Plugin = AdapterPlugin(
    adapter=DuckLakeAdapter,  # type: ignore[arg-type] # dbt's own adapters do not match its protocol either
    credentials=DuckLakeCredentials,
    include_path=ducklake.PACKAGE_PATH,
    dependencies=["spark"],
)

add_macro_prefix(FACTORY)
exempt_modules()
