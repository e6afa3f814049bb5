{{ config(materialized='table') }} select timestamp'2026-01-03 23:00:00' as as_of_date
