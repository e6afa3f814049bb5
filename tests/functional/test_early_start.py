"""Spark that starts in the background: its error is reported at the first use, and an exit while it starts leaves no JVM."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.waiting import await_true

SCRIPT = """
import time
from dbt.adapters.ducklake.errors import ConfigurationError
from dbt.adapters.ducklake.spark.session.runtime import SparkRuntime
from dbt.adapters.ducklake.spark.session.settings import SparkSettings

broken = SparkRuntime(SparkSettings(config={"spark.driver.extraJavaOptions": "-XX:MaxMetaspaceSize=nonsense"}))
broken.start_early()
try:
    broken.session()
except ConfigurationError as error:
    print("error", "nonsense" in str(error))
runtime = SparkRuntime(SparkSettings(master="local[1]", fast_start=True))
runtime.start_early()
while runtime.application.process is None:
    time.sleep(0.01)
print("pid", runtime.application.process.pid)
"""


def test_a_failed_background_start_is_reported_at_first_use_and_an_exit_ends_a_start(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    error, pid = (line.split()[1] for line in done.stdout.splitlines())
    assert error == "True"
    await_true(lambda: not os.path.exists(f"/proc/{pid}"))
    assert not list(tmp_path.glob("dbt-ducklake-*")), "no temporary folder is left"
