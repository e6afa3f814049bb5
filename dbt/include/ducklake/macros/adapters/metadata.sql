{# dbt itself calls the adapter, which reads the catalog. These macros are for packages. #}

{% macro ducklake__list_schemas(database) -%}
  {% do return(run_query('show schemas' ~ (' in ' ~ adapter.quote(database) if database else ''))) %}
{%- endmacro %}


{% macro ducklake__check_schema_exists(information_schema, schema) -%}
  {% do return(run_query('select ' ~ (1 if adapter.check_schema_exists(information_schema.database, schema) else 0))) %}
{%- endmacro %}


{% macro ducklake__list_relations_without_caching(schema_relation) %}
  {% do return(adapter.list_relations_without_caching(schema_relation)) %}
{% endmacro %}
