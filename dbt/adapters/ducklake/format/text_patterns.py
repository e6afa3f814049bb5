"""Regular expressions for the values of types that neither Spark nor Python has, such as intervals.

These values are stored as strings that readers cast, so a string that does not match its pattern is refused. The
patterns mean the same in Java and in Python.
"""

from __future__ import annotations

_END = r"(?![\s\S])"
"""The end of the text: `$` also matches before a line break at the end."""

UUID = f"^[0-9A-Fa-f]{{8}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{4}}-[0-9A-Fa-f]{{12}}{_END}"
"""A uuid in upper or lower case. We write lower case, which sorts like the bytes."""

_HOURS_MINUTES = "(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)"
_SECONDS = "(:[0-5][0-9]([.][0-9]{1,9})?)"
_NOT_AFTER_24 = "(?!24:00:[0-9.]*[1-9])"
"""24:00:00 is the greatest time."""

TIME_WITH_ZONE = f"^{_NOT_AFTER_24}{_HOURS_MINUTES}({_SECONDS}([+-](0[0-9]|1[0-5])(:?[0-5][0-9]){{0,2}})?)?{_END}"
"""A time with an offset from UTC, such as `01:02:03.4+02`. DuckDB reads an offset only after seconds."""

_DIGITS = {
    7: "years?",
    8: "mons?|months?|weeks?",
    9: "days?|hours?",
    11: "minutes?",
    12: "seconds?",
    15: "milliseconds?",
    18: "microseconds?",
}
"""The number of digits that DuckDB's interval can have in each unit."""
_PART = "|".join(f"[0-9]{{1,{digits}}} ({units})" for digits, units in _DIGITS.items())
INTERVAL = f"^(?! *{_END})( *-?({_PART})(?= |{_END}))*( *-?[0-9]{{1,9}}:[0-5][0-9]{_SECONDS}?)? *{_END}"
"""An interval, such as `1 month 2 days 03:04:05.6`."""

_TO_SECONDS = "[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2})?)?"
TIMESTAMP_NS = f"^({_TO_SECONDS})((?<=:[0-9]{{2}}:[0-9]{{2}})[.]([0-9]{{1,9}}))?{_END}"
"""A timestamp, such as `2020-01-02 03:04:05.123456789`; group 1 is the part that a Spark timestamp can represent, group 5 the fraction."""

TIME_NANOS = f"^{_NOT_AFTER_24}{_HOURS_MINUTES}{_SECONDS}?{_END}"
"""A time, such as `01:02:03.123456789`."""
