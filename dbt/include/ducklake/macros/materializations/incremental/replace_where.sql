{% macro get_incremental_replace_where_sql(arg_dict) %}
  {% do return(adapter.dispatch('get_incremental_replace_where_sql', 'dbt')(arg_dict)) %}
{% endmacro %}


{#
  One statement replaces the rows of the table that pass `incremental_predicates` by the model's rows. A row of the model that does not
  pass them is refused, because the next run would not replace it.
#}
{% macro ducklake__get_incremental_replace_where_sql(arg_dict) %}
  {%- set target, source = arg_dict['target_relation'], arg_dict['temp_relation'] -%}
  {%- set predicates = arg_dict['incremental_predicates'] or [] -%}
  {%- if not predicates -%}
    {%- do exceptions.raise_compiler_error('replace_where needs incremental_predicates, which select the rows of the table to replace') -%}
  {%- endif -%}
  {% do ducklake__keep_source(source, 'replace_where') %}
  {% do ducklake__refuse_rows_outside(source, predicates) %}
  {% do return(ducklake__replace_where_sql(target, source, predicates, arg_dict['dest_columns'])) %}
{% endmacro %}


{% macro ducklake__replace_where_sql(target, source, predicates, dest_columns) -%}
  insert into {{ target }} by name
  replace where ({{ predicates | join(') and (') }})
  select {{ get_quoted_csv(dest_columns | map(attribute='name')) }} from {{ source }}
{%- endmacro %}


{% macro ducklake__refuse_rows_outside(source, predicates) %}
  {% set found = run_query('select count(*) from ' ~ source ~ ' where not coalesce((' ~ predicates | join(') and (') ~ '), false)') %}
  {% if found and found.columns[0].values()[0] > 0 %}
    {% do exceptions.raise_compiler_error(
      found.columns[0].values()[0] ~ ' rows of the model do not pass incremental_predicates (' ~ predicates | join(' and ')
      ~ '), so replace_where would add them again with every run. Filter them out of the model'
    ) %}
  {% endif %}
{% endmacro %}
