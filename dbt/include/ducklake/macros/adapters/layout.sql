{#
  The layout of a table: partition keys, sort order and properties, as its configs say, under our names or those of other adapters. It is applied whenever a node runs, for the rows to
  come; a config that is removed is undone, and what somebody has set by hand stays.
#}
{% macro configured_layout() %}
  {% do return(adapter.layout({
    'partitioned_by': config.get('partitioned_by'),
    'partition_by': config.get('partition_by'),
    'clustered_by': config.get('clustered_by'),
    'buckets': config.get('buckets'),
    'sorted_by': config.get('sorted_by'),
    'sort_by': config.get('sort_by'),
    'liquid_clustered_by': config.get('liquid_clustered_by'),
    'zorder': config.get('zorder'),
    'tblproperties': config.get('tblproperties'),
    'options': config.get('options')
  })) %}
{% endmacro %}


{# For a table that stays: only what differs is changed. #}
{% macro apply_layout(relation) %}
  {% do alter_layout(relation, adapter.layout_actions(relation, configured_layout())) %}
{% endmacro %}


{# For a table that is replaced, whose statement says the rest. #}
{% macro undo_removed_layout(relation) %}
  {% do alter_layout(relation, adapter.layout_actions(relation, configured_layout(), resets_only=true)) %}
{% endmacro %}


{% macro alter_layout(relation, actions) %}
  {% for action in actions %}
    {% call statement('layout') -%}
      alter {{ 'view' if relation.is_view else 'table' }} {{ relation.render() }} {{ action }}
    {%- endcall %}
  {% endfor %}
{% endmacro %}
