{# Spark reads a backslash in a string literal as an escape, so it is escaped too. #}
{% macro ducklake__escape_single_quotes(expression) -%}
{{ expression | replace("\\", "\\\\") | replace("'", "\\'") }}
{%- endmacro %}
