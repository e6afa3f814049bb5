"""Texts that stand for values of types that neither Spark nor Python has; readers cast them, so what is no such text
is refused.

The patterns mean the same to Java and to Python.
"""

from __future__ import annotations

UUID = "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
"""A uuid, in either case; written in lower case, whose order is that of the bytes."""

TIME_WITH_ZONE = "^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?([+-][0-9]{2}(:?[0-9]{2}){0,2})?$"
"""`01:02:03.4+02`."""

_UNITS = "(years?|mons?|months?|days?|hours?|minutes?|seconds?|milliseconds?|microseconds?|weeks?)"
INTERVAL = f"^(?! *$)( *-?[0-9]+ {_UNITS}(?= |$))*( *-?[0-9]+:[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,9}})?)?)?( ago)? *$"
"""`1 month 2 days 03:04:05.6`."""

TIMESTAMP_NS = "^([0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?)((?<=:[0-9]{2}:[0-9]{2})[.]([0-9]{1,9}))?$"
"""`2020-01-02 03:04:05.123456789`; group 1 is what Spark's timestamps hold, group 5 the fraction."""

TIME_NANOS = "^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?$"
"""`01:02:03.123456789`."""

PATTERNS = {"uuid": UUID, "timetz": TIME_WITH_ZONE, "time_ns": TIME_NANOS, "interval": INTERVAL}
"""Stored types that are checked, with their patterns."""
