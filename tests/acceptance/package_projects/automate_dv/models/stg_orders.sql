{{ automate_dv.stage(
  include_source_columns=true, source_model='raw_orders',
  derived_columns={'record_source': '!shop', 'effective_from': 'order_date', 'start_date': 'order_date', 'end_date': "to_date('9999-12-31')"},
  hashed_columns={'order_pk': 'order_key', 'customer_pk': 'customer_key', 'order_customer_pk': ['order_key', 'customer_key'],
    'order_hashdiff': {'is_hashdiff': true, 'columns': ['status', 'amount']}},
  ranked_columns={'dv_rank': {'partition_by': 'order_pk', 'order_by': 'load_dt'}}) }}
