{{ config(materialized='table') }}
select * from (values
  (1, 'c1', 'open', cast(10.5 as decimal(10, 2)), date'2026-01-01', timestamp'2026-01-01 06:00:00'),
  (2, 'c1', 'open', cast(20 as decimal(10, 2)), date'2026-01-01', timestamp'2026-01-01 06:00:00'),
  (1, 'c2', 'paid', cast(10.5 as decimal(10, 2)), date'2026-01-02', timestamp'2026-01-02 06:00:00'),
  (3, 'c2', 'open', cast(30 as decimal(10, 2)), date'2026-01-02', timestamp'2026-01-02 06:00:00'),
  (3, 'c2', 'paid', cast(30 as decimal(10, 2)), date'2026-01-03', timestamp'2026-01-03 06:00:00')
) as v (order_key, customer_key, status, amount, order_date, load_dt)
where day(load_dt) = {{ var('loads') }}
