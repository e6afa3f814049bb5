{# A value of a unit test that is written as text but means an array, a map or a struct is an expression. #}
{% macro ducklake__safe_cast(field, type) -%}
  {%- set nested = type | lower | trim -%}
  {%- if field is string and (nested.startswith('array') or nested.startswith('map') or nested.startswith('struct')) -%}
    {%- set field = field.strip('"').strip("'") -%}
  {%- endif -%}
  try_cast({{ field }} as {{ type }})
{%- endmacro %}
