{#
  The config `tmp_relation_type` says whether the rows of a model are computed once and kept while its strategy runs (`table`, `materialize`), or
  where they are read (`view`). Without it a strategy keeps them if it reads them more than once.
#}
{% macro source_kind() %}
  {%- set kind = (config.get('tmp_relation_type') or '') | lower -%}
  {%- if kind not in ('', 'view', 'table', 'materialize') -%}
    {%- do exceptions.raise_compiler_error('tmp_relation_type is view, table or materialize; it is ' ~ kind) -%}
  {%- endif -%}
  {% do return(kind) %}
{% endmacro %}


{# Called by every run that a strategy follows. #}
{% macro keep_source_if_configured(source) %}
  {% if source_kind() in ('table', 'materialize') %}
    {% do adapter.materialize_temp_view(source) %}
  {% endif %}
{% endmacro %}


{# Called by a strategy that reads the source more than once. #}
{% macro keep_source(source, strategy) %}
  {% if source_kind() == 'view' %}
    {% do exceptions.raise_compiler_error(
      strategy ~ ' reads the rows of the model twice, and a view might give others the second time, so tmp_relation_type cannot be view; '
      ~ 'leave it out, or say table'
    ) %}
  {% elif not source_kind() %}
    {% do adapter.materialize_temp_view(source) %}
  {% endif %}
{% endmacro %}
