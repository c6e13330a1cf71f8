"""Random transactions on different rows of the same few files: every one is committed, and none is lost.

`test_serializability` checks that conflicting ones are refused.
"""

import tempfile

import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from tests.support.examples import examples
from tests.support.row_changes import SCHEMA, add_rows, delete_rows, insert_missing, update_rows
from tests.support.row_tracking import PROPERTIES
from tests.support.tables import TableBuilder

COUNT = 24


def append(transaction, ids):
    add_rows(transaction, dict.fromkeys((COUNT + each for each in ids), 0))


CHANGES = {"delete": delete_rows, "update": update_rows, "insert": insert_missing, "append": append}


@st.composite
def histories(draw):
    """Changes of disjoint sets of ids, and the order of their beginnings and ends."""
    changes = [
        (draw(st.sampled_from(sorted(CHANGES))), set())
        for _ in range(draw(st.integers(min_value=2, max_value=6)))
    ]
    for each in range(COUNT):
        _, ids = changes[draw(st.integers(0, len(changes) - 1))]
        ids.add(each)
    changes = [change for change in changes if change[1]]
    order = draw(st.permutations([place for place in range(len(changes)) for _ in range(2)]))
    return changes, order


def expected(changes) -> dict[int, int]:
    rows = dict.fromkeys(range(COUNT), 0)
    for kind, ids in changes:
        if kind == "append":
            rows |= {COUNT + each: 0 for each in ids}
        elif kind != "insert":
            rows |= dict.fromkeys(ids, 1)
        if kind == "delete":
            rows = {each: seen for each, seen in rows.items() if each not in ids}
    return rows


@pytest.mark.parametrize("has_row_ids", [False, True], ids=["plain", "row_ids"])
@settings(deadline=None, max_examples=examples(4))
@given(history=histories(), files=st.integers(1, 3))
def test_changes_of_different_rows_are_all_committed(has_row_ids, history, files):
    changes, order = history
    configuration = {"delta.enableDeletionVectors": "true"} | (PROPERTIES if has_row_ids else {})
    with tempfile.TemporaryDirectory() as folder:
        table = TableBuilder(folder).features(
            "deletionVectors", writer_only=["rowTracking", "domainMetadata"] if has_row_ids else []
        )
        table.metadata(SCHEMA, configuration=configuration).commit()
        store = open_store(folder)
        begin = lambda: OptimisticTransaction(store=store, snapshot=Snapshot.load(store))  # noqa: E731
        with begin() as transaction:
            for number in range(files):
                add_rows(transaction, dict.fromkeys(range(number, COUNT, files), 0))
        open_ones: dict[int, OptimisticTransaction] = {}
        for place in order:
            if place in open_ones:
                open_ones[place].commit()
                continue
            kind, ids = changes[place]
            open_ones[place] = begin()
            CHANGES[kind](open_ones[place], ids)
        table = DeltaTable(folder)
        assert table.version() == 1 + len(changes)
        rows = table.to_pyarrow_table().to_pylist()
        assert sorted((row["id"], row["seen"]) for row in rows) == sorted(expected(changes).items())
        assert table.verify(deep=True).ok
