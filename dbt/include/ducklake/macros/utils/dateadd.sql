{# A timestamp keeps its type and microseconds; a date becomes a timestamp, as in dbt-spark and PostgreSQL. #}
{% macro ducklake__dateadd(datepart, interval, from_date_or_timestamp) -%}
  timestampadd({{ datepart | upper }}, cast({{ interval }} as int), {{ from_date_or_timestamp }})
{%- endmacro %}
