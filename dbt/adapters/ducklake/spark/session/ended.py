"""Make PySpark forget a JVM that has ended, so that this process can start another one."""

from __future__ import annotations

import contextlib
import warnings


def forget_jvm() -> None:
    """Remove the context, the session and the gateway of an ended JVM from PySpark's global state."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context, gateway = SparkContext._active_spark_context, SparkContext._gateway
    if context is not None:
        with warnings.catch_warnings(), contextlib.suppress(Exception):
            warnings.simplefilter("ignore")  # PySpark warns that the JVM did not stop cleanly
            context.stop()
    if gateway is not None:
        with contextlib.suppress(Exception):
            gateway.shutdown()  # type: ignore[no-untyped-call]  # Py4J has no types
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = None
