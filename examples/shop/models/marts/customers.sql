select
    customers.customer_id,
    customers.name,
    countries.country,
    countries.region,
    customers.signed_up_on,
    count(orders.order_id) as orders,
    cast(coalesce(sum(orders.amount), 0) as decimal(14, 2)) as revenue,
    max(orders.ordered_at) as last_ordered_at
from {{ ref('stg_customers') }} as customers
join {{ ref('countries') }} as countries on countries.country_code = customers.country_code
left join {{ ref('orders') }} as orders
    on orders.customer_id = customers.customer_id
    and orders.status <> 'returned'
group by all
