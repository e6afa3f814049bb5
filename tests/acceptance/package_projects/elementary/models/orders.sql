{{ config(materialized='table') }}
select id, cast(id % 7 as int) as kind, 'name ' || id as name, cast(timestampadd(hour, -id, current_timestamp()) as timestamp) as updated_at from range(1, 400)
