{#
  From here to adapter.commit() everything is one transaction of the lake, and so one snapshot. Every materialization calls it after its
  hooks outside the transaction. Its message comes from the config `commit_message`, which is Jinja of its own.
#}
{% macro begin_snapshot() %}
  {%- set message = config.get('commit_message') -%}
  {%- set message = render(message) if message else '' -%}
  {%- do adapter.begin_transaction(message, config.get('commit_author')) -%}
{% endmacro %}
