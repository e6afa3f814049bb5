"""Every DuckLake type with significant values, and how either side writes them: the type matrix is generated from this."""

from __future__ import annotations

import json
import re
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dbt.adapters.ducklake.format.timestamps import INFINITY_DAYS, parse_date, parse_timestamp


@dataclass(frozen=True)
class Case:
    """One type.

    Args:
        stored: the name in DuckLake.
        duck: the name in DuckDB.
        values: texts that DuckDB casts to the type, without NULL.
        kind: how texts are compared and written: `number`, `float`, `date`, `timestamp`, `bytes`, `variant`, `text`.
        not_in_duckdb_files: values that DuckDB cannot write to a file, or cannot read again.
        not_in_spark: values that Spark cannot represent; reading one is an error.
    """

    stored: str
    duck: str
    values: tuple[str, ...]
    kind: str = "text"
    spark: str | None = None
    not_in_duckdb_files: tuple[str, ...] = ()
    not_in_spark: tuple[str, ...] = ()
    nested_in_duckdb_files: bool = True
    in_duckdb_files: bool = True
    inlined: bool = True
    has_default: bool = True
    is_key: bool = True

    @property
    def name(self) -> str:
        """Return the stored name as part of a column's name."""
        return re.sub(r"\W+", "_", self.stored).strip("_")

    @property
    def written(self) -> str:
        """Return the type as it is written in our own DDL."""
        return self.spark or self.duck

    @property
    def ordinary(self) -> tuple[str, ...]:
        """Return the values that Spark can represent."""
        return tuple(value for value in self.values if value not in self.not_in_spark)

    @property
    def in_files(self) -> tuple[str, ...]:
        """Return the values that DuckDB can write to files and Spark can represent."""
        return tuple(v for v in self.ordinary if v not in self.not_in_duckdb_files) if self.in_duckdb_files else ()


def _integers(bits: int) -> list[Case]:
    names = {8: "TINYINT", 16: "SMALLINT", 32: "INTEGER", 64: "BIGINT"}
    top = 2 ** (bits - 1)
    signed = Case(f"int{bits}", names[bits], ("0", "-1", "7", str(-top), str(top - 1)), "number")
    unsigned = Case(f"uint{bits}", "U" + names[bits], ("0", "7", str(top), str(2 * top - 1)), "number")
    return [signed, unsigned]


_NINES = "9" * 38
_INSTANTS = (
    "2020-01-02 03:04:05.6",
    "1970-01-01 00:00:00",
    "1969-12-31 23:59:59.999999",
    "0001-01-01 00:00:00",
    "9999-12-31 23:59:59.999999",
    "10000-01-01 00:00:00",
    "0044-03-15 (BC) 12:00:00",
    "infinity",
    "-infinity",
)

CASES: tuple[Case, ...] = (
    Case("boolean", "BOOLEAN", ("true", "false")),
    *(case for bits in (8, 16, 32, 64) for case in _integers(bits)),
    Case(
        "int128",
        "HUGEINT",
        ("0", "-1", "9223372036854775808", _NINES, "-" + _NINES, str(2**127 - 1), str(-(2**127))),
        "number",
        not_in_duckdb_files=(_NINES, "-" + _NINES, str(2**127 - 1), str(-(2**127))),
        not_in_spark=(str(2**127 - 1), str(-(2**127))),
    ),
    Case(
        "uint128",
        "UHUGEINT",
        ("0", "7", "18446744073709551616", _NINES, str(2**128 - 1)),
        "number",
        not_in_duckdb_files=(_NINES, str(2**128 - 1)),
        not_in_spark=(str(2**128 - 1),),
    ),
    Case("float32", "FLOAT", ("0", "-0.0", "0.1", "1.5", "3.4028235e38", "-3.4028235e38", "1e-45", "inf", "-inf", "nan"), "float"),
    Case(
        "float64",
        "DOUBLE",
        ("0", "-0.0", "0.1", "1.5", "1.7976931348623157e308", "-1.7976931348623157e308", "5e-324", "1e300", "inf", "-inf", "nan"),
        "float",
    ),
    Case("decimal(4,2)", "DECIMAL(4,2)", ("0", "1.5", "-99.99", "99.99"), "number"),
    Case("decimal(18,3)", "DECIMAL(18,3)", ("0", "-1.5", "999999999999999.999", "-999999999999999.999"), "number"),
    Case("decimal(38,10)", "DECIMAL(38,10)", ("0", "1.5", f"-{'9' * 28}.{'9' * 10}", f"{'9' * 28}.{'9' * 10}"), "number"),
    Case("decimal(38,0)", "DECIMAL(38,0)", ("0", "-7", _NINES, "-" + _NINES), "number"),
    Case(
        "date",
        "DATE",
        ("2020-01-02", "1970-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "10000-01-01", "0044-03-15 (BC)", "infinity", "-infinity"),
        "date",
    ),
    Case("time", "TIME", ("00:00:00", "01:02:03.4", "23:59:59.999999", "24:00:00"), not_in_spark=("24:00:00",)),
    Case(
        "timetz",
        "TIMETZ",
        ("00:00:00+00", "01:02:03.4+02", "23:59:59.999999-15:59:59", "12:00:00+05:30"),
        spark="TIME WITH TIME ZONE",
    ),
    Case("time_ns", "TIME_NS", ("00:00:00", "01:02:03.123456789", "23:59:59.999999999"), in_duckdb_files=False),
    Case("timestamp", "TIMESTAMP", (*_INSTANTS, "294247-01-10 04:00:54.775806"), "timestamp", spark="TIMESTAMP_NTZ"),
    Case("timestamptz", "TIMESTAMPTZ", tuple(t if "inf" in t else t + "+00" for t in _INSTANTS), "timestamp", spark="TIMESTAMP"),
    Case(
        "timestamp_s",
        "TIMESTAMP_S",
        ("2020-01-02 03:04:05", "1969-12-31 23:59:59", "9999-12-31 23:59:59", "0044-03-15 (BC) 12:00:00"),
        "timestamp",
    ),
    Case(
        "timestamp_ms",
        "TIMESTAMP_MS",
        ("2020-01-02 03:04:05.678", "1969-12-31 23:59:59.999", "9999-12-31 23:59:59.999", "0044-03-15 (BC) 12:00:00"),
        "timestamp",
    ),
    Case(
        "timestamp_ns",
        "TIMESTAMP_NS",
        (
            *("2020-01-02 03:04:05.123456789", "1969-12-31 23:59:59.999999999", "2020-01-02 03:04:05", "2020-01-02 03:04:05.6"),
            *("2262-04-11 23:47:16.854775806", "1677-09-22 00:00:00", "infinity", "-infinity"),
        ),
    ),
    Case(
        "interval",
        "INTERVAL",
        (
            *("1 month 2 days 03:04:05.6", "00:00:00", "1 year", "100:00:00", "00:00:00.000001"),
            *("-1 month -3 days -04:05:06.123456", "1 month -1 day 12:00:00"),
        ),
        not_in_duckdb_files=("-1 month -3 days -04:05:06.123456", "1 month -1 day 12:00:00"),
    ),
    Case("varchar", "VARCHAR", ("", "a", "ü😀", 'it\'s \\ "q"', "a,b]{}=:", "NULL", "x" * 300, " lead"), spark="STRING"),
    Case("json", "JSON", ('{"a": [1, null, "x\'y"]}', "[]", '"text"', "1.50", "null")),
    Case(
        "uuid",
        "UUID",
        ("00000000-0000-0000-0000-000000000000", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "f" * 8 + "-ffff-ffff-ffff-" + "f" * 12),
    ),
    Case("blob", "BLOB", ("", "abc", "\\x00\\xFF\\x27", "\\x80" * 300), "bytes", spark="BINARY"),
    Case(
        "geometry",
        "GEOMETRY",
        (
            "POINT (1 2)",
            "LINESTRING (0 0, 5.5 -3)",
            "POLYGON ((0 0, 1 0, 1 1, 0 0))",
            "POINT EMPTY",
            "MULTIPOINT Z ((1 2 3))",
            "POINT ZM (1 2 3 4)",
        ),
        "bytes",
        inlined=False,
        is_key=False,
    ),
    Case(
        "variant",
        "VARIANT",
        ("1", '"text"', '{"a": 1, "b": [true, null]}', "[1, 2]", "1.5", "true"),
        "variant",
        inlined=False,
        nested_in_duckdb_files=False,
        is_key=False,
        has_default=False,
    ),
)

SHAPES = ("column", "list", "struct", "map")


def column(case: Case, shape: str) -> str:
    """Return the column's name in wide tables."""
    return f"{shape[0]}_{case.name}"


def duck_type(case: Case, shape: str) -> str:
    """Return the column's type for DuckDB."""
    t = case.duck
    return {"column": t, "list": f"{t}[]", "struct": f"STRUCT(f {t}, g INTEGER)", "map": f"MAP(VARCHAR, {t})"}[shape]


def our_type(case: Case, shape: str) -> str:
    """Return the column's type in our DDL."""
    t = case.written
    return {"column": t, "list": f"ARRAY<{t}>", "struct": f"STRUCT<f: {t}, g: INT>", "map": f"MAP<STRING, {t}>"}[shape]


def duck_value(case: Case, value: str | None) -> str:
    """Return the value as an expression of DuckDB."""
    if value is None:
        return f"CAST(NULL AS {case.duck})"
    text = value.replace("'", "''")
    return f"CAST(CAST('{text}' AS JSON) AS VARIANT)" if case.kind == "variant" else f"CAST('{text}' AS {case.duck})"


def duck_shaped(shape: str, value: str) -> str:
    """Return the value in its container, as an expression of DuckDB."""
    return {
        "column": value,
        "list": f"[{value}, NULL]",
        "struct": f"{{'f': {value}, 'g': 1}}",
        "map": f"MAP {{'k': {value}}}",
    }[shape]


def spark_shaped(shape: str, value: str) -> str:
    """Return the value in its container, as an expression of Spark."""
    return {
        "column": value,
        "list": f"array({value}, NULL)",
        "struct": f"named_struct('f', {value}, 'g', 1)",
        "map": f"map('k', {value})",
    }[shape]


def duck_leaf(case: Case, shape: str, name: str) -> str:
    """Return the text of the value in a column, for DuckDB."""
    leaf = {"column": name, "list": f"{name}[1]", "struct": f"{name}.f", "map": f"{name}['k']"}[shape]
    if case.stored == "geometry":
        return f"hex(ST_AsWKB({leaf}))"
    if case.kind == "bytes":
        return f"hex({leaf})"
    return f"CAST(CAST({leaf} AS JSON) AS VARCHAR)" if case.kind == "variant" else f"CAST({leaf} AS VARCHAR)"


def spark_leaf(case: Case, shape: str, name: str) -> str:
    """Return the text of the value in a column, for Spark."""
    leaf = {"column": name, "list": f"{name}[0]", "struct": f"{name}.f", "map": f"{name}['k']"}[shape]
    if case.kind == "bytes":
        return f"hex({leaf})"
    return f"to_json({leaf})" if case.kind == "variant" else f"CAST({leaf} AS STRING)"


def canonical(case: Case, text: str | None) -> Any:
    """Convert a text of either side to a comparable form."""
    if text is None:
        return None
    match case.kind:
        case "number":
            return Decimal(text)
        case "float":
            number = struct.unpack("<f", struct.pack("<f", float(text)))[0] if case.stored == "float32" else float(text)
            return repr(number)
        case "date":
            return parse_date(_common_era(text)) if "inf" in text or "-" in text else int(text)
        case "timestamp":
            return parse_timestamp(_common_era(text))[0]
        case "variant":
            return json.loads(text, parse_float=Decimal)
    return text


def _common_era(text: str) -> str:
    """Convert Java's spelling of years, `+12345-…` and `-0043-…`, to DuckDB's."""
    if text.startswith("-") and "inf" not in text:
        year, rest = text[1:].split("-", 1)
        date, _, time = rest.partition(" ")
        return f"{int(year) + 1:04d}-{date} (BC) {time}".strip()
    return text.lstrip("+")


def spark_text(case: Case, value: str) -> str:
    """Convert a value in DuckDB's spelling to a text that Spark casts to its own type."""
    if case.kind == "date" and "inf" in value:
        return {INFINITY_DAYS: "+5881580-07-11", -INFINITY_DAYS: "-5877641-06-24"}[parse_date(value)]
    if case.kind == "timestamp" and "inf" in value:
        return "-290308-12-21 19:59:05.224193" if value.startswith("-") else "+294247-01-10 04:00:54.775807"
    if case.kind in ("date", "timestamp"):
        if "(BC)" in value:
            year, rest = value.split("-", 1)
            return f"{1 - int(year):05d}-" + rest.replace(" (BC)", "")
        return "+" + value if len(value.split("-")[0]) > 4 else value
    return value


def spark_value(case: Case, text: str) -> str:
    """Return the Spark expression that converts a text column to the value."""
    if case.kind == "bytes":
        return f"unhex({text})"
    if case.kind == "variant":
        return f"parse_json({text})"
    kinds = {"number": {"uint64": "DECIMAL(20,0)"}.get(case.stored, "DECIMAL(38,0)"), "float": "DOUBLE"}
    if case.stored.startswith("decimal"):
        return f"CAST({text} AS {case.stored})"
    by_name = {"boolean": "BOOLEAN", "date": "DATE", "time": "TIME(6)", "timestamptz": "TIMESTAMP", "float32": "FLOAT"}
    spark = by_name.get(case.stored, "TIMESTAMP_NTZ" if case.kind == "timestamp" else kinds.get(case.kind, "STRING"))
    return f"CAST({text} AS {spark})"
