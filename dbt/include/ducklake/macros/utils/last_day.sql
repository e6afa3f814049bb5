{% macro ducklake__last_day(date, datepart) -%}
  {%- if datepart | lower == 'month' -%}
    last_day({{ date }})
  {%- else -%}
    {{ dbt.default_last_day(date, datepart) }}
  {%- endif -%}
{%- endmacro %}
