"""Incremental models by every strategy."""

import pytest
from dbt.tests.adapter.incremental import test_incremental_microbatch as microbatch
from dbt.tests.adapter.incremental.test_incremental_merge_exclude_columns import (
    BaseMergeExcludeColumns as TestMergeExcludeColumns,
)
from dbt.tests.adapter.incremental.test_incremental_on_schema_change import BaseIncrementalOnSchemaChange
from dbt.tests.adapter.incremental.test_incremental_predicates import BaseIncrementalPredicates
from dbt.tests.adapter.incremental.test_incremental_unique_id import BaseIncrementalUniqueKey

MAPPED = {"models": {"+tblproperties": {"delta.columnMapping.mode": "name"}}}


class TestMicrobatch(microbatch.BaseMicrobatch):
    """DuckDB's timestamps with a zone, and no key, which dbt-duckdb refuses here."""

    @pytest.fixture(scope="class")
    def input_model_sql(self):
        return microbatch._input_model_sql.replace("TIMESTAMP '", "TIMESTAMPTZ '").replace("00-0'", "00+00'")

    @pytest.fixture(scope="class")
    def microbatch_model_sql(self):
        return microbatch._microbatch_model_sql.replace("unique_key='id', ", "")

    @pytest.fixture(scope="class")
    def insert_two_rows_sql(self, project):
        rows = "(4, TIMESTAMPTZ '2020-01-04 00:00:00+00'), (5, TIMESTAMPTZ '2020-01-05 00:00:00+00')"
        return f"insert into {project.test_schema}.input_model (id, event_time) values {rows}"


class TestIncrementalOnSchemaChange(BaseIncrementalOnSchemaChange):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        """Columns can be dropped with column mapping only."""
        return MAPPED


class TestIncrementalPredicatesDeleteInsert(BaseIncrementalPredicates):
    pass


class TestIncrementalPredicatesMerge(BaseIncrementalPredicates):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {
            "models": {
                "+incremental_predicates": ["dbt_internal_dest.id != 2"],
                "+incremental_strategy": "merge",
            }
        }


class TestIncrementalUniqueKey(BaseIncrementalUniqueKey):
    pass


class TestIncrementalUniqueKeyMerge(BaseIncrementalUniqueKey):
    @pytest.fixture(scope="class")
    def project_config_update(self):
        return {"models": {"+incremental_strategy": "merge"}}
