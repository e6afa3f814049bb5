"""Inlined cells of the catalog databases as Python values. The texts are those that DuckDB 1.5.5 writes."""

from __future__ import annotations

import json
import math
from datetime import date, datetime, time, timezone
from decimal import Decimal
from typing import Any

import duckdb
import pytest

from dbt.adapters.ducklake.errors import LakeError
from dbt.adapters.ducklake.format.inlined import decode
from dbt.adapters.ducklake.format.nested_text import format_nested
from dbt.adapters.ducklake.format.objects import Column

UTC = timezone.utc


def column(kind: str, *children: Column, name: str = "c") -> Column:
    return Column(1, name, kind, children)


def list_of(element: Column) -> Column:
    return column("list", Column(2, "element", element.type, element.children))


def struct(**fields: Column) -> Column:
    return column("struct", *(Column(2, name, each.type, each.children) for name, each in fields.items()))


def map_of(key: Column, value: Column) -> Column:
    return column("map", Column(2, "key", key.type, key.children), Column(3, "value", value.type, value.children))


VARCHAR, INT, DATE = column("varchar"), column("int32"), column("date")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("boolean", 1, True),
        ("boolean", False, False),
        ("boolean", "true", True),
        ("int64", 5, 5),
        ("int128", "170141183460469231731687303715884105727", 2**127 - 1),
        ("uint64", "18446744073709551615", 2**64 - 1),
        ("float64", "1e+300", 1e300),
        ("float32", "-inf", -math.inf),
        ("float64", 1.5, 1.5),
        ("decimal(10,2)", "1.20", Decimal("1.20")),
        ("decimal(10,2)", Decimal("1.2"), Decimal("1.20")),
        ("decimal(38,10)", "1234567890123456789012345678.0123456789", Decimal("1234567890123456789012345678.0123456789")),
        ("date", "2020-01-02", date(2020, 1, 2)),
        ("date", "infinity", "infinity"),
        ("date", "0044-03-15 (BC)", "0044-03-15 (BC)"),
        ("time", "01:02:03.4", time(1, 2, 3, 400000)),
        ("time", "24:00:00", "24:00:00"),
        ("timetz", "01:02:03+02", "01:02:03+02"),
        ("timestamp", "2020-01-02 03:04:05.6", datetime(2020, 1, 2, 3, 4, 5, 600000)),
        ("timestamp_s", "2020-01-02 03:04:05", datetime(2020, 1, 2, 3, 4, 5)),
        ("timestamp_ns", "2020-01-02 03:04:05.123456789", "2020-01-02 03:04:05.123456789"),
        ("timestamp", "-infinity", "-infinity"),
        ("timestamptz", "2020-01-02 01:04:05.6+00", datetime(2020, 1, 2, 1, 4, 5, 600000, UTC)),
        ("timestamptz", "2020-01-02T01:04:05+02:30", datetime(2020, 1, 1, 22, 34, 5, 0, UTC)),
        ("interval", "1 month 2 days 03:04:05.6", "1 month 2 days 03:04:05.6"),
        ("interval", "1 year 2 mons 3 days", "1 year 2 months 3 days"),
        ("varchar", "it's", "it's"),
        ("varchar", b"na\xc3\xafve\x00", "naïve\x00"),
        ("json", b'{"a": 1}', '{"a": 1}'),
        ("blob", b"\xaa\x00", b"\xaa\x00"),
        ("uuid", "f79c3e09-677c-4bbd-a479-3f349cb785e7", "f79c3e09-677c-4bbd-a479-3f349cb785e7"),
        ("int32", None, None),
    ],
)
def test_scalars(kind: str, value: Any, expected: Any) -> None:
    assert decode(value, column(kind)) == expected


def test_not_a_number() -> None:
    assert math.isnan(decode("nan", column("float64")))


@pytest.mark.parametrize(
    ("shape", "text", "expected"),
    [
        (list_of(VARCHAR), "[]", []),
        (
            list_of(VARCHAR),
            "[a, b c, 'o\\'k', 'q\"r', a\\b, '', NULL, 'NULL', 'null', 'x,y', '[z]', '{k}', ' lead', 'a=b', é]",
            ["a", "b c", "o'k", 'q"r', "a\\b", "", None, "NULL", "null", "x,y", "[z]", "{k}", " lead", "a=b", "é"],
        ),
        (list_of(column("blob")), "[\\xAA\\x00b, it\\x27s, '\\\\xAA,b']", [b"\xaa\x00b", b"it's", b"\xaa,b"]),
        (list_of(list_of(INT)), "[[1, 2], NULL, []]", [[1, 2], None, []]),
        (list_of(column("json")), "['{\"a\": [1, \"x,]\"]}', '\"s\"', NULL]", ['{"a": [1, "x,]"]}', '"s"', None]),
        (list_of(column("json")), '[{"a": [1, "x,]"]}, "s"]', ['{"a": [1, "x,]"]}', '"s"']),
        (list_of(column("json")), '[null, NULL, "null", "a\\"],b", 1]', ["null", None, '"null"', '"a\\"],b"', "1"]),
        (
            list_of(struct(a=VARCHAR, b=DATE)),
            "[{'a': 'o\\'k', 'b': 2020-01-01}, {'a': NULL, 'b': NULL}, NULL]",
            [{"a": "o'k", "b": date(2020, 1, 1)}, {"a": None, "b": None}, None],
        ),
        (map_of(VARCHAR, VARCHAR), "{k=v, 'o\\'k'='a=b', sp ace=NULL, ''='', 'q,'=\\}",
         [("k", "v"), ("o'k", "a=b"), ("sp ace", None), ("", ""), ("q,", "\\")]),
        (map_of(INT, struct(a=VARCHAR)), "{1={'a': x}}", [(1, {"a": "x"})]),
        (map_of(VARCHAR, list_of(INT)), "{}", []),
    ],
)  # fmt: skip
def test_the_literal_form(shape: Column, text: str, expected: Any) -> None:
    assert decode(text, shape) == expected
    assert decode(text.encode(), shape) == expected


@pytest.mark.parametrize(
    ("shape", "text", "expected"),
    [
        (struct(a=VARCHAR, b=INT), "{'a': 'o''k\\n', 'b': 1}", {"a": "o'k\\n", "b": 1}),
        (struct(a=column("boolean"), b=column("decimal(5,2)")), "{'a': true, 'b': 1.50}", {"a": True, "b": Decimal("1.50")}),
        (struct(a=VARCHAR), "{'a': NULL}", {"a": None}),
        (struct(d=DATE), "{'d': CAST('2020-01-02' AS DATE)}", {"d": date(2020, 1, 2)}),
        (
            struct(t=column("timestamptz"), i=column("interval"), f=column("float64")),
            "{'t': CAST('2020-01-02 03:04:05+00' AS TIMESTAMP WITH TIME ZONE), 'i': CAST('1 months' AS INTERVAL), 'f': CAST('inf' AS VARCHAR)}",
            {"t": datetime(2020, 1, 2, 3, 4, 5, 0, UTC), "i": "1 month", "f": math.inf},
        ),
        (struct(b=column("blob")), "{'b': CAST('\\xAA\\x00b' AS BLOB)}", {"b": b"\xaa\x00b"}),
        (struct(x=struct(**{"q'r": INT})), "{'x': {'q''r': 3}}", {"x": {"q'r": 3}}),
        (struct(a=list_of(VARCHAR)), "{'a': ['o\\'k', a\\b, NULL, x y]}", {"a": ["o'k", "a\\b", None, "x y"]}),
        (struct(m=map_of(DATE, VARCHAR)), "{'m': {2020-01-02=v}}", {"m": [(date(2020, 1, 2), "v")]}),
    ],
)
def test_the_sql_form_of_structs(shape: Column, text: str, expected: Any) -> None:
    assert decode(text, shape) == expected


NESTED_TWICE = {
    "VARCHAR[][]": (list_of(list_of(VARCHAR)), [["z", "{}"]], '[["z", {}]]'),
    "STRUCT(a VARCHAR)[]": (list_of(struct(a=VARCHAR)), [{"a": "{}"}], '[{"a": {}}]'),
    "STRUCT(a VARCHAR[])": (struct(a=list_of(VARCHAR)), {"a": ["{}"]}, '{"a": [{}]}'),
    "STRUCT(a STRUCT(b VARCHAR))": (struct(a=struct(b=VARCHAR)), {"a": {"b": "{}"}}, '{"a": {"b": {}}}'),
    "MAP(VARCHAR, VARCHAR)[]": (list_of(map_of(VARCHAR, VARCHAR)), [[("{}", "z")]], '[{{}: "z"}]'),
    "MAP(VARCHAR, VARCHAR[])": (map_of(VARCHAR, list_of(VARCHAR)), [("k", ["{}"])], '{"k": [{}]}'),
}
"""DuckDB's type → (column, a value of it, the value as JSON), both with {} for a text."""


@pytest.mark.parametrize("kind", NESTED_TWICE)
@pytest.mark.parametrize("text", ["[(", "{", "a='b\\", 'x, "y"'])
def test_duckdb_reads_texts_in_nested_values(kind: str, text: str) -> None:
    shape, value, as_json = NESTED_TWICE[kind]
    formatted = format_nested(value, shape, lambda _leaf, _type: text)
    found = duckdb.execute(f"SELECT CAST(? AS {kind})::JSON", [formatted]).fetchone()
    assert found is not None
    expected = json.loads(as_json.replace("{}", json.dumps(text)).replace('"z"', json.dumps(text)).replace('"k"', json.dumps(text)))
    assert json.loads(found[0]) == expected


@pytest.mark.parametrize("kind", NESTED_TWICE)
@pytest.mark.parametrize("text", ["a]", "a}", "[]", "{x}", "'}]"])
def test_closing_brackets_two_levels_deep_are_not_written(kind: str, text: str) -> None:
    """DuckDB takes such a bracket for the end of the inner value, although the text is in quotes."""
    shape, value, _ = NESTED_TWICE[kind]
    with pytest.raises(ValueError, match="closing bracket"):
        format_nested(value, shape, lambda _leaf, _type: text)


def test_a_field_with_a_closing_bracket_is_written_only_in_an_outer_struct() -> None:
    assert format_nested({"a]": "}"}, struct(**{"a]": VARCHAR}), lambda leaf, _type: leaf) == "{'a]': '}'}"
    with pytest.raises(ValueError, match="closing bracket"):
        format_nested([{"a]": "b"}], list_of(struct(**{"a]": VARCHAR})), lambda leaf, _type: leaf)


@pytest.mark.parametrize("blank", ["\xa0", "\u3000", "\u2028", "\x85", "\x1c"])
def test_white_space_that_duckdb_does_not_quote_belongs_to_the_string(blank: str) -> None:
    assert decode(f"[{blank}x{blank}, {blank}, null{blank}]", list_of(VARCHAR)) == [f"{blank}x{blank}", blank, f"null{blank}"]
    assert decode(f"{{{blank}={blank}}}", map_of(VARCHAR, VARCHAR)) == [(blank, blank)]


def test_a_backslash_in_a_struct_of_a_duckdb_file() -> None:
    text = "{'a': 'C:\\\\dir', 'b': 1}"
    assert decode(text, struct(a=VARCHAR, b=INT), sql_structs=False) == {"a": "C:\\dir", "b": 1}
    assert decode(text, struct(a=VARCHAR, b=INT)) == {"a": "C:\\\\dir", "b": 1}


def test_structs_of_other_writers_in_the_literal_form() -> None:
    shape = struct(a=VARCHAR, b=INT)
    assert decode("{'a': plain, 'b': 1}", shape) == {"a": "plain", "b": 1}
    assert decode("{'a': 'o\\'k', 'b': NULL}", shape) == {"a": "o'k", "b": None}
    assert decode("{'b': 2}", shape) == {"a": None, "b": 2}


@pytest.mark.parametrize(
    ("shape", "value"),
    [(INT, "x"), (column("decimal(5,2)"), "abc"), (list_of(INT), "[1, 2"), (list_of(INT), "nonsense"), (struct(a=INT), "{'z': 1}")],
)
def test_the_error_for_a_value_of_another_type_names_the_column(shape: Column, value: str) -> None:
    with pytest.raises(LakeError, match="column c"):
        decode(value, shape)
