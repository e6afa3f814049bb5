# Each case is a comment line (--- name) and a text in which the marks say what is found:
#   «name» a reference to which binding adds an alias      ‹name› one that has an alias, or may have none
#   ⟪name⟫ one whose alias must stand in parentheses       ⟨s.t⟩  the qualifier of a column

--- one table
select * from «orders»

--- alias with and without AS, and an alias with columns
select * from ‹a› x, ‹b› as y, ‹c› as z(p, q), ‹d› w (r)

--- names of one to three parts, quoted and not
select * from «lake.main.orders» join «`lake`.`my schema`.`orders``2`» join «main . orders» on true

--- a quoted alias
select * from ‹a› `the alias`, ‹b› AS `b`

--- umlauts and emoji before and in names
select 'ä😀', `größe` from «`größen`.öl» join ‹`😀`› s on "😀" = s.x

--- tabs and CRLF
select	*	from	«a.b»	join «c»	on	1=1

--- comments between the words, and words in comments
select * /* from x */ from -- from y
  /* nested /* from z */ */ «a» /* as b */ -- join c
where 1 = 1

--- words in strings
select 'from x', "from y", r'from \', "it""s from z", 'it''s \' from w', $$ from v $$ from «a»

--- dbt's query comment
/* {"app": "dbt", "dbt_version": "1.11", "node_id": "model.shop.from.join"} */
select 1 as id from «`lake`.`main`.`stg_orders`»

--- a hint
select /*+ broadcast(b) */ * from «a» join «b» using (id)

--- joins of every kind
select * from «a» inner join «b» on a.x = b.x left outer join «c» using (x) cross join «d» natural join «e» left semi join «f» on true left anti join «g» on true full join «h»

--- comma behind a join condition
select * from «a» join «b» on a.x = b.x and a.y in (1, 2), ‹c› q where a.x in (1, 2)

--- commas of the select list, group by and order by are no relations
select a, b, c from «t» where x group by d, e having f order by g, h limit 1

--- a CTE is no reference
with a as (select * from «b») select * from a join «c»

--- a CTE's own name inside it is a table
with a as (select * from «a») select * from a

--- a recursive CTE names itself
with recursive a(n) as (select 1 union all select n + 1 from a join «b») select * from a

--- a recursion limit
with recursive a(n) max recursion level 200 as (select 1 union all select n + 1 from a) select * from a, «b»

--- CTEs see those before them, not those behind
with a as (select * from «b»), b as (select * from a) select * from b

--- a nested CTE shadows, and ends with its brackets
with a as (select 1) select * from (with b as (select * from a) select * from b) x join «b»

--- a CTE name is compared without case, also quoted
with `Base` as (select 1) select * from base join BASE b

--- a CTE without AS, with columns
with a(x, y) (select 1, 2) select * from a

--- names of several parts are never CTEs
with a as (select 1) select * from a join «main.a»

--- time travel is never to a CTE
with a as (select 1) select * from «a version as of 3»

--- a CTE is seen in subqueries of the main query
with a as (select 1 x) select (select max(x) from a), (select 1 from «b») from «c» where exists (select 1 from a where a.x in (select y from «d»))

--- a CTE called like a keyword's neighbour
with final as (select * from «a»), renamed as (select * from final) select * from renamed

--- union, except, intersect
select * from «a» union all select * from «b» except (select * from «c» intersect select * from ‹d› x)

--- tables as queries
table ‹a›

--- TABLE in a union
select * from «a» union all table ‹b›

--- values
select * from values (1, 'a'), (2, 'b') as t(x, y), «c»

--- values of bare rows
values (1, (select max(x) from «a»)), (2, 3)

--- FROM first
from «a» select x where y = 1

--- pipes
from «a» |> where x > 1 |> join «b» using (id) |> select x, y |> union all table ‹c› |> as q |> aggregate sum(x) group by y

--- pipes from TABLE with a pivot
«table a» |> pivot (sum(x) for y in ('a', 'b')) |> set x = 1, y = 2 |> drop z

--- subqueries in every clause
select (select 1 from «a»), (select max(x) from «b»), case when exists(select 1 from «c») then 1 end from (select * from «d») d where x in (select y from «e») having (select 1 from «f») > 1 order by (select 1 from «g»)

--- a lateral subquery
select * from «a», lateral (select * from ‹b› x where x.i = a.i) y

--- a lateral join
select * from «a» left join lateral (select * from «b» where b.i = a.i) on true

--- LATERAL VIEW
select * from «a» lateral view explode(a.xs) t as x, y lateral view outer posexplode(ys) u as p, q where x = 1

--- LATERAL VIEW behind an alias
select * from ‹a› b lateral view explode(b.xs) t as x

--- table functions
select * from range(10), explode(array(1, 2)) as e(x), lateral explode(e.x), read_files('/x'), ‹my.fn(1)› f, «a»

--- table arguments
select * from f(table(‹a›) partition by x order by y) t, g(table(‹b›)), h(table(select * from «c»))

--- tables in brackets
select * from («a» join ‹b› x on a.i = x.i) join («c») on true

--- a query in two brackets
select * from ((select * from «a») union all (select * from «b»)) t

--- a derived table with an alias
select * from (select * from «a») x, (select 1) as y, «b»

--- files are Spark's
select * from parquet.`/data/x`, csv.`s3://b/x.csv` c, json.`a.json`, «text.notes»

--- IDENTIFIER of a literal
select * from «identifier('main.orders')» join ‹IDENTIFIER("b")› x

--- IDENTIFIER of anything else is Spark's
select * from identifier('a' || 'b'), identifier(:name) x

--- a sample takes the alias behind it
select * from ⟪a⟫ tablesample (10 percent) where a.x in (1, 2)

--- a sample with an alias
select * from ‹a› tablesample (5 rows) s join ⟪b⟫ tablesample (1 percent) repeatable (3) on true

--- options stand between the name and the alias
select * from ‹a› with ('split-size' = 5) x, ‹b› with (k = 1)

--- pivot and unpivot are no aliases
select * from «a» pivot (sum(x) for y in ('p', 'q')) union all select * from «b» unpivot include nulls (v for n in (c, d)) as u

--- clauses are no aliases
select * from «a» window w as (order by x)

--- qualify is no alias
select * from «a» qualify row_number() over (partition by x order by y) = 1

--- cluster, sort and distribute are no aliases
select * from «a» distribute by x sort by y

--- Spark's time travel
select * from «a version as of 3», ‹b VERSION AS OF '4'› x, «c for version as of 5», ‹d for system_version as of 6› as y

--- Spark's time travel by timestamps
select * from «a timestamp as of '2026-01-01'» join ‹b for system_time as of timestamp '2026-01-01 00:00:00'› x on true

--- timestamps that are computed
select * from ‹a timestamp as of current_timestamp() - interval 1 day› x join «b timestamp as of date_sub(current_date(), 1)» on true

--- timestamps that are cast
select * from «a timestamp as of '2026-01-01'::timestamp» where b order by c, d

--- intervals of several units before an alias
select * from ‹a timestamp as of now() - interval 1 day 2 hours› x, ‹b timestamp as of now() - interval '1 day'› y, ‹c timestamp as of now() - interval '1-2' year to month› z

--- DuckLake's time travel
select * from «a AT (VERSION => 3)», ‹s.b at (timestamp => now() - interval '1 day')› x, ‹c at (version => 1)› as y where z

--- DuckDB's order: the alias before the time travel
select x.i, * from «a x AT (VERSION => 3)» join «s.b as y at (timestamp => now())» on x.i = y.i, «c»

--- an alias called at
select * from ‹a› at (x, y) where at.x = 1

--- FROM in functions
select extract(year from d), trim(both 'x' from y), trim(from z), substring(a from 2 for 3), overlay(a placing b from 3) from «t»

--- a query in a function with FROM
select extract(year from (select max(d) from «a»)), position((select 1 from «b») in c) from «c»

--- a comparison with FROM
select a is distinct from b, c is not distinct from d from «t» where x is distinct from y order by x, z

--- columns called like keywords behind a dot
select t.from, t.join, t.table, t.using from «a» where t.from = 1

--- stars and struct fields
select *, a.*, a.b.c, d[0].e, f(x).g from «a»

--- a column qualified with schema and table
select ⟨s.t⟩.c, ⟨s.t⟩.* from «s.t» where ⟨s.t⟩.c > 1 order by ⟨s.t⟩.c.field

--- a column qualified with database, schema and table
select ⟨lake.s.t⟩.c, ⟨`LAKE`.`S`.`T`⟩.`c`, ⟨s.t⟩.c, t.c from «lake.s.t»

--- no qualifier where there is an alias
select s.t.c from ‹s.t› x

--- no qualifier of another name
select s.u.c, a.b.c from «s.t» where t.c = 1

--- qualifiers in a join condition and in subqueries
select * from «s.t» join «s.u» on ⟨s.t⟩.id = ⟨s.u⟩.id where exists (select 1 from «s.v» where ⟨s.v⟩.id = ⟨s.t⟩.id)

--- qualifiers reach out of subqueries, not into them
select s.u.c, ⟨s.t⟩.c from «s.t» where exists (select ⟨s.t⟩.c from «s.u» where ⟨s.u⟩.c) union all select s.t.c, ⟨s.u⟩.c from «s.u»

--- a function of a schema is no qualifier
select s.t.f(1), s.t(2) from «s.t»

--- variant paths and casts
select v:a.b[0]::string, v:`x y`.z::int, cast(a as decimal(3, 1)) from «t»

--- lambdas, brackets and braces
select transform(xs, (x, i) -> x + i), map[from_key]
from «t» join «u»

--- numbers and identifiers that begin with digits
select 1.5e3, 10L, .5, 1., 2024_x from «2024_orders» join «s.1st» on true

--- window frames
select sum(x) over (partition by a, b order by c rows between 1 preceding and current row) from «t»

--- within group and filter
select listagg(x, ',') within group (order by y), count(*) filter (where z) from «t»

--- rollup with WITH
select a, b from «t» group by a, b with rollup

--- a limit around a query, as dbt writes it
select * from (select * from «a») as __dbt_sbq where false limit 0

--- a test, as dbt writes it
select count(*) as failures, count(*) != 0 as should_warn from ( select order_id from «`lake`.`main`.`orders`» where order_id is null ) dbt_internal_test

--- an accepted-values test, as dbt writes it
with all_values as ( select status as value_field, count(*) as n_records from «`lake`.`main`.`orders`» group by status ) select * from all_values where value_field not in ( 'placed','shipped' )

--- a unit test, as dbt writes it
with __dbt__cte__stg_orders as ( select cast(1 as bigint) as `id`, cast('a, from b' as string) as `name` union all select cast(2 as bigint) as `id`, cast(null as string) as `name` ) select * from ( select id from __dbt__cte__stg_orders ) t join «`lake`.`main`.`customers`»

--- a CTE per model, as dbt people write it
with customers as ( select * from «`lake`.`main`.`customers`» ), orders as ( select * from «`lake`.`main`.`orders`» ), joined as ( select customers.*, orders.amount from customers left join orders using (customer_id) ) select * from joined

--- a snapshot's staging query, as dbt writes it
with snapshot_query as ( select * from «`l`.`m`.`src`» ), snapshotted_data as ( select *, id as dbt_unique_key from «`l`.`m`.`snap`» where dbt_valid_to is null ), insertions_source_data as ( select *, id as dbt_unique_key from snapshot_query ), insertions as ( select 'insert' as dbt_change_type, source_data.* from insertions_source_data as source_data left outer join snapshotted_data on snapshotted_data.dbt_unique_key = source_data.dbt_unique_key ) select * from insertions union all select * from snapshotted_data

--- an insert
insert into ‹a› (x, y) select * from «b»

--- an insert into a CTE's namesake
with a as (select 1) insert into table ‹a› select * from a join «b»

--- an overwrite
insert overwrite table ‹a› partition (d = 1) table ‹b›

--- an insert into a directory
insert overwrite directory '/x' using parquet select * from «a»

--- an update
update ‹a› x set y = (select max(z) from «b») where x.i in (select j from «c»)

--- a delete
delete from «s.a» where ⟨s.a⟩.x in (select y from «b»)

--- a merge
merge into ‹a› as d using ‹b› as s on d.i = s.i when matched and d.x in (select y from «c») then update set * when not matched then insert *

--- a merge of a query
merge with schema evolution into «a» using (select * from «b») s on a.i = s.i when not matched by source then delete

--- a temporary view
create or replace temporary view v as select * from «a»

--- a function
create temporary function f(x int) returns table (y int) return select * from «a» where i = x

--- a cached query and a cached table
cache lazy table c options ('storageLevel' 'DISK_ONLY') as select * from «a»

--- a cached table
cache table ‹s.a›

--- a script
begin declare x int; insert into ‹a› select * from «b»; with c as (select 1) select * from c; select * from «c»; end

--- streams
select * from stream ‹a› x, stream(‹b›) y

--- nothing to find
select 1, current_date(), ${x}, {{ y }} from ${schema}.t

--- a hyphen is an error of Spark's
select * from a-b.c

--- four parts are Spark's
select * from a.b.c.d join «e»

--- clauses of Spark 4.3 after a relation are no alias
select * from «a» asof join «b» match_condition (a.x >= b.x) on a.y = b.y asof inner join «c» match_condition (a.x >= c.x) asof left outer join ‹d› z match_condition (a.x >= z.x)

--- a join with the nearest rows is no alias
select * from «a» join «b» approx nearest 3 by distance abs(a.x - b.x) left join «c» exact nearest 1 by distance abs(a.x - c.x)

--- bins and changes are no alias
select * from «a» bin by (x), «b» changes from 1 to 3

--- keywords of these clauses are valid aliases in other places
select * from ‹a› asof, ‹b› as asof join ‹c› match_condition on true join ‹d› exact join ‹e› bin join ‹f› changes where approx.x = 1
--- values without parentheses
select v.d, t.a from values 1, 2 as v(d) join «t» on true
--- values of strings
select d from values 'a', 'b' as v(d), «t»
--- a subquery and a relation in parentheses
select x.a, ⟨s.t⟩.b from ((select 1 a from «u») x join «s.t» on x.a = ⟨s.t⟩.a)
--- a union in parentheses
select x.a from ((select 1 a from «u») union all select 2 from «w») x
--- changes of a table
select * from «t» changes from version 1 to version 5
--- a column named changes
select changes from «t»

--- a table called values, at the end of a subquery and of the text
select * from (select * from «values») x, «values»

--- a table called if, before a pipe
«table if» |> where a > 1
