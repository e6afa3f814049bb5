{% macro ducklake__generate_series(upper_bound) -%}
  {%- if upper_bound | int <= 0 -%}
    {{ exceptions.raise_compiler_error('upper bound must be positive') }}
  {%- endif -%}
  select explode(sequence(1, {{ upper_bound }})) as generated_number
{%- endmacro %}
