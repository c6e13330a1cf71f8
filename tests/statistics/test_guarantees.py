"""Guarantees given to pyarrow fragments prune them and never change their rows."""

import json
import math
from datetime import datetime
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, example, given, settings, strategies as st
from pyarrow.fs import LocalFileSystem

from deltaarrow.errors import CorruptLogError
from deltaarrow.expressions import (
    And,
    Column,
    Compare,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    bind,
    columns_of,
    to_arrow,
)
from deltaarrow.schema import Field, Schema, StructType
from deltaarrow.statistics import guarantee, guarantees, partition_expression
from tests.support.examples import examples
from tests.support.file_model import PARTITION_COLUMNS, SCHEMA, data_file, predicates

field = pc.field


def in_memory(rows, known):
    """A fragment over Parquet in memory that is opened only if the filter leaves a chance."""
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    source = pa.BufferReader(sink.getvalue())
    return ds.ParquetFileFormat().make_fragment(source, partition_expression=known)


def lists_of_times(predicate):
    """The IN of a predicate whose values are times."""
    match predicate:
        case And(operands) | Or(operands):
            return [found for operand in operands for found in lists_of_times(operand)]
        case Not(operand):
            return lists_of_times(operand)
        case IsIn(_, values) if any(isinstance(value, datetime) for value in values):
            return [predicate]
    return []


@given(predicates(), st.integers())
@settings(deadline=None, max_examples=examples(5))
@example(And((IsNull(Column(("tiny",))), Compare("<", Column(("small",)), Literal(math.nan)))), 0)
def test_rows_are_the_same_with_and_without(predicate, seed):
    random = Random(seed)
    bound = bind(predicate, SCHEMA)
    condition = to_arrow(bound)
    # For a list of times pyarrow is of two minds: it cuts them to days, and prunes as if it did not.
    assume(
        not any(each.column.path in (("day",), ("q",)) for each in lists_of_times(bind(predicate, SCHEMA)))
    )
    for _ in range(3):
        each = data_file(random, sorted(columns_of(predicate)))
        try:
            # From a file as well: what Parquet's own statistics do to NaN is not at stake here.
            expected = in_memory(each.rows, pc.scalar(True)).to_table(filter=condition)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
            continue
        known = guarantee(each.stats, SCHEMA, "none", PARTITION_COLUMNS)
        known = known & partition_expression(each.partition_values, SCHEMA, PARTITION_COLUMNS)
        found = in_memory(each.rows, known).to_table(schema=each.rows.schema, filter=condition)
        assert str(found.to_pylist()) == str(expected.to_pylist())


def text(low, high, nulls=0, records=3, column="a"):
    return json.dumps(
        {
            "numRecords": records,
            "minValues": {} if low is None else {column: low},
            "maxValues": {} if high is None else {column: high},
            "nullCount": {} if nulls is None else {column: nulls},
        }
    )


def prunes(known, condition, schema):
    """Whether a file that is not there is not missed."""
    missing = ds.ParquetFileFormat().make_fragment("/not/there", LocalFileSystem(), known)
    try:
        return missing.to_table(schema=schema, filter=condition).num_rows == 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    ("data_type", "low", "high", "outside", "inside"),
    [
        ("integer", 1, 9, 10, 9),
        ("long", 1, 9, 10, 9),
        ("decimal(10,2)", 1, 9, pa.scalar(10, pa.decimal128(10, 2)), pa.scalar(9, pa.decimal128(10, 2))),
        ("string", "b", "d", "a", "c"),
        ("date", "2020-01-01", "2020-01-31", pa.scalar("2020-02-01").cast(pa.date32()), None),
    ],
)
@pytest.mark.parametrize("nulls", [0, 1, None])
def test_ranges_prune_with_nulls_and_without(data_type, low, high, outside, inside, nulls):
    schema = Schema([Field("a", data_type)])
    known = guarantee(text(low, high, nulls), schema)
    assert prunes(known, field("a") == outside, schema.to_arrow())
    if inside is not None:
        assert not prunes(known, field("a") == inside, schema.to_arrow())


def test_forms():
    schema = Schema(
        [Field("a", "integer"), Field("st", StructType([Field("n", "long")])), Field("d", "double")]
    )
    assert str(guarantee(text(1, 9, 0), schema)) == "((a >= 1) and (a <= 9))"
    nullable = guarantee(text(1, 9, 1), schema)
    assert str(nullable).startswith("(((a >= 1) or is_null(a")
    assert guarantee(text(None, None, 3), schema).equals(field("a").is_null())
    assert guarantee(text(5, 5, 0), schema).equals(
        (field("a") >= pa.scalar(5, pa.int32())) & (field("a") <= pa.scalar(5, pa.int32()))
    )
    assert guarantee(text(1.0, 2.0, 0, column="d"), schema).equals(pc.scalar(True)), "NaN is in no bounds"
    for nothing in (None, "{", "{}", text(None, None, None)):
        assert guarantee(nothing, schema).equals(pc.scalar(True))


def test_a_field_of_a_struct_may_be_null_with_it():
    schema = Schema([Field("st", StructType([Field("n", "long")]))])
    stats = (
        '{"numRecords":2,"minValues":{"st":{"n":1}},"maxValues":{"st":{"n":9}},"nullCount":{"st":{"n":0}}}'
    )
    known = guarantee(stats, schema)
    assert "is_null" in str(known)
    assert prunes(known, field("st", "n") > 9, schema.to_arrow())


def test_an_all_null_column_prunes():
    schema = Schema([Field("a", "long")])
    known = guarantee(text(None, None, 3), schema)
    assert prunes(known, field("a") == 1, schema.to_arrow())
    assert not prunes(known, field("a").is_null(), schema.to_arrow())
    assert guarantee(text(None, None, 0, records=0), schema).equals(pc.scalar(True))


def test_physical_names_become_logical_ones():
    schema = Schema([Field("a", "long", metadata={"delta.columnMapping.physicalName": "col-1"})])
    known = guarantee(text(1, 9, column="col-1"), schema, "name")
    assert str(known) == "((a >= 1) and (a <= 9))"


def test_only_the_columns_of_interest_and_never_partition_columns():
    schema = Schema([Field("a", "long"), Field("b", "long"), Field("p", "long")])
    stats = json.dumps({"minValues": {"a": 1, "b": 2, "p": 3}, "nullCount": {"a": 0, "b": 0, "p": 0}})
    assert str(guarantee(stats, schema, partition_columns=["p"])) == "((a >= 1) and (b >= 2))"
    assert str(guarantee(stats, schema, columns={"b"})) == "(b >= 2)"


def test_many_files_at_once_in_order():
    schema = Schema([Field("a", "long")])
    stats = pa.chunked_array([pa.array([text(n, n) for n in range(3000)]), pa.array([None], pa.string())])
    found = guarantees(stats, schema)
    assert len(found) == 3001
    assert str(found[2999]) == "((a >= 2999) and (a <= 2999))"
    assert found[3000].equals(pc.scalar(True))


def test_partition_values_are_typed():
    schema = Schema([Field("p", "date"), Field("q", "decimal(5,2)"), Field("r", "string")])
    values = {"p": "2020-01-31", "q": "1.5", "r": None}
    known = partition_expression(values, schema, ["p", "q", "r"])
    assert ds.get_partition_keys(known) == {
        "p": pa.scalar("2020-01-31").cast(pa.date32()).as_py(),
        "q": pa.scalar("1.50").cast(pa.decimal128(5, 2)).as_py(),
        "r": None,
    }
    assert partition_expression({}, schema, []).equals(pc.scalar(True))
    with pytest.raises(CorruptLogError, match="'p'"):
        partition_expression({"p": "x"}, schema, ["p"])
