{{
    config(
        materialized='incremental',
        incremental_strategy='merge',
        unique_key='order_id',
        commit_message='orders: new ones inserted, changed ones updated',
    )
}}

with amounts as (
    select order_id, count(*) as items, sum(amount) as amount
    from {{ ref('stg_order_items') }}
    group by order_id
)

select
    orders.order_id,
    orders.customer_id,
    orders.ordered_at,
    orders.status,
    amounts.items,
    cast(amounts.amount as decimal(12, 2)) as amount,
    orders.landed_day
from {{ ref('stg_orders') }} as orders
join amounts on amounts.order_id = orders.order_id
{% if is_incremental() %}
where orders.landed_day > (select max(landed_day) from {{ this }})
{% endif %}
