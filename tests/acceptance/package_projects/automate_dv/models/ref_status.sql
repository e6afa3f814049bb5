{{ config(materialized='incremental') }} {{ automate_dv.ref_table(src_pk='status', src_ldts='load_dt', src_source='record_source', source_model='stg_orders') }}
