-- more rows than are inlined in the catalog: they are in Parquet files, and the second build writes a delete file
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
select id, id * {{ var('day') }} as number, cast(id as string) as text from range(1000)
{% if is_incremental() %} where id % 10 = 0 {% endif %}
