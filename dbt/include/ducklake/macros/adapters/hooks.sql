{#
  Hooks inside the transaction are part of the node's snapshot. A hook outside it is a statement that commits by itself, so this
  macro does not send `commit` as dbt's does.
#}
{% macro run_hooks(hooks, inside_transaction=True) %}
  {% for hook in hooks | selectattr('transaction', 'equalto', inside_transaction) %}
    {% if not inside_transaction and loop.first %}
      {% do adapter.commit() %}
    {% endif %}
    {% set rendered = render(hook.get('sql')) | trim %}
    {% if rendered | length > 0 %}
      {% call statement(auto_begin=inside_transaction) %}
        {{ rendered }}
      {% endcall %}
    {% endif %}
  {% endfor %}
{% endmacro %}
