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


{# If the lake cannot change the type by metadata alone, a new column gets the old one's values and replaces it. #}
{% macro ducklake__alter_column_type(relation, column_name, new_column_type) %}
  {%- set column = adapter.quote(column_name) -%}
  {%- set new_column_type = api.Column.translate_type(new_column_type) -%}
  {%- set wanted = api.Column.create(column_name, new_column_type) -%}
  {%- set current = adapter.get_columns_in_relation(relation) | selectattr('name', 'equalto', column_name) | first -%}
  {%- if current is defined and current.moves_fields(wanted) -%}
    {%- do exceptions.raise_compiler_error(
      'column ' ~ column_name ~ ' of ' ~ relation.render() ~ ' cannot become ' ~ new_column_type ~ ': it is ' ~ current.data_type
      ~ ', and a cast would give fields the values of others. '
      ~ 'Write the fields in the order of the table, with new ones at the end, or rebuild the table with --full-refresh'
    ) -%}
  {%- endif -%}
  {%- if current is defined and current.can_expand_to(wanted) -%}
    {% call statement('alter_column_type') %}
      alter table {{ relation.render() }} alter column {{ column }} type {{ new_column_type }}
    {% endcall %}
  {%- else -%}
    {%- set temporary = adapter.quote(column_name ~ '__dbt_alter') -%}
    {% call statement('alter_column_type') %}
      alter table {{ relation.render() }} add columns ({{ temporary }} {{ new_column_type }});
      update {{ relation.render() }} set {{ temporary }} = cast({{ column }} as {{ new_column_type }});
      alter table {{ relation.render() }} drop columns ({{ column }});
      alter table {{ relation.render() }} rename column {{ temporary }} to {{ column }}
    {% endcall %}
  {%- endif -%}
{% endmacro %}


{# Called by dbt for the new columns of a snapshot's source. #}
{% macro ducklake__create_columns(relation, columns) %}
  {% if columns %}
    {% do alter_relation_add_remove_columns(relation, columns, none) %}
  {% endif %}
{% endmacro %}


{#
  Names compare without case, as in DuckLake. New fields at the end of a struct are added to it. Another order of its fields is no change,
  because values are stored by name.
#}
{% macro ducklake__check_for_schema_changes(source_relation, target_relation) %}
  {%- set source_columns = adapter.get_columns_in_relation(source_relation) -%}
  {%- set target_columns = adapter.get_columns_in_relation(target_relation) -%}
  {%- set source_names = source_columns | map(attribute='name') | map('lower') | list -%}
  {%- set targets = {} -%}
  {%- for column in target_columns -%}
    {%- do targets.update({column.name | lower: column}) -%}
  {%- endfor -%}

  {%- set added = [] -%}
  {%- set new_types = [] -%}
  {%- for column in source_columns -%}
    {%- set target = targets.get(column.name | lower) -%}
    {%- if target is none -%}
      {%- do added.append(column) -%}
    {%- elif column.data_type != target.data_type and not column.can_expand_to(target) and not column.has_same_fields(target) -%}
      {%- set fields = column.fields_beyond(target) -%}
      {%- do added.extend(fields) -%}
      {%- if not fields -%}
        {%- do new_types.append({'column_name': target.name, 'new_type': column.data_type}) -%}
      {%- endif -%}
    {%- endif -%}
  {%- endfor -%}
  {%- set removed = [] -%}
  {%- for column in target_columns if (column.name | lower) not in source_names -%}
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
