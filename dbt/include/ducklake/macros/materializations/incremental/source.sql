{#
  The config `tmp_relation_type` determines whether the rows of a model are computed once and cached while its strategy runs (`table`,
  `materialize`), or computed at each read (`view`). Without it, a strategy caches them if it reads them more than once.
#}
{% macro ducklake__source_kind() %}
  {%- set kind = (config.get('tmp_relation_type') or '') | lower -%}
  {%- if kind not in ('', 'view', 'table', 'materialize') -%}
    {%- do exceptions.raise_compiler_error('tmp_relation_type is view, table or materialize; it is ' ~ kind) -%}
  {%- endif -%}
  {% do return(kind) %}
{% endmacro %}


{# Called by every run before its strategy. #}
{% macro ducklake__keep_source_if_configured(source) %}
  {% if ducklake__source_kind() in ('table', 'materialize') %}
    {% do adapter.materialize_temp_view(source) %}
  {% endif %}
{% endmacro %}


{# Called by a strategy that reads the source more than once, or after it has changed a table that the source reads. #}
{% macro ducklake__keep_source(source, strategy, reason='reads the rows of the model twice') %}
  {% if ducklake__source_kind() == 'view' %}
    {% do exceptions.raise_compiler_error(
      strategy ~ ' ' ~ reason ~ ', and a view might return other rows then, so tmp_relation_type cannot be view; '
      ~ 'leave it out, or set it to table'
    ) %}
  {% elif not ducklake__source_kind() %}
    {% do adapter.materialize_temp_view(source) %}
  {% endif %}
{% endmacro %}
