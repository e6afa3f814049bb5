{# Comments, tags and meta are part of the snapshot. Comments on the columns of a view are part of CREATE VIEW. #}
{% macro ducklake__persist_docs(relation, model, for_relation, for_columns) -%}
  {% if for_relation and config.persist_relation_docs() and model.description %}
    {% call statement('comment_on_relation') %}
      {{ alter_relation_comment(relation, model.description) }}
    {% endcall %}
  {% endif %}
  {% if for_relation and config.persist_relation_docs() %}
    {% do ducklake__alter_layout(relation, adapter.documentation_actions(relation, config.get('tags'), config.get('meta'))) %}
  {% endif %}
  {% if for_columns and config.persist_column_docs() and model.columns and not relation.is_view %}
    {% set existing = adapter.get_columns_in_relation(relation) | map(attribute='name') | list %}
    {% set comments = alter_column_comment(relation, validate_doc_columns(relation, model.columns, existing)) | trim %}
    {% if comments %}
      {% call statement('comment_on_columns') %}
        {{ comments }}
      {% endcall %}
    {% endif %}
  {% endif %}
{%- endmacro %}


{% macro ducklake__alter_relation_comment(relation, relation_comment) -%}
  comment on {{ 'view' if relation.is_view else 'table' }} {{ relation.render() }} is {{ ducklake__sql_text(relation_comment) }}
{%- endmacro %}


{% macro ducklake__alter_column_comment(relation, column_dict) -%}
  {%- for name, column in column_dict.items() if column.description -%}
    alter table {{ relation.render() }} alter column {{ adapter.quote(name) }} comment {{ ducklake__sql_text(column.description) }};
  {% endfor -%}
{%- endmacro %}


{# A string as a literal of Spark SQL. #}
{% macro ducklake__sql_text(text) -%}
  '{{ text | replace("\\", "\\\\") | replace("'", "\\'") }}'
{%- endmacro %}
