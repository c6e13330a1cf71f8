"""Schedules of two transactions on everything in a table except its files, and their verdicts.

The transaction under test ends last: in `test_change_of_metadata_then_append_conflicts` another writer
changes the metadata after the append has begun.
"""

import json
import shutil
from dataclasses import replace

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable
from deltaarrow.actions import AddFile, Protocol, SetTransaction
from deltaarrow.errors import (
    CommitFailedError,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
FEATURES = ["domainMetadata", "rowTracking", "identityColumns"]


@pytest.fixture
def table(tmp_path) -> TableBuilder:
    builder = TableBuilder(tmp_path).features(writer_only=FEATURES)
    return builder.metadata(SCHEMA, id="one", configuration={"k": "v"}).commit()


def begin(table: TableBuilder) -> OptimisticTransaction:
    store = open_store(table.path)
    transaction = OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST")
    transaction.stage([SetTransaction(app_id="own", version=1)])
    return transaction


def metadata(table: TableBuilder, **changes) -> TableBuilder:
    """Stage the present metadata with changes, as another writer does."""
    present = next(a["metaData"] for a in table.commits[0] if "metaData" in a)
    return table.commit([{"metaData": present | changes}])


# --- metadata ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"description": "other"},
        {"id": "other"},
        {"partitionColumns": ["id"]},
        {"configuration": {"k": "other"}},
        {"configuration": {}},
        {"configuration": {"k": "v", "delta.appendOnly": "true"}},
    ],
    ids=str,
)
def test_change_of_metadata_then_append_conflicts(table, changes):
    transaction = begin(table)
    metadata(table, **changes)
    with pytest.raises(MetadataChangedException, match="version 1"):
        transaction.commit()


def test_change_of_schema_then_append_conflicts(table):
    transaction = begin(table)
    table.metadata(pa.schema([("id", pa.int64()), ("x", pa.int64())]), id="one", configuration={"k": "v"})
    table.commit()
    with pytest.raises(MetadataChangedException):
        transaction.commit()


def test_metadata_written_again_unchanged_then_append_commits(table):
    transaction = begin(table)
    metadata(table)
    assert transaction.commit() == 2


def test_metadata_written_again_unchanged_then_change_of_metadata_conflicts(table):
    transaction = begin(table)
    transaction.set_metadata(transaction.snapshot.metadata)
    metadata(table)
    with pytest.raises(MetadataChangedException):
        transaction.commit()


def with_high_water_mark(mark: int) -> str:
    field = {"name": "id", "type": "long", "nullable": True}
    field["metadata"] = {
        "delta.identity.start": 1,
        "delta.identity.step": 1,
        "delta.identity.allowExplicitInsert": False,
        "delta.identity.highWaterMark": mark,
    }
    return json.dumps({"type": "struct", "fields": [field]})


@pytest.fixture
def identity_table(tmp_path) -> TableBuilder:
    table = TableBuilder(tmp_path).features(writer_only=["identityColumns"])
    return table.metadata(with_high_water_mark(10), id="one").commit()


def test_identity_high_water_mark_then_append_commits(identity_table):
    transaction = begin(identity_table)
    identity_table.metadata(with_high_water_mark(20), id="one").commit()
    assert transaction.commit() == 2
    # What goes after it leaves the new mark in place.
    assert json.loads(DeltaTable(identity_table.path).snapshot.metadata.schema_string) == json.loads(
        with_high_water_mark(20)
    )


def test_identity_high_water_mark_then_change_of_metadata_conflicts(identity_table):
    transaction = begin(identity_table)
    transaction.set_metadata(transaction.snapshot.metadata)
    identity_table.metadata(with_high_water_mark(20), id="one").commit()
    with pytest.raises(MetadataChangedException):
        transaction.commit()


def test_identity_start_then_append_conflicts(identity_table):
    transaction = begin(identity_table)
    schema = with_high_water_mark(10).replace('"delta.identity.start": 1', '"delta.identity.start": 5')
    identity_table.metadata(schema, id="one").commit()
    with pytest.raises(MetadataChangedException):
        transaction.commit()


ROW_TRACKING = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_row-id-1",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-1",
}


def test_row_tracking_switched_on_then_append_commits(table):
    transaction = begin(table)
    metadata(table, configuration={"k": "v", **ROW_TRACKING})
    assert transaction.commit() == 2


def test_row_tracking_switched_on_then_change_of_metadata_conflicts(table):
    transaction = begin(table)
    transaction.set_metadata(transaction.snapshot.metadata)
    metadata(table, configuration={"k": "v", **ROW_TRACKING})
    with pytest.raises(MetadataChangedException):
        transaction.commit()


@pytest.mark.parametrize("other", [{"k": "w"}, {"delta.enableRowTracking": "false"}, {"x": "y"}], ids=str)
def test_row_tracking_changed_with_something_else_then_append_conflicts(table, other):
    transaction = begin(table)
    metadata(table, configuration={"k": "v", **ROW_TRACKING, **other})
    with pytest.raises(MetadataChangedException):
        transaction.commit()


# --- protocol ---------------------------------------------------------------------------------------


def test_change_of_protocol_then_append_conflicts(table):
    transaction = begin(table)
    table.features("deletionVectors", writer_only=FEATURES)
    table.commit()
    with pytest.raises(ProtocolChangedException, match="version 1"):
        transaction.commit()


def test_protocol_written_again_in_another_order_then_append_commits(table):
    transaction = begin(table)
    table.features(writer_only=FEATURES[::-1]).commit()
    assert transaction.commit() == 2


def test_protocol_written_again_then_change_of_protocol_conflicts(table):
    transaction = begin(table)
    transaction.set_protocol(
        Protocol(min_reader_version=3, min_writer_version=7, reader_features=(), writer_features=())
    )
    table.features(writer_only=FEATURES[::-1]).commit()
    with pytest.raises(ProtocolChangedException):
        transaction.commit()


# --- domains and applications -----------------------------------------------------------------------


def test_domain_then_the_same_domain_conflicts(table):
    transaction = begin(table)
    transaction.set_domain("a", "1")
    table.commit([table.domain("a", "2")])
    with pytest.raises(ConcurrentTransactionException, match="domain"):
        transaction.commit()
    assert DeltaTable(table.path).snapshot.domains["a"].configuration == "2"


def test_domain_then_its_removal_conflicts(table):
    table.commit([table.domain("a", "1")])
    transaction = begin(table)
    transaction.remove_domain("a")
    table.commit([table.domain("a", "2")])
    with pytest.raises(ConcurrentTransactionException, match="domain"):
        transaction.commit()


def test_domain_then_another_domain_commits(table):
    transaction = begin(table)
    transaction.set_domain("a", "1")
    table.commit([table.domain("b", "2")])
    assert transaction.commit() == 2
    assert set(DeltaTable(table.path).snapshot.domains) == {"a", "b"}


def test_row_id_high_water_mark_then_row_id_high_water_mark_commits(table):
    transaction = begin(table)
    file = AddFile(path="f", partition_values={}, size=1, modification_time=0, data_change=True)
    transaction.stage([replace(file, stats='{"numRecords":2}')])
    table.commit([table.domain("delta.rowTracking", '{"rowIdHighWaterMark":5}')])
    assert transaction.commit() == 2
    marked = DeltaTable(table.path).snapshot.domains["delta.rowTracking"].configuration
    assert json.loads(marked)["rowIdHighWaterMark"] == 7


def test_application_then_the_same_application_that_was_asked_for_conflicts(table):
    transaction = begin(table)
    assert transaction.set_application("etl", 5)
    table.commit([table.txn("etl", 5)])
    with pytest.raises(ConcurrentTransactionException, match="etl"):
        transaction.commit()


def test_application_then_the_same_application_that_was_not_asked_for_commits(table):
    transaction = begin(table)
    table.commit([table.txn("own", 0)])
    assert transaction.commit() == 2


def test_application_then_another_application_commits(table):
    transaction = begin(table)
    assert transaction.set_application("etl", 5)
    table.commit([table.txn("other", 5)])
    assert transaction.commit() == 2


@pytest.mark.parametrize(("version", "is_new"), [(4, False), (5, False), (6, True)])
def test_a_replay_of_an_application_is_told(table, version, is_new):
    table.commit([table.txn("etl", 5)])
    transaction = begin(table)
    assert transaction.set_application("etl", version) is is_new


# --- the log itself ---------------------------------------------------------------------------------


def test_many_commits_then_append_commits_after_them_all(table):
    transaction = begin(table)
    for number in range(30):
        table.commit([table.txn("other", number)])
    assert transaction.commit() == 31


@pytest.mark.parametrize("harmful", [1, 2, 3])
def test_three_commits_of_which_one_conflicts_then_append_conflicts(table, harmful):
    transaction = begin(table)
    for version in (1, 2, 3):
        if version == harmful:
            metadata(table, name="other")
        else:
            table.commit([table.txn("other", version)])
    with pytest.raises(MetadataChangedException, match=f"version {harmful}"):
        transaction.commit()


def cleaned_up(table: TableBuilder, *commits) -> None:
    for actions in commits:
        table.commit(actions)
    table.checkpoint()
    table.delete_commits(*range(len(commits)))


def test_commits_that_were_cleaned_up_then_append_commits(table):
    transaction = begin_append(table)
    cleaned_up(table, [table.txn("a", 1)], [table.txn("a", 2)])
    assert transaction.commit() == 3


def begin_append(table: TableBuilder) -> OptimisticTransaction:
    store = open_store(table.path)
    return OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST")


def test_commits_that_were_cleaned_up_then_application_conflicts(table):
    transaction = begin_append(table)
    transaction.set_application("etl", 5)
    cleaned_up(table, [table.txn("a", 1)], [table.txn("a", 2)])
    with pytest.raises(ConcurrentWriteException, match="no longer in the log"):
        transaction.commit()


def test_change_of_metadata_that_was_cleaned_up_then_append_conflicts(table):
    transaction = begin_append(table)
    present = next(a["metaData"] for a in table.commits[0] if "metaData" in a)
    cleaned_up(table, [{"metaData": present | {"name": "other"}}], [])
    with pytest.raises(MetadataChangedException):
        transaction.commit()


def test_change_of_protocol_that_was_cleaned_up_then_append_conflicts(table):
    transaction = begin_append(table)
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    cleaned_up(table, [{"protocol": protocol}], [])
    with pytest.raises(ProtocolChangedException):
        transaction.commit()


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_table_made_anew_then_append_conflicts(table, commits):
    table.commit()
    transaction = begin(table)
    shutil.rmtree(table.path)
    anew = TableBuilder(table.path).protocol().metadata(SCHEMA, id="two")
    for number in range(commits):
        anew.commit(timestamp=EPOCH_MS + 60_000 + number)
    with pytest.raises(CommitFailedError, match="deleted and created again"):
        transaction.commit()
    assert DeltaTable(table.path).version() == commits - 1


def test_table_deleted_then_append_conflicts(table):
    transaction = begin(table)
    shutil.rmtree(table.path)
    with pytest.raises(CommitFailedError, match="deleted"):
        transaction.commit()
    assert not table.path.exists()
