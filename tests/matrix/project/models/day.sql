-- the orders as they are at the end of the day
{{ config(materialized='view') }}
select id, status, amount, changed_at from (
  select *, row_number() over (partition by id order by changed_at desc) as age from {{ ref('orders') }}
  where date(changed_at) <= date'2026-01-01' + interval {{ var('day') | int - 1 }} day
) where age = 1
