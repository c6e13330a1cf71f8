"""A MERGE in tasks of which each reads the part of the source that may match its files."""

import datetime
import decimal
import shutil

import numpy as np
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.runtime.executors import using
from tests.support.distributed import TwiceExecutor
from tests.support.rows import assert_same_rows

ROWS, FILES, SOURCE_ROWS = 90, 3, 6_144
EPOCH = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
DAY = datetime.date(2026, 1, 1)


class NotingExecutor(TwiceExecutor):
    """Runs each task once, and notes which batches of the source it reads; None means all."""

    def __init__(self, files=1):
        super().__init__(files)
        self.batches = []

    def run(self, tasks, limits, discard=lambda result: None):
        results = []
        for place, task in enumerate(tasks):
            self.batches.append(task.__self__.query.source.batches)
            results.append((place, task()))
        yield from results


# Values of number n, in the order of the numbers from 0 on.
KEYS = {
    "id": lambda n: n,
    # Only 32 characters of a bound are kept, and these are the same.
    "name": lambda n: "x" * 40 + f"{n:06d}" + "é",
    "price": lambda n: decimal.Decimal(n) / 4,
    # A bound is cut to milliseconds.
    "at": lambda n: EPOCH + datetime.timedelta(microseconds=n),
    "day": lambda n: DAY + datetime.timedelta(days=n),
}


def rows_of(numbers, *, nulls=()):
    keys = {name: [None if n in nulls else value(n) for n in numbers] for name, value in KEYS.items()}
    keys["price"] = pa.array(keys["price"], pa.decimal128(12, 2))
    return pa.table(keys | {"n": pa.array(numbers, pa.int64()), "p": [n % 2 for n in numbers]})


def tables(tmp_path, **options):
    """Two copies of a table with files of 90 numbers, far from each other; a row of each has no keys."""
    for file, first in enumerate(range(-6_000, 6_001, 6_000)):
        rows = rows_of([*range(first, first + ROWS)], nulls={first + 7})
        da.write_deltalake(tmp_path / "here", rows, mode="append", **({} if file else options))
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    return tmp_path / "here", tmp_path / "there"


def shuffled_source():
    """Rows for every third number of the table and many others, some without keys, in no order."""
    numbers = np.random.default_rng(7).permutation(SOURCE_ROWS) * 3 - 9_000
    rows = rows_of(numbers.tolist(), nulls=set(range(-8_001, 0, 300)) | {30})
    return rows.set_column(rows.schema.get_field_index("n"), "n", pa.array(-numbers))


def merged(path, predicate, source):
    merger = da.DeltaTable(path).merge(source, predicate, source_alias="s", target_alias="t")
    merger = merger.when_matched_update({"n": "s.n"}).when_not_matched_insert_all("s.n > -300")
    return merger.when_not_matched_by_source_update({"n": "t.n + 1000000"}, "t.p = 1").execute()


def check(tmp_path, predicate, *, most, source=None, **options):
    """One node and tasks do the same; each task reads at most so many batches of three, None for all."""
    here, there = tables(tmp_path, **options)
    source = shuffled_source() if source is None else source
    executor = NotingExecutor()
    wanted = merged(here, predicate, source)
    with using(executor):
        found = merged(there, predicate, source)
    counts = [name for name in wanted if name.startswith("num_") and "files" not in name]
    assert {name: found[name] for name in counts} == {name: wanted[name] for name in counts}
    assert wanted["num_target_rows_updated"] > ROWS
    assert wanted["num_target_rows_inserted"] > 10
    assert_same_rows(*(da.DeltaTable(path).to_pyarrow_table() for path in (there, here)))
    read = executor.batches[:FILES]
    assert [batches if batches is None else len(batches) <= most for batches in read] == [
        most and True
    ] * FILES
    assert not list(there.glob("*.arrow"))


@pytest.mark.parametrize("key", KEYS)
def test_tasks_read_the_batches_whose_keys_may_be_in_their_files(tmp_path, key):
    """Keys that are NULL match nothing on either side, and their rows are inserted."""
    check(tmp_path, f"t.{key} = s.{key}", most=3 if key == "name" else 1)


def test_several_keys_and_keys_that_are_computed_count(tmp_path):
    check(tmp_path, "t.p = s.p AND t.id = s.id * 2 - s.id", most=2, partition_by="p")


def test_conditions_and_files_that_tell_no_bounds_take_the_whole_source(tmp_path):
    options = {"configuration": {"delta.dataSkippingNumIndexedCols": "0"}}
    check(tmp_path, "t.id = s.id", most=3, **options)


def test_conditions_without_a_key_take_the_whole_source(tmp_path):
    check(tmp_path, "t.id + 0 = s.id", most=None)


def test_a_key_that_cannot_be_computed_is_refused_as_on_one_node(tmp_path):
    here, there = tables(tmp_path)
    source = shuffled_source()
    with pytest.raises(ConstraintViolationError, match="DIVIDE_BY_ZERO"):
        merged(here, "t.id = s.id DIV (s.id - 300)", source)
    with using(NotingExecutor()), pytest.raises(ConstraintViolationError, match="DIVIDE_BY_ZERO"):
        merged(there, "t.id = s.id DIV (s.id - 300)", source)
    assert da.DeltaTable(there).version() == FILES - 1
    assert not list(there.glob("*.arrow"))


def test_values_of_every_type_arrive_as_on_one_node(tmp_path):
    """The source is sorted by its key; its values are updated and inserted."""
    moment = datetime.datetime(1583, 10, 15, 1, 2, 3, 456789)
    values = {
        "text": pa.array(["é\0", "", None]),
        "bytes": pa.array([b"\xff\0", b"", None]),
        "flag": pa.array([True, None, False]),
        "tiny": pa.array([-128, 127, None], pa.int8()),
        "double": pa.array([float("nan"), -0.0, float("-inf")]),
        "float": pa.array([1.1, None, float("inf")], pa.float32()),
        "wide": pa.array([decimal.Decimal(10**38 - 1), None, decimal.Decimal(-1)], pa.decimal128(38, 0)),
        "ntz": pa.array([moment, None, moment], pa.timestamp("us")),
        "utc": pa.array([moment, None, moment], pa.timestamp("us", "UTC")),
        "list": pa.array([[{"a": 1, "b": "x"}, None], [], None]),
        "map": pa.array([[("k", None)], [], None], pa.map_(pa.string(), pa.date32())),
        "nothing": pa.nulls(3),
    }
    source = pa.table({"id": [3, None, 1]} | values)
    schema = da.Schema.from_arrow(source.schema)
    for name in ("here", "there"):
        table = da.DeltaTable.create(tmp_path / name, schema)
        for id in (1, 2):
            da.write_deltalake(table, pa.table({"id": [id]}), mode="append", schema_mode="merge")

    def merge(path):
        merger = da.DeltaTable(path).merge(source, "target.id = source.id")
        merger.when_matched_update_all().when_not_matched_insert_all().execute()

    merge(tmp_path / "here")
    with using(TwiceExecutor(1)):
        merge(tmp_path / "there")
    rows = [da.DeltaTable(tmp_path / name).to_pyarrow_table() for name in ("there", "here")]
    assert rows[0].num_rows == 4
    assert_same_rows(*rows)
