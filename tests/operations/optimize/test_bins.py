"""Bins are those of a plain walk over the files of each partition."""

from collections import defaultdict

import numpy as np
import pyarrow as pa
from hypothesis import given, strategies as st

from deltaarrow.operations.optimize.bins import FileFigures, number_partitions, pack

TARGET = 100
FILES = st.lists(
    st.tuples(
        st.integers(0, 150),
        st.sampled_from(["a", "b", "", None]),
        st.sampled_from(["x", None]),
        st.integers(0, 3),
        st.sampled_from([0, 3, 40]),
    ),
    max_size=30,
)


def is_sparse(file):
    *_, deleted, records = file
    return deleted > 0 and (not records or deleted / records > 0.05)


def walked(files):
    """The rules, file by file."""
    partitions = defaultdict(list)
    for place, file in enumerate(files):
        of_partition = partitions[file[1:3]]
        if file[0] < TARGET or is_sparse(file):
            of_partition.append((file[0], place))
    for of_partition in partitions.values():
        bins = [[]]
        for size, place in sorted(of_partition):
            if bins[-1] and sum(files[each][0] for each in bins[-1]) + size > TARGET:
                bins.append([])
            bins[-1].append(place)
        yield from (sorted(each) for each in bins if len(each) > 1 or (each and is_sparse(files[each[0]])))


def column(values):
    half = len(values) // 2
    return pa.chunked_array([values[:half], values[half:]], pa.string())


@given(FILES)
def test_bins_follow_the_rules(files):
    sizes, first, second, deleted, records = ([file[n] for file in files] for n in range(5))
    numbers = number_partitions([column(first), column(second)], len(files))
    figures = FileFigures(*(np.array(each, np.int64) for each in (sizes, records, deleted)), numbers)
    sparse = figures.have_too_many_deleted_rows(0.05)
    found = pack(figures, TARGET, are_candidates=(figures.sizes < TARGET) | sparse, are_worth_alone=sparse)
    assert [list(each.places) for each in found] == list(walked(files))
    assert [each.size for each in found] == [sum(sizes[place] for place in each.places) for each in found]


@given(FILES)
def test_partitions_are_numbered_in_the_order_of_their_first_files(files):
    partitions = [file[1:3] for file in files]
    numbers = number_partitions([column([each[n] for each in partitions]) for n in range(2)], len(files))
    order = list(dict.fromkeys(partitions))
    assert numbers.tolist() == [order.index(each) for each in partitions]
    figures = FileFigures(*(np.zeros(len(files), np.int64),) * 3, numbers)
    expected = [[place for place, each in enumerate(partitions) if each == wanted] for wanted in order]
    assert figures.by_partition() == expected
