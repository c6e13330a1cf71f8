"""Contracts and constraints."""

import pytest
from dbt.tests.adapter.constraints import fixtures
from dbt.tests.adapter.constraints.test_constraints import (
    BaseConstraintQuotedColumn,
    BaseConstraintsRollback,
    BaseConstraintsRuntimeDdlEnforcement,
    BaseIncrementalConstraintsColumnsEqual,
    BaseIncrementalConstraintsRollback,
    BaseIncrementalConstraintsRuntimeDdlEnforcement,
    BaseIncrementalContractSqlHeader,
    BaseIncrementalForeignKeyConstraint as TestIncrementalForeignKeyConstraint,
    BaseModelConstraintsRuntimeEnforcement,
    BaseTableConstraintsColumnsEqual,
    BaseTableContractSqlHeader,
    BaseViewConstraintsColumnsEqual,
)


class OfDuckDB:
    """The types of DuckDB that Delta tables have too."""

    @pytest.fixture
    def string_type(self):
        return "VARCHAR"

    @pytest.fixture
    def int_type(self):
        return "INTEGER"

    @pytest.fixture
    def data_types(self, int_type, string_type):
        return [
            ["1", int_type, int_type],
            ["'1'", string_type, string_type],
            ["true", "boolean", "BOOLEAN"],
            ["'2013-11-03 00:00:00-07'::timestamptz", "timestamptz", "TIMESTAMP WITH TIME ZONE"],
            ["'2013-11-03 00:00:00'::timestamp", "timestamp", "TIMESTAMP"],
            ["['a', 'b', 'c']", "varchar[]", "VARCHAR[]"],
            ["[1, 2, 3]", "integer[]", "INTEGER[]"],
            ["1::numeric", "numeric", "DECIMAL(18,3)"],
        ]


class TestTableConstraintsColumnsEqual(OfDuckDB, BaseTableConstraintsColumnsEqual):
    pass


class TestViewConstraintsColumnsEqual(OfDuckDB, BaseViewConstraintsColumnsEqual):
    pass


class TestIncrementalConstraintsColumnsEqual(OfDuckDB, BaseIncrementalConstraintsColumnsEqual):
    pass


COLUMN_RULES = """
create or replace table <model_identifier> (id integer not null, color text, date_day text)
with ('delta.constraints.check_1' = '(id > 0)', 'delta.constraints.check_2' = 'id >= 1') as (
    select id, color, date_day from (
        -- depends_on: <foreign_key_model_identifier>
        select 'blue' as color, 1 as id, '2019-01-01' as date_day
    ) as model_subq
)
"""


class TestTableConstraintsRuntimeDdlEnforcement(BaseConstraintsRuntimeDdlEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self):
        return COLUMN_RULES


class TestIncrementalConstraintsRuntimeDdlEnforcement(BaseIncrementalConstraintsRuntimeDdlEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self):
        return COLUMN_RULES


class TestModelConstraintsRuntimeEnforcement(BaseModelConstraintsRuntimeEnforcement):
    @pytest.fixture(scope="class")
    def expected_sql(self):
        return COLUMN_RULES


class TestConstraintQuotedColumn(BaseConstraintQuotedColumn):
    """A CHECK is Spark SQL, where backticks quote columns."""

    @pytest.fixture(scope="class")
    def models(self):
        return {
            "my_model.sql": fixtures.my_model_with_quoted_column_name_sql,
            "constraints_schema.yml": fixtures.model_quoted_column_schema_yml.replace(
                """(\"from\" = 'blue')""", "(`from` = 'blue')"
            ),
        }

    @pytest.fixture(scope="class")
    def expected_sql(self):
        return """
create or replace table <model_identifier> (id integer not null, "from" text not null, date_day text)
with ('delta.constraints.check_1' = '(`from` = ''blue'')') as (
    select id, "from", date_day from (
        select 'blue' as "from", 1 as id, '2019-01-01' as date_day
    ) as model_subq
)
"""


class TestTableConstraintsRollback(BaseConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["NOT NULL column 'id' holds NULL"]


class TestIncrementalConstraintsRollback(BaseIncrementalConstraintsRollback):
    @pytest.fixture(scope="class")
    def expected_error_messages(self):
        return ["NOT NULL column 'id' holds NULL"]


class WithDuckDBsSetting:
    @pytest.fixture(scope="class")
    def models(self):
        model = fixtures.my_model_contract_sql_header_sql.replace("session time zone", "TimeZone =")
        schema = fixtures.model_contract_header_schema_yml
        return {"my_model_contract_sql_header.sql": model, "constraints_schema.yml": schema}


class TestTableContractSqlHeader(WithDuckDBsSetting, BaseTableContractSqlHeader):
    pass


class TestIncrementalContractSqlHeader(WithDuckDBsSetting, BaseIncrementalContractSqlHeader):
    pass
