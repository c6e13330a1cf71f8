"""Two statements on one version of a table: when both succeed, and when the later one is refused.

Each test's name is the schedule, in which the statement under test ends last, and its verdict.
"""

import contextlib
import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.errors import (
    CommitFailedError,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConstraintViolationError,
)
from tests.support.leftovers import files_of_log, files_on_disk

VECTORS = {"delta.enableDeletionVectors": "true"}
TRACKED = VECTORS | {"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true"}
pytestmark = [pytest.mark.feature("deletionVectors"), pytest.mark.feature("rowTracking")]


def rows(ids, seen: int = 0) -> pa.Table:
    ids = list(ids)
    return pa.table({"id": pa.array(ids, pa.int64()), "seen": pa.array([seen] * len(ids), pa.int64())})


def make(path, configuration=TRACKED) -> None:
    """A table of two files: the ids 0 to 19, and 20 to 39."""
    write_deltalake(str(path), rows(range(20)), configuration=configuration)
    append(path, range(20, 40))


def append(path, ids, seen: int = 0) -> None:
    write_deltalake(str(path), rows(ids, seen), mode="append")


@pytest.fixture
def table(tmp_path):
    """The handle of a statement that ends last; files that nobody needs are not left behind."""
    make(tmp_path)
    table = DeltaTable(str(tmp_path))
    yield table
    table.update_incremental()
    assert table.verify(deep=True).ok
    assert files_on_disk(tmp_path) == files_of_log(table)


def matching(ids) -> str:
    return f"id IN ({', '.join(map(str, ids))})"


def delete(table, ids):
    return table.delete(matching(ids))


def update(table, ids):
    return table.update({"seen": "seen + 1"}, predicate=matching(ids))


def merger(table, ids):
    return table.merge(rows(ids), "target.id = source.id")


def merge_delete(table, ids):
    return merger(table, ids).when_matched_delete().execute()


def upsert(table, ids):
    merge = merger(table, ids).when_matched_update({"seen": "target.seen + 1"})
    return merge.when_not_matched_insert_all().execute()


def insert_missing(table, ids):
    return merger(table, ids).when_not_matched_insert_all().execute()


STATEMENTS = [delete, update, merge_delete, upsert]
PAIRS = pytest.mark.parametrize(
    ("first", "second"), list(itertools.product(STATEMENTS, repeat=2)), ids=lambda each: each.__name__
)


def seen(table) -> dict[int, int]:
    found = table.to_pyarrow_table().to_pylist()
    assert len({row["id"] for row in found}) == len(found)
    return {row["id"]: row["seen"] for row in found}


def changes(table, version: int) -> Counter:
    found = table.load_cdf(version, version).read_all().to_pylist()
    return Counter((row["_change_type"], row["id"], row["seen"]) for row in found)


def expected_changes(statement, ids) -> Counter:
    if statement in (delete, merge_delete):
        return Counter(("delete", each, 0) for each in ids)
    images = [("update_preimage", 0), ("update_postimage", 1)]
    return Counter((kind, each, value) for each in ids for kind, value in images)


# --- rows that both change ----------------------------------------------------------------------------


@PAIRS
def test_change_of_rows_then_change_of_others_of_the_files_commits(table, first, second):
    theirs, ours = {1, 2, 19, 25}, {0, 3, 18, 21, 39}
    first(DeltaTable(table.table_uri), theirs)
    second(table, ours)
    assert table.version() == 3
    gone, raised = set(), set()
    for statement, changed in ((first, theirs), (second, ours)):
        (gone if statement in (delete, merge_delete) else raised).update(changed)
    assert seen(table) == {each: int(each in raised) for each in range(40) if each not in gone}
    tracking = table.to_pyarrow_table(columns=["id", "_metadata.row_id", "_metadata.row_commit_version"])
    versions = {each: int(each >= 20) for each in range(40)}
    versions |= dict.fromkeys(theirs, 2) | dict.fromkeys(ours, 3)
    assert sorted(tuple(row.values()) for row in tracking.to_pylist()) == [
        (each, each, versions[each]) for each in range(40) if each not in gone
    ]
    assert changes(table, 2) == expected_changes(first, theirs)
    assert changes(table, 3) == expected_changes(second, ours)


@PAIRS
def test_change_of_rows_then_change_of_one_of_them_conflicts(table, first, second):
    first(DeltaTable(table.table_uri), {1, 2, 25})
    with pytest.raises(ConcurrentDeleteDeleteException, match=r"were deleted by version 2 .*: 1 of"):
        second(table, {0, 2, 21})
    table.update_incremental()
    assert table.version() == 2


@pytest.mark.parametrize("second", STATEMENTS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("first", STATEMENTS, ids=lambda each: each.__name__)
def test_rewrite_of_a_file_then_change_of_other_rows_of_it_conflicts(tmp_path, first, second):
    make(tmp_path, {})
    table = DeltaTable(str(tmp_path))
    first(DeltaTable(str(tmp_path)), {1})
    with pytest.raises((ConcurrentDeleteReadException, ConcurrentAppendException)):
        second(table, {2})
    table.update_incremental()
    assert table.version() == 2
    second(table, {2})
    assert table.verify(deep=True).ok and files_on_disk(tmp_path) == files_of_log(table)


def test_rewrite_of_one_file_then_rewrite_of_another_commits(tmp_path):
    make(tmp_path, {})
    table = DeltaTable(str(tmp_path))
    update(DeltaTable(str(tmp_path)), {1})
    assert update(table, {21})["num_updated_rows"] == 1
    assert table.version() == 3


def test_delete_of_rows_then_change_of_most_others_of_the_file_conflicts(table):
    """A file that most rows are gone from is written anew, with all that it has."""
    delete(DeltaTable(table.table_uri), range(3))
    with pytest.raises((ConcurrentDeleteReadException, ConcurrentAppendException)):
        upsert(table, range(5, 19))


def test_delete_of_rows_then_delete_of_all_rows_of_the_file_conflicts(table):
    delete(DeltaTable(table.table_uri), range(5))
    with pytest.raises(ConcurrentDeleteDeleteException):
        table.delete("id < 20")


def test_delete_of_rows_then_delete_of_all_others_removes_the_file(table):
    delete(DeltaTable(table.table_uri), range(5))
    table.delete("id between 5 and 19")
    assert seen(table).keys() == {*range(20, 40)}
    assert table.snapshot.files().num_rows == 1
    assert changes(table, 3) == expected_changes(delete, range(5, 20))


def test_delete_of_a_partition_then_change_of_a_row_in_it_conflicts(tmp_path):
    data = rows(range(20)).append_column("p", pa.array([each % 2 for each in range(20)]))
    write_deltalake(str(tmp_path), data, partition_by=["p"], configuration=TRACKED)
    table = DeltaTable(str(tmp_path))
    DeltaTable(str(tmp_path)).delete("p = 1")
    with pytest.raises(ConcurrentDeleteReadException):
        delete(table, {1})
    assert delete(table_at(tmp_path, 0), {2})["num_deleted_rows"] == 1


def table_at(path, version: int) -> DeltaTable:
    return DeltaTable(str(path), version=version)


def test_three_statements_of_one_version_on_rows_of_one_file_commit(table):
    others = [DeltaTable(table.table_uri) for _ in range(2)]
    for number, (handle, statement) in enumerate(
        zip([*others, table], [update, merge_delete, upsert], strict=True)
    ):
        statement(handle, {number, 10 + number})
    assert table.version() == 4
    assert seen(table) == {each: int(each in {0, 10, 2, 12}) for each in range(40) if each not in {1, 11}}


def test_threads_that_change_rows_of_one_file_lose_none(table):
    def work(worker: int) -> None:
        for statement, ids in [
            (update, {worker, 19}),
            (upsert, {worker, 100 + worker}),
            (delete, {4 + worker}),
        ]:
            for _ in range(60):
                with contextlib.suppress(CommitFailedError):
                    statement(DeltaTable(table.table_uri), ids)
                    break

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert DeltaTable(table.table_uri).version() == 1 + 4 * 3
    expected = dict.fromkeys({*range(40), *range(100, 104)} - {*range(4, 8)}, 0)
    assert seen(DeltaTable(table.table_uri)) == expected | dict.fromkeys(range(4), 2) | {19: 4}


@pytest.mark.parametrize("statement", ["delete", "update", "merge"])
def test_metrics_are_those_of_what_was_committed(table, statement):
    first = DeltaTable(table.table_uri)
    metrics = delete(first, range(5))
    assert vector_metrics(first) == {"Added": 1, "Updated": 0, "Removed": 0, "files": 0}
    assert metrics["num_removed_files"] == 0
    if statement == "delete":
        # The rest of the file: it is not known at first that others have taken what was left of it.
        metrics = table.delete("id between 5 and 19 or id = 20")
        assert metrics["num_removed_files"] == 1
        assert vector_metrics(table) == {"Added": 1, "Updated": 0, "Removed": 1, "files": 1}
    elif statement == "update":
        update(table, [7, 20])
        assert vector_metrics(table) == {"Added": 1, "Updated": 1, "Removed": 0, "files": 0}
    else:
        upsert(table, [7, 20])
        assert vector_metrics(table) == {"Added": 1, "Updated": 1, "Removed": 0, "files": 0}


def vector_metrics(table) -> dict[str, int]:
    """What history tells of deletion vectors and of files that went, in the newest commit."""
    said = table.history(1)[0]["operationMetrics"]
    target = "Target" if "numTargetRowsUpdated" in said else ""
    found = {kind: int(said[f"num{target}DeletionVectors{kind}"]) for kind in ("Added", "Updated", "Removed")}
    return found | {"files": int(said["numTargetFilesRemoved" if target else "numRemovedFiles"])}


# --- rows that come -----------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.__name__)
def test_append_of_rows_that_match_then_change_conflicts(table, statement):
    append(table.table_uri, [5, 50])
    with pytest.raises(ConcurrentAppendException, match="added by version 2"):
        statement(table, {5, 6})


@pytest.mark.parametrize("statement", [*STATEMENTS, insert_missing], ids=lambda each: each.__name__)
def test_append_of_rows_that_do_not_match_though_bounds_cannot_tell_then_change_commits(table, statement):
    append(table.table_uri, [0, 50, 60], seen=5)
    statement(table, {5, 6, 55})
    assert table.version() == 3
    assert (55 in seen_once(table)) == (statement in (upsert, insert_missing))


def seen_once(table) -> set[int]:
    return set(table.to_pyarrow_table()["id"].to_pylist())


@pytest.mark.parametrize(
    ("condition", "appended", "verdict"),
    [
        ("id % 10 = 7", [100, 108], True),
        ("id % 10 = 7", [100, 107], False),
        ("id > 30", [0, 29], True),
        ("id > 30", [0, 31], False),
        ("seen IS NULL OR id = 3", [0, 60], True),
        ("not (id < 1000) or id = 3", [2, 999], True),
        (None, [100], False),
    ],
)
def test_append_then_delete_commits_unless_a_row_matches(table, condition, appended, verdict):
    append(table.table_uri, appended)
    if verdict:
        table.delete(condition)
        assert table.version() == 3
    else:
        with pytest.raises(ConcurrentAppendException):
            table.delete(condition)


def test_update_that_makes_a_row_match_then_delete_conflicts(table):
    DeltaTable(table.table_uri).update({"seen": "9"}, predicate="id = 3")
    with pytest.raises(ConcurrentAppendException):
        table.delete("seen = 9 OR id = 7")


def test_update_that_makes_no_row_match_then_delete_commits(table):
    DeltaTable(table.table_uri).update({"seen": "8"}, predicate="id = 3")
    table.delete("seen = 9 OR id = 7")
    assert seen(table) == {each: 8 if each == 3 else 0 for each in range(40) if each != 7}


@pytest.mark.parametrize("is_merge", [False, True], ids=["delete", "merge"])
def test_append_of_a_row_that_the_condition_cannot_be_computed_for_then_change_conflicts(table, is_merge):
    append(table.table_uri, [40])
    with pytest.raises(ConcurrentAppendException):
        if is_merge:
            merge = table.merge(rows([-2]), "10 div (target.id - 40) = source.id")
            merge.when_matched_delete().execute()
        else:
            table.delete("10 div (id - 40) = -2")
    table.update_incremental()
    with pytest.raises(ConstraintViolationError, match="division by zero"):
        table.delete("10 div (id - 40) = -2")


def test_append_of_rows_that_do_not_match_then_rewrite_of_a_file_commits(tmp_path):
    make(tmp_path, {})
    for place, statement in enumerate(STATEMENTS):
        table = DeltaTable(str(tmp_path))
        append(tmp_path, [40 + place, -1 - place])
        statement(table, {5 + place})
    assert table.version() == 9
    assert seen(table) == {each: int(each in (6, 8)) for each in range(-4, 44) if each not in (5, 7)}


def test_update_that_moves_a_row_into_a_partition_then_delete_of_the_partition_conflicts(tmp_path):
    data = rows(range(20)).append_column("p", pa.array([each % 2 for each in range(20)]))
    write_deltalake(str(tmp_path), data, partition_by=["p"], configuration=TRACKED)
    table = DeltaTable(str(tmp_path))
    DeltaTable(str(tmp_path)).update({"p": "0"}, predicate="id = 3")
    with pytest.raises(ConcurrentAppendException):
        table.delete("p = 0")


def test_update_of_an_application_then_the_same_once_more_conflicts_and_is_not_repeated(table):
    once = CommitProperties(app_transactions=[Transaction("etl", 1)])
    other = DeltaTable(table.table_uri)
    other.update({"seen": "seen + 1"}, predicate="id = 1", commit_properties=once)
    with pytest.raises(ConcurrentTransactionException):
        table.update({"seen": "seen + 1"}, predicate="id = 2", commit_properties=once)
    table.update_incremental()
    metrics = table.update({"seen": "seen + 1"}, predicate="id = 2", commit_properties=once)
    assert (metrics["num_updated_rows"], table.version()) == (0, 2)


# --- MERGE --------------------------------------------------------------------------------------------


def test_append_of_a_key_then_merge_that_inserts_it_conflicts(table):
    append(table.table_uri, [50])
    with pytest.raises(ConcurrentAppendException):
        upsert(table, {5, 50})


def test_append_of_a_key_then_merge_of_inserts_alone_conflicts(table):
    append(table.table_uri, [50])
    with pytest.raises(ConcurrentAppendException):
        insert_missing(table, {50, 51})


def test_merge_then_merge_that_inserts_the_same_key_conflicts(table):
    insert_missing(DeltaTable(table.table_uri), {50})
    with pytest.raises(ConcurrentAppendException):
        upsert(table, {50})


def test_merge_into_an_empty_table_then_merge_of_the_same_keys_conflicts(tmp_path):
    write_deltalake(str(tmp_path), rows([]), configuration=TRACKED)
    table = DeltaTable(str(tmp_path))
    insert_missing(DeltaTable(str(tmp_path)), {1, 2})
    with pytest.raises(ConcurrentAppendException):
        insert_missing(table, {2, 3})


def test_merge_then_merge_that_inserts_other_keys_in_its_range_commits(table):
    insert_missing(DeltaTable(table.table_uri), {50, 52, 54})
    upsert(table, {3, 51, 53, 55})
    assert table.version() == 3
    assert seen(table).keys() == {*range(40), *range(50, 56)}


def test_delete_of_a_key_then_merge_that_found_it_conflicts(table):
    """Without the row it would have inserted one."""
    delete(DeltaTable(table.table_uri), {3})
    with pytest.raises(ConcurrentDeleteReadException, match="read were deleted by version 2"):
        insert_missing(table, {3, 50})


def test_delete_of_a_key_then_merge_that_found_it_twice_conflicts(table):
    delete(DeltaTable(table.table_uri), {3})
    merge = table.merge(rows([3, 3, 50]), "target.id = source.id").when_not_matched_insert_all()
    with pytest.raises(ConcurrentDeleteReadException):
        merge.execute()


def test_delete_of_another_row_then_merge_of_inserts_alone_commits(table):
    delete(DeltaTable(table.table_uri), {3})
    insert_missing(table, {4, 50})
    assert table.version() == 3
    assert seen(table).keys() == {*range(40), 50} - {3}


def test_delete_of_a_row_that_matched_and_stayed_then_merge_conflicts(table):
    delete(DeltaTable(table.table_uri), {3})
    merge = merger(table, {3, 4, 50}).when_matched_update({"seen": "9"}, "target.id = 4")
    with pytest.raises(ConcurrentDeleteReadException):
        merge.when_not_matched_insert_all().execute()


def test_append_then_merge_that_changes_rows_without_a_match_conflicts(table):
    append(table.table_uri, [60])
    merge = merger(table, {*range(35)}).when_not_matched_by_source_delete()
    with pytest.raises(ConcurrentAppendException):
        merge.execute()


def test_append_of_rows_that_no_clause_is_for_then_merge_commits(table):
    append(table.table_uri, [0, 60])
    merge = merger(table, {3, 4}).when_matched_delete().when_not_matched_by_source_delete("target.id = 30")
    merge.execute()
    assert table.version() == 3
    assert seen_once(table) == {*range(40), 60} - {3, 4, 30}


def test_change_of_rows_then_merge_that_changes_others_without_a_match_commits(table):
    update(DeltaTable(table.table_uri), {3})
    merge = merger(table, {*range(1, 40)}).when_not_matched_by_source_delete("target.seen = 0")
    merge.execute()
    assert seen(table) == {each: int(each == 3) for each in range(1, 40)}


def test_change_of_the_table_then_merge_of_the_table_with_itself_conflicts(table):
    update(DeltaTable(table.table_uri), {30})
    merge = table.merge(DeltaTable(table.table_uri, version=1), "target.id = source.id AND target.id < 5")
    with pytest.raises(CommitFailedError):
        merge.when_matched_update({"seen": "source.seen + 1"}).execute()
