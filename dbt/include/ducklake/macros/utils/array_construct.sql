{# An empty array gets the caller's element type, because a lake has no VOID. #}
{% macro ducklake__array_construct(inputs, data_type) -%}
  {%- if inputs -%}
    array({{ inputs | join(', ') }})
  {%- else -%}
    cast(array() as array<{{ api.Column.translate_type(data_type) }}>)
  {%- endif -%}
{%- endmacro %}
