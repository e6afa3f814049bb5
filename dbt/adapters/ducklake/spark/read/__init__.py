"""Files and inlined rows as the DataFrame of a table."""
