{{ config(materialized='incremental', unique_key='id') }} select id, kind from {{ ref('orders') }}
