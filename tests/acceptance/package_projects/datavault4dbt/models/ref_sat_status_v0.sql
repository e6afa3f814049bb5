{{ datavault4dbt.ref_sat_v0(parent_ref_keys=['status'], src_hashdiff='status_d', src_payload=['order_date'], source_model='stage') }}
