{#
  dbt_expectations matches regular expressions on Spark by the length of what regexp_extract finds: without flags, without raw strings,
  and a match of no characters is none. This one is found where a project's `dispatch` lists `dbt` before the package (docs/packages.md).
#}
{% macro ducklake__regexp_instr(source_value, regexp, position=1, occurrence=1, is_raw=False, flags="") %}
  {%- set unknown = flags | list | reject('in', 'imsxudU') | join('') -%}
  {%- if unknown -%}
    {#- A warning, because the package's own tests for other databases are compiled though they are disabled. -#}
    {%- do exceptions.warn("regexp_instr: Java's regular expressions have no flag '" ~ unknown ~ "'; they have i, m, s, x, u, d and U") -%}
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
