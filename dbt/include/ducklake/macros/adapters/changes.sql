{#
  What changed in a table since the last commit of this incremental model, as a relation: `select * from {{ ducklake_changes(ref('orders')) }}`.
  The columns are those of the table, `_change_type` (insert, update, delete) and `_snapshot_id`. With `old_versions` an update also yields its
  old version, as update_preimage; the default is what the strategy of the model needs. docs/guides/changes.md describes it.
#}
{% macro ducklake_changes(relation, old_versions=none) %}
  {%- if not execute -%}
    {{ return(relation) }}
  {%- endif -%}
  {%- if model.resource_type == 'unit_test' -%}
    {{ return('(select *, \'insert\' as _change_type, cast(0 as bigint) as _snapshot_id from ' ~ relation ~ ')') }}
  {%- endif -%}
  {%- do ducklake__require_input_of_changes(relation) -%}
  {%- set arguments = [] -%}
  {%- for part in [relation.database or target.database, relation.schema, relation.identifier] -%}
    {%- do arguments.append(ducklake_literal(part)) -%}
  {%- endfor -%}
  {%- do arguments.append('model => ' ~ ducklake_literal([this.database, this.schema, this.identifier])) -%}
  {%- set by_key = config.get('incremental_strategy') == 'changes' and ducklake__key_columns(config.get('unique_key')) | length > 0 -%}
  {%- if not is_incremental() -%}
    {%- do arguments.append('full_build => true') -%}
  {%- elif old_versions or (by_key and old_versions is none) -%}
    {%- do arguments.append('old_versions => true') -%}
  {%- endif -%}
  {%- set changes = 'ducklake_changes(' ~ arguments | join(', ') ~ ')' -%}
  {%- if relation.limit is not none or relation.event_time_filter or adapter.leaves_out_rows() -%}
    {%- set changes = '(select * from ' ~ changes ~ ' where false)' -%}
  {%- endif -%}
  {{ return(changes) }}
{% endmacro %}


{# Refuses ducklake_changes outside of incremental models, with microbatch, and for an input that is not a table of a lake. #}
{% macro ducklake__require_input_of_changes(relation) %}
  {%- if model.resource_type != 'model' or model.config.materialized != 'incremental' -%}
    {%- do exceptions.raise_compiler_error(
      'ducklake_changes(' ~ relation ~ ') works in incremental models only, because their table stores the snapshot up to which '
      ~ 'they have read the changes; in other places use ducklake_table_changes'
    ) -%}
  {%- endif -%}
  {%- if config.get('incremental_strategy') == 'microbatch' -%}
    {%- do exceptions.raise_compiler_error(
      'ducklake_changes(' ~ relation ~ ') does not work with microbatch, whose first batch would read the changes for all batches; '
      ~ 'use the strategy changes'
    ) -%}
  {%- endif -%}
  {%- if relation is string or relation.is_cte or relation.time_travel or relation.external is not none -%}
    {%- do exceptions.raise_compiler_error(
      'ducklake_changes(' ~ relation ~ '): the input must be ref() or source() of a table of a lake; an ephemeral model, a pinned source '
      ~ 'and files record no changes'
    ) -%}
  {%- endif -%}
{% endmacro %}


{#
  dbt's macro with two more rules. There is no full refresh if `dbt retry` runs the failed batches of a microbatch model, because it would
  replace those that succeeded. There is one if the changes of an input since the model's last commit are not known, for example because the
  input was dropped and created again. `is_incremental()` calls this macro, so the model's query is then that of a full build.
#}
{% macro should_full_refresh() %}
  {%- set wanted = config.get('full_refresh') -%}
  {%- if adapter.has_finished_batches(model) -%}
    {% do return(false) %}
  {%- endif -%}
  {%- if flags.FULL_REFRESH and wanted is none or wanted -%}
    {% do return(true) %}
  {%- endif -%}
  {%- set reason = ducklake__reason_for_full_build() -%}
  {%- if reason and wanted is not none -%}
    {%- do exceptions.raise_compiler_error(
      this ~ ' must be built from all rows, because ' ~ reason ~ ', and its config full_refresh is false; set it to true for one run'
    ) -%}
  {%- endif -%}
  {% do return(reason is not none) %}
{% endmacro %}


{# Returns why an incremental model must be built from all rows; none if it need not be. #}
{% macro ducklake__reason_for_full_build() %}
  {%- if not execute or model.resource_type != 'model' or model.config.materialized != 'incremental' -%}
    {% do return(none) %}
  {%- endif -%}
  {%- set relation = load_cached_relation(this) -%}
  {%- if relation is none or relation.is_view -%}
    {% do return(none) %}
  {%- endif -%}
  {% do return(adapter.reason_for_full_build(this, model, config.get('incremental_strategy'))) %}
{% endmacro %}


{#
  Stores up to which snapshot the model has read the changes of its inputs; the materialization calls it before it commits. A Python model
  reads no changes. If `--empty` or `--sample` left out rows, the positions stay as they are.
#}
{% macro ducklake__set_positions(relation, rebuilt) %}
  {%- if not adapter.leaves_out_rows() -%}
    {%- do adapter.set_positions(relation, compiled_code if model.language == 'sql' else '', rebuilt) -%}
  {%- endif -%}
{% endmacro %}
