{#
  On Spark, dbt_expectations matches regular expressions by the length of the result of regexp_extract: without flags and raw strings, and
  an empty match counts as none. dbt uses this macro instead if a project's `dispatch` lists `dbt` before the package (docs/packages.md).
#}
{% macro ducklake__regexp_instr(source_value, regexp, position=1, occurrence=1, is_raw=False, flags="") %}
  {%- set unknown = flags | list | reject('in', 'imsxudU') | join('') -%}
  {%- if unknown -%}
    {#- Only a warning, because dbt compiles the package's disabled tests for other databases too. -#}
    {%- do exceptions.warn("regexp_instr: Java's regular expressions have no flag '" ~ unknown ~ "'; the flags are i, m, s, x, u, d and U") -%}
  {%- endif -%}
  {%- if occurrence != 1 -%}
    {%- do exceptions.raise_compiler_error("regexp_instr: Spark finds the first occurrence only; occurrence is " ~ occurrence) -%}
  {%- endif -%}
  {%- set pattern = ("(?" ~ flags ~ ")" if flags else "") ~ regexp -%}
  {%- set literal = "'" ~ pattern ~ "'" -%}
  {%- if is_raw -%}
    {%- set literal = "'" ~ dbt.escape_single_quotes(pattern) ~ "'" -%}
  {%- endif -%}
  {%- if position == 1 -%}
    regexp_instr({{ source_value }}, {{ literal }})
  {%- else -%}
    coalesce(nullif(regexp_instr(substring({{ source_value }}, {{ position }}), {{ literal }}), 0) + {{ position }} - 1, if({{ source_value }} is null, null, 0))
  {%- endif -%}
{% endmacro %}
