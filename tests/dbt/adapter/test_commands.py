"""What dbt does beside building models."""

import pytest
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency as TestConcurrency
from dbt.tests.adapter.dbt_debug.test_dbt_debug import BaseDebugProfileVariable as TestDebugProfileVariable
from dbt.tests.adapter.dbt_show.test_dbt_show import (
    BaseShowDoesNotHandleDoubleLimit as TestShowDoesNotHandleDoubleLimit,
    BaseShowLimit as TestShowLimit,
    BaseShowSqlHeader as TestShowSqlHeader,
)
from dbt.tests.adapter.empty.test_empty import (
    BaseTestEmpty as TestEmptyFlag,
    BaseTestEmptyInlineSourceRef as TestEmptyInlineSourceRef,
)
from dbt.tests.adapter.python_model import test_python_model as python_model
from dbt.tests.adapter.python_model.test_python_model import (
    BasePythonIncrementalTests,
    BasePythonModelTests as TestPythonModelTests,
)
from dbt.tests.adapter.query_comment.test_query_comment import (
    BaseEmptyQueryComments as TestEmptyQueryComments,
    BaseMacroArgsQueryComments as TestMacroArgsQueryComments,
    BaseMacroInvalidQueryComments as TestMacroInvalidQueryComments,
    BaseMacroQueryComments as TestMacroQueryComments,
    BaseNullQueryComments as TestNullQueryComments,
    BaseQueryComments as TestQueryComments,
)
from dbt.tests.adapter.sample_mode import fixtures as sample_mode
from dbt.tests.adapter.sample_mode.test_sample_mode import BaseSampleModeTest
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures as TestStoreTestFailures,
    BaseStoreTestFailuresLimit as TestStoreTestFailuresLimit,
)
from dbt.tests.adapter.unit_testing.test_case_insensitivity import (
    BaseUnitTestCaseInsensivity as TestUnitTestCaseInsensivity,
)
from dbt.tests.adapter.unit_testing.test_invalid_input import (
    BaseUnitTestInvalidInput as TestUnitTestInvalidInput,
)
from dbt.tests.adapter.unit_testing.test_quoted_reserved_word_column_names import (
    BaseUnitTestQuotedReservedWordColumnNames as TestUnitTestQuotedReservedWordColumnNames,
)
from dbt.tests.adapter.unit_testing.test_types import BaseUnitTestingTypes as TestUnitTestingTypes


class TestPythonIncrementalTests(BasePythonIncrementalTests):
    @pytest.fixture(scope="class")
    def models(self):
        """A relation of DuckDB is filtered by a text."""
        model = python_model.incremental_python.replace("df.id > 5", "'id > 5'")
        return {"m_1.sql": python_model.m_1, "incremental.py": model}


class TestSampleMode(BaseSampleModeTest):
    @pytest.fixture(scope="class")
    def input_model_sql(self):
        """DuckDB's timestamps with a zone."""
        return sample_mode.input_model_sql.replace("TIMESTAMP '", "TIMESTAMPTZ '").replace("00-0'", "00+00'")
