"""The JARs of Hadoop's S3A connector (hadoop-aws), which Spark fetches in the nightly run."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

from dbt.adapters.ducklake.spark.session.java import cache_directory, find_java
from dbt.adapters.ducklake.spark.session.jvm import spark_home

SDK_VERSIONS = {"3.5.0": "2.35.4"}
"""Hadoop version → the version of the AWS SDK that its connector was built with."""
SDK_PARTS = ("s3", "s3-transfer-manager", "sts", "apache-client", "netty-nio-client")
"""The parts of the SDK that the connector uses. Its dependency `bundle` (EXCLUDED) has all AWS services."""
EXCLUDED = "software.amazon.awssdk:bundle"
FETCH_MINUTES = 15


def hadoop_version() -> str:
    """Return the version of Hadoop in the installed Spark."""
    jar = next((spark_home() / "jars").glob("hadoop-client-api-*.jar"))
    return re.sub(r"hadoop-client-api-(.*)\.jar", r"\1", jar.name)


def packages(hadoop: str) -> list[str]:
    """Return the Maven coordinates of the connector for a version of Hadoop in SDK_VERSIONS."""
    return [f"org.apache.hadoop:hadoop-aws:{hadoop}", *(f"software.amazon.awssdk:{part}:{SDK_VERSIONS[hadoop]}" for part in SDK_PARTS)]


def fetched_jars() -> list[Path]:
    """Return the JARs of the connector, which Spark fetches at the first call and keeps in a cache.

    Raises:
        OSError: they cannot be fetched, or the AWS SDK version for this Hadoop is not known.
    """
    hadoop = hadoop_version()
    if hadoop not in SDK_VERSIONS:
        raise OSError(f"the AWS SDK version for Hadoop {hadoop} is not known")
    cache = cache_directory() / f"tests-ivy-{hadoop}"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:  # several processes may run tests
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (cache / "complete").exists():
            _fetch(packages(hadoop), cache)
            (cache / "complete").touch()
    return sorted((cache / "jars").glob("*.jar"))


def _fetch(wanted: list[str], cache: Path) -> None:
    """Have Spark fetch packages into a folder by running a script that does nothing."""
    script = cache / "nothing.py"
    script.write_text("")
    command = [str(spark_home() / "bin" / "spark-submit"), "--master", "local[1]", "--packages", ",".join(wanted)]
    command += ["--exclude-packages", EXCLUDED, "--conf", f"spark.jars.ivy={cache}", str(script)]
    environment = {**os.environ, "JAVA_HOME": str(find_java().home), "PYSPARK_PYTHON": sys.executable}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60 * FETCH_MINUTES, check=False)
    except subprocess.TimeoutExpired:
        raise OSError(f"Spark could not fetch {', '.join(wanted)} within {FETCH_MINUTES} minutes") from None
    if done.returncode != 0:
        raise OSError(f"Spark could not fetch {', '.join(wanted)}: {done.stderr[-1000:]}")
