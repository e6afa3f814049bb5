{% macro ducklake__drop_relation(relation) -%}
  {% call statement('drop_relation', auto_begin=False) -%}
    {% if relation.is_function %}drop function if exists {{ relation.render() }}{% else %}{{ get_drop_sql(relation) }}{% endif %}
  {%- endcall %}
{%- endmacro %}


{% macro ducklake__drop_table(relation) -%}
  drop table if exists {{ relation.render() }}
{%- endmacro %}


{% macro ducklake__drop_view(relation) -%}
  drop view if exists {{ relation.render() }}
{%- endmacro %}


{% macro ducklake__rename_relation(from_relation, to_relation) -%}
  {% call statement('rename_relation') -%}
    alter {{ 'view' if from_relation.is_view else 'table' }} {{ from_relation.render() }} rename to {{ to_relation.render() }}
  {%- endcall %}
{%- endmacro %}


{% macro ducklake__get_rename_table_sql(relation, new_name) -%}
  alter table {{ relation.render() }} rename to {{ relation.incorporate(path={'identifier': new_name}).render() }}
{%- endmacro %}


{% macro ducklake__get_rename_view_sql(relation, new_name) -%}
  alter view {{ relation.render() }} rename to {{ relation.incorporate(path={'identifier': new_name}).render() }}
{%- endmacro %}
