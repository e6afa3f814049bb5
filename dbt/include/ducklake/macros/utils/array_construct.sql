{# An empty array has the element type that the caller names: a lake has no VOID. #}
{% macro ducklake__array_construct(inputs, data_type) -%}
  {%- if inputs -%}
    array({{ inputs | join(', ') }})
  {%- else -%}
    cast(array() as array<{{ api.Column.translate_type(data_type) }}>)
  {%- endif -%}
{%- endmacro %}
