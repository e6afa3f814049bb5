{#-
  dbt run-operation ducklake_flush_inlined_data [--args '{schema_name: …, table_name: …}']

  Rows that the catalog database holds become files. No snapshot shows other rows afterwards.
-#}
{% macro ducklake_flush_inlined_data(schema_name=none, table_name=none) %}
  {%- set arguments = [] -%}
  {%- if schema_name is not none -%}
    {%- do arguments.append("schema_name => '" ~ schema_name | replace("'", "''") ~ "'") -%}
  {%- endif -%}
  {%- if table_name is not none -%}
    {%- do arguments.append("table_name => '" ~ table_name | replace("'", "''") ~ "'") -%}
  {%- endif -%}
  {%- set flushed = run_query('CALL flush_inlined_data(' ~ arguments | join(', ') ~ ')') -%}
  {%- for row in flushed.rows -%}
    {%- do print(row['schema_name'] ~ '.' ~ row['table_name'] ~ ': ' ~ row['rows_flushed'] ~ ' rows flushed') -%}
  {%- endfor -%}
  {%- if not flushed.rows -%}
    {%- do print('no inlined rows to flush') -%}
  {%- endif -%}
  {{ return(flushed) }}
{% endmacro %}
