"""Polars filters find the same rows in a table as in memory: skipping loses none."""

import datetime
import math
import tempfile
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from polars.testing import assert_frame_equal

from deltaarrow.engines.polars.lazy_frame import resolutions, scan_delta
from tests.support.examples import examples
from tests.support.tables import TableBuilder

DAYS = st.dates(datetime.date(2026, 1, 1), datetime.date(2026, 1, 9))
VALUES = {
    "i": (pa.int32(), st.integers(-5, 5)),
    "f": (pa.float64(), st.sampled_from([-1.5, -0.0, 0.0, 0.1, 2.0, math.inf, math.nan])),
    "g": (pa.float32(), st.sampled_from([-1.5, 0.1, 0.2, 2.0, -math.inf, math.nan])),
    "s": (pa.string(), st.sampled_from(["", "a", "ab", "b", "ü", "z" * 40])),
    "d": (pa.date32(), DAYS),
    "t": (
        pa.timestamp("us", "UTC"),
        st.datetimes(datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2)),
    ),
    "n": (pa.decimal128(4, 1), st.decimals(-5, 5, places=1)),
    "b": (pa.bool_(), st.booleans()),
    "p": (pa.int64(), st.integers(-2, 2)),
    "q": (pa.string(), st.sampled_from(["x", "y z", "%"])),
}
NESTED = [name for name in VALUES if name not in "pq"]
"""The columns that are there a second time, as fields of the struct ``st``."""

OTHER_SCALES = st.sampled_from([Decimal(text) for text in ("0", "1.5", "-2.00", "0.05", "3.1234567", "4")])
"""Numbers that decimal and integer columns are compared with, in scales that are not theirs."""

SCHEMA = pa.schema(
    [
        *((name, kind) for name, (kind, _) in VALUES.items()),
        ("st", pa.struct([(name, VALUES[name][0]) for name in NESTED])),
    ]
)
PARTITIONS = ["p", "q"]


def literal(name, value):
    dtype = pl.Schema(SCHEMA)[name]
    if isinstance(value, datetime.datetime):
        value = value.replace(tzinfo=datetime.UTC)
    return pl.lit(value, dtype=dtype)


def comparisons(name, column):
    values = VALUES[name][1]
    comparison = st.tuples(
        st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge", "eq_missing", "ne_missing"]), values
    )
    return st.one_of(
        comparison.map(lambda pair: getattr(column, pair[0])(literal(name, pair[1]))),
        st.lists(values | st.none(), max_size=3).map(
            lambda found: (
                column.is_in(pl.select(pl.concat_list([literal(name, v) for v in found])).item())
                if found
                else column.is_in(pl.Series([], dtype=pl.Schema(SCHEMA)[name]))
            )
        ),
        st.tuples(values, values).map(lambda ends: column.is_between(*(literal(name, v) for v in ends))),
        st.just(column.is_null()),
        st.just(column.is_not_null()),
        *([st.just(column.is_nan())] if name in "fg" else []),
        *(
            [st.just(column.str.starts_with("a")), st.just(column.str.len_bytes() > 1)]
            if name in "sq"
            else []
        ),
        *([st.just(column)] if name == "b" else []),
        *(
            [
                st.tuples(st.sampled_from(["eq", "ne", "lt", "le", "gt", "ge"]), OTHER_SCALES).map(
                    lambda pair: getattr(column, pair[0])(pl.lit(pair[1]))
                ),
                st.tuples(OTHER_SCALES, OTHER_SCALES, st.sampled_from(["both", "left", "right", "none"])).map(
                    lambda ends: column.is_between(pl.lit(ends[0]), pl.lit(ends[1]), closed=ends[2])
                ),
            ]
            if name in "ni"
            else []
        ),
    )


CONDITIONS = st.recursive(
    st.one_of(
        *(comparisons(name, pl.col(name)) for name in VALUES),
        *(comparisons(name, pl.col("st").struct.field(name)) for name in NESTED),
    ),
    lambda inner: st.one_of(
        inner.map(lambda condition: ~condition),
        st.tuples(inner, inner).map(lambda pair: pair[0] & pair[1]),
        st.tuples(inner, inner).map(lambda pair: pair[0] | pair[1]),
    ),
    max_leaves=4,
)
DATA = [name for name in SCHEMA.names if name not in PARTITIONS]
FIELDS = {name: VALUES[name][1] | st.none() for name in NESTED}
ROWS = st.lists(
    st.fixed_dictionaries({**FIELDS, "st": st.fixed_dictionaries(FIELDS) | st.none()}),
    min_size=1,
    max_size=4,
)
FILES = st.lists(
    st.tuples(
        st.fixed_dictionaries({name: VALUES[name][1] | st.none() for name in PARTITIONS}),
        ROWS,
        st.sets(st.integers(0, 3)),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=examples(5), deadline=None)
@given(FILES, st.lists(CONDITIONS, min_size=1, max_size=5))
def test_filters_of_every_kind(files, conditions):
    check_filters(files, conditions)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(FILES, st.lists(CONDITIONS, min_size=1, max_size=5))
def test_filters_of_every_kind_in_many_examples(files, conditions):
    check_filters(files, conditions)


def check_filters(files, conditions):
    with tempfile.TemporaryDirectory() as folder:
        builder = TableBuilder(folder).features("deletionVectors").metadata(SCHEMA, PARTITIONS)
        adds, live = [], []
        for partition, rows, deleted, stats in files:
            deleted = {position for position in deleted if position < len(rows)}
            texts = {name: None if value is None else str(value) for name, value in partition.items()}
            vector = builder.deletion_vector(deleted) if deleted else None
            data = pa.Table.from_pylist(rows, schema=pa.schema([SCHEMA.field(name) for name in DATA]))
            adds.append(builder.add_file(data, texts, stats=stats, deletion_vector=vector))
            live += [row | partition for number, row in enumerate(rows) if number not in deleted]
        builder.commit(adds)
        local = pl.DataFrame(pa.Table.from_pylist(live, schema=SCHEMA))
        frame = scan_delta(folder)
        for condition in conditions:
            found, expected = frame.filter(condition).collect(), local.filter(condition)
            assert_frame_equal(found, expected, check_row_order=False)
        several = frame.filter(*conditions).select("i", "p").collect()
        assert_frame_equal(several, local.filter(*conditions).select("i", "p"), check_row_order=False)


@pytest.mark.parametrize(
    ("condition", "files"),
    [
        (pl.col("n") > Decimal("1.5"), 1),
        (pl.col("n") >= Decimal("1.5000"), 2),
        (pl.col("n") == Decimal("1.75"), 0),
        (pl.col("n") > 1, 2),
        (pl.lit(Decimal("1")) > pl.col("n"), 1),
        (~(pl.col("n") > Decimal("0.5")), 1),
        (pl.col("n").is_between(Decimal("1.0"), Decimal("1.7")), 1),
        (pl.col("n").is_between(Decimal("0.5"), Decimal("1.0"), closed="none"), 0),
        (pl.col("n").is_in([Decimal("0.5"), Decimal("2.0")]), 2),
        (pl.col("n").is_in([Decimal("1.5000")]), 1),
        (pl.col("n").is_in([Decimal("0.75"), Decimal("7")]), 0),
        (pl.col("n").is_in([Decimal("0.5"), None]), 3),
        (pl.col("n").is_in([Decimal("0.5")], nulls_equal=True), 3),
        (~pl.col("n").is_in([Decimal("0.5")]), 3),
        ((pl.col("n") > Decimal("1.5")) | (pl.col("i") == 0), 2),
        ((pl.col("n") > Decimal("1.5")) & pl.col("i").is_in([0, 1, 2]), 1),
        (pl.col("i") > Decimal("0.5"), 2),
        (pl.col("n") + 1 > Decimal("1.5"), 3),
    ],
)
def test_decimals_choose_files(tmp_path, condition, files):
    builder = TableBuilder(tmp_path).protocol()
    schema = pa.schema([("n", pa.decimal128(4, 1)), ("i", pa.int64())])
    builder.metadata(schema)
    found = [[Decimal(number), Decimal(number) + Decimal("0.5")] for number in range(3)]
    tables = [pa.table({"n": both, "i": [number] * 2}, schema) for number, both in enumerate(found)]
    builder.commit([builder.add_file(table) for table in tables])
    (resolution,) = resolutions(scan_delta(tmp_path).filter(condition))
    assert len(resolution.matching) == files
    expected = pl.DataFrame(pa.concat_tables(tables)).filter(condition)
    assert_frame_equal(scan_delta(tmp_path).filter(condition).collect(), expected, check_row_order=False)
