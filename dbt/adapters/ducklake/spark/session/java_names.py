"""Caches the Java classes and static methods that PySpark uses, because Py4J asks the JVM for each name at each use.

A name without its package, such as `functions`, is slow: the JVM searches all jars once for each imported package.
"""

from __future__ import annotations

from typing import Any

NAMES = (
    "functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.types.Metadata",
    "org.apache.spark.storage.StorageLevel",
)
"""The names as PySpark writes them. Most statements use the first five several times."""


def cache_names(jvm: Any) -> None:
    """Store the classes of `NAMES` in the view, where Python finds them before Py4J asks. Names that this Spark lacks are skipped."""
    from py4j.java_gateway import JavaClass, JavaMember
    from py4j.protocol import Py4JError

    class CachedClass(JavaClass):
        """A class that asks for the name of each static method once."""

        def __getattr__(self, name: str) -> Any:
            member = super().__getattr__(name)  # type: ignore[no-untyped-call]  # Py4J has no types
            if isinstance(member, JavaMember):
                setattr(self, name, member)
            return member

    for name in NAMES:
        if name in vars(jvm):
            continue
        try:
            found = getattr(jvm, name)
        except Py4JError:
            continue
        if isinstance(found, JavaClass):
            setattr(jvm, name, CachedClass(found._fqn, found._gateway_client))  # type: ignore[no-untyped-call]
