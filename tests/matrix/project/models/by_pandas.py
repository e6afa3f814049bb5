import pandas as pd


def model(dbt, session):
    """A model that returns a frame of pandas, from rows that come to dbt's process."""
    rows = dbt.ref("merged").toPandas()
    return pd.DataFrame({"id": rows["id"], "text": rows["status"] + "!"})
