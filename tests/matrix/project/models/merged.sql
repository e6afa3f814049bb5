{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id') }}
select id, status, amount, changed_at from {{ ref('day') }}
{% if is_incremental() %} where changed_at > (select max(changed_at) from {{ this }}) {% endif %}
