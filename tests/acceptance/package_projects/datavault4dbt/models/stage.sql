{{ config(materialized='view') }}
{{ datavault4dbt.stage(
  ldts='load_dt', rsrc='!shop', source_model='raw_orders',
  hashed_columns={'order_h': ['order_key'], 'customer_h': ['customer_key'], 'order_customer_l': ['order_key', 'customer_key'],
    'order_d': {'is_hashdiff': true, 'columns': ['status', 'amount']}, 'status_d': {'is_hashdiff': true, 'columns': ['order_date']}}) }}
