{{ datavault4dbt.sat_v0(parent_hashkey='order_h', src_hashdiff='order_d', src_payload=['status', 'amount'], source_model='stage') }}
