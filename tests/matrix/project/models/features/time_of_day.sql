{{ config(tags=['feature']) }}
select id, cast('01:02:03' as time) as time from range(20)
