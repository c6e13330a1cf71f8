"""Checks of rows against a table's constraints and generated columns."""

import datetime as dt
import pickle

import pyarrow as pa
import pytest

from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import (
    Constraint,
    GeneratedColumn,
    TableRules,
    check_rows,
    evaluate,
    generate,
    parse_expression,
)

ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("st", pa.struct([("a", pa.int32()), ("t", pa.timestamp("us", "UTC"))])),
        ("half", pa.decimal128(10, 1)),
    ]
)
SCHEMA = Schema.from_arrow(ARROW)
TIME = dt.datetime(2024, 2, 29, 23, 59, 59, tzinfo=dt.UTC)
ROW = {"id": 1, "at": TIME, "st": {"a": 1, "t": TIME}}


def batch_of(*rows, without=("day", "half")):
    kept = pa.schema([field for field in ARROW if field.name not in without])
    return pa.RecordBatch.from_pylist(list(rows), schema=kept)


def constraint(text, name="c"):
    return Constraint(name, parse_expression(text, SCHEMA))


def test_a_broken_constraint_names_itself_and_the_values_of_the_row():
    with pytest.raises(ConstraintViolationError) as caught:
        check_rows(
            [constraint("id > 0"), constraint("ST.a > 0 AND id <> 7", "deep")],
            batch_of(ROW, ROW | {"st": {"a": -1}}, ROW | {"id": 7}),
        )
    assert str(caught.value) == (
        "CHECK constraint deep (ST.a > 0 AND id <> 7) violated by row with values:\n - st.a : -1\n - id : 1"
    )


@pytest.mark.parametrize("row", [{"id": None}, {}])
def test_a_condition_that_is_null_is_broken(row):
    with pytest.raises(ConstraintViolationError, match=" - id : null"):
        check_rows([constraint("id > 0")], batch_of(row))


def test_constraints_that_read_no_column_and_batches_without_rows():
    check_rows([constraint("true"), constraint("id > 0")], batch_of())
    with pytest.raises(ConstraintViolationError, match=r"CHECK constraint c \(1 > 2\)"):
        check_rows([constraint("1 > 2")], batch_of(ROW))
    check_rows([constraint("st IS NOT NULL AND st.t = at")], batch_of(ROW))


def test_texts_as_spark_stores_them():
    # Its words are joined with blanks.
    check_rows(
        [constraint("st . a > - 1 and length ( 'ab' ) = 2 and at >= TIMESTAMP '2000-01-01 00:00:00'")],
        batch_of(ROW),
    )


def test_a_condition_has_to_be_boolean():
    with pytest.raises(UnsupportedFeatureError, match="of type long"):
        constraint("id + 1")


def test_a_generated_column_is_computed_or_verified():
    day = GeneratedColumn("day", SCHEMA.field("day").type, parse_expression("CAST(at AS DATE)", SCHEMA))
    given = batch_of(ROW, {"at": None})
    assert generate(day, given).to_pylist() == [TIME.date(), None]
    right = batch_of(ROW | {"day": TIME.date()}, {}, without=["half"])
    assert generate(day, right).to_pylist() == [TIME.date(), None]
    with pytest.raises(ConstraintViolationError, match=r"Generated Column \(day <=> CAST\(at AS DATE\)\)"):
        generate(day, batch_of(ROW | {"day": None}, without=["half"]))


def test_a_generated_column_that_depends_on_the_time_is_refused():
    with pytest.raises(UnsupportedFeatureError, match="time of day"):
        GeneratedColumn("day", SCHEMA.field("day").type, parse_expression("current_date()", SCHEMA))


def test_rules_of_a_table_are_applied_together():
    rules = pickle.loads(
        pickle.dumps(
            TableRules.parse(
                SCHEMA,
                {"positive": "id > 0", "recent": "year(day) >= 2024"},
                {"day": "CAST(at AS DATE)", "half": "id * 0.5"},
            )
        )
    )
    found = list(rules.apply([batch_of(ROW, ROW | {"id": 3}), batch_of(), batch_of(ROW | {"id": 5})]))
    assert [(batch.schema.names, len(batch)) for batch in found] == [(ARROW.names, n) for n in (2, 0, 1)]
    halves = pa.Table.from_batches(found).column("half").to_pylist()
    assert [str(each) for each in halves] == ["0.5", "1.5", "2.5"]
    with pytest.raises(ConstraintViolationError, match=r"recent(.|\n)* - day : 1999-01-01"):
        list(rules.apply([batch_of(ROW), batch_of(ROW | {"at": dt.datetime(1999, 1, 1, tzinfo=dt.UTC)})]))
    with pytest.raises(ConstraintViolationError, match="positive"):
        list(rules.apply([batch_of(ROW | {"id": 0})]))
    assert list(TableRules(SCHEMA).apply([batch_of(ROW)])) == [batch_of(ROW)]


def test_what_spark_would_raise_names_the_expression():
    expression = parse_expression("id div 0", SCHEMA)
    with pytest.raises(ConstraintViolationError, match="'id div 0' cannot be evaluated: division by zero"):
        evaluate(expression, batch_of(ROW))


def test_times_outside_the_years_of_four_digits_are_refused():
    far = pa.record_batch(
        {"at": pa.array([2**62], pa.int64()).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))}
    )
    with pytest.raises(UnsupportedFeatureError, match="years 1 to 9999"):
        evaluate(parse_expression("year(at)", SCHEMA), far)


def test_a_batch_that_does_not_fit_the_schema():
    with pytest.raises(SchemaMismatchError, match="no column 'id'"):
        evaluate(parse_expression("id", SCHEMA), pa.record_batch({"x": [1]}))
    with pytest.raises(SchemaMismatchError, match="comes as int32"):
        evaluate(parse_expression("id", SCHEMA), pa.record_batch({"id": pa.array([1], pa.int32())}))


def test_defaults_know_the_time_of_the_clock():
    expression = parse_expression("current_timestamp()", SCHEMA)
    assert not expression.is_deterministic
    assert evaluate(expression, batch_of(ROW), clock=lambda: 1500).to_pylist() == [
        dt.datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=dt.UTC)
    ]
