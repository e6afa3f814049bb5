"""Configs of other adapters: access configs are refused, configs without effect give a warning, and those with another meaning a note."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .layout import bucketed_column

_ACCESS = "access is controlled by the catalog database and the storage"
_IN_PROCESS = "Python models run in dbt's own process"
_FORMAT = "tables of a lake are Parquet"
_DATA_PATH = "the lake's `data_path` determines where its files are"
_STAGING = "there are no staging tables; a node is one transaction"
_MAINTENANCE = "run maintenance with `CHECKPOINT` or `dbt run-operation`"

IGNORED_CONFIGS: Mapping[str, str] = {
    "file_format": _FORMAT,
    "table_format": _FORMAT,
    "table_type": _FORMAT,
    "location_root": _DATA_PATH,
    "external_root": _DATA_PATH,
    "include_full_name_in_path": _DATA_PATH,
    "s3_data_dir": _DATA_PATH,
    "s3_data_naming": _DATA_PATH,
    "auto_liquid_cluster": "use `sorted_by`",
    "properties": "use `tblproperties`",
    "table_properties": "use `tblproperties`",
    "databricks_tags": "use `tags` or `meta`, with `persist_docs`",
    "databricks_compute": "all nodes of a run use the same Spark application",
    "indexes": "a lake has no indexes; files are skipped by their statistics, so `sorted_by` helps",
    "on_table_exists": "a table is always replaced in place",
    "versions_to_keep": "the lake's `expire_older_than` determines how long snapshots are kept",
    "bucketed_by": "use `partition_by: bucket(n, column)`",
    "bucket_count": "use `partition_by: bucket(n, column)`",
    "write_compression": "use `tblproperties: {parquet_compression: …}`",
    "lf_tags_config": _ACCESS,
    "persist_constraints": "the constraints of an enforced `contract` are kept",
    "view_update_via_alter": "a view is always replaced in place",
    "query_tags": "use `commit_extra_info`",
    "skip_optimize": _MAINTENANCE,
    "unique_tmp_table_suffix": _STAGING,
    "temp_schema": _STAGING,
    "partitions": "`insert_overwrite` replaces the partitions of the new rows",
    "force_batch": "Spark has no limit of partitions",
    "partitions_limit": "Spark has no limit of partitions",
    "merge_with_target_partition_filter": "a merge reads only files that may have its keys",
    "access_control_list": _IN_PROCESS,
    "additional_libs": _IN_PROCESS,
    "cluster_id": _IN_PROCESS,
    "create_notebook": _IN_PROCESS,
    "engine_config": "use `spark_config`",
    "environment_key": _IN_PROCESS,
    "http_path": _IN_PROCESS,
    "index_url": _IN_PROCESS,
    "job_cluster_config": _IN_PROCESS,
    "notebook_scoped_libraries": _IN_PROCESS,
    "polling_interval": _IN_PROCESS,
    "python_job_config": _IN_PROCESS,
    "spark_cross_account_catalog": "use `attach` in the profile",
    "spark_encryption": "use `spark: {config: …}` in the profile",
    "user_folder_for_python": _IN_PROCESS,
    "workflow_job_config": _IN_PROCESS,
}
"""The reason why each config does nothing, or what to use instead."""
ACCESS_CONFIGS = ("grants", "row_filter", "column_mask", "lf_grants", "view_security")
"""Access configs. A node that has one is refused, because its rows would be readable to more or fewer users than the config allows."""
_REACTIONS = ("continue", "fail")
_HARMLESS = {"file_format": ("parquet", "ducklake"), "submission_method": ("in_process",)}
"""Values that already describe a lake and need no warning."""
_CLUSTERED = ("zorder", "liquid_clustered_by", "cluster_by")


def config_warnings(config: Mapping[str, Any]) -> list[str]:
    """Return a warning for each config of a node that does nothing."""
    warnings = [
        f"The config `{name}` does nothing on a lake: {reason}."
        for name, reason in IGNORED_CONFIGS.items()
        if _given(config, name) and config.get(name) not in _HARMLESS.get(name, ())
    ]
    method = config.get("submission_method")
    if method and method not in _HARMLESS["submission_method"]:
        warnings.append(f"The config `submission_method: {method}` does nothing on a lake: {_IN_PROCESS}.")
    if str(config.get("on_configuration_change")).lower() in _REACTIONS:
        warnings.append(
            f"The config `on_configuration_change: {config['on_configuration_change']}` does nothing on a lake: "
            "a changed layout is applied, unless `incremental_apply_config_changes` is false."
        )
    if (config.get("clustered_by") or config.get("buckets")) and bucketed_column(config) is None:
        warnings.append(
            "The configs `clustered_by` and `buckets` do nothing on a lake unless both are given, and only one column: "
            "each partition key has its own buckets, use `partition_by: bucket(n, column)`."
        )
    return warnings


def access_refusal(config: Mapping[str, Any], columns: Mapping[str, Any]) -> str | None:
    """Return the message for a node with access configs, an error unless the node sets `unenforced_access: warn`; None if it has none.

    Args:
        config: the configs of the node.
        columns: its columns by name, with all their properties.
    """
    masked = [f"column_mask of {name}" for name, column in columns.items() if any(map(_has_mask, (column, column.get("config") or {})))]
    names = [*(name for name in ACCESS_CONFIGS if _given(config, name)), *masked]
    if not names:
        return None
    return (
        f"A lake cannot enforce {', '.join(names)}: {_ACCESS}. Grant it there and remove the config, or set `unenforced_access: warn` "
        "to build the node without it"
    )


def _given(configs: Mapping[str, Any], name: str) -> bool:
    return configs.get(name) not in (None, False, "", [], {})


def _has_mask(properties: Mapping[str, Any]) -> bool:
    return _given(properties, "column_mask")


def config_notes(config: Mapping[str, Any]) -> list[str]:
    """Return a note for each config of a node that means something else in other adapters."""
    return [f"The config `{name}` sorts files when they are written, as `sorted_by` does." for name in _CLUSTERED if config.get(name)]
