{{ config(materialized='bridge_incremental') }} {{ automate_dv.bridge(src_pk='order_pk', as_of_dates_table='as_of', bridge_walk={'ORDER': {
  'bridge_link_pk': 'link_order_pk', 'bridge_end_date': 'eff_order_end', 'bridge_load_date': 'eff_order_load',
  'link_table': 'link_order', 'link_pk': 'order_customer_pk', 'link_fk1': 'order_pk', 'link_fk2': 'customer_pk',
  'eff_sat_table': 'eff_order', 'eff_sat_pk': 'order_customer_pk', 'eff_sat_end_date': 'end_date', 'eff_sat_load_date': 'load_dt'}},
  stage_tables_ldts={'stg_orders': 'load_dt'}, src_ldts='load_dt', source_model='hub_order') }}
