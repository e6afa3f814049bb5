"""Files that this process reads or writes by PyArrow, without a Spark job."""
