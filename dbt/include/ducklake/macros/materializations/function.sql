{#
  A function is stored in the lake as Spark's SQL, and every session and later run finds it by its name. DuckDB does not see it, because
  its macros are another dialect.
#}
{% macro ducklake__scalar_function_sql(target_relation) %}
  create or replace function {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() }})
  returns {{ api.Column.translate_type(model.returns.data_type) }}
  {{ scalar_function_volatility_sql() }}
  {{ function_comment() }}
  return
  {{ model.compiled_code }}
{% endmacro %}


{% macro ducklake__formatted_scalar_function_args_sql() %}
  {%- for argument in model.arguments -%}
    {{ argument.name }} {{ api.Column.translate_type(argument.data_type) }}
    {%- if argument.get('default_value') is not none %} DEFAULT {{ argument.default_value }}{% endif %}
    {{- ', ' if not loop.last }}
  {%- endfor -%}
{% endmacro %}


{% macro ducklake__scalar_function_volatility_sql() %}
  {%- set volatility = model.config.get('volatility') -%}
  {%- if volatility == 'deterministic' -%}
    deterministic
  {%- elif volatility == 'non-deterministic' -%}
    not deterministic
  {%- elif volatility is not none -%}
    {%- do unsupported_volatility_warning(volatility) -%}
  {%- endif -%}
{% endmacro %}


{% macro function_comment() %}
  {%- if config.persist_relation_docs() and model.description -%}comment {{ sql_text(model.description) }}{%- endif -%}
{% endmacro %}


{% macro ducklake__function_execute_build_sql(build_sql, existing_relation, target_relation) %}
  {% do begin_snapshot() %}
  {% if existing_relation is not none and not existing_relation.is_function %}
    {% do exceptions.relation_wrong_type(existing_relation, 'function') %}
  {% endif %}
  {% call statement('main') -%}
    {{ build_sql }}
  {%- endcall %}
  {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}
  {% do adapter.commit() %}
{% endmacro %}
