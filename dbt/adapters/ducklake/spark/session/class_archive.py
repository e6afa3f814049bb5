"""Archives of the classes that Spark loads (AppCDS), with which a JVM starts in half the time.

An archive works only with the JVM and the class path that created it, so its name has a key of both. The first process without an archive
starts `class_archive_maker` when it exits, in a process of low priority.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from .given_options import driver_options
from .java import Java, cache_directory
from .jvm import spark_home

MAKER = f"{__name__}_maker"
"""The module that makes an archive."""
RETRY_SECONDS = 7 * 24 * 3600
"""After a maker failed, the time until another one may try."""


@dataclass(frozen=True)
class ClassArchive:
    """The archive for one Java and one Spark; it may not exist yet.

    Args:
        java_home: the Java that creates and uses it.
        spark_home: the folder of Spark.
        key: a hash of everything that an archive depends on.
    """

    java_home: str
    spark_home: str
    key: str

    @property
    def path(self) -> Path:
        """The archive's file. Its name is a hash of the folders of Java and Spark, and `key`, which changes with their versions."""
        place = hashlib.sha256(f"{self.java_home}|{self.spark_home}".encode()).hexdigest()[:12]
        return cache_directory() / "classes" / f"{place}-{self.key}.jsa"

    def use(self) -> bool:
        """Return whether the archive exists, and record that it is used."""
        with contextlib.suppress(OSError):
            os.utime(self.path)
            return True
        return False

    def discard(self) -> None:
        """Remove an archive with which no JVM starts, and make no other one for some time.

        The first failure is only recorded, because a start may fail for another reason.
        """
        mark = self.path.with_suffix(".failed")
        with contextlib.suppress(OSError):
            if age(mark) < RETRY_SECONDS:
                self.path.unlink()
            mark.touch()

    def make_later(self) -> None:
        """Start the maker in the background, unless the archive exists or a maker has failed recently.

        The caller does not wait and gets no error.
        """
        with contextlib.suppress(OSError):
            if self.path.exists() or age(self.path.with_suffix(".failed")) < RETRY_SECONDS:
                return
            subprocess.Popen(
                [sys.executable, "-m", MAKER, json.dumps(asdict(self))],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )


def archive_for(java: Java, config: Mapping[str, str]) -> ClassArchive | None:
    """Return the archive for a Spark configuration.

    Returns:
        None if there can be no archive: for a cluster, on Windows, for a Java without a base archive, and if the configuration changes the
        class path or has its own options for archives.
    """
    home = spark_home()
    if os.name != "posix" or not java.has_class_archive or not config.get("spark.master", "").startswith("local"):
        return None
    given = driver_options(config)
    if "-Xshare" in given or "SharedArchive" in given or "ArchiveClasses" in given:
        return None
    settings = Path(os.environ.get("SPARK_CONF_DIR") or home / "conf")  # is the first folder of the class path
    if config.get("spark.driver.extraClassPath") or _has_files(settings) or os.environ.get("SPARK_DIST_CLASSPATH"):
        return None
    return ClassArchive(str(java.home), str(home), archive_key(java, home))


def archive_key(java: Java, home: Path) -> str:
    """Return a hash of the Java and of Spark's jars: their names, sizes and times, which the JVM compares too."""
    jars = sorted((each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in os.scandir(home / "jars"))
    server = sorted((each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in (java.home / "lib" / "server").glob("*.*"))
    return hashlib.sha256(repr((java.version, server, jars)).encode()).hexdigest()[:16]


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def age(path: Path) -> float:
    """Return the seconds since a file changed; infinity if the file does not exist."""
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return float("inf")
