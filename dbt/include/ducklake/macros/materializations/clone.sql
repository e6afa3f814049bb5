{#
  A file belongs to one table of a lake, so a clone shares no files: it is a view of the other relation or, if the config `clone_as` is
  `table`, a table with a copy of the other table's rows.
#}
{% materialization clone, adapter='ducklake' %}

  {%- if not defer_relation -%}
    {{ log('No relation found in state manifest for ' ~ model.unique_id, info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set existing_relation = load_cached_relation(this) -%}
  {%- if existing_relation and not flags.FULL_REFRESH -%}
    {{ log('Relation ' ~ existing_relation ~ ' already exists', info=True) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- if this.render() | lower == defer_relation.render() | lower -%}
    {%- if existing_relation is none -%}
      {% do exceptions.raise_compiler_error('There is nothing to clone: ' ~ defer_relation.render() ~ ' does not exist. Build it first') %}
    {%- endif -%}
    {{ log('Target relation and defer relation are the same, skipping clone for relation: ' ~ this.render()) }}
    {{ return({'relations': []}) }}
  {%- endif -%}

  {%- set original = load_cached_relation(defer_relation) -%}
  {%- if not (original and original.is_table and can_clone_table()) -%}
    {{ return(materialization_view_ducklake()) }}
  {%- endif -%}

  {%- set target_relation = this.incorporate(type='table') -%}
  {% do begin_snapshot() %}
  {% do drop_if_of_other_type(existing_relation, 'table') %}
  {% do undo_removed_layout(target_relation) %}
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
  {%- if kind not in ('view', 'table') -%}
    {% do exceptions.raise_compiler_error("clone_as is '" ~ kind ~ "'; it may be 'view' or 'table'") %}
  {%- endif -%}
  {% do return(kind == 'table') %}
{% endmacro %}


{% macro ducklake__create_or_replace_clone(this_relation, defer_relation) -%}
  {{ create_lake_table_as(this_relation, 'select * from ' ~ defer_relation.render()) }}
{%- endmacro %}
