"""Regular expressions for the values of types that neither Spark nor Python has, such as intervals.

These values are stored as strings that readers cast, so a string that does not match its pattern is refused. The
patterns mean the same in Java and in Python.
"""

from __future__ import annotations

UUID = "^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$"
"""A uuid in upper or lower case. We write lower case, which sorts like the bytes."""

TIME_WITH_ZONE = "^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?([+-][0-9]{2}(:?[0-9]{2}){0,2})?$"
"""A time with an offset from UTC, such as `01:02:03.4+02`."""

_UNITS = "(years?|mons?|months?|days?|hours?|minutes?|seconds?|milliseconds?|microseconds?|weeks?)"
INTERVAL = f"^(?! *$)( *-?[0-9]+ {_UNITS}(?= |$))*( *-?[0-9]+:[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,9}})?)?)?( ago)? *$"
"""An interval, such as `1 month 2 days 03:04:05.6`."""

TIMESTAMP_NS = "^([0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?)((?<=:[0-9]{2}:[0-9]{2})[.]([0-9]{1,9}))?$"
"""A timestamp, such as `2020-01-02 03:04:05.123456789`; group 1 is the part that a Spark timestamp can represent, group 5 the fraction."""

TIME_NANOS = "^([01][0-9]|2[0-4]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,9})?)?$"
"""A time, such as `01:02:03.123456789`."""
