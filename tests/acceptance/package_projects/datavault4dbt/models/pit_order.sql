{{ config(post_hook="{{ datavault4dbt.clean_up_pit('snap_v1') }}") }}
{{ datavault4dbt.pit(tracked_entity='hub_order', hashkey='order_h', sat_names=['sat_order_v1'], snapshot_relation='snap_v1', snapshot_trigger_column='is_active', dimension_key='order_p') }}
