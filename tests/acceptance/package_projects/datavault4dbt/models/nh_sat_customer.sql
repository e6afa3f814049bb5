{{ datavault4dbt.nh_sat(parent_hashkey='customer_h', src_payload=['customer_key'], source_model='stage') }}
