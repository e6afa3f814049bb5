select status, count(*) as orders, sum(amount) as amount, max(changed_at) as changed_at from {{ ref('day') }} group by status
