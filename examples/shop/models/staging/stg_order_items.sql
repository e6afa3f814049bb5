select order_id, line, product_code, quantity, unit_price, quantity * unit_price as amount
from {{ source('landing', 'order_items') }}
