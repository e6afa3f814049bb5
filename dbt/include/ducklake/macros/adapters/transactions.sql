{#
  Begins the transaction that adapter.commit() commits as one snapshot. Every materialization calls it after its hooks outside the
  transaction. The message is the config `commit_message`, rendered with Jinja; `commit_extra_info` is added to the information about the run.
#}
{% macro ducklake__begin_snapshot() %}
  {%- set message = config.get('commit_message') -%}
  {%- set message = render(message) if message else '' -%}
  {%- do adapter.begin_transaction(message, config.get('commit_author'), ducklake__rendered_extra_info(config.get('commit_extra_info'))) -%}
{% endmacro %}


{# Renders a string, or the strings of a map, with Jinja. #}
{% macro ducklake__rendered_extra_info(given) %}
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
