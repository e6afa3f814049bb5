{#-- dbt run-operation ducklake_migrate: bring a lake of an older format version to the current one. --#}

{% macro ducklake_migrate() %}
    {% set versions = run_query("call ducklake_migrate('" ~ escape_single_quotes(target.database) ~ "')").rows[0] %}
    {% if versions[0] == versions[1] %}
        {{ log("The lake has format version " ~ versions[1] ~ " already", info=true) }}
    {% else %}
        {{ log("The lake was migrated from format version " ~ versions[0] ~ " to " ~ versions[1], info=true) }}
    {% endif %}
{% endmacro %}
