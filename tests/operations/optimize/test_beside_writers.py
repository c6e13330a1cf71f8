"""Compaction beside writers: rows that they delete stay deleted, and none that they add is lost."""

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import ConcurrentDeleteReadException, MetadataChangedException
from deltaarrow.operations.optimize.bins import Bin
from deltaarrow.scan.row_id_columns import ROW_ID
from tests.support.examples import examples
from tests.support.optimizing import rewriting

MARKED = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}


def made(path, files, configuration=MARKED):
    for number, ids in enumerate(files):
        data = pa.table({"id": pa.array(ids, pa.int64())})
        write_deltalake(path, data, mode="append", configuration=None if number else configuration)
    return DeltaTable(path)


def compact_beside(table, *meanwhile):
    """Compact, and have others do something between the reading of the rows and the commit."""
    others = list(meanwhile)

    def act(done, total):
        while others:
            others.pop(0)(DeltaTable(table.table_uri))

    metrics = rewriting(table).run(act)
    assert not others
    return metrics


def ids(table):
    return sorted(DeltaTable(table.table_uri).to_pyarrow_table().column("id").to_pylist())


def row_ids(table):
    found = DeltaTable(table.table_uri).to_pyarrow_table(columns=["id", ROW_ID])
    return dict(zip(*(found.column(place).to_pylist() for place in (0, 1)), strict=True))


def test_rows_that_are_deleted_meanwhile_stay_deleted(tmp_path):
    table = made(tmp_path, [range(10), range(10, 20)])
    table.delete("id in (2, 15)")
    before = row_ids(table)
    compact_beside(table, lambda other: other.delete("id in (0, 3, 4, 19)"))
    left = [id for id in range(20) if id not in (0, 2, 3, 4, 15, 19)]
    assert ids(table) == left
    assert row_ids(table) == {id: before[id] for id in left}
    after = DeltaTable(tmp_path)
    assert len(after.file_uris()) == 1
    (file,) = after.snapshot.files().to_pylist()
    assert file["deletion_vector"]["cardinality"] == 4
    assert json.loads(file["stats"])["tightBounds"] is False
    assert list(after.verify(deep=True)) == []


def test_several_commits_meanwhile_count_together(tmp_path):
    table = made(tmp_path, [range(10), range(10, 20)])
    compact_beside(
        table,
        lambda other: other.delete("id = 1"),
        lambda other: other.update({"id": "id + 100"}, predicate="id in (2, 12)"),
        lambda other: other.delete("id = 3"),
        lambda other: write_deltalake(other, pa.table({"id": [1000]}), mode="append"),
    )
    rest = [id for id in range(20) if id not in (1, 2, 3, 12)]
    assert ids(table) == sorted([*rest, 102, 112, 1000])


def test_a_file_that_is_emptied_meanwhile_does_not_come_back(tmp_path):
    table = made(tmp_path, [range(4), range(4, 8)])
    with pytest.raises(ConcurrentDeleteReadException):
        # Its last rows go with the file, and nobody can tell this from a file that was rewritten.
        compact_beside(table, lambda other: other.delete("id < 4"))
    assert ids(table) == [4, 5, 6, 7]


def test_a_table_that_is_overwritten_meanwhile_is_a_conflict(tmp_path):
    table = made(tmp_path, [range(4), range(4, 8)])
    files = {str(path) for path in tmp_path.rglob("*.parquet")}
    data = pa.table({"id": [99]})
    with pytest.raises(ConcurrentDeleteReadException):
        compact_beside(table, lambda other: write_deltalake(other, data, mode="overwrite"))
    assert ids(table) == [99]
    news = {str(path) for path in tmp_path.rglob("*.parquet")} - files
    assert news == set(DeltaTable(tmp_path).file_uris())


def test_files_that_are_rewritten_meanwhile_are_a_conflict(tmp_path):
    table = made(tmp_path, [range(4), range(4, 8)], configuration={})
    with pytest.raises(ConcurrentDeleteReadException):
        compact_beside(table, lambda other: other.delete("id = 1"))
    assert ids(table) == [0, 2, 3, 4, 5, 6, 7]


def test_a_changed_schema_is_a_conflict(tmp_path):
    table = made(tmp_path, [range(4), range(4, 8)])
    data = pa.table({"id": [9], "n": [1]})
    with pytest.raises(MetadataChangedException):
        compact_beside(table, lambda other: write_deltalake(other, data, mode="append", schema_mode="merge"))
    assert ids(table) == [*range(8), 9]


def test_two_compactions_at_once_do_not_double_rows(tmp_path):
    table = made(tmp_path, [range(4), range(4, 8)])
    with pytest.raises(ConcurrentDeleteReadException):
        compact_beside(table, lambda other: other.optimize.compact())
    assert ids(table) == list(range(8))


def test_what_others_do_to_other_files_is_no_conflict(tmp_path):
    table = made(tmp_path, [range(4), range(4, 8), range(8, 5000)])
    small = [Bin((0, 1), 1)]
    compaction = rewriting(table)
    compaction.plan = type(compaction.plan)(compaction.plan.scan, tuple(small), 3)
    done = []

    def act(*_):
        DeltaTable(tmp_path).delete("id >= 8")
        done.append(True)

    compaction.run(act)
    assert done
    assert ids(table) == list(range(8))


@settings(max_examples=examples(5), deadline=None)
@given(data=st.data())
def test_any_deletions_before_and_meanwhile(tmp_path_factory, data):
    check_deletions(tmp_path_factory, data)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_deletions_before_and_meanwhile_in_many_examples(tmp_path_factory, data):
    check_deletions(tmp_path_factory, data)


def check_deletions(tmp_path_factory, data):
    conflicts = []
    sizes = data.draw(st.lists(st.integers(1, 12), min_size=1, max_size=4))
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    table = made(
        tmp_path_factory.mktemp("t"),
        [range(start, start + size) for start, size in zip(starts, sizes, strict=True)],
    )
    left = set(range(sum(sizes)))
    for _ in range(2):
        left -= delete(table, left & data.draw(st.sets(st.integers(0, sum(sizes) - 1))))
    later = data.draw(st.lists(st.sets(st.integers(0, sum(sizes) - 1), min_size=1), max_size=2))
    before = row_ids(table)
    compaction = rewriting(table)
    try:
        if compaction.plan.bins:
            compact_beside(table, *[lambda other, gone=gone: delete(other, gone) for gone in later])
        else:
            later = []
    except ConcurrentDeleteReadException:
        conflicts.append(
            later
        )  # a DELETE removes a file that it empties, and rewrites one that it nearly does
    left -= set().union(*later)
    assert ids(table) == sorted(left)
    assert row_ids(table) == {id: before[id] for id in left}
    assert list(DeltaTable(table.table_uri).verify(deep=True)) == []
    after = DeltaTable(table.table_uri).history()
    assert sum(commit["operation"] == "OPTIMIZE" for commit in after) == bool(compaction.plan.bins) - len(
        conflicts
    )


def delete(table, gone):
    """Delete rows by their ids, and return these."""
    if gone:
        table.delete(f"id in ({', '.join(map(str, sorted(gone)))})")
    return gone
