select order_id, customer_id, ordered_at, status, landed_day
from (
    select *, row_number() over (partition by order_id order by landed_day desc) as version
    from {{ source('landing', 'orders') }}
) as versions
where version = 1
