"""Bounds of footers hold for all values, and exact ones are those of the values."""

import io

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, strategies as st

from deltaarrow.columnar.parquet_footers import parse_footer, read_footer
from deltaarrow.statistics.footer_bounds import FooterBounds, LeafBounds

VALUES = {
    pa.int16(): st.integers(-(2**15), 2**15 - 1),
    pa.uint32(): st.integers(0, 2**32 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float64(): st.floats(),
    pa.string(): st.text(st.sampled_from("aé\U0001f600"), max_size=40),
    pa.date32(): st.integers(-200_000, 100_000),
    pa.timestamp("ms", "UTC"): st.integers(-3_000_000_000_000, 3_000_000_000_000),
    pa.timestamp("us"): st.integers(-(2**63), 2**63 - 1),
    pa.decimal128(20, 2): st.decimals(-(10**17), 10**17, places=2),
    pa.bool_(): st.booleans(),
}
COLUMNS = st.sampled_from(list(VALUES)).flatmap(
    lambda kind: st.builds(
        lambda values: pa.array(values, kind), st.lists(st.none() | VALUES[kind], max_size=8)
    )
)


def bounds_of(column, **options):
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": column}), sink, row_group_size=3, **options)
    footer = read_footer(pa.BufferReader(sink.getvalue()))
    bounds = LeafBounds.of(column.type, footer.leaves[0].physical_type)
    return bounds.over([group.chunks[0] for group in footer.row_groups])


def plain(scalar):
    """A value in the form of bounds."""
    kind = scalar.type
    if pa.types.is_string(kind):
        return scalar.as_py().encode()
    if pa.types.is_decimal(kind):
        return int(scalar.as_py().scaleb(kind.scale))
    if pa.types.is_timestamp(kind):
        return scalar.value * (1000 if kind.unit == "ms" else 1)
    return scalar.value if pa.types.is_date32(kind) else scalar.as_py()


@given(COLUMNS)
def test_bounds_hold_for_all_values(column):
    found = bounds_of(column)
    values = [plain(each) for each in column if each.is_valid]
    assert found.null_count == column.null_count
    for value in values:
        is_nan = value != value
        assert found.low is None or is_nan or found.low <= value
        assert found.high is None or value <= found.high
    if found.is_exact and values:
        assert (found.low, found.high) == tuple(map(plain, pc.min_max(column).values()))
    if not values:
        assert found == FooterBounds(column.null_count, None, None, True)


@pytest.mark.parametrize("kind", [pa.int64(), pa.string(), pa.decimal128(20, 2), pa.date32()])
def test_bounds_of_usual_values_are_exact(kind):
    assert bounds_of(pa.array([3, None, 7, 5, 9], pa.int32()).cast(kind)).is_exact


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5, 2.5]),
        pa.array(["a", "b" * 61]),
        pa.array([-150_000, 3], pa.int32()).cast(pa.date32()),
        pa.array([-(2**60), 3]).cast(pa.timestamp("us")),
        pa.array([True, False]),
    ],
    ids=["float", "long", "day", "time", "boolean"],
)
def test_bounds_that_a_footer_may_not_tell_are_not_exact(column):
    assert not bounds_of(column).is_exact


def test_without_statistics_nothing_is_known():
    assert bounds_of(pa.array([1, 2]), write_statistics=False) == FooterBounds(None, None, None, False)


def test_int96_has_no_bounds():
    times = pa.array([1, 2]).cast(pa.timestamp("us"))
    found = bounds_of(times, use_deprecated_int96_timestamps=True)
    assert (found.low, found.high, found.is_exact) == (None, None, False)


IN_LIST = pa.array([[{"a": 1}], [], None, [None], [{"a": None}]], pa.list_(pa.struct([("a", pa.int32())])))
IN_STRUCT = pa.array([{"a": 1}, None, None, {"a": None}, {"a": None}], pa.struct([("a", pa.int32())]))


@pytest.mark.parametrize(
    ("column", "stated", "differs"),
    [(IN_LIST, 2, False), (IN_LIST, 5, True), (IN_STRUCT, 2, True), (IN_STRUCT, 5, True)],
    ids=["fewer in lists", "more in lists", "fewer", "more"],
)
def test_nulls_of_members_may_leave_out_lists_without_them_and_nothing_else(column, stated, differs):
    """pyarrow 24 counts no NULL where a list is NULL or empty, so that its own footers state fewer."""
    sink = io.BytesIO()
    pq.write_table(pa.table({"c": column}), sink, store_schema=False)
    data = sink.getvalue()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    footer, counts, refused = data[end:-8], set(), False
    own = parse_footer(footer, end).row_groups[0].chunks[0].null_count
    written = pq.read_metadata(sink).row_group(0).column(0).statistics.null_count
    for place in (place for place, byte in enumerate(footer) if byte == 2 * written):
        changed = footer[:place] + bytes([2 * stated]) + footer[place + 1 :]
        try:
            counts.add(parse_footer(changed, end).row_groups[0].chunks[0].null_count)
        except ValueError as error:
            refused |= "its levels differ" in str(error)
    assert refused == differs
    assert own in (4, None)
    assert counts <= ({own} if differs else {own, None})
    assert differs or None in counts
