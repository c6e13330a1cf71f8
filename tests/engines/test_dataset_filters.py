"""Filters of an Arrow dataset, compared with the same filter on all rows in memory.

Partition values, pyarrow's reader, footer verdicts with deletion vectors and a final filter on the rows
share the work; the files decide which of them does what.
"""

import datetime
import math

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable
from tests.support.examples import examples
from tests.support.tables import TableBuilder

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("small", pa.int8()),
        ("share", pa.float64()),
        ("name", pa.string()),
        ("at", pa.timestamp("us", "UTC")),
        ("day", pa.date32()),
        ("part", pa.float64()),
        ("number", pa.int32()),
    ]
)
DATA = [name for name in SCHEMA.names if name not in ("day", "part", "number")]
DAYS = [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2), None]
AT = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def rows(first: int) -> pa.Table:
    ids = range(first, first + 12)
    columns = {
        "id": [None if i % 7 == 0 else i for i in ids],
        "small": [i % 5 - 2 for i in ids],
        "share": [math.nan if i % 5 == 0 else None if i % 6 == 0 else i / 4 for i in ids],
        "name": [None if i % 4 == 0 else f"n{i % 6}" for i in ids],
        "at": [AT + datetime.timedelta(hours=i) for i in ids],
    }
    return pa.table(columns, schema=pa.schema([SCHEMA.field(name) for name in DATA]))


def text(value: object) -> str | None:
    return None if value is None else str(value)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    """Six files of several row groups, half of them with deletion vectors; one stores narrower integers."""
    table = TableBuilder(tmp_path_factory.mktemp("filters")).features("deletionVectors")
    table.metadata(SCHEMA, ["day", "part", "number"])
    added = []
    for place, (day, part, number) in enumerate(
        [(DAYS[0], 0.5, 1), (DAYS[1], math.nan, 2), (DAYS[2], None, None)] * 2
    ):
        data = rows(place * 12)
        if place == 4:
            data = data.set_column(0, "id", data.column("id").cast(pa.int32()))
        values = {"day": text(day), "part": "NaN" if part is not None and math.isnan(part) else text(part)}
        vector = table.deletion_vector([0, 5, 6, 11]) if place % 2 else None
        options = {"parquet": {"row_group_size": 5}, "stats": place != 3, "deletion_vector": vector}
        added.append(table.add_file(data, values | {"number": text(number)}, **options))
    table.commit(added)
    return DeltaTable(table.path).to_pyarrow_dataset()


comparisons = st.sampled_from(["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"])
values = {
    "id": st.integers(-1, 73),
    "small": st.integers(-3, 3) | st.sampled_from([2.5, 300]),
    "share": st.sampled_from([0.0, 1.25, math.nan, 17.0, 99.0]),
    "name": st.sampled_from(["n1", "n5", "o", ""]),
    "at": st.integers(0, 73).map(lambda hours: AT + datetime.timedelta(hours=hours)),
    "day": st.sampled_from([*DAYS[:2], datetime.date(2025, 1, 1)]),
    "part": st.sampled_from([0.5, math.nan, 3.0]),
    "number": st.sampled_from([0, 1, 2, 1.5]),
}


@st.composite
def leaves(draw: st.DrawFn) -> pc.Expression:
    name = draw(st.sampled_from(SCHEMA.names))
    field = pc.field(name)
    match draw(st.sampled_from(["compare", "compare", "compare", "in", "null", "valid", "computed"])):
        case "compare":
            return getattr(field, draw(comparisons))(draw(values[name]))
        case "in":
            found = draw(st.lists(values[name], min_size=1, max_size=3))
            return field.isin(pa.array(found, pa.float64() if float in map(type, found) else None))
        case "null":
            return field.is_null(nan_is_null=draw(st.booleans()))
        case "valid":
            return field.is_valid()
        case _:
            return pc.field("id") + pc.field("small") > draw(values["id"])


conditions = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=5,
)


def as_texts(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@settings(max_examples=examples(7), deadline=None)
@given(condition=conditions, batch_size=st.sampled_from([1, 4, 131_072]), columns=st.booleans())
def test_rows_are_those_of_the_same_filter_in_memory(dataset, condition, batch_size, columns):
    check_filter(dataset, condition, batch_size, columns)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(condition=conditions, batch_size=st.sampled_from([1, 4, 131_072]), columns=st.booleans())
def test_rows_are_those_of_many_filters_in_memory(dataset, condition, batch_size, columns):
    check_filter(dataset, condition, batch_size, columns)


def check_filter(dataset, condition, batch_size, columns):
    wanted = ["name", "day"] if columns else None
    everything = dataset.to_table()
    try:
        expected = everything.filter(condition)
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        with pytest.raises(type(error)):
            dataset.to_table(filter=condition, batch_size=batch_size)
        return
    found = dataset.to_table(columns=wanted, filter=condition, batch_size=batch_size)
    assert as_texts(found) == as_texts(expected if wanted is None else expected.select(wanted))
    assert found.schema == (SCHEMA if wanted is None else pa.schema([SCHEMA.field(n) for n in wanted]))
    assert dataset.count_rows(condition) == expected.num_rows


def test_columns_that_are_named_twice_come_twice(dataset):
    found = dataset.to_table(columns=["id", "id"], filter=pc.field("id") == 8)
    assert found.column_names == ["id", "id"]
    assert [column.to_pylist() for column in found.columns] == [[8], [8]]
