{#
  A Python model runs in dbt's process, where `session` and `spark` are this node's session. Its result becomes a temporary view, which the
  next SQL statement reads, so that SQL and Python models are written the same way.
#}
{% macro ducklake__register_python_result(compiled_code, relation) %}
{#- The text begins on a new line, because macros that call this one may be indented. #}
{{ compiled_code }}


# Added by dbt-ducklake: the result of the model becomes a temporary view, which the next statement reads.
dbt = dbtObj(session.table)
session.create_temp_view({{ relation.identifier | tojson }}, model(dbt, session))
{%- endmacro %}


{% macro py_script_comment() %}
# To run this model by hand:
#   from dbt.adapters.ducklake.session import connect
#   with connect("ducklake:sqlite:lake.sqlite") as session:
#       df = model(dbtObj(session.table), session)
{% endmacro %}
