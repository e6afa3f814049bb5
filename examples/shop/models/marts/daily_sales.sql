select
    cast(orders.ordered_at as date) as day,
    customers.region,
    count(*) as orders,
    cast(sum(orders.amount) as decimal(14, 2)) as revenue
from {{ ref('orders') }} as orders
join {{ ref('customers') }} as customers on customers.customer_id = orders.customer_id
where orders.status <> 'returned'
group by all
