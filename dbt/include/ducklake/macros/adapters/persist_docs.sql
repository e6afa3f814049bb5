{#
  The comments are the descriptions in YAML: one that is removed there is removed here too. Comments, tags and meta are part of the snapshot.
  Comments on the columns of a view are part of CREATE VIEW.
#}
{% macro ducklake__persist_docs(relation, model, for_relation, for_columns) -%}
  {% if for_relation and config.persist_relation_docs() %}
    {% call statement('comment_on_relation') %}
      {{ alter_relation_comment(relation, model.description) }}
    {% endcall %}
    {% do ducklake__alter_layout(relation, adapter.documentation_actions(relation, config.get('tags'), config.get('meta'))) %}
  {% endif %}
  {% if for_columns and config.persist_column_docs() and not relation.is_view %}
    {% set differing = ducklake__differing_comments(adapter.get_columns_in_relation(relation), relation, model.columns) %}
    {% if differing %}
      {% call statement('comment_on_columns') %}
        {{ alter_column_comment(relation, differing) }}
      {% endcall %}
    {% endif %}
  {% endif %}
{%- endmacro %}


{# Returns the columns whose comments are not their descriptions in YAML, by name, in the form of `model.columns`. #}
{% macro ducklake__differing_comments(columns, relation, described) %}
  {%- set documented = validate_doc_columns(relation, described, columns | map(attribute='name') | list) -%}
  {%- set differing = {} -%}
  {%- for column in columns -%}
    {%- set description = ducklake__documented_comment(documented, column.name) or '' -%}
    {%- if description != (column.comment or '') -%}
      {%- do differing.update({column.name: {'description': description}}) -%}
    {%- endif -%}
  {%- endfor -%}
  {% do return(differing) %}
{% endmacro %}


{% macro ducklake__alter_relation_comment(relation, relation_comment) -%}
  comment on {{ 'view' if relation.is_view else 'table' }} {{ relation.render() }} is {{ ducklake__comment(relation_comment) }}
{%- endmacro %}


{% macro ducklake__alter_column_comment(relation, column_dict) -%}
  {%- for name, column in column_dict.items() -%}
    alter table {{ relation.render() }} alter column {{ adapter.quote(name) }} comment {{ ducklake__comment(column.description) }};
  {% endfor -%}
{%- endmacro %}


{# A description as a literal of Spark SQL; without one, NULL removes the comment. #}
{% macro ducklake__comment(description) -%}
  {{ ducklake__sql_text(description) if description else 'null' }}
{%- endmacro %}


{# A string as a literal of Spark SQL. #}
{% macro ducklake__sql_text(text) -%}
  '{{ text | replace("\\", "\\\\") | replace("'", "\\'") }}'
{%- endmacro %}
