{#
  A function is stored in the lake as Spark's SQL, and every session and later run finds it by its name. DuckDB does not see it, because
  its macros are another dialect. dbt does not call `pre_model_hook` for functions, so their configs are checked and applied here.
#}
{% materialization function, adapter='ducklake', supported_languages=['sql', 'python', 'javascript'] %}  {#- dbt's names; the others are refused -#}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type=this.Function) -%}
  {%- do adapter.check_foreign_configs(model.config, model.columns or {}) -%}
  {%- do adapter.use_spark_config(config) -%}
  {%- if existing_relation is not none and not existing_relation.is_function -%}
    {% do exceptions.relation_wrong_type(existing_relation, 'function') %}
  {%- endif -%}
  {%- set find_macro = adapter.dispatch -%}  {#- an alias, because dbt reads the names in calls of `adapter.dispatch` before it runs them -#}
  {%- set build_sql = find_macro(this.get_function_macro_name(this.get_function_config(model)), 'dbt')(target_relation) -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {% do ducklake__begin_snapshot() %}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% call statement('main') -%}
    {{ build_sql }}
  {%- endcall %}
  {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{% macro ducklake__scalar_function_sql(target_relation) %}
  create or replace function {{ target_relation.render() }} ({{ formatted_scalar_function_args_sql() }})
  returns {{ api.Column.translate_type(model.returns.data_type) }}
  {{ scalar_function_volatility_sql() }}
  {{ ducklake__function_comment() }}
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


{% macro ducklake__function_comment() %}
  {%- if config.persist_relation_docs() and model.description -%}comment {{ ducklake__sql_text(model.description) }}{%- endif -%}
{% endmacro %}
