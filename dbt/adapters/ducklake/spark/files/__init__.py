"""Files of a lake: storage, Parquet footers, delete files."""
