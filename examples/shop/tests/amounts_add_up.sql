-- The total of the orders equals the total of their items.
select orders.amount as amount_of_orders, items.amount as amount_of_items
from (select sum(amount) as amount from {{ ref('orders') }}) as orders
cross join (select sum(amount) as amount from {{ ref('stg_order_items') }}) as items
where orders.amount <> items.amount
