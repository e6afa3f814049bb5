{{ datavault4dbt.hub(hashkey='order_h', business_keys=['order_key'], source_models='stage') }}
