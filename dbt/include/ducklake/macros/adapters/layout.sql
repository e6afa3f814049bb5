{#
  The layout of a table by its configs: partition keys, sort order and properties, under our names or those of other adapters. Every run of
  the node applies it to new rows. A removed config is undone, while a layout that was set by hand is kept.
#}
{% macro ducklake__configured_layout() %}
  {% do return(adapter.layout({
    'partitioned_by': config.get('partitioned_by'),
    'partition_by': config.get('partition_by'),
    'clustered_by': config.get('clustered_by'),
    'buckets': config.get('buckets'),
    'sorted_by': config.get('sorted_by'),
    'sort_by': config.get('sort_by'),
    'liquid_clustered_by': config.get('liquid_clustered_by'),
    'zorder': config.get('zorder'),
    'cluster_by': config.get('cluster_by'),
    'tblproperties': config.get('tblproperties'),
    'options': config.get('options')
  })) %}
{% endmacro %}


{# For an existing table: change only the differences; with `resets_only`, only undo the layout of removed configs. #}
{% macro ducklake__apply_layout(relation, resets_only=false) %}
  {% if config.get('incremental_apply_config_changes', true) is not false %}
    {% do ducklake__alter_layout(relation, adapter.layout_actions(relation, ducklake__configured_layout(), resets_only=resets_only)) %}
  {% endif %}
{% endmacro %}


{# For a table that is replaced: the statement sets the rest of the layout. #}
{% macro ducklake__undo_removed_layout(relation) %}
  {% do ducklake__alter_layout(relation, adapter.layout_actions(relation, ducklake__configured_layout(), resets_only=true)) %}
{% endmacro %}


{% macro ducklake__alter_layout(relation, actions) %}
  {% for action in actions %}
    {% call statement('layout') -%}
      alter {{ 'view' if relation.is_view else 'table' }} {{ relation.render() }} {{ action }}
    {%- endcall %}
  {% endfor %}
{% endmacro %}
