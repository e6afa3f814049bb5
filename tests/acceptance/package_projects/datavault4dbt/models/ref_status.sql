{{ config(materialized='view') }}
{{ datavault4dbt.ref_table(ref_hub='ref_hub_status', ref_satellites={'ref_sat_status_v1': ['order_date']}, historized='full') }}
