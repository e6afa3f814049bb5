"""Configs of other adapters: what can mean nothing here, of which one warning tells in a run, and what means something else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .layout import bucketed_column

_ACCESS = "access is that of the catalog database and of the storage"
_CLUSTER = "Python models run in dbt's own process"
_FORMAT = "tables of a lake are Parquet"
_PLACE = "the lake's `data_path` says where files are"
_STAGING = "nothing is staged in the lake; a node is one transaction"
_UPKEEP = "`CHECKPOINT`, or `dbt run-operation`, keeps files in shape"

WITHOUT_MEANING: Mapping[str, str] = {
    "file_format": _FORMAT,
    "table_format": _FORMAT,
    "table_type": _FORMAT,
    "location_root": _PLACE,
    "external_root": _PLACE,
    "include_full_name_in_path": _PLACE,
    "s3_data_dir": _PLACE,
    "s3_data_naming": _PLACE,
    "auto_liquid_cluster": "say `sorted_by`",
    "properties": "say `tblproperties`",
    "table_properties": "say `tblproperties`",
    "databricks_tags": "say `tags` or `meta`, with `persist_docs`",
    "databricks_compute": "there is one Spark for the run",
    "indexes": "a lake has none; files are left out by their statistics, so `sorted_by` helps",
    "on_table_exists": "a table is always replaced in place",
    "versions_to_keep": "the lake's `expire_older_than` says how long snapshots are kept",
    "bucketed_by": "say `partition_by: bucket(n, column)`",
    "bucket_count": "say `partition_by: bucket(n, column)`",
    "write_compression": "say `tblproperties: {parquet_compression: …}`",
    "view_security": _ACCESS,
    "lf_tags_config": _ACCESS,
    "lf_grants": _ACCESS,
    "row_filter": _ACCESS,
    "query_tags": "say `commit_extra_info`",
    "skip_optimize": _UPKEEP,
    "unique_tmp_table_suffix": _STAGING,
    "temp_schema": _STAGING,
    "force_batch": "Spark has no limit of partitions",
    "partitions_limit": "Spark has no limit of partitions",
    "merge_with_target_partition_filter": "a merge reads only files that may have its keys",
    "access_control_list": _CLUSTER,
    "additional_libs": _CLUSTER,
    "cluster_id": _CLUSTER,
    "create_notebook": _CLUSTER,
    "engine_config": "say `spark_config`",
    "environment_key": _CLUSTER,
    "http_path": _CLUSTER,
    "index_url": _CLUSTER,
    "job_cluster_config": _CLUSTER,
    "notebook_scoped_libraries": _CLUSTER,
    "polling_interval": _CLUSTER,
    "python_job_config": _CLUSTER,
    "spark_cross_account_catalog": "say `attach` in the profile",
    "spark_encryption": "say `spark: {config: …}` in the profile",
    "user_folder_for_python": _CLUSTER,
    "workflow_job_config": _CLUSTER,
}
"""Config → why it has no meaning, or what to say instead."""
_HARMLESS = {"file_format": ("parquet", "ducklake"), "submission_method": ("in_process",)}
"""Values that say what is so anyway."""
_CLUSTERED = ("zorder", "liquid_clustered_by")


def warnings_of(config: Mapping[str, Any]) -> list[str]:
    """A warning for each config of a node that does nothing."""
    found = [
        f"The config `{name}` does nothing on a lake: {reason}."
        for name, reason in WITHOUT_MEANING.items()
        if config.get(name) not in (None, False, "", [], {}) and config.get(name) not in _HARMLESS.get(name, ())
    ]
    method = config.get("submission_method")
    if method and method not in _HARMLESS["submission_method"]:
        found.append(f"The config `submission_method: {method}` does nothing on a lake: {_CLUSTER}.")
    if (config.get("clustered_by") or config.get("buckets")) and bucketed_column(config) is None:
        found.append(
            "The configs `clustered_by` and `buckets` do nothing on a lake unless both are given, and one column: "
            "each partition key has buckets of its own, say `partition_by: bucket(n, column)`."
        )
    return found


def notes_of(config: Mapping[str, Any]) -> list[str]:
    """What those configs of a node do that mean something else elsewhere."""
    return [f"The config `{name}` sorts files when they are written, as `sorted_by` does." for name in _CLUSTERED if config.get(name)]
