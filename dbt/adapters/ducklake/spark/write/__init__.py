"""DataFrames as new data files."""
