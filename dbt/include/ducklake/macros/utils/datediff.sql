{#
  The number of boundaries of a part between two timestamps, as dbt defines it: from 31 December 23:59 to 1 January is one year. Spark's
  own datediff counts whole elapsed parts. Weeks begin on Sunday.
#}
{% macro ducklake__datediff(first_date, second_date, datepart) -%}
  ({{ ducklake__boundaries_before(second_date, datepart | lower) }} - {{ ducklake__boundaries_before(first_date, datepart | lower) }})
{%- endmacro %}


{#
  The number of boundaries between a fixed timestamp and `value`, which may be a date, a timestamp or a string. Days and smaller parts are
  those of the clock in the session's time zone, where an hour need not begin at a whole hour of UTC.
#}
{% macro ducklake__boundaries_before(value, datepart) -%}
  {%- set date = 'cast(' ~ value ~ ' as date)' -%}
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
    {{ ducklake__clock_boundaries(value, '/ 3600') }}
  {%- elif datepart == 'minute' -%}
    {{ ducklake__clock_boundaries(value, '/ 60') }}
  {%- elif datepart == 'second' -%}
    {{ ducklake__clock_boundaries(value, '') }}
  {%- elif datepart == 'millisecond' -%}
    {{ ducklake__clock_boundaries(value, '* 1000') }}
  {%- elif datepart == 'microsecond' -%}
    {{ ducklake__clock_boundaries(value, '* 1000000') }}
  {%- else -%}
    {{ exceptions.raise_compiler_error("datediff does not support the part '" ~ datepart ~ "'; it supports year, quarter, month, week, day, hour, minute, second, millisecond and microsecond") }}
  {%- endif -%}
{%- endmacro %}


{# The seconds from 1970 to `value` by the clock, times or divided by a number, and rounded down. The clock has no time zone; a string may. #}
{% macro ducklake__clock_boundaries(value, factor) -%}
  {%- set zoned = 'cast(cast(' ~ value ~ ' as timestamp) as timestamp_ntz)' -%}
  {%- set clock = 'if(typeof(' ~ value ~ ") like 'string%', " ~ zoned ~ ', cast(' ~ value ~ ' as timestamp_ntz))' -%}
  {%- set seconds = 'cast(cast(' ~ clock ~ " - timestamp_ntz '1970-01-01 00:00:00' as interval second) as decimal(20, 6))" -%}
  cast(floor({{ [seconds, factor] | select | join(' ') }}) as bigint)
{%- endmacro %}
