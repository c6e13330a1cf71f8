"""Curves, the ranges of values that they mix, and the sort by their keys."""

import datetime
import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.columnar.row_sorter import RowSorter, SortLimits
from deltaarrow.errors import MemoryLimitError
from deltaarrow.operations.optimize.curve import bits_of, hilbert, z_order
from deltaarrow.operations.optimize.ranges import RowSample, sampled_keys

GRIDS = [(1, 10), (2, 1), (2, 6), (3, 4), (4, 3), (5, 2), (7, 1), (9, 1), (12, 1)]


def grid(columns, bits):
    """All points with so many numbers of so many bits."""
    points = np.meshgrid(*[np.arange(1 << bits, dtype=np.uint16)] * columns, indexing="ij")
    return [each.ravel() for each in points]


@pytest.mark.parametrize("curve", [z_order, hilbert])
@pytest.mark.parametrize(("columns", "bits"), GRIDS)
def test_every_point_has_a_key_of_its_own(curve, columns, bits):
    keys = curve(grid(columns, bits), bits)
    assert keys.dtype == np.uint64
    assert np.array_equal(np.sort(keys), np.arange(1 << columns * bits, dtype=np.uint64))


@pytest.mark.parametrize(("columns", "bits"), GRIDS)
def test_neighbours_on_the_hilbert_curve_differ_by_one_in_one_column(columns, bits):
    points = np.stack(grid(columns, bits)).astype(int)
    steps = np.abs(np.diff(points[:, np.argsort(hilbert(list(points.astype(np.uint16)), bits))]))
    assert (steps.sum(axis=0) == 1).all()


@given(st.integers(1, 12), st.data())
def test_a_z_order_interleaves_bits(columns, data):
    bits = bits_of(columns)
    point = data.draw(st.lists(st.integers(0, (1 << bits) - 1), min_size=columns, max_size=columns))
    texts = [f"{number:0{bits}b}" for number in point]
    wanted = int("".join(itertools.chain.from_iterable(zip(*texts, strict=True))), 2)
    assert z_order([np.array([number], np.uint16) for number in point], bits).tolist() == [wanted]


@given(st.integers(2, 6), st.data())
def test_hilbert_cells_are_entered_once(columns, data):
    """All keys that begin alike are one cube: this is why a range of keys has narrow bounds."""
    bits = bits_of(columns)
    numbers = st.integers(0, (1 << bits) - 1)
    points = data.draw(st.lists(st.tuples(*[numbers] * columns), min_size=2, max_size=20))
    keys = hilbert([np.array(each, np.uint16) for each in zip(*points, strict=True)], bits).tolist()
    for (point, key), (other, other_key) in itertools.combinations(zip(points, keys, strict=True), 2):
        for low in range(bits + 1):
            same_cube = all(a >> low == b >> low for a, b in zip(point, other, strict=True))
            assert same_cube == (key >> low * columns == other_key >> low * columns)


def test_columns_after_the_64th_do_not_count():
    numbers = [np.array([0, 1], np.uint16)] * 70
    assert bits_of(70) == 1
    assert z_order(numbers, 1).tolist() == [0, 2**64 - 1]


NAN = float("nan")
ASCENDING = {
    "booleans": ([False, True], pa.bool_()),
    "bytes": ([-128, -1, 0, 5, 127], pa.int8()),
    "longs": ([-(2**63), -7, 0, 7, 2**63 - 1], pa.int64()),
    "floats": ([-math.inf, -1.5, -0.0, 1e-45, 3.0, math.inf, NAN], pa.float32()),
    "doubles": ([-math.inf, -1.5, 0.0, 5e-324, 3.0, math.inf, NAN], pa.float64()),
    "decimals": (
        [Decimal(10) ** 36 * -9, Decimal(-1), Decimal(0), Decimal("0.1"), Decimal(10) ** 36],
        pa.decimal128(38, 1),
    ),
    "texts": (["", "a", "a b", "ab", "abc", "b", "é", "\U0001f600"], pa.string()),
    "long texts": (["x" * 100 + each for each in "abcdef"], pa.string()),
    "binaries": ([b"", b"\x01", b"\x7f", b"\x80\x01", b"\xff"], pa.binary()),
    "dates": ([datetime.date(1, 1, 1), datetime.date(1970, 1, 1), datetime.date(9999, 12, 31)], pa.date32()),
    "times": ([datetime.datetime(1900, 1, 1), datetime.datetime(2020, 1, 1, 1)], pa.timestamp("us")),
}


@pytest.mark.parametrize("name", ASCENDING)
def test_ranges_keep_the_order_of_values(name):
    values, of_type = ASCENDING[name]
    column = pa.array([None, *values, "?"][:-1], of_type)
    batch = pa.record_batch({"unused": pa.nulls(len(column)), "x": column})
    # Places in a larger array, with values before and after.
    batch = pa.concat_batches([batch, batch, batch])
    found = sampled_keys([batch], [("x",)], z_order).of(batch.slice(len(column), len(column))).tolist()
    assert found == sorted(set(found))
    assert found[0] == 0


def test_zeros_of_either_sign_are_equal():
    batch = pa.record_batch({"x": pa.array([-0.0, 0.0, 1.0])})
    first, second, _ = sampled_keys([batch], [("x",)], z_order).of(batch)
    assert first == second


def test_a_field_of_a_struct_that_is_null_is_null():
    structs = [None, {"x": None}, {"x": 5}, {"x": 6}]
    batch = pa.record_batch({"s": pa.array(structs, pa.struct([("x", pa.int32())]))})
    found = sampled_keys([batch], [("s", "x")], z_order).of(batch).tolist()
    assert found[:2] == [0, 0] < found[2:3] < found[3:]


def test_a_column_of_nulls_alone():
    batch = pa.record_batch({"x": pa.nulls(3, pa.string()), "y": pa.array([1, 2, 3])})
    found = sampled_keys([batch], [("x",), ("y",)], hilbert).of(batch)
    assert len(set(found.tolist())) == 3


@pytest.mark.parametrize("rows", [10_000, 300_000])
def test_ranges_have_about_as_many_rows(rows):
    random = np.random.default_rng(5)
    batches = [pa.record_batch({"x": random.exponential(size=rows // 10)}) for _ in range(10)]
    keys = sampled_keys(batches, [("x",)], z_order)
    found = np.concatenate([keys.of(batch) for batch in batches])
    assert len(np.unique(found)) > 900
    assert abs((found < 512).mean() - 0.5) < 0.02
    again = sampled_keys(batches, [("x",)], z_order)
    assert np.array_equal(found, np.concatenate([again.of(batch) for batch in batches]))


def test_samples_of_parts_are_a_sample_of_all_rows():
    """A part with far more rows than others has as many more in the sample; one without rows has none."""
    sizes = [40_000, 0, 2000, 10]
    parts = [pa.record_batch({"x": np.full(size, place)}) for place, size in enumerate(sizes)]
    samples = [
        RowSample.of([part] if part.num_rows else [], [("x",)], 500, seed) for seed, part in enumerate(parts)
    ]
    joined = RowSample.joined(samples)
    assert joined.num_rows == sum(sizes)
    assert (joined.numbers <= joined.most).all()
    assert 500 <= len(joined.numbers) == len(joined.columns[0]) <= 1200
    found = np.bincount(joined.columns[0].to_numpy(), minlength=4)
    share = len(joined.numbers) / sum(sizes)
    assert found.tolist() == pytest.approx([size * share for size in sizes], abs=25)
    whole = RowSample.joined([RowSample.of(parts[3:], [("x",)])])
    assert (whole.most, len(whole.numbers)) == (1.0, 10)


def sorted_rows(batches, limits, files, readers=2, threads=0):
    with RowSorter(limits, threads) as sorter:
        for rows, keys in batches:
            sorter.add(rows, np.array(keys, np.uint64))
        found = sorter.parts(files, readers)
        return [
            [row for part in each for rows in sorter.read(part) for row in rows.to_pylist()] for each in found
        ]


@settings(deadline=None)
@given(
    st.lists(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**64 - 1)), max_size=30), max_size=12),
    st.sampled_from([1, 100, 1000, 1 << 29]),
    st.integers(1, 5),
    st.integers(0, 3),
)
def test_rows_come_back_sorted_whatever_the_memory(parts, memory, files, threads):
    numbers = itertools.count()
    batches = []
    for keys in parts:
        places = [next(numbers) for _ in keys]
        data = pa.record_batch({"place": pa.array(places, pa.int64()), "key": pa.array(keys, pa.uint64())})
        batches.append((data, keys))
    found = sorted_rows(batches, SortLimits(memory), files, threads=threads)
    rows = [row for each in found for row in each]
    assert rows == sorted(
        (row for data, _ in batches for row in data.to_pylist()), key=lambda row: (row["key"], row["place"])
    )
    assert all(found)
    assert len(found) <= 2 * files


@pytest.mark.parametrize("runs", [10, 150])
def test_several_threads_read_rows_of_temporary_files(runs):
    """Of few runs the files stay open, of many they do not; each has a dictionary of its own."""
    random = np.random.default_rng(3)
    numbers = random.permutation(runs * 100).reshape(runs, 100)
    with RowSorter(SortLimits(16_000), 2) as sorter:
        for part in numbers:
            texts = pa.array([str(each) for each in part]).dictionary_encode()
            sorter.add(pa.record_batch({"number": part, "text": texts}), part.astype(np.uint64))
        parts = list(itertools.chain.from_iterable(sorter.parts(files=4, readers=4)))
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(lambda part: [*itertools.chain(*rows_of(sorter, part))], parts))
    rows = list(itertools.chain.from_iterable(found))
    assert rows == [{"number": each, "text": str(each)} for each in range(runs * 100)]


def rows_of(sorter, part):
    return (rows.to_pylist() for rows in sorter.read(part))


def test_a_run_that_cannot_be_sorted_in_the_background_is_an_error():
    with (
        pytest.raises(pa.ArrowInvalid, match="Schema"),
        RowSorter(SortLimits(1 << 20), threads=2) as sorter,
    ):
        for name in ("x", "y"):
            sorter.add(pa.record_batch({name: list(range(100))}), np.arange(100, dtype=np.uint64))
        sorter.parts(1, 1)


@pytest.mark.parametrize("memory", [100, 1 << 29])
def test_files_have_about_as_many_rows_even_if_all_keys_are_equal(memory):
    batches = [(pa.record_batch({"x": list(range(100))}), [7] * 100) for _ in range(10)]
    assert [len(each) for each in sorted_rows(batches, SortLimits(memory), 4)] == pytest.approx(
        [250] * 4, abs=20
    )


def test_spilled_rows_need_room_on_disk():
    batches = [(pa.record_batch({"x": list(range(1000))}), range(1000))] * 10
    with pytest.raises(MemoryLimitError, match="max_temp_directory_size"):
        sorted_rows(batches, SortLimits(1000, disk=10_000), 1)
