"""Commits that are refused before they are written, whoever staged them."""

from dataclasses import replace

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable
from deltaarrow.actions import (
    AddCDCFile,
    AddFile,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    Sidecar,
)
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
from deltaarrow.errors import DeltaError, DeltaProtocolError, InvalidCommitMetadataError
from deltaarrow.schema import Schema
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction
from deltaarrow.transaction.commit_rules import ensure_valid_commit
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64())])
PROTOCOL = Protocol(
    min_reader_version=3,
    min_writer_version=7,
    reader_features=("deletionVectors",),
    writer_features=("deletionVectors", "domainMetadata"),
)
METADATA = Metadata(id="t", schema_string=Schema.from_arrow(SCHEMA).to_json())
OLD, NEW = (DeletionVectorDescriptor("u", "x" * 20, offset, 34, 1) for offset in (1, 50))


def add(path: str = "f", **fields) -> AddFile:
    given = {"partition_values": {}, "size": 1, "modification_time": 1, "data_change": True} | fields
    return AddFile(path=path, **given)


def remove(path: str = "f", **fields) -> RemoveFile:
    return RemoveFile(path=path, **{"data_change": True} | fields)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([METADATA, METADATA], "two metaData actions"),
        ([PROTOCOL, PROTOCOL], "two protocol actions"),
        ([SetTransaction(app_id="a", version=1)] * 2, "two txn actions of a"),
        ([DomainMetadata(domain="d", configuration="")] * 2, "two domainMetadata actions of d"),
        ([add(), add()], "two add actions of f"),
        ([add("a b"), add("a%20b")], "two add actions of a b"),
        ([add("/f"), add("file:///f")], "two add actions of /f"),
        ([add(deletion_vector=OLD), add(deletion_vector=NEW)], "two add actions of f"),
        ([remove(), remove()], "two remove actions of f"),
        ([remove(), remove(deletion_vector=OLD)], "two remove actions of f"),
        ([AddCDCFile(path="c", partition_values={}, size=1)] * 2, "two cdc actions of c"),
        ([add(), remove()], "adds and removes f"),
        ([add("a b"), remove("a%20b")], "adds and removes a b"),
        (
            [add(deletion_vector=OLD), remove(deletion_vector=replace(OLD, extra={"k": 1}))],
            "adds and removes f",
        ),
        ([CommitInfo()], "CommitInfo cannot be staged"),
        ([CheckpointMetadata(version=1)], "CheckpointMetadata cannot be staged"),
        ([Sidecar(path="s", size_in_bytes=1, modification_time=1)], "Sidecar cannot be staged"),
        ([add(partition_values={"p": "1"})], "partition values for"),
    ],
)
def test_what_could_not_be_reconciled_is_refused(actions, message):
    with pytest.raises(DeltaProtocolError, match=message):
        ensure_valid_commit(actions, PROTOCOL, METADATA)


@pytest.mark.parametrize(
    "actions",
    [
        [],
        [add("f"), add("g"), remove("h")],
        [remove(), add(deletion_vector=OLD)],
        [remove(deletion_vector=OLD), add(deletion_vector=NEW)],
        [remove(deletion_vector=OLD), add()],
        [DomainMetadata(domain=domain, configuration="") for domain in "ab"],
        [SetTransaction(app_id=app, version=1) for app in "ab"],
    ],
)
def test_what_can_be_reconciled_is_let_pass(actions):
    ensure_valid_commit(actions, PROTOCOL, METADATA)


@pytest.mark.parametrize(("actions", "missing"), [([], "protocol"), ([PROTOCOL], "metaData")])
def test_a_new_table_needs_protocol_and_metadata(actions, missing):
    with pytest.raises(DeltaProtocolError, match=f"has no {missing} action"):
        ensure_valid_commit(actions)
    ensure_valid_commit([PROTOCOL, METADATA])


@pytest.mark.parametrize(
    ("action", "feature"),
    [
        (DomainMetadata(domain="d", configuration=""), "domainMetadata"),
        (add(deletion_vector=OLD), "deletionVectors"),
    ],
)
def test_an_action_of_a_feature_needs_it_in_the_protocol(action, feature):
    plain = Protocol(min_reader_version=1, min_writer_version=2)
    with pytest.raises(DeltaProtocolError, match=f"needs the table feature {feature}"):
        ensure_valid_commit([action], plain, METADATA)
    ensure_valid_commit([action, PROTOCOL], plain, METADATA)


def test_partition_values_are_those_of_the_partition_columns():
    partitioned = replace(METADATA, partition_columns=("id",))
    ensure_valid_commit([add(partition_values={"id": None})], PROTOCOL, partitioned)
    for values in ({}, {"ID": "1"}, {"id": "1", "x": "1"}):
        with pytest.raises(DeltaProtocolError, match="partitioned by"):
            ensure_valid_commit([add(partition_values=values)], PROTOCOL, partitioned)
    mapped = replace(partitioned, configuration={"delta.columnMapping.mode": "name"})
    ensure_valid_commit([add(partition_values={"col-1": "1"})], PROTOCOL, mapped)


def test_rows_of_an_append_only_table_are_not_removed():
    append_only = replace(METADATA, configuration={"delta.appendOnly": "true"})
    ensure_valid_commit([add("g"), remove(data_change=False)], PROTOCOL, append_only)
    with pytest.raises(DeltaProtocolError, match="append-only"):
        ensure_valid_commit([remove()], PROTOCOL, append_only)


@pytest.mark.parametrize(
    "action",
    [
        replace(METADATA, schema_string="{"),
        replace(PROTOCOL, min_reader_version=4),
        replace(PROTOCOL, reader_features=("unheardOf",)),
        Protocol(min_reader_version=3, min_writer_version=7),
    ],
)
def test_a_table_that_could_not_be_opened_again_is_not_written(action):
    with pytest.raises(DeltaError):
        ensure_valid_commit([action], PROTOCOL, METADATA)


@pytest.mark.parametrize("key", ["txnId", "inCommitTimestamp", "isBlindAppend"])
def test_commit_metadata_leave_alone_what_others_rely_on(tmp_path, key):
    with pytest.raises(ValueError, match=key):
        OptimisticTransaction(store=open_store(tmp_path), snapshot=None, commit_metadata={key: "x"})


def test_commit_metadata_that_are_not_json_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(InvalidCommitMetadataError, match="'x'"):
        OptimisticTransaction(store=open_store(tmp_path), snapshot=None, commit_metadata={"x": object()})


# --- against the files that are live ----------------------------------------------------------------


@pytest.fixture
def table(tmp_path) -> TableBuilder:
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(SCHEMA)
    rows = pa.table({"id": [1, 2, 3]})
    vector = table.deletion_vector([0])
    return table.commit([table.add_file(rows, name="plain"), table.add_file(rows, deletion_vector=vector)])


def commit(table: TableBuilder, *actions) -> int:
    store = open_store(table.path)
    transaction = OptimisticTransaction(store=store, snapshot=Snapshot.load(store), operation="TEST")
    transaction.stage(actions)
    return transaction.commit()


def live(table: TableBuilder) -> tuple[str, str, DeletionVectorDescriptor]:
    """The path of the file without a vector, that of the one with, and its vector."""
    files = DeltaTable(table.path).snapshot.files().to_pylist()
    (marked,) = (row for row in files if row["deletion_vector"] is not None)
    return "plain", marked["path"], DeletionVectorDescriptor(**marked["deletion_vector"])


def test_a_live_file_is_not_added_with_a_vector_beside_itself(table):
    with pytest.raises(DeltaProtocolError, match="plain is live"):
        commit(table, add("plain", deletion_vector=NEW))


def test_a_live_file_with_a_vector_is_not_added_with_another_beside_itself(table):
    _, path, vector = live(table)
    with pytest.raises(DeltaProtocolError, match="is live"):
        commit(table, add(path, deletion_vector=NEW))
    with pytest.raises(DeltaProtocolError, match="is live"):
        commit(table, add(path, deletion_vector=NEW), remove(path))
    with pytest.raises(DeltaProtocolError, match="is live"):
        commit(table, add(path), remove(path, deletion_vector=replace(vector, offset=7)))
    with pytest.raises(DeltaProtocolError, match="is live"):
        commit(table, add(path), remove(path, deletion_vector=replace(vector, storage_type="p")))


def test_a_live_file_gets_another_vector_in_place_of_its_own(table):
    _, path, vector = live(table)
    assert commit(table, add(path, stats='{"numRecords":3}'), remove(path, deletion_vector=vector)) == 1
    assert DeltaTable(table.path).count() == 6


def test_a_live_file_is_added_again_as_it_is(table):
    _, path, vector = live(table)
    stats = '{"numRecords":3}'
    assert commit(table, add("plain", stats=stats), add(path, deletion_vector=vector, stats=stats)) == 1
    assert DeltaTable(table.path).count() == 5


def test_a_file_that_was_removed_comes_back(table):
    assert commit(table, remove("plain")) == 1
    assert commit(table, add("plain", stats='{"numRecords":3}')) == 2
    assert DeltaTable(table.path).count() == 5
