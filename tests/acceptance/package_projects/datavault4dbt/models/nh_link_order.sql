{{ datavault4dbt.nh_link(link_hashkey='order_customer_l', foreign_hashkeys=['order_h', 'customer_h'], payload=['amount'], source_models=[{'name': 'stage', 'rsrc_static': 'shop'}]) }}
