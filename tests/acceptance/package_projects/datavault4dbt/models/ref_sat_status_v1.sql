{{ config(materialized='view') }}
{{ datavault4dbt.ref_sat_v1(ref_sat_v0='ref_sat_status_v0', ref_keys=['status'], hashdiff='status_d', add_is_current_flag=true) }}
