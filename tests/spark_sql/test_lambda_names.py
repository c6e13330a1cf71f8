"""A column may have any name: the variables in our SQL never hide it."""

import duckdb
import pytest

from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.schema import IntervalType, Schema, to_arrow_type
from deltaarrow.spark_sql import evaluate, parse_expression, to_sandbox_sql, to_sql
from deltaarrow.spark_sql.functions.kernel_providing import provide_kernels
from tests.spark.test_spark_sql import CASES, one_for_each_function
from tests.spark_sql.test_growth import TEXTS, batch_of

NOW = 1_700_000_000_000


def test_an_expression_has_the_same_value_whatever_its_columns_are_called():
    compare(one_for_each_function(CASES))


@pytest.mark.slow
def test_each_expression_has_the_same_value_whatever_its_columns_are_called():
    compare(CASES)


def compare(texts):
    batch = batch_of(TEXTS[1])
    schema = Schema.from_arrow(batch.schema)
    relation = "(SELECT * REPLACE (ts AT TIME ZONE 'UTC' AS ts) FROM batch)"
    different = []
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("batch", batch)
        for text in texts:
            expression = parse_expression(text, schema, is_stored=False)
            names = {path: ".".join(f'"{name}"' for name in path) for path in expression.columns}
            sql = to_sql(expression, names, now_ms=NOW)
            if "lambda" not in sql:
                continue
            try:
                wanted = evaluate(expression, batch, clock=lambda: NOW).to_pylist()
            except (ConstraintViolationError, UnsupportedFeatureError):
                continue
            provide_kernels(connection, sql)
            column = connection.sql(f"SELECT {sql} AS v FROM {relation}").to_arrow_table()["v"]
            if isinstance(expression.type, IntervalType):
                column = column.cast(to_arrow_type(expression.type))
            found = column.to_pylist()
            if shown(found) != shown(wanted):
                different.append((text, found, wanted))
    assert different == []


def test_a_column_with_a_name_of_ours_is_refused():
    batch = batch_of(TEXTS[1]).rename_columns(
        ["let__x", *(f"c{place}" for place in range(1, batch_of(TEXTS[1]).num_columns))]
    )
    expression = parse_expression("array_repeat(let__x, 2)", Schema.from_arrow(batch.schema), is_stored=False)
    with pytest.raises(UnsupportedFeatureError, match="let__x"):
        to_sandbox_sql(expression)


def shown(values):
    return repr(values).replace(", tzinfo=zoneinfo.ZoneInfo(key='UTC')", "").replace(", tzinfo=<UTC>", "")
