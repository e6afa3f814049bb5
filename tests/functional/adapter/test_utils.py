"""dbt.tests.adapter.utils: the results of the cross-database macros in Spark."""

from __future__ import annotations

import inspect
import re

import pytest
from dbt.tests.adapter.utils import fixture_get_intervals_between
from dbt.tests.adapter.utils.base_utils import BaseUtils
from dbt.tests.adapter.utils.data_types.test_type_bigint import BaseTypeBigInt
from dbt.tests.adapter.utils.data_types.test_type_boolean import BaseTypeBoolean
from dbt.tests.adapter.utils.data_types.test_type_float import BaseTypeFloat
from dbt.tests.adapter.utils.data_types.test_type_int import BaseTypeInt
from dbt.tests.adapter.utils.data_types.test_type_numeric import BaseTypeNumeric
from dbt.tests.adapter.utils.data_types.test_type_string import BaseTypeString
from dbt.tests.adapter.utils.data_types.test_type_timestamp import BaseTypeTimestamp
from dbt.tests.adapter.utils.test_any_value import BaseAnyValue
from dbt.tests.adapter.utils.test_array_append import BaseArrayAppend
from dbt.tests.adapter.utils.test_array_concat import BaseArrayConcat
from dbt.tests.adapter.utils.test_array_construct import BaseArrayConstruct
from dbt.tests.adapter.utils.test_bool_or import BaseBoolOr
from dbt.tests.adapter.utils.test_cast import BaseCast
from dbt.tests.adapter.utils.test_cast_bool_to_text import BaseCastBoolToText
from dbt.tests.adapter.utils.test_concat import BaseConcat
from dbt.tests.adapter.utils.test_current_timestamp import BaseCurrentTimestampAware
from dbt.tests.adapter.utils.test_date import BaseDate
from dbt.tests.adapter.utils.test_date_spine import BaseDateSpine
from dbt.tests.adapter.utils.test_date_trunc import BaseDateTrunc
from dbt.tests.adapter.utils.test_dateadd import BaseDateAdd
from dbt.tests.adapter.utils.test_datediff import BaseDateDiff
from dbt.tests.adapter.utils.test_equals import BaseEquals
from dbt.tests.adapter.utils.test_escape_single_quotes import BaseEscapeSingleQuotesBackslash
from dbt.tests.adapter.utils.test_except import BaseExcept
from dbt.tests.adapter.utils.test_generate_series import BaseGenerateSeries
from dbt.tests.adapter.utils.test_get_intervals_between import BaseGetIntervalsBetween
from dbt.tests.adapter.utils.test_get_powers_of_two import BaseGetPowersOfTwo
from dbt.tests.adapter.utils.test_hash import BaseHash
from dbt.tests.adapter.utils.test_intersect import BaseIntersect
from dbt.tests.adapter.utils.test_last_day import BaseLastDay
from dbt.tests.adapter.utils.test_length import BaseLength
from dbt.tests.adapter.utils.test_listagg import BaseListagg
from dbt.tests.adapter.utils.test_null_compare import BaseMixedNullCompare, BaseNullCompare
from dbt.tests.adapter.utils.test_position import BasePosition
from dbt.tests.adapter.utils.test_replace import BaseReplace
from dbt.tests.adapter.utils.test_right import BaseRight
from dbt.tests.adapter.utils.test_safe_cast import BaseSafeCast
from dbt.tests.adapter.utils.test_source_freshness_custom_info import BaseCalculateFreshnessMethod
from dbt.tests.adapter.utils.test_split_part import BaseSplitPart
from dbt.tests.adapter.utils.test_string_literal import BaseStringLiteral
from dbt.tests.adapter.utils.test_timestamps import BaseCurrentTimestamps
from dbt.tests.adapter.utils.test_validate_sql import BaseValidateSqlMethod
from dbt.tests.util import run_dbt

TOGETHER: list[type[BaseUtils]] = []
"""Classes that only build a project of their own: its data tests compare the results."""


def together(test: type[BaseUtils]) -> type[BaseUtils]:
    """Add the files of a class to the project of `TestTogether`. The class itself runs nightly."""
    TOGETHER.append(test)
    return pytest.mark.nightly(test)


@together
class TestAnyValue(BaseAnyValue):
    pass


class TestArrayAppend(BaseArrayAppend):
    pass


class TestArrayConcat(BaseArrayConcat):
    pass


class TestArrayConstruct(BaseArrayConstruct):
    pass


@together
class TestBoolOr(BaseBoolOr):
    pass


@together
class TestCast(BaseCast):
    pass


@together
class TestCastBoolToText(BaseCastBoolToText):
    pass


@together
class TestConcat(BaseConcat):
    pass


class TestCurrentTimestamp(BaseCurrentTimestampAware):
    pass


@together
class TestDate(BaseDate):
    pass


@together
class TestDateSpine(BaseDateSpine):
    pass


@together
class TestDateTrunc(BaseDateTrunc):
    pass


@together
class TestDateAdd(BaseDateAdd):
    pass


@together
class TestDateDiff(BaseDateDiff):
    pass


class TestEquals(BaseEquals):
    pass


@together
class TestEscapeSingleQuotes(BaseEscapeSingleQuotesBackslash):
    pass


@pytest.mark.nightly  # as INTERSECT
class TestExcept(BaseExcept):
    pass


@together
class TestGenerateSeries(BaseGenerateSeries):
    pass


@together
class TestGetIntervalsBetween(BaseGetIntervalsBetween):
    @pytest.fixture(scope="class")
    def models(self):
        """Write dates in a form that Spark reads; the suite uses month/day/year."""
        in_iso = re.sub(r"(\d\d)/(\d\d)/(\d{4})", r"\3-\1-\2", fixture_get_intervals_between.models__test_get_intervals_between_sql)
        return {
            "test_get_intervals_between.yml": fixture_get_intervals_between.models__test_get_intervals_between_yml,
            "test_get_intervals_between.sql": self.interpolate_macro_namespace(in_iso, "get_intervals_between"),
        }


@together
class TestGetPowersOfTwo(BaseGetPowersOfTwo):
    pass


@together
class TestHash(BaseHash):
    pass


class TestIntersect(BaseIntersect):
    pass


@together
class TestLastDay(BaseLastDay):
    pass


@together
class TestLength(BaseLength):
    pass


@together
class TestListagg(BaseListagg):
    pass


class TestMixedNullCompare(BaseMixedNullCompare):
    pass


@together
class TestNullCompare(BaseNullCompare):
    pass


@together
class TestPosition(BasePosition):
    pass


@together
class TestReplace(BaseReplace):
    pass


@together
class TestRight(BaseRight):
    pass


@together
class TestSafeCast(BaseSafeCast):
    pass


class TestSourceFreshness(BaseCalculateFreshnessMethod):
    pass


@together
class TestSplitPart(BaseSplitPart):
    pass


@together
class TestStringLiteral(BaseStringLiteral):
    pass


class TestValidateSql(BaseValidateSqlMethod):
    pass


class TestTogether(BaseUtils):
    """All files of the classes marked `together`, in one project, which takes a fifth of the time of a project for each class."""

    @pytest.fixture(scope="class")
    def models(self):
        return files("models")

    @pytest.fixture(scope="class")
    def seeds(self):
        return files("seeds")

    @pytest.mark.usefixtures("project")
    def test_build_assert_equal(self):
        built = [result.node.resource_type for result in run_dbt(["build"])]
        assert built.count("model") == len(TOGETHER)
        assert built.count("test") >= len(TOGETHER)


def files(kind: str) -> dict[str, str]:
    """Return the text by file name of the seeds or models of all classes marked `together`."""
    found: dict[str, str] = {}
    for test in TOGETHER:
        if (fixture := inspect.getattr_static(test, kind, None)) is not None:
            of_test = fixture._get_wrapped_function()(test())
            assert not found.keys() & of_test.keys()
            found |= of_test
    return found


class TestCurrentTimestamps(BaseCurrentTimestamps):
    """Spark's function, whose timestamps have a time zone."""

    @pytest.fixture(scope="class")
    def expected_schema(self):
        return dict.fromkeys(("current_timestamp", "current_timestamp_in_utc_backcompat", "current_timestamp_backcompat"), "timestamp")

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return """
            select current_timestamp() as current_timestamp,
                   current_timestamp() as current_timestamp_in_utc_backcompat,
                   current_timestamp() as current_timestamp_backcompat
        """


class TestTypeBigInt(BaseTypeBigInt):
    pass


class TestTypeBoolean(BaseTypeBoolean):
    pass


class TestTypeFloat(BaseTypeFloat):
    @pytest.fixture(scope="class")
    def seeds(self):
        """Use double, the type of a seed's numbers."""
        return {"expected.csv": "float_col\n1.2345\n", "expected.yml": column_type("float_col", "float")}


class TestTypeInt(BaseTypeInt):
    @pytest.fixture(scope="class")
    def seeds(self):
        """Use bigint, the type of a seed's integers."""
        return {"expected.csv": "int_col\n12345678\n", "expected.yml": column_type("int_col", "int")}


class TestTypeNumeric(BaseTypeNumeric):
    pass


class TestTypeString(BaseTypeString):
    pass


class TestTypeTimestamp(BaseTypeTimestamp):
    pass


def column_type(column: str, type_: str) -> str:
    return f"seeds: [{{name: expected, config: {{column_types: {{{column}: {type_}}}}}}}]"
