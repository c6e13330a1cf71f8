import datetime as dt
import math
import struct
from decimal import Context, Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import DeltaError
from deltaarrow.partitions import (
    duckdb_type,
    parse_partition_value,
    parse_partition_values,
    partition_literal_sql,
    partition_scalar,
    render_partition_value,
)
from deltaarrow.schema import PrimitiveType, to_arrow_type
from tests.support.examples import examples


def integers(bits):
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def decimals(precision, scale):
    bound = 10**precision - 1
    return st.integers(-bound, bound).map(
        lambda number: Decimal(number).scaleb(-scale, Context(prec=precision))
    )


VALUES = {
    "byte": integers(8),
    "short": integers(16),
    "integer": integers(32),
    "long": integers(64),
    "float": st.floats(width=32),
    "double": st.floats(),
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": st.datetimes(timezones=st.just(dt.UTC)),
    "timestamp_ntz": st.datetimes(),
    "string": st.text(min_size=1),
    "binary": st.text(min_size=1).map(str.encode),
    "decimal(10,2)": decimals(10, 2),
    "decimal(38,0)": decimals(38, 0),
    "decimal(38,38)": decimals(38, 38),
}
TYPED = st.sampled_from(sorted(VALUES)).flatmap(
    lambda name: st.tuples(
        st.just(PrimitiveType(name)), st.lists(st.none() | VALUES[name], min_size=1, max_size=8)
    )
)


def same(left, right):
    if isinstance(left, float) and isinstance(right, float):
        return struct.pack(">d", left) == struct.pack(">d", right) or (math.isnan(left) and math.isnan(right))
    return left == right and type(left) is type(right)


@given(TYPED)
@settings(deadline=None)
def test_value_to_text_and_back(typed):
    data_type, values = typed
    texts = [render_partition_value(value, data_type) for value in values]
    for value, text in zip(values, texts, strict=True):
        assert same(parse_partition_value(text, data_type), value)
    array = parse_partition_values(pa.array(texts, pa.string()), data_type)
    array.validate(full=True)
    assert array.type == to_arrow_type(data_type)
    assert all(map(same, array.to_pylist(), values))


@given(st.sampled_from(sorted(VALUES)), st.text(max_size=12))
@settings(deadline=None)
def test_any_text_is_a_value_or_an_error_of_ours(name, text):
    data_type = PrimitiveType(name)
    try:
        value = parse_partition_value(text, data_type)
    except DeltaError:
        return
    again = parse_partition_value(render_partition_value(value, data_type), data_type)
    assert same(again, value) or value in ("", b"")


@pytest.fixture(scope="module")
def con():
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'Asia/Tokyo'")  # a literal must not depend on it
        yield connection


@given(typed=TYPED)
@settings(deadline=None, max_examples=examples(20))
def test_literals_are_the_value_in_the_type(con, typed):
    data_type, values = typed
    literals = [partition_literal_sql(value, data_type) for value in values]
    for value, literal in zip(values, literals, strict=True):
        table = con.sql(f"SELECT {literal} AS v, typeof({literal}) AS t").to_arrow_table()
        assert table["t"][0].as_py() == duckdb_type(data_type)
        found = table["v"][0].as_py()
        if isinstance(value, dt.datetime) and value.tzinfo:
            found = found.astimezone(dt.UTC)
        assert same(found, value)
        assert partition_scalar(value, data_type).type == to_arrow_type(data_type)
