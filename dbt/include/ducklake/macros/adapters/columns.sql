{% macro ducklake__get_columns_in_relation(relation) -%}
  {% do return(adapter.get_columns_in_relation(relation)) %}
{%- endmacro %}


{% macro ducklake__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {% if add_columns %}
    {% call statement('add_columns') %}
      alter table {{ relation.render() }} add columns (
        {%- for column in add_columns %}
        {{ column.quoted }} {{ column.data_type }}{{ ',' if not loop.last }}
        {%- endfor %}
      )
    {% endcall %}
  {% endif %}
  {% if remove_columns %}
    {% call statement('drop_columns') %}
      alter table {{ relation.render() }} drop columns ({{ remove_columns | map(attribute='quoted') | join(', ') }})
    {% endcall %}
  {% endif %}
{% endmacro %}


{#
  Changes metadata alone where the lake can. Fields of structs are matched by name: new ones are added, and those that the new type lacks
  are dropped. Otherwise a new column takes the name and gets the old one's values, as UPDATE assigns them, its comment, default and
  NOT NULL.
#}
{% macro ducklake__alter_column_type(relation, column_name, new_column_type) %}
  {%- set known = {} -%}
  {%- for column in adapter.get_columns_in_relation(relation) -%}
    {%- do known.update({api.Column.fold(column.name): column}) -%}
  {%- endfor -%}
  {%- set current = known.get(api.Column.fold(column_name)) -%}
  {%- if current is none and execute -%}
    {%- do exceptions.raise_compiler_error('there is no column ' ~ column_name ~ ' in ' ~ relation.render()) -%}
  {%- elif current is none -%}
    {%- do return(none) -%}
  {%- endif -%}
  {%- set wanted = api.Column.create(current.name, api.Column.translate_type(new_column_type)) -%}
  {%- do alter_relation_add_remove_columns(relation, wanted.fields_beyond(current), current.fields_beyond(wanted)) -%}
  {%- if not current.needs_rewrite(wanted) -%}
    {%- for field in current.wider_fields(wanted) -%}
      {% call statement('alter_column_type') %}
        alter table {{ relation.render() }} alter column {{ field.quoted }} type {{ field.data_type }}
      {% endcall %}
    {%- endfor -%}
  {%- else -%}
    {%- set old = api.Column.create(current.name ~ '__dbt_alter', current.data_type) -%}
    {%- set layout = adapter.key_actions(relation, current, wanted.data_type) -%}
    {% call statement('alter_column_type') %}
      alter table {{ relation.render() }} rename column {{ wanted.quoted }} to {{ old.quoted }};
      alter table {{ relation.render() }} add columns ({{ wanted.quoted }} {{ wanted.data_type }})
    {% endcall %}
    {%- do ducklake__alter_layout(relation, layout) -%}
    {%- do adapter.convert_column(relation, old, wanted) -%}
    {%- do ducklake__alter_layout(relation, adapter.attribute_actions(relation, old, wanted)) -%}
    {%- do alter_relation_add_remove_columns(relation, none, [old]) -%}
  {%- endif -%}
{% endmacro %}


{# Called by dbt for the new columns of a snapshot's source. #}
{% macro ducklake__create_columns(relation, columns) %}
  {% if columns %}
    {% do alter_relation_add_remove_columns(relation, columns, none) %}
  {% endif %}
{% endmacro %}


{#
  Names are compared as in DuckLake. New fields of structs are listed as new columns. Another order of the fields is no change,
  because values are stored by name, and neither is a narrower type, which fits the column.
#}
{% macro ducklake__check_for_schema_changes(source_relation, target_relation) %}
  {%- set source_columns = adapter.get_columns_in_relation(source_relation) -%}
  {%- set target_columns = adapter.get_columns_in_relation(target_relation) -%}
  {%- set source_names, targets = [], {} -%}
  {%- for column in source_columns -%}
    {%- do source_names.append(api.Column.fold(column.name)) -%}
  {%- endfor -%}
  {%- for column in target_columns -%}
    {%- do targets.update({api.Column.fold(column.name): column}) -%}
  {%- endfor -%}

  {%- set added = [] -%}
  {%- set new_types = [] -%}
  {%- for column in source_columns -%}
    {%- set target = targets.get(api.Column.fold(column.name)) -%}
    {%- if target is none -%}
      {%- do added.append(column) -%}
    {%- elif column.data_type != target.data_type -%}
      {%- set wanted = column.widened(target) -%}
      {%- do added.extend(wanted.fields_beyond(target)) -%}
      {%- if not wanted.has_same_fields(target) -%}
        {%- do new_types.append({'column_name': target.name, 'new_type': wanted.data_type}) -%}
      {%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set removed = [] -%}
  {%- for column in target_columns if api.Column.fold(column.name) not in source_names -%}
    {%- do removed.append(column) -%}
  {%- endfor -%}

  {% do return({
    'schema_changed': (added or removed or new_types) | length > 0,
    'source_not_in_target': added,
    'target_not_in_source': removed,
    'source_columns': source_columns,
    'target_columns': target_columns,
    'new_target_types': new_types
  }) %}
{% endmacro %}
