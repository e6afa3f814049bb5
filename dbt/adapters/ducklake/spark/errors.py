"""Translate Spark's exceptions to ours: the condition and the message, with the user's names, without the JVM's stack trace.

Handles classic PySpark (captured exceptions and raw py4j errors, with their causes) and Spark Connect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import CancelledError, DamagedFileError, DataError, DuckLakeError, EngineError, LakeError, MissingFileError, StatementError
from .files.s3 import hint
from .values.conform import data_error
from .values.conversions import REFUSED

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)*)\]")
_STACK = re.compile(r"\n+\s*(?:at [\w.$<>/]+\(|JVM stacktrace:|Driver stacktrace:|Caused by: ).*", re.DOTALL)
_SQLSTATE = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}")
_PLAN = re.compile(r"; line (\d+) pos \d+;?(?:\n.*)?$|;\n['!+\w].*$", re.DOTALL)
"""The position at the end of a message, and the logical plan after it."""
_PREFIX = re.compile(r"^(?:An error occurred while calling \S+\s*:?\s*)?(?:[a-z][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error):\s*")
_MISSING = re.compile(r"(?:File|file) (\S+?\.parquet\S*) does not exist|(?:reading file) (\S+?)[.]?(?:\s|$)")
_UNREADABLE = re.compile(r"FAILED_READ_FILE\.\w+\] Encountered error while reading file (\S+?)\.\s")
_DAMAGE = re.compile(
    r"is not a Parquet file|Required field '\w+' was not found in serialized data|can not read class org\.apache\.parquet\.format"
    r"|Data type mismatches when reading Parquet column|Reached the end of stream|java\.io\.EOFException|ZstdException|FAILED_TO_UNCOMPRESS"
    r"|corrupt input|could not read page|Could not read footer|ParquetDecodingException|don't know what type"
)
"""What Spark and Parquet say about a damaged file; other read errors, such as those of a network, may be temporary."""
_NO_CLASS = re.compile(r"(?:ClassNotFoundException|NoClassDefFoundError): (?:Class )?([\w./$]+)|No FileSystem for scheme \"?(\w+)")
_POSITION_MARKER = re.compile(r"^[ \t]*\^+[ \t]*\n?|^-+\^+-*[ \t]*\n?", re.MULTILINE)
_CANCELLED = re.compile(
    r"SPARK_JOB_CANCELLED|OPERATION_CANCELED|cancelled (?:part of cancelled job group|as part of cancellation)|Job \d+ cancelled"
    r"|INVALID_HANDLE\.OPERATION_ABANDONED|cancelled because SparkContext was shut down"
)
_TOO_LARGE = re.compile(
    r"bigger than spark\.driver\.maxResultSize|OutOf(?:Direct)?Memory(?:Error|Exception)|OversizedAllocationException|RESOURCE_EXHAUSTED"
)
"""What Spark, Java, Arrow and gRPC say about a result that is too large for the driver, a buffer or a message."""
_EXPLAIN_ERROR = re.compile(
    r"\AError occurred during query planning:\s*|^org\.apache\.spark\.sql\.(?:\w+\.)*AnalysisException:\s*", re.MULTILINE
)
_LATE_TIMES = ("Invalid value for NanoOfDay", "hour must be in 0..23")
"""Parts of the messages of Java and Python about the time 24:00:00, which they cannot represent."""
_EXPLAINED: tuple[tuple[str, type[DuckLakeError], str], ...] = (
    (
        "expects field Ids",
        LakeError,
        (
            "A data file has no field ids, so its columns cannot be identified: its writer did not follow the DuckLake "
            "specification. Rewrite the table's files with DuckDB (CALL ducklake_rewrite_data_files), or register the file with "
            "ducklake_add_data_files"
        ),
    ),
    (
        "SQL function expression should be rewritten during analysis",
        StatementError,
        (
            "Spark before 4.2 cannot run a SQL function whose body is a query that calls another SQL function. Write the other function's "
            "expression in its place, or install pyspark 4.2 or newer"
        ),
    ),
)
"""Parts of messages, each with an error that says what to do."""
_WRAPPERS = ("TASK_WRITE_FAILED", "FAILED_READ_FILE.NO_HINT", "INTERNAL_ERROR", "FAILED_EXECUTE_UDF")
"""Conditions of errors that only report that a task failed; a cause says why."""
_REPEATED_NAMES = ("AMBIGUOUS_REFERENCE", "COLUMN_ALREADY_EXISTS")
"""How conditions begin of errors about columns with one name."""
_VALUE_CONDITIONS = (
    "CAST_INVALID_INPUT",
    "CAST_OVERFLOW",
    "CAST_OVERFLOW_IN_TABLE_INSERT",
    "NUMERIC_VALUE_OUT_OF_RANGE",
    "NUMERIC_OUT_OF_SUPPORTED_RANGE",
    "DATETIME_OVERFLOW",
    "INVALID_DATETIME",
    "CANNOT_PARSE_TIMESTAMP",
    "ARITHMETIC_OVERFLOW",
    "DIVIDE_BY_ZERO",
    "NOT_NULL_ASSERT_VIOLATION",
    "DUPLICATED_MAP_KEY",
)
"""Conditions of errors that a value in the data causes."""


def translate(error: BaseException, names: Mapping[str, str] | None = None) -> DuckLakeError:
    """Translate an exception to one of our error classes.

    Args:
        error: the exception of Spark, py4j or gRPC.
        names: temporary view → the name that the user wrote for it.
    """
    if isinstance(error, DuckLakeError):
        return error
    messages = list(_messages(error))
    everything = "\n".join(messages)
    if _CANCELLED.search(everything):
        return CancelledError(condition="SPARK_JOB_CANCELLED")
    invalid = data_error(everything)
    if invalid is not None:
        return invalid
    refused = everything.find(REFUSED)
    if refused >= 0:
        text = _clean(everything[refused + len(REFUSED) :].split("\n")[0])
        return LakeError(f"{text.rstrip('. ')}.{hint(text)}")
    file_error = _file_error(messages, everything)
    if file_error is not None:
        return file_error
    explained = next((kind(text) for part, kind, text in _EXPLAINED if part in everything), None)
    if explained is not None:
        return explained
    if any(text in everything for text in _LATE_TIMES):
        return DataError(
            "A TIME is 24:00:00, which Spark reads, compares and stores, but cannot convert to text. Leave such rows out with a condition "
            "such as t <= TIME '23:59:59.999999', or read them with DuckDB"
        )
    no_class = _NO_CLASS.search(everything)
    if no_class is not None:
        what = f"the class {no_class[1].replace('/', '.')}" if no_class[1] else f"a file system for {no_class[2]}://"
        return EngineError(
            f"Spark lacks {what}: a JAR is missing from its class path. Name it in the profile, under spark.config, as `spark.jars` "
            "or `spark.jars.packages`. The documentation (object storage) lists the JARs for object stores"
        )
    if _lost_jvm(error):
        return lost_spark()
    condition, text = _condition_and_text(messages)
    text = with_user_names(_clean(text), names or {}) or type(error).__name__
    if condition is not None and condition.split(".")[0] in _VALUE_CONDITIONS:
        return DataError(text)
    if _is_about_statement(error, condition):
        return StatementError(text + _hint_about_case(text, condition or ""))
    return EngineError(text + hint(everything), condition)


def is_too_large(error: BaseException) -> bool:
    """Whether Spark could not return a result because of its size."""
    return isinstance(error, MemoryError) or _TOO_LARGE.search("\n".join(_messages(error))) is not None


def _hint_about_case(text: str, condition: str) -> str:
    """Return what to do if Spark takes two columns of a table for one; nothing if the error is another one."""
    if not condition.startswith(_REPEATED_NAMES) or text.isascii():
        return ""
    return (
        " Spark cannot tell columns apart that differ only in the case of letters, as Ä and ä, which DuckDB can. "
        "If that is the reason, ALTER TABLE … RENAME COLUMN gives one of them another name"
    )


def lost_spark() -> EngineError:
    """Return the error of a statement during which Spark has ended."""
    return EngineError(
        "The connection to Spark is lost: its process has ended, perhaps because it ran out of memory (`spark.driver.memory` in the "
        "profile). Run the statement or node again (`dbt retry`)"
    )


def lost_session() -> EngineError:
    """Return the error of a statement whose session the Spark Connect server has closed."""
    return EngineError(
        "The Spark Connect server has closed the session: it was restarted, or the session was idle for too long "
        "(`spark.connect.session.manager.defaultSessionTimeout` of the server). Run the statement or node again (`dbt retry`)"
    )


def require_plan(lines: Sequence[str], names: Mapping[str, str]) -> None:
    """Require that EXPLAIN has returned a plan; Spark returns an error of the explained statement as the plan.

    Raises:
        StatementError: Spark cannot analyze the statement.
    """
    text = "\n".join(lines)
    found = _EXPLAIN_ERROR.search(text)
    if found is not None:
        raise StatementError(with_user_names(_clean(text[found.end() :].partition("\n\n")[0]), names))


def with_user_names(text: str, names: Mapping[str, str]) -> str:
    """Replace the names of our temporary views by the user's names; in a changed text the position markers are removed."""
    changed = text
    for view in sorted(names, key=len, reverse=True):
        changed = changed.replace(f"`{view}`", names[view]).replace(view, names[view])
    return changed if changed == text else _POSITION_MARKER.sub("", changed)


def _messages(error: BaseException) -> Iterator[str]:
    """Yield the messages of the error and its causes, outermost first."""
    seen = 0
    current: Any = error
    while current is not None and seen < 20:
        seen += 1
        java = getattr(current, "java_exception", None)
        if java is not None:
            yield from _java_messages(java)
            return
        yield _message(current)
        current = getattr(current, "_cause", None) or getattr(current, "__cause__", None)


def _message(error: Any) -> str:
    """Return the message of one exception, with its condition in front."""
    get = getattr(error, "getMessage", None)
    text = get() if callable(get) else None
    if not text:
        text = str(error)
    condition = _own_condition(error)
    return text if condition is None or f"[{condition}" in text else f"[{condition}] {text}"


def _own_condition(error: Any) -> str | None:
    """Return the condition of a PySpark exception; None if it has none."""
    get = getattr(error, "getCondition", None) or getattr(error, "getErrorClass", None)
    try:
        found = get() if callable(get) else None
    except Exception:
        return None
    return found if isinstance(found, str) and found else None


def _java_messages(java: Any) -> Iterator[str]:
    for _ in range(20):
        if java is None:
            return
        text = java.getMessage()
        yield f"{java.getClass().getName()}: {text}" if text else str(java.getClass().getName())
        java = java.getCause()


def _condition_and_text(messages: list[str]) -> tuple[str | None, str]:
    """Return the condition and text of the outermost message whose condition is not just a wrapper.

    If all conditions are wrappers, return the outermost one, with its text and the innermost text. If there is none, return None and the
    innermost text.
    """
    fallback: tuple[str | None, str] | None = None
    for text in messages:
        match = _CONDITION.search(_STACK.sub("", text))
        if match is None:
            continue
        found = (match.group(1), text[match.start() :])
        if match.group(1) not in _WRAPPERS:
            return found
        fallback = fallback or found
    innermost = next((text for text in reversed(messages) if text.strip()), "")
    if fallback is not None:
        return fallback[0], f"{_clean(fallback[1])} {_clean(innermost)}" if fallback[1] not in innermost else fallback[1]
    return None, innermost


def _clean(text: str) -> str:
    """Remove the stack trace, the exception class, the SQLSTATE and the logical plan from a message."""
    text = _SQLSTATE.sub("", _PREFIX.sub("", _STACK.sub("", text))).strip()
    return text if "\n== SQL" in text else _PLAN.sub(_line_number, text).strip()


def _line_number(match: re.Match[str]) -> str:
    """Keep only the line number: the position refers to SQL in which we replaced names, and the logical plan does not help the user."""
    return f" (line {match.group(1)})" if match.group(1) else ""


def _file_error(messages: list[str], everything: str) -> LakeError | None:
    """Return the error about a file that is missing or damaged; None if the messages name no such file."""
    missing = _missing_file(messages)
    if missing is not None:
        return MissingFileError(
            f"The file {missing} is missing, though the lake's catalog lists it. If another process has just compacted the lake or expired "
            "its snapshots, run the statement again; otherwise restore the file",
            missing,
        )
    unreadable, damage = _UNREADABLE.search(everything), _DAMAGE.search(everything)
    if unreadable is None or damage is None:
        return None
    return DamagedFileError(unreadable[1], _line_at(everything, damage.start()))


def _missing_file(messages: list[str]) -> str | None:
    for text in messages:
        if "FAILED_READ_FILE.FILE_NOT_EXIST" in text or "FileNotFoundException" in text or "NoSuchKey" in text:
            match = _MISSING.search(text)
            if match is not None:
                return (match.group(1) or match.group(2)).rstrip(".")
    return None


def _line_at(text: str, position: int) -> str:
    """Return the line that contains a position, without an exception class or an error condition at its start."""
    start, end = text.rfind("\n", 0, position) + 1, text.find("\n", position)
    line = _clean(text[start : end if end >= 0 else None])
    return line.rpartition(".parquet. ")[2] if line.startswith("[") else line


def _lost_jvm(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError"})


def _is_about_statement(error: BaseException, condition: str | None) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"ParseException", "AnalysisException"}:
        return True
    return condition is not None and condition.startswith(("PARSE_", "UNRESOLVED_", "TABLE_OR_VIEW_NOT_FOUND", "DATATYPE_MISMATCH"))
