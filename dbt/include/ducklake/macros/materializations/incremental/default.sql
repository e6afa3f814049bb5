{# Without a strategy: merge if the model has a key or a merge config, else append. #}
{% macro ducklake__get_incremental_default_sql(arg_dict) %}
  {% if arg_dict['unique_key'] or ducklake__merge_configs().values() | select | list %}
    {% do return(get_incremental_merge_sql(arg_dict)) %}
  {% endif %}
  {% do return(get_incremental_append_sql(arg_dict)) %}
{% endmacro %}
