"""Concurrent transactions leave the table as if they had run one after another.

Random transactions begin and end in random order. A model runs the committed ones again in the order of their
versions on rows in a dictionary, and the table must hold the same rows. One kind of transaction records
how many rows it has read, so that a read that another transaction invalidated is detected.
"""

import contextlib
import itertools
import tempfile
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from pyroaring import BitMap64

from deltaarrow import DeltaTable
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import CommitFailedError
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from tests.support.examples import examples
from tests.support.row_changes import (
    SCHEMA,
    add_rows,
    as_rows,
    delete_rows,
    insert_missing,
    live_rows,
    update_rows,
)
from tests.support.tables import TableBuilder

KEYS = range(100, 106)
"""The ids of rows that are inserted where they are missing; all other rows get new ids."""


@dataclass
class Model:
    """What the table holds: `seen` by id; the number of an application; a name."""

    rows: dict[int, int] = field(default_factory=dict)
    application: int | None = None
    name: str | None = None

    def count(self, low: int, high: int) -> int:
        return sum(low <= each <= high for each in self.rows)


def found(transaction: OptimisticTransaction, condition: str | None = None) -> list[dict]:
    return as_rows(transaction.read_files(condition))


@dataclass(frozen=True)
class Append:
    ids: tuple[int, ...]

    def stage(self, transaction):
        add_rows(transaction, dict.fromkeys(self.ids, 0))

    def apply(self, model):
        model.rows |= dict.fromkeys(self.ids, 0)


@dataclass(frozen=True)
class Overwrite(Append):
    def stage(self, transaction):
        transaction.remove_files(transaction.read_files())
        add_rows(transaction, dict.fromkeys(self.ids, 0))

    def apply(self, model):
        model.rows = dict.fromkeys(self.ids, 0)


@dataclass(frozen=True)
class Delete:
    low: int
    high: int

    def stage(self, transaction):
        for file in found(transaction, f"id >= {self.low} AND id <= {self.high}"):
            rows = live_rows(transaction.store, file)
            places = [place for place, (each, _) in rows.items() if self.low <= each <= self.high]
            transaction.remove_rows(file, BitMap64(places))

    def apply(self, model):
        model.rows = {each: seen for each, seen in model.rows.items() if not self.low <= each <= self.high}


@dataclass(frozen=True)
class ChangeRows:
    """Reads row by row, so that it goes beside others that change other rows of the same files."""

    ids: frozenset[int]


class DeleteRows(ChangeRows):
    def stage(self, transaction):
        delete_rows(transaction, self.ids)

    def apply(self, model):
        model.rows = {each: seen for each, seen in model.rows.items() if each not in self.ids}


class UpdateRows(ChangeRows):
    def stage(self, transaction):
        update_rows(transaction, self.ids)

    def apply(self, model):
        model.rows |= {each: model.rows[each] + 1 for each in self.ids & model.rows.keys()}


class InsertMissing(ChangeRows):
    def stage(self, transaction):
        insert_missing(transaction, self.ids)

    def apply(self, model):
        model.rows = dict.fromkeys(self.ids, 0) | model.rows


@dataclass(frozen=True)
class Count:
    """Counts the rows of a range and adds a row that says how many."""

    low: int
    high: int
    id: int = 0

    def stage(self, transaction):
        files = found(transaction, f"id >= {self.low} AND id <= {self.high}")
        rows = [row for file in files for row in live_rows(transaction.store, file).values()]
        add_rows(transaction, {self.id: sum(self.low <= each <= self.high for each, _ in rows)})

    def apply(self, model):
        model.rows[self.id] = model.count(self.low, self.high)


@dataclass(frozen=True)
class Compact:
    def stage(self, transaction):
        files = transaction.read_files()
        rows = [row for file in as_rows(files) for row in live_rows(transaction.store, file).values()]
        transaction.remove_files(files, data_change=False)
        if rows:
            add_rows(transaction, dict(rows), data_change=False)

    def apply(self, model):
        pass


@dataclass(frozen=True)
class Load:
    """Adds a row once, however often it is run."""

    number: int
    id: int = 0

    def stage(self, transaction):
        if transaction.set_application("load", self.number):
            add_rows(transaction, {self.id: 0})

    def apply(self, model):
        assert model.application is None or self.number > model.application
        model.application = self.number
        model.rows[self.id] = 0


@dataclass(frozen=True)
class Rename:
    name: str

    def stage(self, transaction):
        transaction.set_metadata(replace(transaction.snapshot.metadata, name=self.name))

    def apply(self, model):
        model.name = self.name


def ranges(kind):
    return st.tuples(st.integers(0, 60), st.integers(0, 30)).map(lambda at: kind(at[0], at[0] + at[1]))


def operations():
    """Operations that add rows have none yet; they get ids of their own, or these would be no names."""
    return st.one_of(
        st.integers(1, 3).map(lambda size: Append(tuple(range(size)))),
        st.integers(1, 3).map(lambda size: Overwrite(tuple(range(size)))),
        ranges(Delete),
        st.frozensets(st.sampled_from([*range(12), *KEYS]), min_size=1).map(DeleteRows),
        st.frozensets(st.sampled_from([*range(12), *KEYS]), min_size=1).map(UpdateRows),
        st.frozensets(st.sampled_from(KEYS), min_size=1).map(InsertMissing),
        ranges(Count),
        st.just(Compact()),
        st.integers(0, 2).map(Load),
        st.sampled_from("xy").map(Rename),
    )


def row_operations():
    """Operations on the same few rows of one file, which a count has to agree with."""
    few = st.frozensets(st.sampled_from(KEYS), min_size=1, max_size=3)
    return st.one_of(
        few.map(DeleteRows),
        few.map(UpdateRows),
        few.map(InsertMissing),
        st.just(Count(KEYS.start, KEYS.stop)),
    )


def with_own_ids(drawn):
    """The operations with fresh ids, four for each, so that ranges hold those of several."""
    named = []
    for first, operation in zip(itertools.count(0, 4), drawn, strict=False):
        if isinstance(operation, Append):
            named.append(replace(operation, ids=tuple(first + each for each in operation.ids)))
        elif isinstance(operation, Count | Load):
            named.append(replace(operation, id=first))
        else:
            named.append(operation)
    return named


@st.composite
def histories(draw, operations, most):
    """Operations, and the order of their beginnings and ends: the n-th number is the operation's place."""
    drawn = with_own_ids(draw(st.lists(operations, min_size=2, max_size=most)))
    order = draw(st.permutations([place for place in range(len(drawn)) for _ in range(2)]))
    return drawn, order


@settings(deadline=None, max_examples=examples(9), suppress_health_check=[HealthCheck.too_slow])
@given(histories(operations(), 9))
def test_what_was_committed_equals_a_run_one_after_another(history):
    check(*history)


@pytest.mark.slow
@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(histories(operations(), 9))
def test_what_was_committed_equals_a_run_one_after_another_in_many_examples(history):
    check(*history)


@settings(deadline=None, max_examples=examples(9), suppress_health_check=[HealthCheck.too_slow])
@given(histories(row_operations(), 5))
def test_changes_of_rows_that_were_committed_equal_a_run_one_after_another(history):
    drawn, order = history
    check([InsertMissing(frozenset(KEYS)), *drawn], [0, 0, *(place + 1 for place in order)])


@pytest.mark.slow
@settings(deadline=None, max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(histories(row_operations(), 5))
def test_changes_of_rows_that_were_committed_equal_a_run_one_after_another_in_many_examples(history):
    drawn, order = history
    check([InsertMissing(frozenset(KEYS)), *drawn], [0, 0, *(place + 1 for place in order)])


def check(drawn, order):
    """Run the operations, and those that were committed once more as the model has it."""
    with tempfile.TemporaryDirectory() as folder:
        table = TableBuilder(folder).features("deletionVectors")
        table.metadata(SCHEMA, configuration={"delta.enableDeletionVectors": "true"}).commit()
        store = open_store(folder)
        open_ones, committed, made = {}, {}, []
        for place in order:
            if place not in open_ones:
                snapshot = Snapshot.load(store)
                transaction = OptimisticTransaction(store=store, snapshot=snapshot, hooks=[made.append])
                drawn[place].stage(transaction)
                open_ones[place] = transaction
                continue
            transaction = open_ones[place]
            with contextlib.suppress(CommitFailedError):
                version = transaction.commit()
                # What changes nothing has its place where it read the table, and not where it ends.
                committed[version] = drawn[place] if made[-1].actions[1:] else Compact()
        model = Model()
        for version in sorted(committed):
            committed[version].apply(model)
        result = DeltaTable(folder)
        rows = result.to_pyarrow_table().to_pylist()
        assert sorted((row["id"], row["seen"]) for row in rows) == sorted(model.rows.items())
        assert result.transaction_version("load") == model.application
        assert result.metadata().name == model.name
        assert result.version() == len(committed)
        assert result.verify(deep=True).ok
        kept = [*result.snapshot.tombstones().to_pylist(), *result.snapshot.files().to_pylist()]
        assert {path.name for path in table.path.glob("*.parquet")} == {file["path"] for file in kept}
        vectors = [DeletionVectorDescriptor(**vector) for file in kept if (vector := file["deletion_vector"])]
        assert {path.name for path in table.path.glob("*.bin")} == {each.file_name() for each in vectors}
