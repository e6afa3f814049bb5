"""The report on a lake: one self-contained HTML file about its size, history, tables, runs and maintenance, from the catalog alone."""
