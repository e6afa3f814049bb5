select customer_id, name, lower(email) as email, country_code, signed_up_on
from {{ source('landing', 'customers') }}
