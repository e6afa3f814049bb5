from pyspark.sql.functions import udf


def model(dbt, session):
    """A Python function that Spark runs in its Python workers, and a function of pandas."""
    doubled = udf(lambda amount: int(amount * 2), "bigint")

    def numbered(frames):
        for frame in frames:
            yield frame.assign(length=frame["status"].str.len().astype("int64"))

    rows = dbt.ref("merged").select("id", "status", doubled("amount").alias("doubled"))
    return rows.mapInPandas(numbered, "id bigint, status string, doubled bigint, length bigint")
