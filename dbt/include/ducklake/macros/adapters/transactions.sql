{#
  From here to adapter.commit() everything is one transaction of the lake, and so one snapshot. Every materialization calls it after its
  hooks outside the transaction. Its message comes from the config `commit_message`, which is Jinja of its own; `commit_extra_info` is added to
  what the adapter says of the run.
#}
{% macro begin_snapshot() %}
  {%- do adapter.warn_of_foreign_configs(model.config) -%}
  {%- set message = config.get('commit_message') -%}
  {%- set message = render(message) if message else '' -%}
  {%- do adapter.begin_transaction(message, config.get('commit_author'), rendered_extra_info(config.get('commit_extra_info'))) -%}
{% endmacro %}


{# A text, or the texts of a map, are Jinja of their own. #}
{% macro rendered_extra_info(given) %}
  {%- if given is string -%}
    {% do return(render(given)) %}
  {%- elif given is mapping -%}
    {%- set rendered = {} -%}
    {%- for key, value in given.items() -%}
      {%- do rendered.update({key: render(value) if value is string else value}) -%}
    {%- endfor -%}
    {% do return(rendered) %}
  {%- endif -%}
  {% do return(given) %}
{% endmacro %}
