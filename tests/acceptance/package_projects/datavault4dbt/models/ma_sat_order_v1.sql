{{ config(materialized='view') }}
{{ datavault4dbt.ma_sat_v1(sat_v0='ma_sat_order_v0', hashkey='order_h', hashdiff='order_d', ma_attribute=['status'], add_is_current_flag=true) }}
