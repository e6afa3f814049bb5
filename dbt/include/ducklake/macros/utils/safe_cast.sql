{# In unit tests, a string for a column of arrays, maps or structs is an SQL expression. #}
{% macro ducklake__safe_cast(field, type) -%}
  {%- set nested = type | lower | trim -%}
  {%- if field is string and (nested.startswith('array') or nested.startswith('map') or nested.startswith('struct')) -%}
    {%- set field = field.strip('"').strip("'").replace("\\'", "'").replace('\\\\', '\\') -%}
  {%- endif -%}
  try_cast({{ field }} as {{ type }})
{%- endmacro %}
