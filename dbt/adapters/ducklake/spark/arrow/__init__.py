"""Read and write files with PyArrow, without a Spark job."""
