{{ datavault4dbt.hub(hashkey='customer_h', business_keys=['customer_key'], source_models=[{'name': 'stage', 'rsrc_static': 'shop'}]) }}
