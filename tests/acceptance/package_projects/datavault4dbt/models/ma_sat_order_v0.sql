{{ datavault4dbt.ma_sat_v0(parent_hashkey='order_h', src_hashdiff='order_d', src_ma_key=['status'], src_payload=['amount'], source_model='stage') }}
