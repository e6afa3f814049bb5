{{ datavault4dbt.link(link_hashkey='order_customer_l', foreign_hashkeys=['order_h', 'customer_h'], source_models=[{'name': 'stage', 'rsrc_static': 'shop'}]) }}
