"""Spark's exceptions are converted to ours, with names from the user's statement."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException, ArithmeticException, ParseException, PySparkException, SparkRuntimeException

from dbt.adapters.ducklake.errors import (
    CancelledError,
    DamagedFileError,
    DataError,
    DuckLakeError,
    EngineError,
    LakeError,
    MissingFileError,
    NotFoundError,
    StatementError,
)
from dbt.adapters.ducklake.spark.errors import translate, with_user_names

VIEW = "lake.main.orders@42"


class FakeThrowable:
    """A Java exception as py4j represents it."""

    def __init__(self, name: str, message: str | None, cause: FakeThrowable | None = None) -> None:
        self.name, self.message, self.cause = name, message, cause

    def getMessage(self) -> str | None:
        return self.message

    def getCause(self) -> FakeThrowable | None:
        return self.cause

    def getClass(self) -> Any:
        return self

    def getName(self) -> str:
        return self.name


class FakePy4JJavaError(Exception):
    def __init__(self, throwable: FakeThrowable) -> None:
        super().__init__("An error occurred while calling o1.collectToPython.\n: " + throwable.name + "\n\tat a.b.C(D.java:1)")
        self.java_exception = throwable


def test_our_own_errors_are_unchanged() -> None:
    error = NotFoundError("table", "x")
    assert translate(error) is error


@pytest.mark.parametrize("kind", [AnalysisException, ParseException])
def test_sql_that_spark_does_not_accept_is_a_statement_error(kind: type[PySparkException]) -> None:
    text = (
        f"[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column with name `x` cannot be resolved. Did you mean `{VIEW}`.`id`? SQLSTATE: 42703; line 1 pos 7;\n"
        f"== SQL (line 1, position 8) ==\nselect x from `{VIEW}`\n       ^"
    )
    error = translate(kind(text), {VIEW: "main.orders"})
    assert type(error) is StatementError
    assert "[UNRESOLVED_COLUMN.WITH_SUGGESTION]" in str(error)
    assert "main.orders.`id`" in str(error)
    assert "@42" not in str(error)
    assert "^" not in str(error)


def test_the_logical_plan_is_omitted() -> None:
    text = f"[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION] A column `x` cannot be resolved. SQLSTATE: 42703; line 2 pos 7;\n'Project ['x]\n+- SubqueryAlias {VIEW}\n"
    error = translate(AnalysisException(text))
    assert str(error) == "[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION] A column `x` cannot be resolved. (line 2)"


def test_a_value_that_does_not_fit_is_a_data_error() -> None:
    error = translate(ArithmeticException('[CAST_OVERFLOW] The value 300 of the type "INT" cannot be cast to "TINYINT". SQLSTATE: 22003'))
    assert type(error) is DataError
    assert str(error) == '[CAST_OVERFLOW] The value 300 of the type "INT" cannot be cast to "TINYINT".'


def test_a_function_that_old_sparks_cannot_run_is_explained() -> None:
    text = "[INTERNAL_ERROR] SQL function expression should be rewritten during analysis: f(cast(sum(a#39L) as int)) SQLSTATE: XX000"
    error = translate(FakePy4JJavaError(FakeThrowable("org.apache.spark.SparkException", text)))
    assert isinstance(error, StatementError)
    assert "Spark before 4.2 cannot run a SQL function whose body is a query" in str(error)


def test_names_that_differ_only_in_the_case_of_other_letters_are_explained() -> None:
    text = "[AMBIGUOUS_REFERENCE] Reference `{0}` is ambiguous, could be: [`t`.`{0}`, `t`.`{0}`]. SQLSTATE: 42704"
    assert "ALTER TABLE … RENAME COLUMN gives one of them another name" in str(translate(AnalysisException(text.format("Ä"))))
    assert str(translate(AnalysisException(text.format("a")))).endswith("could be: [`t`.`a`, `t`.`a`].")


def test_other_failures_keep_sparks_error_condition() -> None:
    error = translate(SparkRuntimeException("[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned. SQLSTATE: 21000"))
    assert type(error) is EngineError
    assert error.condition == "SCALAR_SUBQUERY_TOO_MANY_ROWS"


def test_the_cause_is_shown_without_the_stack_trace() -> None:
    cause = FakeThrowable("org.apache.spark.SparkArithmeticException", "[DIVIDE_BY_ZERO] Division by zero.\n\tat org.a.B.c(B.scala:1)")
    outer = FakeThrowable(
        "org.apache.spark.SparkException",
        "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task\n\tat x.Y(Z)\nDriver stacktrace:",
        FakeThrowable("org.apache.spark.SparkException", "[TASK_WRITE_FAILED] Task failed while writing rows to file:/x.", cause),
    )
    error = translate(FakePy4JJavaError(outer))
    assert type(error) is DataError
    assert str(error) == "[DIVIDE_BY_ZERO] Division by zero."


def test_a_missing_data_file_is_a_lake_error_that_names_it() -> None:
    text = (
        "[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file file:///data/main/t/ducklake-1.parquet. File does not exist. "
        "It is possible the underlying files have been updated. SQLSTATE: KD001"
    )
    error = translate(FakePy4JJavaError(FakeThrowable("org.apache.spark.SparkException", text)))
    assert isinstance(error, MissingFileError)
    assert error.path == "file:///data/main/t/ducklake-1.parquet"
    assert "file:///data/main/t/ducklake-1.parquet is missing" in str(error)
    assert "run the statement again" in str(error)


@pytest.mark.parametrize(
    ("cause", "shown"),
    [
        ("java.lang.RuntimeException: file:/data/a.parquet is not a Parquet file. Expected magic number", "is not a Parquet file"),
        ("org.apache.parquet.io.ParquetDecodingException: Can not read value at 1", "Can not read value at 1"),
    ],
)
def test_a_damaged_data_file_is_a_lake_error_that_names_it(cause: str, shown: str) -> None:
    text = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file file:///data/a.parquet.  SQLSTATE: KD001"
    kind, _, message = cause.partition(": ")
    error = translate(FakePy4JJavaError(FakeThrowable("org.apache.spark.SparkException", text, FakeThrowable(kind, message))))
    assert isinstance(error, DamagedFileError)
    assert str(error).startswith("The file file:///data/a.parquet is damaged, or is not the one that the lake's catalog lists: ")
    assert shown in str(error)


def test_a_file_that_cannot_be_read_now_is_not_called_damaged() -> None:
    text = "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3a://b/a.parquet.  SQLSTATE: KD001"
    cause = FakeThrowable("java.net.SocketTimeoutException", "Read timed out")
    error = translate(FakePy4JJavaError(FakeThrowable("org.apache.spark.SparkException", text, cause)))
    assert type(error) is EngineError
    assert "Read timed out" in str(error)


def test_errors_of_a_scan_are_shown_without_sparks_error_class() -> None:
    text = "[USER_RAISED_EXCEPTION] dbt-ducklake: a timestamp_ns value has nanoseconds SQLSTATE: P0001\n\tat x"
    error = translate(FakePy4JJavaError(FakeThrowable("org.apache.spark.SparkRuntimeException", text)))
    assert type(error) is LakeError
    assert str(error) == "a timestamp_ns value has nanoseconds."


@pytest.mark.parametrize(
    "text",
    [
        "Job 3 cancelled part of cancelled job group g",
        "[SPARK_JOB_CANCELLED] Job 3 cancelled part of cancelled job group g SQLSTATE: XXKDA",
        "[INVALID_HANDLE.OPERATION_ABANDONED] The handle is invalid.",
        "OPERATION_CANCELED",
    ],
)
def test_cancelled_work(text: str) -> None:
    assert type(translate(PySparkException(text))) is CancelledError


def test_a_dead_jvm_is_reported() -> None:
    class Py4JNetworkError(Exception):
        pass

    error = translate(Py4JNetworkError("Answer from Java side is empty"))
    assert type(error) is EngineError
    assert "connection to Spark is lost" in str(error)


def test_an_unknown_exception_keeps_its_text() -> None:
    error = translate(RuntimeError("something"))
    assert isinstance(error, DuckLakeError)
    assert str(error) == "something"


def test_longer_view_names_are_replaced_first() -> None:
    names = {"lake.main.t@4": "t", "lake.main.t@42": "u"}
    assert with_user_names("`lake.main.t@42` and lake.main.t@4", names) == "u and t"


@pytest.mark.parametrize(
    ("name", "message", "named"),
    [
        (
            "java.lang.ClassNotFoundException",
            "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "the class org.apache.hadoop.fs.s3a.S3AFileSystem",
        ),
        ("java.lang.NoClassDefFoundError", "software/amazon/awssdk/core/SdkClient", "the class software.amazon.awssdk.core.SdkClient"),
        ("org.apache.hadoop.fs.UnsupportedFileSystemException", 'No FileSystem for scheme "gs"', "a file system for gs://"),
    ],
)
def test_a_missing_jar_is_reported(name: str, message: str, named: str) -> None:
    error = translate(FakePy4JJavaError(FakeThrowable("java.lang.RuntimeException", f"{name}: {message}", FakeThrowable(name, message))))
    assert isinstance(error, EngineError)
    assert named in str(error)
    assert "spark.jars.packages" in str(error)
