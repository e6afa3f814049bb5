{#
  The first run and a full refresh build the table. Any other run creates a temporary view of the model's query, and the strategy's SQL
  brings its rows into the table. Schema changes are part of the same snapshot.
#}
{% materialization incremental, adapter='ducklake', supported_languages=['sql', 'python'] %}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- set target_relation = this.incorporate(type='table') -%}
  {%- set source_relation = make_temp_relation(target_relation) -%}
  {%- set rebuild = existing_relation is none or not existing_relation.is_table or should_full_refresh() -%}
  {%- set strategy = config.get('incremental_strategy') or 'default' -%}
  {%- set strategy_macro = adapter.get_incremental_strategy_macro(context, strategy) -%}
  {%- set query = compiled_code -%}
  {%- do ducklake__source_kind() -%}
  {%- if strategy in ('merge', 'default', 'changes') -%}
    {%- do adapter.check_merge_configs(ducklake__merge_configs(), ducklake__key_columns(config.get('unique_key')), model.config | list, strategy) -%}
  {%- endif -%}

  {{ run_hooks(pre_hooks, inside_transaction=False) }}
  {% do ducklake__begin_snapshot() %}
  {% do ducklake__require_first_build(existing_relation, target_relation) %}
  {{ run_hooks(pre_hooks, inside_transaction=True) }}

  {% if model.language == 'python' %}
    {% call statement('main', language='python') -%}
      {{ create_table_as(True, source_relation, compiled_code, 'python') }}
    {%- endcall %}
    {% set query = 'select * from ' ~ source_relation %}
  {% endif %}
  {% if strategy == 'changes' %}
    {% set query = ducklake__new_rows_of_changes(target_relation) %}
  {% endif %}

  {% if rebuild %}
    {% do ducklake__drop_if_of_other_type(existing_relation, 'table') %}
    {% do ducklake__undo_removed_layout(target_relation) %}
    {% set build_sql = get_create_table_as_sql(False, target_relation, query) %}
  {% else %}
    {% if config.get('contract') and config.get('contract').enforced %}
      {% do get_assert_columns_equivalent(query) %}
    {% endif %}
    {% if model.language == 'sql' %}
      {% call statement('source') -%}
        {{ get_create_table_as_sql(True, source_relation, query) }}
      {%- endcall %}
    {% endif %}
    {% do ducklake__apply_layout(target_relation, resets_only=true) %}
    {% set arguments = ducklake__incremental_arguments(source_relation, existing_relation, target_relation) %}
    {% do ducklake__apply_layout(target_relation) %}
    {% do ducklake__keep_source_if_configured(ducklake__changes_relation(target_relation) if strategy == 'changes' else source_relation) %}
    {% if flags.EMPTY and strategy in ('insert_overwrite', 'replace_where', 'microbatch') %}
      {#- The strategy would only delete rows. The query is checked instead, and nothing is inserted. -#}
      {% set build_sql = get_incremental_append_sql(arguments) ~ ' where false' %}
    {% else %}
      {% set build_sql = strategy_macro(arguments) %}
    {% endif %}
  {% endif %}

  {% call statement('main' if model.language == 'sql' else 'build') -%}
    {{ build_sql }}
  {%- endcall %}
  {% do ducklake__answer_for_python('build') %}
  {% if rebuild and strategy in ('merge', 'delete+insert', 'changes', 'default') %}
    {% do adapter.check_unique_key(target_relation, ducklake__key_columns(config.get('unique_key'))) %}
  {% endif %}

  {% do ducklake__set_positions(target_relation, rebuild) %}
  {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}
  {% do persist_docs(target_relation, model) %}

  {{ run_hooks(post_hooks, inside_transaction=True) }}
  {% do adapter.commit() %}
  {{ run_hooks(post_hooks, inside_transaction=False) }}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{# The argument of every strategy macro, as dbt documents it. This also applies the schema changes to the target. #}
{% macro ducklake__incremental_arguments(source_relation, existing_relation, target_relation) %}
  {%- set on_schema_change = incremental_validate_on_schema_change(config.get('on_schema_change'), default='ignore') -%}
  {%- set contract = config.get('contract') -%}
  {%- if on_schema_change != 'fail' and not (contract and contract.enforced) -%}
    {%- do adapter.expand_target_column_types(from_relation=source_relation, to_relation=target_relation) -%}
  {%- endif -%}
  {%- set dest_columns = process_schema_changes(on_schema_change, source_relation, existing_relation) -%}
  {% do return({
    'target_relation': target_relation,
    'temp_relation': source_relation,
    'unique_key': config.get('unique_key'),
    'dest_columns': dest_columns or adapter.get_columns_in_relation(existing_relation),
    'incremental_predicates': ducklake__incremental_predicates()
  }) %}
{% endmacro %}


{# The conditions of `incremental_predicates`, or of its old name: a list, or none. #}
{% macro ducklake__incremental_predicates() %}
  {%- set old = config.get('predicates', none) -%}
  {%- set name, given = ('predicates', old) if old else ('incremental_predicates', config.get('incremental_predicates', none)) -%}
  {%- set conditions = [given] if given is string else given -%}
  {%- if conditions and (conditions is mapping or conditions is not iterable or conditions | reject('string') | list) -%}
    {%- do exceptions.raise_compiler_error('the config ' ~ name ~ ' must be a condition or a list of conditions; it is ' ~ given) -%}
  {%- endif -%}
  {% do return(conditions) %}
{% endmacro %}
