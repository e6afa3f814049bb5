{% macro ducklake__create_view_as(relation, sql) -%}
  {%- do adapter.only_query(sql) -%}
  {%- set contract = config.get('contract') -%}
  {%- set sql_header = config.get('sql_header', none) -%}
  {{ sql_header if sql_header is not none }}
  create or replace view {{ relation.render() }}
  {%- if contract and contract.enforced %}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif %}
  {{ ducklake__documented_view_columns(sql) }}
  as
  {{ sql }}
{%- endmacro %}


{# The format cannot store comments on the columns of a view: they are part of CREATE VIEW and stored in a tag of this adapter. #}
{% macro ducklake__documented_view_columns(sql) -%}
  {%- if model.columns and config.persist_column_docs() -%}
    {%- set names = get_columns_in_query(sql) -%}
    {%- set documented = validate_doc_columns(this, model.columns, names) -%}
    (
    {%- for name in names -%}
      {%- set comment = ducklake__documented_comment(documented, name) %}
      {{ adapter.quote(name) }}{{ ' comment ' ~ ducklake__sql_text(comment) if comment }}{{ ',' if not loop.last }}
    {%- endfor %}
    )
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__documented_comment(documented, column_name) %}
  {% for name, column in documented.items() if name == column_name or (not column.quote and name | lower == column_name | lower) %}
    {% do return(column.description) %}
  {% endfor %}
  {% do return(none) %}
{% endmacro %}


{% macro ducklake__get_replace_view_sql(relation, sql) -%}
  {{ get_create_view_as_sql(relation, sql) }}
{%- endmacro %}
