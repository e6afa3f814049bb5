{{ datavault4dbt.eff_sat_v0(source_model='stage', tracked_hashkey='order_customer_l', is_active_alias='is_active', source_is_single_batch=false) }}
