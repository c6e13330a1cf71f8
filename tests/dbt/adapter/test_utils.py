"""Macros of dbt for functions and types."""

import re

import pytest
from dbt.tests.adapter.utils import fixture_date_spine, fixture_get_intervals_between as intervals
from dbt.tests.adapter.utils.data_types.test_type_bigint import BaseTypeBigInt as TestTypeBigInt
from dbt.tests.adapter.utils.data_types.test_type_boolean import BaseTypeBoolean as TestTypeBoolean
from dbt.tests.adapter.utils.data_types.test_type_int import BaseTypeInt as TestTypeInt
from dbt.tests.adapter.utils.data_types.test_type_numeric import BaseTypeNumeric as TestTypeNumeric
from dbt.tests.adapter.utils.data_types.test_type_string import BaseTypeString as TestTypeString
from dbt.tests.adapter.utils.data_types.test_type_timestamp import BaseTypeTimestamp as TestTypeTimestamp
from dbt.tests.adapter.utils.test_any_value import BaseAnyValue as TestAnyValue
from dbt.tests.adapter.utils.test_array_append import BaseArrayAppend as TestArrayAppend
from dbt.tests.adapter.utils.test_array_concat import BaseArrayConcat as TestArrayConcat
from dbt.tests.adapter.utils.test_array_construct import BaseArrayConstruct as TestArrayConstruct
from dbt.tests.adapter.utils.test_bool_or import BaseBoolOr as TestBoolOr
from dbt.tests.adapter.utils.test_cast import BaseCast as TestCast
from dbt.tests.adapter.utils.test_cast_bool_to_text import BaseCastBoolToText as TestCastBoolToText
from dbt.tests.adapter.utils.test_concat import BaseConcat as TestConcat
from dbt.tests.adapter.utils.test_current_timestamp import (
    BaseCurrentTimestamp as TestCurrentTimestamp,
    BaseCurrentTimestampAware as TestCurrentTimestampAware,
)
from dbt.tests.adapter.utils.test_date import BaseDate as TestDate
from dbt.tests.adapter.utils.test_date_spine import BaseDateSpine
from dbt.tests.adapter.utils.test_date_trunc import BaseDateTrunc as TestDateTrunc
from dbt.tests.adapter.utils.test_dateadd import BaseDateAdd as TestDateAdd
from dbt.tests.adapter.utils.test_datediff import BaseDateDiff as TestDateDiff
from dbt.tests.adapter.utils.test_equals import BaseEquals as TestEquals
from dbt.tests.adapter.utils.test_escape_single_quotes import (
    BaseEscapeSingleQuotesQuote as TestEscapeSingleQuotesQuote,
)
from dbt.tests.adapter.utils.test_except import BaseExcept as TestExcept
from dbt.tests.adapter.utils.test_generate_series import BaseGenerateSeries as TestGenerateSeries
from dbt.tests.adapter.utils.test_get_intervals_between import BaseGetIntervalsBetween
from dbt.tests.adapter.utils.test_get_powers_of_two import BaseGetPowersOfTwo as TestGetPowersOfTwo
from dbt.tests.adapter.utils.test_hash import BaseHash as TestHash
from dbt.tests.adapter.utils.test_intersect import BaseIntersect as TestIntersect
from dbt.tests.adapter.utils.test_last_day import BaseLastDay as TestLastDay
from dbt.tests.adapter.utils.test_length import BaseLength as TestLength
from dbt.tests.adapter.utils.test_listagg import BaseListagg as TestListagg
from dbt.tests.adapter.utils.test_null_compare import (
    BaseMixedNullCompare as TestMixedNullCompare,
    BaseNullCompare as TestNullCompare,
)
from dbt.tests.adapter.utils.test_position import BasePosition as TestPosition
from dbt.tests.adapter.utils.test_replace import BaseReplace as TestReplace
from dbt.tests.adapter.utils.test_right import BaseRight as TestRight
from dbt.tests.adapter.utils.test_safe_cast import BaseSafeCast as TestSafeCast
from dbt.tests.adapter.utils.test_source_freshness_custom_info import (
    BaseCalculateFreshnessMethod as TestCalculateFreshnessMethod,
)
from dbt.tests.adapter.utils.test_split_part import BaseSplitPart as TestSplitPart
from dbt.tests.adapter.utils.test_string_literal import BaseStringLiteral as TestStringLiteral
from dbt.tests.adapter.utils.test_timestamps import BaseCurrentTimestamps
from dbt.tests.adapter.utils.test_validate_sql import BaseValidateSqlMethod as TestValidateSqlMethod


class TestDateSpine(BaseDateSpine):
    @pytest.fixture(scope="class")
    def models(self):
        """Dates are cast, as for Postgres."""
        model = fixture_date_spine.models__test_date_spine_sql.replace("'postgres'", "'deltaarrow'")
        return {
            "test_date_spine.yml": fixture_date_spine.models__test_date_spine_yml,
            "test_date_spine.sql": self.interpolate_macro_namespace(model, "date_spine"),
        }


class TestGetIntervalsBetween(BaseGetIntervalsBetween):
    @pytest.fixture(scope="class")
    def models(self):
        """DuckDB reads dates as ISO 8601 has them."""
        model = intervals.models__test_get_intervals_between_sql
        model = re.sub(r"(\d\d)/(\d\d)/(\d{4})", r"\3-\1-\2", model).replace("postgres", "deltaarrow")
        name = "test_get_intervals_between"
        return {
            f"{name}.yml": intervals.models__test_get_intervals_between_yml,
            f"{name}.sql": self.interpolate_macro_namespace(model, "get_intervals_between"),
        }


class TestCurrentTimestamps(BaseCurrentTimestamps):
    @pytest.fixture(scope="class")
    def expected_schema(self):
        return {
            "current_timestamp": "TIMESTAMP WITH TIME ZONE",
            "current_timestamp_in_utc_backcompat": "TIMESTAMP",
            "current_timestamp_backcompat": "TIMESTAMP",
        }

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return None
