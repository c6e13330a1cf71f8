"""Version checksums in all their spellings; broken ones are ignored."""

import json

import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.actions import FileActionKey
from deltaarrow.log import read_version_checksum
from deltaarrow.log.checksums import FileSizeHistogram, parse_version_checksum
from deltaarrow.storage import open_store
from tests.support.examples import examples


def histogram(boundaries, counts, totals):
    return {"sortedBinBoundaries": boundaries, "fileCounts": counts, "totalBytes": totals}


PROTOCOL = {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["a"], "writerFeatures": ["a"]}
METADATA = {"id": "m", "format": {"provider": "parquet", "options": {}}, "schemaString": "{}"}
REQUIRED = {
    "tableSizeBytes": 30,
    "numFiles": 2,
    "numMetadata": 1,
    "numProtocol": 1,
    "metadata": METADATA,
    "protocol": PROTOCOL,
}
ADD = {"path": "a%20b", "partitionValues": {}, "size": 10, "modificationTime": 0, "dataChange": False}
FULL = REQUIRED | {
    "txnId": "t",
    "inCommitTimestampOpt": 5,
    "setTransactions": [{"appId": "etl", "version": 7, "lastUpdated": 1}],
    "domainMetadata": [{"domain": "d", "configuration": "{}", "removed": False}],
    "fileSizeHistogram": histogram([0, 16], [1, 1], [10, 20]),
    "allFiles": [ADD],
    "numDeletedRecordsOpt": 3,
    "numDeletionVectorsOpt": 1,
    "deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]},
    "somethingNew": {"x": 1},
}


def parse(obj):
    return parse_version_checksum(json.dumps(obj).encode())


def test_what_must_be_there_is_enough():
    checksum = parse(REQUIRED)
    assert (checksum.table_size_bytes, checksum.num_files) == (30, 2)
    assert checksum.protocol.writer_features == ("a",)
    assert checksum.metadata.id == "m"
    assert (checksum.transactions, checksum.all_files, checksum.file_size_histogram) == (None, None, None)


def test_everything_that_may_be_there_is_understood_and_what_is_new_is_kept():
    checksum = parse(FULL)
    assert checksum.transactions["etl"].version == 7
    assert checksum.domains["d"].configuration == "{}"
    assert checksum.file_size_histogram == FileSizeHistogram((0, 16), (1, 1), (10, 20))
    assert list(checksum.all_files) == [FileActionKey("a b", "")]
    assert (checksum.num_deleted_records, checksum.num_deletion_vectors) == (3, 1)
    assert checksum.deleted_record_counts == (1, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    assert (checksum.txn_id, checksum.in_commit_timestamp) == ("t", 5)
    assert checksum.extra == {"somethingNew": {"x": 1}}


def test_the_older_name_of_the_histogram_is_understood():
    checksum = parse(REQUIRED | {"histogramOpt": FULL["fileSizeHistogram"]})
    assert checksum.file_size_histogram.total_bytes == (10, 20)
    assert checksum.extra == {}


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        json.dumps(FULL).encode()[:-1],
        json.dumps(FULL).encode() * 2,
        *(json.dumps({k: v for k, v in REQUIRED.items() if k != key}).encode() for key in list(REQUIRED)[:4]),
        *(
            json.dumps(FULL | change).encode()
            for change in (
                {"numFiles": "2"},
                {"numFiles": True},
                {"metadata": "x"},
                {"metadata": {"name": "no id"}},
                {"protocol": {}},
                {"setTransactions": [{"appId": ["a"], "version": 1}]},
                {"setTransactions": {}},
                {"domainMetadata": [None]},
                {"allFiles": [{"path": 1}]},
                {"allFiles": [ADD | {"deletionVector": {}}]},
                {"fileSizeHistogram": histogram([0, 16], [1], [1, 1])},
                {"fileSizeHistogram": histogram([0, 16], [1, 1], [1])},
                {"fileSizeHistogram": histogram([16, 0], [1, 1], [1, 1])},
                {"fileSizeHistogram": histogram([1, 16], [1, 1], [1, 1])},
                {"fileSizeHistogram": histogram([], [], [])},
                {"fileSizeHistogram": []},
                {"deletedRecordCountsHistogramOpt": {"deletedRecordCounts": [1]}},
                {"inCommitTimestampOpt": 1.5},
            )
        ),
    ],
)
def test_a_broken_checksum_is_none(text):
    assert parse_version_checksum(text) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=examples(67), deadline=None)
@given(key=st.sampled_from(sorted(FULL)), value=JSON)
def test_no_value_of_a_key_is_an_error(key, value):
    parse(FULL | {key: value})


@settings(max_examples=examples(34), deadline=None)
@given(place=st.integers(0, 800), byte=st.integers(0, 255))
def test_no_byte_is_an_error(place, byte):
    text = bytearray(json.dumps(FULL).encode())
    text[place % len(text)] = byte
    parse_version_checksum(bytes(text))


def test_a_checksum_is_read_by_the_name_of_its_version(tmp_path):
    log = tmp_path / "_delta_log"
    log.mkdir()
    (log / f"{3:020d}.crc").write_text(json.dumps(FULL))
    (log / f"{4:020d}.crc").write_text("torn")
    (log / f".{5:020d}.json.crc").write_bytes(b"crc\0")
    store = open_store(tmp_path)
    assert read_version_checksum(store, 3).num_files == 2
    assert read_version_checksum(store, 4) is None
    assert read_version_checksum(store, 5) is None
