{#- dbt run-operation load_landing --args '{day: 1}'

    Copies the files of a day into the schema `landing`. Spark reads the files in place. All statements are one transaction, so the
    lake gets one snapshot, with a message. Loading a day again replaces its rows. -#}
{% macro load_landing(day) %}
  {%- set folder = var('landing') -%}
  {% do run_query("begin") %}

  {% do run_query("create schema if not exists landing") %}

  {% do run_query("create table if not exists landing.orders (
      order_id bigint not null, customer_id bigint not null, ordered_at timestamp_ntz, status string, landed_day int)") %}
  {% do run_query("create table if not exists landing.order_items (
      order_id bigint not null, line int not null, product_code string, quantity int, unit_price decimal(10, 2), landed_day int)") %}
  {% for table in ["orders", "order_items"] %}
    {% do run_query("delete from landing." ~ table ~ " where landed_day = " ~ day) %}
    {% do run_query("insert into landing." ~ table ~ " select *, " ~ day ~ " from parquet.`" ~ folder ~ "/" ~ table ~ "/day_" ~ day ~ ".parquet`") %}
  {% endfor %}

  {% do run_query("create or replace table landing.customers as
      select customer_id, name, email, country_code, cast(signed_up_on as date) as signed_up_on
      from json.`" ~ folder ~ "/customers/day_" ~ day ~ ".json`") %}

  {% do run_query("create table if not exists landing.price_list as
      select product_code, product, cast(price as decimal(10, 2)) as price from json.`" ~ folder ~ "/price_list.json`") %}

  {% do run_query("call lake.set_commit_message('the loading job', 'files of day " ~ day ~ " landed')") %}
  {% do run_query("commit") %}
{% endmacro %}
