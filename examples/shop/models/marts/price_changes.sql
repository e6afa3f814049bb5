with versions as (
    select
        product_code,
        product,
        price,
        lag(price) over (partition by product_code order by dbt_valid_from) as old_price,
        dbt_valid_from as changed_at
    from {{ ref('price_history') }}
)

select product_code, product, old_price, price as new_price, changed_at
from versions
where old_price is not null
