"""Write DataFrames to new data files."""
