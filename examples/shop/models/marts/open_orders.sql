{{
    config(
        materialized='incremental',
        incremental_strategy='changes',
        unique_key='order_id',
    )
}}

select order_id, customer_id, ordered_at, amount, _change_type
from {{ ducklake_changes(ref('orders')) }}
where status = 'placed'
