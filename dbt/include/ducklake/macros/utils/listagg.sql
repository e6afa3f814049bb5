{# With a limit: join the values by a character that occurs in no text, keep the first ones, and replace the character by the delimiter. #}
{% macro ducklake__listagg(measure, delimiter_text, order_by_clause, limit_num) -%}
  {%- set order = ' within group (' ~ order_by_clause ~ ')' if order_by_clause else '' -%}
  {%- if limit_num -%}
    replace(substring_index(listagg({{ measure }}, '\u001f'){{ order }}, '\u001f', {{ limit_num }}), '\u001f', {{ delimiter_text }})
  {%- else -%}
    listagg({{ measure }}, {{ delimiter_text }}){{ order }}
  {%- endif -%}
{%- endmacro %}
