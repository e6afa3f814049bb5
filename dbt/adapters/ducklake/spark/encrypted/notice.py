"""Tell the user once what encryption costs, and which files of Spark it does not cover."""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import TYPE_CHECKING

from ..session.settings import IO_ENCRYPTION

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)


def announce(spark: SparkSession) -> None:
    """Log the messages at the first use of an encrypted table by Spark."""
    if not _announce.cache_info().currsize:
        _announce(str(spark.conf.get(IO_ENCRYPTION, "false")).lower() == "true")


@lru_cache(maxsize=1)
def _announce(spark_encrypts: bool) -> None:
    logger.warning(
        "The lake is encrypted: its rows pass through DuckDB in Spark's Python workers, which takes several times as long as with other "
        "lakes; the documentation (encryption) describes it"
    )
    if not spark_encrypts:
        logger.warning(
            "Spark's own temporary files (shuffles, spilled and cached rows) are not encrypted. Set %s=true where Spark is started; "
            "a local Spark has it with `encrypted: true` in the profile",
            IO_ENCRYPTION,
        )
