select *, 'SAT_ORDER' as satellite_name from {{ ref('stg_orders') }}
