"""DataFrames and Parquet files: scan, write, delete files, footers, types. Only this package uses PySpark and PyArrow."""
