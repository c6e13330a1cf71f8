"""Row ids that commits assign: none twice, whatever commits in between; chapter "Row Tracking"."""

import json
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from pyroaring import BitMap64

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.actions import AddFile, DomainMetadata
from deltaarrow.errors import (
    ConcurrentAppendException,
    ConcurrentDeleteReadException,
    CorruptLogError,
    DeltaProtocolError,
    InvalidTablePropertyError,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from tests.support.examples import examples
from tests.support.row_tracking import PROPERTIES
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("rowTracking")

SCHEMA = pa.schema([("id", pa.int64())])
DOMAIN = "delta.rowTracking"
BACKFILL = {"operation": "ROW TRACKING BACKFILL"}


def build(path, configuration=PROPERTIES, features=("rowTracking", "domainMetadata")) -> TableBuilder:
    table = TableBuilder(path).features("deletionVectors", writer_only=features)
    return table.metadata(SCHEMA, configuration=configuration).commit()


def add(path: str, rows: int | None) -> AddFile:
    stats = None if rows is None else json.dumps({"numRecords": rows})
    return AddFile(path=path, partition_values={}, size=1, modification_time=0, data_change=True, stats=stats)


def begin(path, *adds: AddFile) -> OptimisticTransaction:
    store = open_store(path)
    transaction = OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST")
    transaction.add_files(adds)
    return transaction


def actions(path, version: int, kind: str) -> list[dict]:
    lines = (path / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    return [action[kind] for line in lines if kind in (action := json.loads(line))]


def ids(path, version: int) -> list[tuple]:
    return [
        (each.get("baseRowId"), each.get("defaultRowCommitVersion")) for each in actions(path, version, "add")
    ]


def mark(path, version: int) -> int | None:
    domains = actions(path, version, "domainMetadata")
    return json.loads(domains[0]["configuration"])["rowIdHighWaterMark"] if domains else None


def test_files_get_the_ids_that_follow_on_the_highest_one_and_their_version(tmp_path):
    build(tmp_path)
    assert begin(tmp_path, add("a", 3), add("b", 2)).commit() == 1
    assert begin(tmp_path, add("c", 1)).commit() == 2
    assert ids(tmp_path, 1) == [(0, 1), (3, 1)]
    assert ids(tmp_path, 2) == [(5, 2)]
    assert (mark(tmp_path, 1), mark(tmp_path, 2)) == (4, 5)
    (domain,) = actions(tmp_path, 2, "domainMetadata")
    assert domain == {
        "domain": DOMAIN,
        "configuration": '{"rowIdHighWaterMark":5,"domainName":"delta.rowTracking"}',
        "removed": False,
    }


def test_a_table_that_merely_supports_row_tracking_gives_ids_and_promises_nothing(tmp_path):
    build(tmp_path, configuration={})
    begin(tmp_path, add("a", 3)).commit()
    assert ids(tmp_path, 1) == [(0, 1)]
    assert "tags" not in actions(tmp_path, 1, "commitInfo")[0]


def test_no_ids_are_given_out_while_row_tracking_is_suspended(tmp_path):
    build(tmp_path, configuration={"delta.rowTrackingSuspended": "true"})
    begin(tmp_path, add("a", 3)).commit()
    assert ids(tmp_path, 1) == [(None, None)]
    assert mark(tmp_path, 1) is None


def test_row_tracking_that_is_enabled_and_suspended_is_refused(tmp_path):
    build(tmp_path, configuration=PROPERTIES | {"delta.rowTrackingSuspended": "true"})
    with pytest.raises(InvalidTablePropertyError, match=r"delta\.rowTrackingSuspended"):
        begin(tmp_path, add("a", 3)).commit()
    assert DeltaTable(tmp_path).version() == 0


@pytest.mark.parametrize("stats", [None, '{"minValues":{}}', '{"numRecords":-1}', '{"numRecords":"7"}'])
def test_a_file_without_a_row_count_is_refused(tmp_path, stats):
    build(tmp_path)
    file = AddFile(path="a", partition_values={}, size=1, modification_time=0, data_change=True, stats=stats)
    with pytest.raises(DeltaProtocolError, match="a has no numRecords"):
        begin(tmp_path, file).commit()


def test_the_domain_of_row_tracking_is_not_for_callers(tmp_path):
    build(tmp_path)
    transaction = begin(tmp_path, add("a", 1))
    transaction.stage(
        [DomainMetadata(domain=DOMAIN, configuration='{"rowIdHighWaterMark":7}', removed=False)]
    )
    with pytest.raises(DeltaProtocolError, match=DOMAIN):
        transaction.commit()


def test_row_tracking_without_domain_metadata_is_refused(tmp_path):
    build(tmp_path, features=["rowTracking"])
    with pytest.raises(DeltaProtocolError, match="domainMetadata"):
        begin(tmp_path, add("a", 1)).commit()


@pytest.mark.parametrize(
    "configuration", ["", "[]", "{}", "7", '{"rowIdHighWaterMark":"7"}', f'{{"rowIdHighWaterMark":{2**63}}}']
)
def test_a_high_water_mark_that_cannot_be_read_is_refused(tmp_path, configuration):
    table = build(tmp_path)
    table.commit([table.domain(DOMAIN, configuration)])
    with pytest.raises(CorruptLogError, match=DOMAIN):
        begin(tmp_path, add("a", 1)).commit()


def test_ids_that_are_used_up_are_refused(tmp_path):
    table = build(tmp_path)
    table.commit([table.domain(DOMAIN, f'{{"rowIdHighWaterMark":{2**63 - 3}}}')])
    begin(tmp_path, add("a", 2)).commit()
    with pytest.raises(CorruptLogError, match="row ids"):
        begin(tmp_path, add("b", 1)).commit()


def test_the_mark_of_the_protocols_text_counts_as_well(tmp_path):
    table = build(tmp_path)
    table.commit([table.domain(DOMAIN, '{"highWaterMark":41}')])
    begin(tmp_path, add("a", 1)).commit()
    assert ids(tmp_path, 2) == [(42, 2)]


# --- schedules ----------------------------------------------------------------------------------------


def test_append_then_append_gives_ids_anew(tmp_path):
    build(tmp_path)
    first, second = begin(tmp_path, add("a", 3)), begin(tmp_path, add("b", 5))
    first.commit()
    assert second.commit() == 2
    assert ids(tmp_path, 2) == [(3, 2)]
    assert mark(tmp_path, 2) == 7


def test_support_for_row_tracking_then_enabling_it_says_that_rows_were_not_kept(tmp_path):
    table = build(tmp_path, configuration={})
    transaction = begin(tmp_path, add("a", 3))
    present = actions(tmp_path, 0, "metaData")[0]
    table.commit([{"metaData": present | {"configuration": PROPERTIES}}])
    assert transaction.commit() == 2
    assert actions(tmp_path, 2, "commitInfo")[0]["tags"] == {"delta.rowTracking.preserved": "false"}
    begin(tmp_path, add("b", 1)).commit()
    assert actions(tmp_path, 3, "commitInfo")[0]["tags"] == {"delta.rowTracking.preserved": "true"}


def backfilled(path):
    """A table whose one file gets its ids only after a transaction has read it."""
    table = build(path, configuration={"delta.enableDeletionVectors": "true"})
    file = table.add_file(pa.table({"id": range(10)}))
    table.commit([file])
    transaction = begin(path)
    row = transaction.read_files().to_pylist(maps_as_pydicts="strict")[0]
    again = {**file["add"], "dataChange": False, "baseRowId": 40, "defaultRowCommitVersion": 2}
    table.commit([{"add": again}, table.domain(DOMAIN, '{"rowIdHighWaterMark":49}')], info=BACKFILL)
    return transaction, row


def test_backfill_then_deleting_rows_keeps_the_ids_of_the_backfill(tmp_path):
    transaction, row = backfilled(tmp_path)
    transaction.remove_rows(row, BitMap64([3]))
    assert transaction.commit() == 3
    assert ids(tmp_path, 3) == [(40, 2)]
    (remove,) = actions(tmp_path, 3, "remove")
    assert (remove["baseRowId"], remove["defaultRowCommitVersion"]) == (40, 2)
    assert mark(tmp_path, 3) is None


def test_backfill_then_removing_its_file_keeps_its_ids_in_the_tombstone(tmp_path):
    transaction, _ = backfilled(tmp_path)
    transaction.remove_files(transaction.read_files())
    assert transaction.commit() == 3
    (remove,) = actions(tmp_path, 3, "remove")
    assert (remove["baseRowId"], remove["defaultRowCommitVersion"]) == (40, 2)


def test_backfill_then_backfill_of_the_same_file_conflicts(tmp_path):
    transaction, row = backfilled(tmp_path)
    file = AddFile(
        path=row["path"],
        partition_values={},
        size=row["size"],
        modification_time=0,
        data_change=False,
        stats=row["stats"],
    )
    transaction.read.searches.clear()
    transaction.stage([file])
    with pytest.raises(ConcurrentAppendException, match="commits again"):
        transaction.commit()


def test_deleting_a_file_then_its_backfill_conflicts(tmp_path):
    table = build(tmp_path, configuration={})
    file = table.add_file(pa.table({"id": range(10)}))
    table.commit([file])
    transaction = begin(tmp_path)
    (row,) = transaction.read_files().to_pylist()
    transaction.stage([add(row["path"], 10)])
    table.commit([table.remove(file)])
    with pytest.raises(ConcurrentDeleteReadException):
        transaction.commit()


def test_a_commit_that_calls_itself_a_backfill_and_adds_rows_conflicts_all_the_same(tmp_path):
    table = build(tmp_path)
    transaction = begin(tmp_path, add("new", 1))
    transaction.read_whole_table()
    table.commit([table.add_file(pa.table({"id": [1]}))], info=BACKFILL)
    with pytest.raises(ConcurrentAppendException):
        transaction.commit()


def spans(path) -> list[range]:
    files = Snapshot.load(open_store(path)).files()
    rows = [json.loads(stats)["numRecords"] for stats in files.column("stats").to_pylist()]
    bases = files.column("base_row_id").to_pylist()
    return sorted(
        (range(base, base + n) for base, n in zip(bases, rows, strict=True)), key=lambda r: (r.start, r.stop)
    )


def test_no_two_rows_get_one_id_from_writers_in_threads(tmp_path):
    build(tmp_path)

    def append(number: int) -> None:
        write_deltalake(tmp_path, pa.table({"id": range(number % 4 + 1)}), mode="append")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(24)))
    found = [row_id for span in spans(tmp_path) for row_id in span]
    assert found == list(range(60))
    assert json.loads(Snapshot.load(open_store(tmp_path)).domains[DOMAIN].configuration) == {
        "rowIdHighWaterMark": 59,
        "domainName": DOMAIN,
    }


@settings(deadline=None, max_examples=examples(5))
@given(
    st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 4), min_size=1, max_size=3)), max_size=8)
)
def test_no_two_rows_get_one_id_however_commits_interleave(tmp_path_factory, steps):
    """Each step ends the oldest transactions until as few are open as it says, and begins one."""
    path = tmp_path_factory.mktemp("t")
    build(path)
    pending, number, total = [], 0, 0
    for most, sizes in steps:
        while len(pending) > most:
            pending.pop(0).commit()
        files = [add(f"f{number + i}", size) for i, size in enumerate(sizes)]
        number += len(sizes)
        total += sum(sizes)
        pending.append(begin(path, *files))
    for transaction in pending:
        transaction.commit()
    found = [row_id for span in spans(path) for row_id in span]
    assert found == list(range(total))
