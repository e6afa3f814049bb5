{#
  A clone of a table is, by the config `clone_as`, a view of it, a table with a copy of its rows, or a table that shares its files.
#}
{% materialization clone, adapter='ducklake' %}

  {%- if not defer_relation -%}
    {{ log('No relation found in state manifest for ' ~ model.unique_id, info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set as_table = can_clone_table() -%}
  {%- set existing_relation = load_cached_relation(this) -%}
  {%- if existing_relation and not flags.FULL_REFRESH -%}
    {{ log('Relation ' ~ existing_relation ~ ' already exists', info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- if api.Column.fold(this.render()) == api.Column.fold(defer_relation.render()) -%}
    {%- if existing_relation is none -%}
      {% do exceptions.raise_compiler_error('There is nothing to clone: ' ~ defer_relation.render() ~ ' does not exist. Build it first') %}
    {%- endif -%}
    {{ log('Target relation and defer relation are the same, skipping clone for relation: ' ~ this.render()) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set original = load_cached_relation(defer_relation) -%}
  {%- if not (original and original.is_table and as_table) -%}
    {{ return(materialization_view_ducklake()) }}
  {%- endif -%}

  {%- set target_relation = this.incorporate(type='table') -%}
  {% do ducklake__begin_snapshot() %}
  {% do ducklake__drop_if_of_other_type(existing_relation, 'table') %}
  {%- if config.get('clone_as') != 'shared' -%}
    {#- The statement below sets the layout of the config; a layout that the config no longer has is reset here. -#}
    {% do ducklake__undo_removed_layout(target_relation) %}
  {%- endif -%}
  {% call statement('main') -%}
    {{ create_or_replace_clone(target_relation, defer_relation) }}
  {%- endcall %}
  {% do apply_grants(target_relation, config.get('grants'), should_revoke=false) %}
  {% do persist_docs(target_relation, model) %}
  {% do adapter.commit() %}

  {{ return({'relations': [target_relation]}) }}

{% endmaterialization %}


{% macro ducklake__can_clone_table() %}
  {%- set kind = config.get('clone_as') or 'view' -%}
  {%- if kind not in ('view', 'table', 'shared') -%}
    {% do exceptions.raise_compiler_error("clone_as is '" ~ kind ~ "'; it may be 'view', 'table' or 'shared'") %}
  {%- endif -%}
  {% do return(kind != 'view') %}
{% endmacro %}


{% macro ducklake__create_or_replace_clone(this_relation, defer_relation) -%}
  {%- if config.get('clone_as') == 'shared' -%}
    {{ ducklake__shared_clone(this_relation, defer_relation) }}
  {%- else -%}
    {{ ducklake__create_lake_table_as(this_relation, 'select * from ' ~ defer_relation.render()) }}
  {%- endif -%}
{%- endmacro %}


{% macro ducklake__shared_clone(this_relation, defer_relation) -%}
  {%- if api.Column.fold(this_relation.database) != api.Column.fold(defer_relation.database) -%}
    {%- set problem = 'clone_as is shared, but ' ~ this_relation.render() ~ ' and ' ~ defer_relation.render() ~ ' are in different lakes' -%}
    {% do exceptions.raise_compiler_error(problem ~ ", which cannot share files; set clone_as to 'table' or 'view'") %}
  {%- endif -%}
  call {{ adapter.quote(defer_relation.database) }}.clone(
    table_name => {{ ducklake_literal(defer_relation.identifier) }},
    schema => {{ ducklake_literal(defer_relation.schema) }},
    into => {{ ducklake_literal([this_relation.schema, this_relation.identifier]) }},
    replace => true
  )
{%- endmacro %}
