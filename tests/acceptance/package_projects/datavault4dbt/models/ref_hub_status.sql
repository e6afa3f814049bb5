{{ datavault4dbt.ref_hub(ref_keys=['status'], source_models=[{'name': 'stage', 'rsrc_static': 'shop'}]) }}
