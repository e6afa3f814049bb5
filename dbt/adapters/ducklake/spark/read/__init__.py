"""Read the files and inlined rows of a table as a DataFrame."""
