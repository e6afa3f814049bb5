"""DataFrames and Parquet files: scan, write, delete files, footers, types. The only home of PySpark and PyArrow."""
