"""Random Polars queries over tables with deleted rows return the same as over the same rows in memory.

One table is scanned as a whole, with a mask that is applied after the filters; the other is scanned file by
file. Polars reorders the steps of a query, and so what runs before and after the mask.
"""

import datetime
import math
import pickle

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from deltaarrow.engines import scan_delta
from tests.support.examples import examples
from tests.support.tables import TableBuilder

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("x", pa.float64()),
        ("name", pa.string()),
        ("day", pa.date32()),
        ("st", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("li", pa.list_(pa.int64())),
    ]
)
START = datetime.date(2026, 1, 1)
# Of each file the rows, how many of them are in a row group, and those that are deleted.
FILES = [
    (40, 7, [0, 6, 7, 39]),
    (0, 7, []),
    (25, 25, []),
    (13, 1, range(13)),
    (40, 16, [1, *range(8, 30)]),
    (1, 1, []),
]


def rows(ids: range) -> pa.Table:
    columns = {
        "id": list(ids),
        "x": [None if i % 7 == 1 else math.nan if i % 5 == 0 else i / 4 for i in ids],
        "name": [None if i % 4 == 0 else f"n{i % 6}" for i in ids],
        "day": [None if i % 9 == 2 else START + datetime.timedelta(days=i // 10) for i in ids],
        "st": [None if i % 8 == 3 else {"a": i % 3, "b": "ä" if i % 2 else None} for i in ids],
        "li": [None if i % 6 == 0 else list(range(i % 4)) for i in ids],
    }
    return pa.table(columns, schema=SCHEMA)


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """A frame that Polars plans with, one that it asks for files, and of either the same rows in memory."""
    found = {}
    for partitions in ([], ["p"]):
        builder = TableBuilder(tmp_path_factory.mktemp("t")).features("deletionVectors")
        builder.metadata(SCHEMA.append(pa.field("p", pa.int32())) if partitions else SCHEMA, partitions)
        added, live, first = [], [], 0
        for place, (count, group, deleted) in enumerate(FILES):
            data = rows(range(first, first + count))
            options = {"row_group_size": group, "data_page_size": 64, "write_page_index": place % 2 == 0}
            vector = builder.deletion_vector(deleted) if deleted else None
            values = {"p": str(place % 2)} if partitions else {}
            added.append(builder.add_file(data, values, parquet=options, deletion_vector=vector))
            kept = data.filter(pa.array([row not in deleted for row in range(count)], pa.bool_()))
            live.append(kept.append_column("p", pa.array([place % 2] * len(kept), pa.int32())))
            first += count
        builder.commit(added)
        wanted = pa.concat_tables(live).select([*SCHEMA.names, *partitions])
        found["asked" if partitions else "plain"] = scan_delta(builder.path), pl.DataFrame(wanted).lazy()
    assert "RESOLVER" not in found["plain"][0].explain()
    assert "RESOLVER" in found["asked"][0].explain()
    return found


def day(number: int) -> pl.Expr:
    return pl.lit(START + datetime.timedelta(days=number))


atoms = st.one_of(
    st.builds(lambda low, more: pl.col("id").is_between(low, low + more), *[st.integers(0, 130)] * 2),
    st.builds(lambda value: pl.col("x") > value, st.sampled_from([0.0, 5.5, 99.0, math.nan])),
    st.builds(lambda value: pl.col("x") == value, st.sampled_from([0.5, math.nan])),
    st.builds(lambda value: pl.col("name") == value, st.sampled_from(["n1", "n5", "o"])),
    st.builds(
        lambda values: pl.col("name").is_in(values), st.lists(st.sampled_from(["n1", "n3", "o"]), min_size=1)
    ),
    st.builds(lambda number: pl.col("day") < day(number), st.integers(-1, 13)),
    st.builds(lambda value: pl.col("st").struct.field("a") == value, st.integers(0, 3)),
    st.builds(lambda name: pl.col(name).is_null(), st.sampled_from(SCHEMA.names)),
    st.builds(lambda value: (pl.col("id") + pl.col("li").list.len()) % 3 == value, st.integers(0, 2)),
    st.builds(pl.lit, st.booleans()),
)
conditions = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a & b, inner, inner),
        st.builds(lambda a, b: a | b, inner, inner),
        st.builds(lambda a: ~a, inner),
    ),
    max_leaves=4,
)
counts = st.sampled_from([0, 1, 3, 30, 200])

# Each step takes a frame and the scan that the query began with.
steps_of_rows = st.one_of(
    st.builds(lambda where: lambda frame, _: frame.filter(where), conditions),
    st.builds(lambda by: lambda frame, _: frame.sort("id", descending=by), st.booleans()),
    st.builds(
        lambda count, by: lambda frame, _: frame.sort("id", descending=by).head(count), counts, st.booleans()
    ),
    st.just(lambda frame, _: frame.drop_nulls("name")),
)
# Where the table has partitions, the query has a say in the order in which they come; and Polars's streaming
# engine does not number the rows of a frame that it asks for files. After an anti join there is no order.
steps_by_order = st.one_of(
    st.builds(lambda start, count: lambda frame, _: frame.slice(start, count), st.integers(-9, 40), counts),
    st.builds(lambda count: lambda frame, _: frame.head(count), counts),
    st.builds(lambda count: lambda frame, _: frame.tail(count), counts),
    st.builds(
        lambda rest: (
            lambda frame, _: (
                frame.with_row_index("number").filter(pl.col("number") % 3 == rest).drop("number")
            )
        ),
        st.integers(0, 2),
    ),
    st.builds(lambda where: lambda frame, scan: pl.concat([frame, scan.filter(where)]), conditions),
)
ends = st.one_of(
    st.just(lambda frame, _: frame),
    st.builds(
        lambda names: lambda frame, _: frame.select(names),
        st.lists(st.sampled_from(SCHEMA.names), min_size=1, unique=True),
    ),
    st.just(lambda frame, _: frame.select(pl.len())),
    st.just(lambda frame, _: frame.select(pl.col("name").unique(), pl.len().alias("count"))),
    st.just(lambda frame, _: frame.group_by("day").agg(pl.col("id").sum(), pl.len())),
    st.builds(
        lambda where, how: lambda frame, scan: frame.join(scan.filter(where), on="id", how=how),
        conditions,
        st.sampled_from(["inner", "semi", "anti"]),
    ),
)
numbers = st.just(lambda frame, _: frame.with_row_index("number").select("number"))


def as_texts(frame: pl.DataFrame) -> list[str]:
    return sorted(map(repr, frame.rows()))


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data(), engine=st.sampled_from(["in-memory", "streaming"]), copied=st.booleans())
@pytest.mark.parametrize("kind", ["plain", "asked"])
def test_rows_are_those_of_the_same_query_in_memory(scans, kind, data, engine, copied):
    steps, last = (
        (steps_of_rows | steps_by_order, ends | numbers) if kind == "plain" else (steps_of_rows, ends)
    )
    drawn = [*data.draw(st.lists(steps, max_size=4)), data.draw(last)]
    found, wanted = scans[kind]
    if copied:
        found = pickle.loads(pickle.dumps(found))
    results = []
    for scan in (found, wanted):
        frame = scan
        for step in drawn:
            frame = step(frame, scan)
        results.append(frame)
    ours, expected = results[0].collect(engine=engine), results[1].collect(engine=engine)
    # Where Polars sees by itself that nothing is left, it forgets to select the columns.
    assert set(ours.columns) == set(expected.columns) or ours.is_empty()
    ours = ours.select(expected.columns)
    assert ours.schema == expected.schema
    assert as_texts(ours) == as_texts(expected)
