{{ config(materialized='view') }}
{{ datavault4dbt.sat_v1(sat_v0='sat_order_v0', hashkey='order_h', hashdiff='order_d', add_is_current_flag=true) }}
