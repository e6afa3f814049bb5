-- A product has at most one current price.
select product_code
from {{ ref('price_history') }}
where dbt_valid_to is null
group by product_code
having count(*) > 1
