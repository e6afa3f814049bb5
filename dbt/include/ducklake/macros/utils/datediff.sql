{#
  The number of boundaries of a part between two timestamps, as dbt defines it: from 31 December 23:59 to 1 January is one year. Spark's
  own datediff counts whole elapsed parts. Weeks begin on Sunday.
#}
{% macro ducklake__datediff(first_date, second_date, datepart) -%}
  ({{ boundaries_before(second_date, datepart | lower) }} - {{ boundaries_before(first_date, datepart | lower) }})
{%- endmacro %}


{# The number of boundaries between a fixed timestamp and `value`, which may be a date, a timestamp or a string. #}
{% macro boundaries_before(value, datepart) -%}
  {%- set date = 'cast(' ~ value ~ ' as date)' -%}
  {%- set timestamp = 'cast(' ~ value ~ ' as timestamp)' -%}
  {%- if datepart == 'year' -%}
    year({{ date }})
  {%- elif datepart == 'quarter' -%}
    (year({{ date }}) * 4 + quarter({{ date }}))
  {%- elif datepart == 'month' -%}
    (year({{ date }}) * 12 + month({{ date }}))
  {%- elif datepart == 'week' -%}
    floor((unix_date({{ date }}) + 4) / 7)
  {%- elif datepart == 'day' -%}
    unix_date({{ date }})
  {%- elif datepart == 'hour' -%}
    (unix_seconds(date_trunc('HOUR', {{ timestamp }})) div 3600)
  {%- elif datepart == 'minute' -%}
    (unix_seconds(date_trunc('MINUTE', {{ timestamp }})) div 60)
  {%- elif datepart == 'second' -%}
    unix_seconds({{ timestamp }})
  {%- elif datepart == 'millisecond' -%}
    unix_millis({{ timestamp }})
  {%- elif datepart == 'microsecond' -%}
    unix_micros({{ timestamp }})
  {%- else -%}
    {{ exceptions.raise_compiler_error("datediff does not support the part '" ~ datepart ~ "'; it supports year, quarter, month, week, day, hour, minute, second, millisecond and microsecond") }}
  {%- endif -%}
{%- endmacro %}
