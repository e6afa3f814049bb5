{#
  A table is replaced, never dropped or renamed: it keeps its id, comments, options and history.
  A temporary table is a temporary view of the session and is never in the lake.
#}
{% macro ducklake__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if language == 'python' -%}
    {{ ducklake__register_python_result(compiled_code, relation) }}
  {%- elif temporary -%}
    {{ create_temporary_view(relation, compiled_code) }}
  {%- else -%}
    {{ ducklake__create_lake_table_as(relation, compiled_code) }}
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__create_lake_table_as(relation, compiled_code) -%}
  {%- do adapter.only_query(compiled_code) -%}
  {%- set contract = config.get('contract') -%}
  {%- set sql_header = config.get('sql_header', none) -%}
  {{ sql_header if sql_header is not none }}
  create or replace table {{ relation.render() }}
  {%- if contract and contract.enforced %}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {{ get_table_columns_and_constraints() }}
    {%- set compiled_code = get_select_subquery(compiled_code) -%}
  {%- endif %}
  {{ ducklake__partitioned_by_clause() }}
  {{ ducklake__sorted_by_clause() }}
  {{ tblproperties_clause() }}
  as
  {{ compiled_code }}
{%- endmacro %}


{% macro ducklake__partitioned_by_clause() -%}
  {%- set keys = ducklake__partition_keys() -%}
  {%- if keys %}partitioned by ({{ keys | join(', ') }}){% endif -%}
{%- endmacro %}


{# The config `sorted_by`: a column or an expression with its direction, such as `created_at desc`, or a list of them. #}
{% macro ducklake__sorted_by_clause() -%}
  {%- set keys = ducklake__configured_layout().sorted_by -%}
  {%- if keys %}sorted by ({{ keys | join(', ') }}){% endif -%}
{%- endmacro %}


{#
  The config `tblproperties` or `options`: options of the lake are set for the table, other properties are stored with it. Another property
  lists the parts of the layout that configs have set.
#}
{% macro ducklake__tblproperties_clause() -%}
  {%- set given = ducklake__configured_layout().with_record -%}
  {%- if given %}tblproperties (
    {%- for key, value in given.items() -%}
      '{{ dbt.escape_single_quotes(key | string) }}' = '{{ dbt.escape_single_quotes(value | string) }}'{{ ', ' if not loop.last }}
    {%- endfor -%}
  ){% endif -%}
{%- endmacro %}


{# dbt-spark's clause of the config `options`, which is in the clause above. #}
{% macro ducklake__options_clause() -%}
{%- endmacro %}


{# The config `partitioned_by`: a column or an expression such as day(created_at), or a list of them; then the buckets of `clustered_by`. #}
{% macro ducklake__partition_keys() -%}
  {% do return(ducklake__configured_layout().partitioned_by | list) %}
{%- endmacro %}


{% macro ducklake__create_temporary_view(relation, compiled_code) -%}
  {%- do adapter.only_query(compiled_code) -%}
  {%- set sql_header = config.get('sql_header', none) -%}
  {{ sql_header if sql_header is not none }}
  create or replace temporary view {{ relation.include(database=false, schema=false) }} as
  {{ compiled_code }}
{%- endmacro %}


{% macro ducklake__make_temp_relation(base_relation, suffix) %}
  {%- set named = base_relation.incorporate(path={'identifier': base_relation.identifier ~ suffix}, type='view') -%}
  {% do return(named.include(database=false, schema=false)) %}
{% endmacro %}


{% macro ducklake__get_replace_table_sql(relation, sql) -%}
  {{ get_create_table_as_sql(False, relation, sql) }}
{%- endmacro %}
