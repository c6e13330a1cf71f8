"""Metadata that callers give a commit: invalid values are refused by name, whichever way they come."""

import json
import math

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, write_deltalake
from deltaarrow.errors import InvalidCommitMetadataError
from deltaarrow.storage import open_store
from deltaarrow.transaction import OptimisticTransaction

OWNED = [
    "version",
    "timestamp",
    "inCommitTimestamp",
    "operation",
    "operationMetrics",
    "isolationLevel",
    "isBlindAppend",
    "tags",
    "engineInfo",
    "txnId",
    "job",
    "notebook",
    "clusterId",
]


@pytest.mark.parametrize("key", OWNED)
def test_a_key_that_commit_info_has_a_meaning_for_is_refused_with_another_name(key):
    with pytest.raises(InvalidCommitMetadataError, match=f"'{key}' has a meaning of its own.*'my_{key}'"):
        CommitProperties(custom_metadata={key: "x"})


@pytest.mark.parametrize("key", ["userMetadata", "userName", "userId"])
def test_who_commits_and_why_is_a_text(tmp_path, key):
    properties = CommitProperties(custom_metadata={key: "me"})
    write_deltalake(tmp_path, pa.table({"id": [1]}), commit_properties=properties)
    assert DeltaTable(tmp_path).history()[0][key] == "me"
    for value in (7, None, {"a": "b"}, ["me"]):
        with pytest.raises(InvalidCommitMetadataError, match=f"'{key}' must be a text"):
            CommitProperties(custom_metadata={key: value})


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, [1, -math.inf], b"x", {1, 2}, object(), {"a": {3: "b"}}, 1 << 64, "\ud800"],
    # The address of an object would be another one in each process.
    ids=lambda value: "object" if type(value) is object else repr(value),
)
def test_a_value_that_is_no_json_is_refused_by_its_key(value):
    with pytest.raises(InvalidCommitMetadataError, match="'mine' has a value that JSON cannot hold"):
        CommitProperties(custom_metadata={"mine": value})


@pytest.mark.parametrize("metadata", [{7: "x"}, ["x"], "x"], ids=repr)
def test_metadata_is_a_mapping_with_texts_as_keys(metadata):
    with pytest.raises(InvalidCommitMetadataError):
        CommitProperties(custom_metadata=metadata)


def test_a_value_of_json_is_in_history_as_it_was_given(tmp_path):
    mine = {"a": [1, 2.5, None, True, {"b": "é"}], "c": -(1 << 63)}
    write_deltalake(
        tmp_path,
        pa.table({"id": [1]}),
        commit_properties=CommitProperties(custom_metadata={"mine": mine, "Version": "x"}),
    )
    assert DeltaTable(tmp_path).history()[0]["mine"] == mine


def test_a_transaction_refuses_it_when_it_begins_and_when_it_commits(tmp_path):
    store = open_store(tmp_path)
    with pytest.raises(InvalidCommitMetadataError, match="'job'"):
        OptimisticTransaction(store=store, snapshot=None, commit_metadata={"job": "x"})
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    transaction = DeltaTable(tmp_path).transaction("LOAD")
    transaction.set_application("etl", 1)
    transaction.commit_metadata = {"job": "x"}
    with pytest.raises(InvalidCommitMetadataError, match="'job'"):
        transaction.commit()
    assert DeltaTable(tmp_path).version() == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("parameters", {"a": {"b": 1}}),
        ("metrics", {"a": ["b"]}),
        ("operation", {"a": 1}),
        ("tags", {"a": {}}),
    ],
)
def test_what_a_transaction_tells_history_can_be_parsed(tmp_path, name, value):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    transaction = DeltaTable(tmp_path).transaction("LOAD")
    transaction.set_application("etl", 1)
    setattr(transaction, name, value)
    with pytest.raises(InvalidCommitMetadataError, match=r"of texts|a text"):
        transaction.commit()
    assert DeltaTable(tmp_path).version() == 0


# --- commits of others ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("info", "severity"),
    [
        ({"job": "x"}, "error"),
        ({"version": "1"}, "error"),
        ({"readVersion": True}, "error"),
        ({"inCommitTimestamp": 1.5}, "error"),
        ({"timestamp": "yesterday"}, "error"),
        ({"isBlindAppend": "yes"}, "error"),
        ({"tags": "x"}, "error"),
        ({"operationMetrics": [1]}, "error"),
        ({"operationParameters": {"a": {"b": 1}}}, "warning"),
        ({"clusterId": {"a": "b"}}, "warning"),
        ({"userId": ["me"]}, "warning"),
        ({"mine": {"a": [1]}, "userId": 7, "job": {"jobId": "1"}, "notebook": None}, None),
    ],
    ids=str,
)
def test_verify_finds_commits_that_spark_cannot_parse(tmp_path, info, severity):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    write_deltalake(tmp_path, pa.table({"id": [2]}), mode="append")
    file = tmp_path / "_delta_log/00000000000000000001.json"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    lines[0]["commitInfo"] |= info
    file.write_text("\n".join(map(json.dumps, lines)))
    findings = list(DeltaTable(tmp_path).verify())
    if severity is None:
        assert findings == []
        return
    (found,) = findings
    assert (found.severity, found.check, found.where) == (
        severity,
        "commit_info",
        "_delta_log/00000000000000000001.json",
    )
    assert found.what.startswith(next(iter(info)))


def test_parameters_are_added_as_texts_and_those_of_the_operation_stay(tmp_path):
    given = {
        "mode": "mine",
        "partitionBy": "mine",
        "source": {"from": "é"},
        "dry": True,
        "n": 7,
    }
    properties = CommitProperties(
        custom_metadata={"operationParameters": given, "readVersion": 15, "mine": 1}
    )
    data = pa.table({"id": [1], "n": [2]})
    write_deltalake(tmp_path, data, mode="overwrite", partition_by=["id"], commit_properties=properties)
    found = next(
        action["commitInfo"]
        for line in (tmp_path / "_delta_log" / f"{0:020}.json").read_text(encoding="utf-8").splitlines()
        if "commitInfo" in (action := json.loads(line))
    )
    assert found["operationParameters"] == {
        "source": '{"from":"é"}',
        "dry": "true",
        "n": "7",
        "mode": "Overwrite",
        "partitionBy": '["id"]',
    }
    assert (found["readVersion"], found["mine"]) == (15, 1)
    history = DeltaTable(tmp_path).history(1)[0]
    assert (history["readVersion"], history["operationParameters"]["n"]) == (15, "7")


@pytest.mark.parametrize(
    ("key", "value"),
    [("operationParameters", "x"), ("operationParameters", None), ("operationParameters", {1: 2})]
    + [("readVersion", value) for value in (-1, 1.0, "1", True, None, 1 << 63)],
)
def test_parameters_and_a_read_version_of_other_types_are_refused(key, value):
    with pytest.raises(InvalidCommitMetadataError, match=key):
        CommitProperties(custom_metadata={key: value})
