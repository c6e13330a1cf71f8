import json
import sys
from dataclasses import replace

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from deltaarrow.actions import (
    CHECKPOINT_SCHEMA,
    FILE_SCHEMA,
    AddFile,
    FileActionKey,
    Protocol,
    RemoveFile,
    SetTransaction,
    file_table,
    parse_action,
    render_action,
    render_json_lines,
)
from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.errors import CorruptLogError

EXAMPLES = [
    {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["a"],
            "writerFeatures": [],
        }
    },
    {
        "metaData": {
            "id": "1",
            "format": {"provider": "parquet", "options": {"x": "y"}, "new": 1},
            "schemaString": "{}",
            "partitionColumns": ["a"],
            "configuration": {"k": "v"},
            "createdTime": 5,
            "inventedLater": {"deep": [1, None]},
        }
    },
    {
        "add": {
            "path": "a%20b",
            "partitionValues": {"p": None, "q": ""},
            "size": 1,
            "modificationTime": 2,
            "dataChange": False,
            "stats": "{}",
            "tags": {"a": "b"},
            "deletionVector": {
                "storageType": "u",
                "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
                "offset": 4,
                "sizeInBytes": 40,
                "cardinality": 6,
                "maxRowIndex": 9,
            },
            "baseRowId": 0,
            "defaultRowCommitVersion": 3,
            "clusteringProvider": "liquid",
            "new": True,
        }
    },
    {"remove": {"path": "x", "dataChange": True}},
    {"cdc": {"path": "x", "partitionValues": {}, "size": 1, "dataChange": False}},
    {"txn": {"appId": "a", "version": 1, "lastUpdated": 4}},
    {"domainMetadata": {"domain": "d", "configuration": "{}", "removed": True}},
    {"commitInfo": {"timestamp": 1, "operation": "WRITE", "operationParameters": {"a": None}, "other": [1]}},
    {"checkpointMetadata": {"version": 3, "tags": {}}},
    {"sidecar": {"path": "s", "sizeInBytes": 1, "modificationTime": 2}},
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: next(iter(example)))
def test_an_action_is_written_again_with_all_it_said(example):
    action = parse_action(example)
    assert render_action(action) == example
    assert parse_action(json.loads(render_json_lines([action]))) == action


@pytest.mark.parametrize(
    ("action", "field"), [("add", "path"), ("txn", "appId"), ("protocol", "minReaderVersion")]
)
def test_a_missing_required_field_is_named(action, field):
    example = next(e for e in EXAMPLES if action in e)
    broken = {action: {key: value for key, value in example[action].items() if key != field}}
    with pytest.raises(CorruptLogError, match=field):
        parse_action(broken)


def test_a_field_that_is_none_is_left_out():
    assert render_action(RemoveFile(path="p", data_change=True)) == {
        "remove": {"path": "p", "dataChange": True}
    }
    assert b"null" not in render_json_lines([Protocol(min_reader_version=1, min_writer_version=2)])


def test_an_unknown_action_is_none():
    assert parse_action({"new": {"a": 1}}) is None
    assert parse_action({"add": None, "txn": {"appId": "a", "version": 1}}) == SetTransaction(
        app_id="a", version=1
    )


def test_key_tells_deletion_vectors_apart():
    add = EXAMPLES[2]["add"]
    key = FileActionKey.from_json(add)
    assert key == ("a b", "uab^-aqEH.-t@S}K{vb[*k^@4")
    parsed = parse_action(EXAMPLES[2])
    assert isinstance(parsed, AddFile)
    assert key.deletion_vector_id == parsed.deletion_vector.unique_id
    without_offset = replace(parsed.deletion_vector, offset=None)
    assert without_offset.unique_id == "uab^-aqEH.-t@S}K{vb[*k^"
    inside = {
        "path": "a b",
        "deletionVector": {k: v for k, v in add["deletionVector"].items() if k != "offset"},
    }
    assert FileActionKey.from_json(inside) == ("a b", without_offset.unique_id)


def test_file_table_needs_size_and_partition_values():
    with pytest.raises(CorruptLogError, match="no size"):
        file_table([{"path": "p", "partitionValues": {}}], [FileActionKey("p", "")])


def test_checkpoint_columns_are_spelled_as_the_protocol_has_them():
    add = CHECKPOINT_SCHEMA.field("add").type
    assert [f.name for f in add][:5] == ["path", "partitionValues", "size", "modificationTime", "dataChange"]
    dv = add.field("deletionVector").type
    assert [f.name for f in dv] == ["storageType", "pathOrInlineDv", "offset", "sizeInBytes", "cardinality"]
    assert CHECKPOINT_SCHEMA.field("domainMetadata").type.field("configuration").type == pa.string()
    assert FILE_SCHEMA.names[:2] == ["path", "log_path"]


VALUES = {
    pa.string(): st.text(),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.bool_(): st.booleans(),
    pa.map_(pa.string(), pa.string()): st.dictionaries(st.text(), st.none() | st.text(), max_size=3),
    pa.list_(pa.string()): st.lists(st.none() | st.text(), max_size=3),
    pa.struct([("aB", pa.int64()), ("c", pa.string())]): st.fixed_dictionaries(
        {"aB": st.none() | st.integers(0, 9), "c": st.none() | st.text()}
    ),
}


@pytest.mark.parametrize("data_type", list(VALUES), ids=str)
@given(data=st.data())
def test_built_arrays_are_what_pyarrow_would_build(data_type, data):
    values = data.draw(st.lists(st.none() | VALUES[data_type], max_size=20))
    values = [
        v if v is None or not isinstance(v, str) else v.encode("utf-8", "ignore").decode() for v in values
    ]
    try:
        orjson.dumps(values)
    except (TypeError, orjson.JSONEncodeError):
        return  # lone surrogates are not JSON
    built = build_array(values, data_type)
    built.validate(full=True)
    expected = [list(v.items()) if isinstance(v, dict) and pa.types.is_map(data_type) else v for v in values]
    assert built.equals(pa.array(expected, data_type))


def test_building_arrays_does_not_import_pandas():
    import subprocess

    code = (
        "import sys; from deltaarrow.actions.arrow_tables import build_array; import pyarrow as pa;"
        "build_array(['a', None], pa.string()); build_array([{'a': 'b'}], pa.map_(pa.string(), pa.string()));"
        "sys.exit('pandas' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
