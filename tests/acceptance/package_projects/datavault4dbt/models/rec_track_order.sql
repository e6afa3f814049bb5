{{ datavault4dbt.rec_track_sat(tracked_hashkey='order_h', source_models=[{'name': 'stage', 'rsrc_static': 'shop'}]) }}
