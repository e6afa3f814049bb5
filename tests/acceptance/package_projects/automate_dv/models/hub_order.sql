{{ config(materialized='incremental') }} {{ automate_dv.hub(src_pk='order_pk', src_nk='order_key', src_ldts='load_dt', src_source='record_source', source_model='stg_orders') }}
