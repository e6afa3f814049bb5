{# A file belongs to one table of a lake, so a clone is a view of the other relation, which is dbt's own way for databases without clones. #}
{% materialization clone, adapter='ducklake' %}
  {{ return(materialization_clone_default()) }}
{% endmaterialization %}


{% macro ducklake__can_clone_table() %}
  {% do return(False) %}
{% endmacro %}
