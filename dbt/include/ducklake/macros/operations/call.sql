{#-
  The base of all operations of a lake. In `dbt run-operation` the macro runs the statement, prints its rows and returns them as a table;
  in a hook it returns the statement: `on-run-end: "{{ ducklake_checkpoint() }}"`.
-#}

{% macro ducklake_operation(sql) %}
  {%- if flags.WHICH != 'run-operation' -%}
    {{ return(sql) }}
  {%- endif -%}
  {%- call statement('ducklake_operation', fetch_result=true, auto_begin=false) -%}{{ sql }}{%- endcall -%}
  {%- set result = load_result('ducklake_operation') -%}
  {%- if result is none -%}
    {{ return(none) }}
  {%- endif -%}
  {%- if result['table'].rows | length -%}
    {%- do print(adapter.table_text(result['table'])) -%}
  {%- endif -%}
  {%- do print(result['response'] | string) -%}
  {{ return(result['table']) }}
{% endmacro %}


{# Run `ducklake_call_text`, as `ducklake_operation` does. #}
{% macro ducklake_call(procedure, arguments, database=none) %}
  {{ return(ducklake_operation(ducklake_call_text(procedure, arguments, database))) }}
{% endmacro %}


{# CALL of a procedure of a lake, by default the profile's, with named arguments; those that are none or missing are left out. #}
{% macro ducklake_call_text(procedure, arguments, database=none) %}
  {%- set given = [] -%}
  {%- for name, value in arguments.items() if value is defined and value is not none -%}
    {%- do given.append(name ~ ' => ' ~ ducklake_literal(value)) -%}
  {%- endfor -%}
  {%- set lake = adapter.quote(database) ~ '.' if database else '' -%}
  {{ return('call ' ~ lake ~ procedure ~ '(' ~ given | join(', ') ~ ')') }}
{% endmacro %}


{# A value as SQL: strings in quotes, lists in brackets. #}
{% macro ducklake_literal(value) %}
  {%- if value is none -%}
    {{ return('null') }}
  {%- elif value is boolean or value is number -%}
    {{ return(value | string | lower) }}
  {%- elif value is string -%}
    {{ return("'" ~ dbt.escape_single_quotes(value) ~ "'") }}
  {%- elif value is sequence -%}
    {%- set items = [] -%}
    {%- for item in value -%}{%- do items.append(ducklake_literal(item)) -%}{%- endfor -%}
    {{ return('[' ~ items | join(', ') ~ ']') }}
  {%- endif -%}
  {{ return("'" ~ dbt.escape_single_quotes(value | string) ~ "'") }}
{% endmacro %}


{# A table by its name; schema and lake are by default the target's. #}
{% macro ducklake_table(table_name, schema=none, database=none) %}
  {{ return(api.Relation.create(database=database or target.database, schema=schema or target.schema, identifier=table_name)) }}
{% endmacro %}


{# Refuse an operation without one of the arguments that it needs. #}
{% macro ducklake_require(operation, arguments) %}
  {%- set missing = [] -%}
  {%- for name, value in arguments.items() if value is not defined or value is none -%}{%- do missing.append(name) -%}{%- endfor -%}
  {%- if missing -%}
    {{ exceptions.raise_compiler_error(operation ~ ' needs ' ~ missing | join(' and ')) }}
  {%- endif -%}
{% endmacro %}
