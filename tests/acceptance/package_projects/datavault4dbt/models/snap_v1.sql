{{ config(materialized='view') }}
{{ datavault4dbt.control_snap_v1(control_snap_v0='snap_v0', log_logic={'daily': {'forever': true}}) }}
