"""Decide which Spark settings may be shown.

A setting may be shown if its name is known to be harmless, is not sensitive, and no redaction pattern of Spark or Hadoop matches it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

REDACTION = "spark.redaction.regex"
"""Spark's setting: a pattern of the settings that its UI, its event log and `SET` hide, by name or by value."""
HADOOP_REDACTION = "spark.hadoop.hadoop.security.sensitive-config-keys"
"""Hadoop's list of patterns of sensitive settings."""
REDACTED = (
    r"(?i)secret|passw|passphrase|passcode|pwd|token|credential|(?:^|[._-])sas(?:[._-]|$)|key(?:[._-]|$)"
    r"|:\/\/[^\/\s]*:[^\/\s]*@|[?&;]sig="
)
"""Our value for `REDACTION`. Spark's own lacks `fs.azure.account.key.…`, `fs.azure.sas.…`, `fs.s3a.encryption.key`, passwords in URLs."""

OPTIONS_REDACTION = "spark.sql.redaction.options.regex"
"""Spark's setting: a further pattern of the settings that `SET` hides. A session can change it after the start."""
DEFAULT_OPTIONS_REDACTION = "(?i)url"
"""Spark's own value for `OPTIONS_REDACTION`."""
REDACTED_BUCKETS = r"^fs\.s3a\.bucket\..*\.(?:access\.key|secret\.key|session\.token)$"
"""Matches the credentials of an S3 bucket that a session gets after Spark has started."""

SENSITIVE = re.compile(r"key|sas|credential|pass|pwd|secret|token|oauth|authorization|(?:^|[._-])sig(?:nature)?(?:[._-]|$)", re.IGNORECASE)
"""Matches names whose values are hidden, except the two redaction settings in `may_show`."""
_DRIVER_AND_EXECUTOR = r"memory|memoryOverhead|memoryOverheadFactor|cores|instances|maxResultSize|host|port|bindAddress|heartbeatInterval"
_HARMLESS = re.compile(
    rf"spark\.(?:app\.name|master|submit\.deployMode|cores\.max|default\.parallelism|local\.dir|log\.level|jars|jars\.packages"
    rf"|(?:driver|executor)\.(?:{_DRIVER_AND_EXECUTOR})|sql\.(?!catalog\.).+"
    r"|(?:broadcast|buffer|dynamicAllocation|files|io|kryoserializer|locality|memory|network|rdd|reducer|scheduler|shuffle|speculation"
    r"|stage|storage|task)\.[\w.]+|serializer|speculation|ui\.(?:enabled|port)"
    r"|eventLog\.(?:enabled|dir|compress)|redaction\.regex|hadoop\.hadoop\.security\.sensitive-config-keys"
    r"|hadoop\.fs\.s3a\.(?:endpoint|endpoint\.region|path\.style\.access|connection\.ssl\.enabled|connection\.maximum|threads\.max|impl))"
)


def may_show(config: Mapping[str, str]) -> Callable[[str, str], bool]:
    """Return a function that says whether the setting with a name and a value may be shown.

    Args:
        config: Spark's settings, from which the redaction patterns are taken.
    """
    hadoop = re.split(r"[,\n]", config.get(HADOOP_REDACTION, ""))
    patterns = [_compiled(each.strip()) for each in (config.get(REDACTION, ""), *hadoop) if each.strip()]

    def shown(name: str, value: str) -> bool:
        if not _HARMLESS.fullmatch(name) or (SENSITIVE.search(name) and name not in (REDACTION, HADOOP_REDACTION)):
            return False
        return not any(each.search(name) or each.search(value) for each in patterns)

    return shown


def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern of Java; one that Python does not understand hides everything."""
    try:
        return re.compile(pattern)
    except re.error:
        return re.compile("")
