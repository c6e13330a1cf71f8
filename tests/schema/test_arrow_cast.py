from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import (
    ConstraintViolationError,
    DeltaError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.schema import conform, ensure_conformable

D = Decimal
REQUIRED = pa.field("x", pa.int64(), nullable=False)


def cast(array, target):
    batch = conform(pa.RecordBatch.from_arrays([array], ["c"]), pa.schema([("c", target)]))
    batch.validate(full=True)
    assert batch.schema.field("c").type.equals(target, check_metadata=True)
    return batch.column(0).to_pylist()


def refused(array, target, match="'c'"):
    with pytest.raises(SchemaMismatchError, match=match):
        cast(array, target)


def test_columns_are_matched_by_name_in_any_order():
    batch = pa.RecordBatch.from_pydict({"B": pa.array(["x"]), "a": pa.array([1], pa.int8())})
    target = pa.schema([("a", pa.int64()), ("b", pa.string()), ("new", pa.list_(pa.int8()))])
    assert conform(batch, target).to_pydict() == {"a": [1], "b": ["x"], "new": [None]}
    assert conform(batch, target).schema.equals(target, check_metadata=True)


def test_exact_names_win_and_ambiguous_ones_are_refused():
    both = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["a", "A"])
    assert conform(both, pa.schema([("A", pa.int64()), ("a", pa.int64())])).to_pydict() == {
        "A": [2],
        "a": [1],
    }
    with pytest.raises(SchemaMismatchError, match="no column 'A'"):
        conform(both, pa.schema([("a", pa.int64())]))
    with pytest.raises(SchemaMismatchError, match="ambiguous"):
        conform(
            pa.RecordBatch.from_arrays([pa.array([1])] * 2, ["ab", "aB"]), pa.schema([("AB", pa.int64())])
        )
    with pytest.raises(SchemaMismatchError, match="ambiguous"):
        conform(pa.RecordBatch.from_arrays([pa.array([1])] * 2, ["a", "a"]), pa.schema([("a", pa.int64())]))


def test_all_unknown_columns_and_clashes_are_named_at_once():
    source = pa.schema([("x", pa.int8()), ("s", pa.struct([("y", pa.int8())])), ("t", pa.string())])
    target = pa.schema([("s", pa.struct([("z", pa.int8())])), ("t", pa.int64())])
    with pytest.raises(SchemaMismatchError, match=r"'x', 's\.y'.*'t' has Arrow type string"):
        ensure_conformable(source, target)


@pytest.mark.parametrize(
    ("array", "target", "values"),
    [
        (pa.array([1, None], pa.uint64()), pa.int8(), [1, None]),
        (pa.array([-5], pa.int64()), pa.int16(), [-5]),
        (pa.array([2**53], pa.int64()), pa.float64(), [float(2**53)]),
        (pa.array([7], pa.int64()), pa.decimal128(3, 2), [D("7.00")]),
        (pa.array([10**17], pa.int64()), pa.decimal128(38, 20), [D(10**17)]),
        (pa.array([1.5, None], pa.float16()), pa.float64(), [1.5, None]),
        (pa.array([0.5, float("inf"), None], pa.float64()), pa.float32(), [0.5, float("inf"), None]),
        (pa.array([D("1.20")], pa.decimal128(10, 2)), pa.decimal128(5, 1), [D("1.2")]),
        (pa.array([D("1.2")], pa.decimal256(50, 1)), pa.decimal128(38, 10), [D("1.2")]),
        (pa.array([D("1.2")], pa.decimal32(5, 1)), pa.decimal128(5, 1), [D("1.2")]),
        (pa.array([1_000], pa.timestamp("ns")), pa.timestamp("us"), [pc.cast(1, pa.timestamp("us")).as_py()]),
        (
            pa.array([86_400_000], pa.date64()),
            pa.date32(),
            [pc.cast(1, pa.int32()).cast(pa.date32()).as_py()],
        ),
        (pa.array(["a", None], pa.string_view()), pa.string(), ["a", None]),
        (pa.array(["a", None], pa.large_string()), pa.string(), ["a", None]),
        (pa.array([b"ab", None], pa.binary(2)), pa.binary(), [b"ab", None]),
        (pa.array(["a", None, "a"]).dictionary_encode(), pa.string(), ["a", None, "a"]),
        (pc.run_end_encode(pa.array([1, 1, None])), pa.int64(), [1, 1, None]),
        (pa.nulls(2), pa.decimal128(5, 2), [None, None]),
        (pa.nulls(2), pa.null(), [None, None]),
    ],
)
def test_lossless_casts(array, target, values):
    assert cast(array, target) == values
    padded = pa.concat_arrays([array, array])
    assert cast(padded.slice(len(array)), target) == values


def test_dictionaries_of_views_and_uuids():
    views = pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array(["x", "y"], pa.string_view()))
    assert cast(views, pa.string()) == ["y", None, "x"]
    assert cast(pa.array([b"0" * 16], pa.binary(16)).cast(pa.uuid()), pa.binary()) == [b"0" * 16]


def test_any_time_zone_is_utc():
    array = pa.array([1], pa.timestamp("s", "Asia/Tokyo"))
    assert cast(array, pa.timestamp("us", "UTC"))[0].isoformat() == "1970-01-01T00:00:01+00:00"


@pytest.mark.parametrize(
    ("array", "target"),
    [
        (pa.array([128]), pa.int8()),
        (pa.array([2**63], pa.uint64()), pa.int64()),
        (pa.array([2**53 + 1]), pa.float64()),
        (pa.array([1000]), pa.decimal128(3, 2)),
        (pa.array([2**64 - 1], pa.uint64()), pa.decimal128(20, 1)),
        (pa.array([0.1]), pa.float32()),
        (pa.array([1e300]), pa.float32()),
        (pa.array([D("1.23")]), pa.decimal128(5, 1)),
        (pa.array([D("123.4")]), pa.decimal128(3, 1)),
        (pa.array([D(10**37)]), pa.decimal128(38, 10)),
        (pa.array([1_001], pa.timestamp("ns")), pa.timestamp("us")),
        (pa.array([2**62], pa.timestamp("s")), pa.timestamp("us")),
        (pa.array([1], pa.date64()), pa.date32()),
        (pa.array([200]).dictionary_encode(), pa.int8()),
    ],
)
def test_a_value_that_would_change_is_refused(array, target):
    refused(array, target, "column 'c': a value")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (pa.string(), pa.binary()),
        (pa.binary(), pa.string()),
        (pa.string(), pa.int64()),
        (pa.int64(), pa.string()),
        (pa.string(), pa.timestamp("us")),
        (pa.float64(), pa.int64()),
        (pa.bool_(), pa.int8()),
        (pa.int8(), pa.bool_()),
        (pa.decimal128(3, 0), pa.int64()),
        (pa.timestamp("us"), pa.timestamp("us", "UTC")),
        (pa.timestamp("us", "UTC"), pa.timestamp("us")),
        (pa.timestamp("us"), pa.date32()),
        (pa.date32(), pa.timestamp("us", "UTC")),
        (pa.time64("us"), pa.int64()),
        (pa.int64(), pa.null()),
        (pa.list_(pa.int8()), pa.int8()),
        (pa.int8(), pa.list_(pa.int8())),
        (pa.map_(pa.string(), pa.int8()), pa.list_(pa.int8())),
        (pa.struct([("a", pa.int8())]), pa.int8()),
        (pa.dictionary(pa.int8(), pa.string()), pa.int8()),
    ],
)
def test_types_that_do_not_go_together_are_refused_before_any_row(source, target):
    refused(pa.array([], source), target)


LISTS = [[1, 2], None, [], [3, None]]


@pytest.mark.parametrize("make", [pa.list_, pa.large_list, pa.list_view, pa.large_list_view])
@pytest.mark.parametrize("start", [0, 1, 3])
def test_every_kind_of_list(make, start):
    array = pa.array(LISTS, make(pa.int32())).slice(start)
    assert cast(array, pa.list_(pa.field("element", pa.int64()))) == LISTS[start:]


def test_lists_of_fixed_size():
    array = pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int8(), 2))
    assert cast(array.slice(1), pa.list_(pa.int64())) == [None, [3, 4]]


def test_maps_of_encoded_keys_and_values():
    key, value = pa.large_string(), pa.list_view(pa.int8())
    rows = [[("a", [1])], None, [("b", None), ("c", [2, 3])]]
    array = pa.array(rows, pa.map_(key, value))
    target = pa.map_(pa.string(), pa.list_(pa.field("element", pa.int64())))
    assert cast(array, target) == rows
    assert cast(array.slice(1), target) == rows[1:]


def test_structs_by_name_at_every_level():
    rows = [{"B": {"y": 1, "x": 2}}, None, {"B": None}]
    array = pa.array(rows, pa.struct([("B", pa.struct([("y", pa.int8()), ("x", pa.int8())]))]))
    target = pa.struct([("a", pa.string()), ("b", pa.struct([("X", pa.int64()), ("y", pa.int64())]))])
    wanted = [{"a": None, "b": {"X": 2, "y": 1}}, None, {"a": None, "b": None}]
    assert cast(array, target) == wanted
    assert cast(array.slice(1), target) == wanted[1:]


def test_what_a_null_parent_hides_cannot_fail():
    hidden = pa.array([1, 1000])
    struct = pa.StructArray.from_arrays([hidden], ["x"], mask=pa.array([False, True]))
    assert cast(struct, pa.struct([("x", pa.int8())])) == [{"x": 1}, None]
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), hidden, mask=pa.array([False, True]))
    assert cast(lists, pa.list_(pa.int8())) == [[1], None]


def violated(data, target, path):
    with pytest.raises(ConstraintViolationError, match=f"'{path}'"):
        conform(data, target)


def test_not_null_is_enforced_at_every_level_by_path():
    violated(pa.RecordBatch.from_pydict({"x": pa.array([1, None])}), pa.schema([REQUIRED]), "x")
    violated(pa.RecordBatch.from_pydict({"y": pa.array([1])}), pa.schema([REQUIRED, ("y", pa.int64())]), "x")
    for rows, target, path in [
        ([{"x": None}], pa.struct([REQUIRED]), r"c\.x"),
        ([[{"x": None}]], pa.list_(pa.struct([REQUIRED])), r"c\.element\.x"),
        ([[None]], pa.list_(pa.field("element", pa.int64(), nullable=False)), r"c\.element"),
        ([[("k", None)]], pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False)), r"c\.value"),
        # As in Spark, a struct that is NULL is NULL in each of its members.
        ([None], pa.struct([REQUIRED]), r"c\.x"),
    ]:
        source = pa.RecordBatch.from_pydict({"c": pa.array(rows, loose(target))})
        violated(source, pa.schema([("c", target)]), path)
    violated(
        pa.RecordBatch.from_pydict({"c": pa.nulls(1)}), pa.schema([("c", pa.struct([REQUIRED]))]), r"c\.x"
    )
    violated(
        pa.RecordBatch.from_pydict({"y": pa.array([1])}),
        pa.schema([("c", pa.struct([REQUIRED])), ("y", pa.int64())]),
        r"c\.x",
    )


def loose(arrow):
    if pa.types.is_struct(arrow):
        return pa.struct([(each.name, loose(each.type)) for each in arrow.fields])
    if pa.types.is_map(arrow):
        return pa.map_(arrow.key_type, loose(arrow.item_type))
    return pa.list_(loose(arrow.value_type)) if pa.types.is_list(arrow) else arrow


def test_null_lists_and_maps_do_not_break_their_elements_constraint():
    assert cast(pa.array([None, [1]]), pa.list_(pa.field("element", pa.int64(), nullable=False))) == [
        None,
        [1],
    ]


def test_tables_and_readers_keep_their_kind(tmp_path):
    target = pa.schema([REQUIRED, ("s", pa.string())])
    table = pa.table(
        {"s": pa.chunked_array([["a"], ["b"]]), "X": pa.chunked_array([pa.array([1, 2], pa.int8())])}
    )
    assert conform(table, target).to_pydict() == {"x": [1, 2], "s": ["a", "b"]}
    assert conform(table.slice(0, 0), target).schema == target
    reader = conform(table.to_reader(), target)
    assert isinstance(reader, pa.RecordBatchReader)
    pq.write_table(reader.read_all(), tmp_path / "t.parquet")
    assert pq.read_table(tmp_path / "t.parquet")["x"].to_pylist() == [1, 2]


def test_a_reader_is_a_stream_that_fails_with_our_error():
    taken = []

    def batches():
        for value in (1, 2, None):
            taken.append(value)
            yield pa.RecordBatch.from_pydict({"x": pa.array([value], pa.int8())})

    source = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int8())]), batches())
    reader = conform(source, pa.schema([REQUIRED]))
    assert taken == []
    assert reader.read_next_batch().num_rows == 1
    assert taken == [1]
    with pytest.raises(DeltaError, match="'x'"):
        reader.read_all()


def test_large_batches_come_out_in_parts():
    rows = 3_000_000
    table = pa.table({"x": pa.repeat(pa.scalar(1, pa.int8()), rows)})
    batches = list(conform(table.to_reader(), pa.schema([REQUIRED])))
    assert sum(batch.num_rows for batch in batches) == rows
    assert max(batch.num_rows for batch in batches) <= 1 << 20


def test_strings_beyond_the_reach_of_32_bit_offsets():
    far = 2**31
    text = np.zeros(far + 4, np.uint8)  # of which the system lends only the pages that are touched
    text[far:] = bytearray(b"abcd")
    offsets = pa.py_buffer(np.array([far, far + 1, far + 4], np.int64))
    array = pa.Array.from_buffers(pa.large_string(), 2, [None, offsets, pa.py_buffer(text)])
    assert cast(array, pa.string()) == ["a", "bcd"]


def test_run_ends_that_arrow_cannot_decode_are_refused():
    views = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array(["a"], pa.string_view()))
    with pytest.raises(UnsupportedFeatureError, match="string_view"):
        cast(views, pa.string())
