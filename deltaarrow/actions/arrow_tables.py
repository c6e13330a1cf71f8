"""Actions as Arrow: the file table of a snapshot, and the schema of checkpoints.

Both are derived from the fields of the dataclasses: snake_case columns inside the package, camelCase structs
in a checkpoint (chapter "Checkpoint Schema" of the protocol). The arrays are assembled from buffers, because
`pyarrow.array` imports pandas if it is installed, which costs more than opening a table.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from types import NoneType
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.actions.codec import camel_case
from deltaarrow.actions.file_key import FileActionKey
from deltaarrow.actions.model import (
    AddFile,
    CheckpointMetadata,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    Sidecar,
)
from deltaarrow.errors import CorruptLogError

__all__ = [
    "CHECKPOINT_SCHEMA",
    "DELETION_VECTOR_TYPE",
    "FILE_SCHEMA",
    "KEY_COLUMNS",
    "REMOVE_SCHEMA",
    "REQUIRED_OF_DELETION_VECTORS",
    "build_array",
    "ensure_complete",
    "file_table",
    "key_table",
    "remove_table",
]

_STRING_MAP = pa.map_(pa.string(), pa.string())
_DELETION_VECTOR_FIELDS = {
    "storage_type": pa.string(),
    "path_or_inline_dv": pa.string(),
    "offset": pa.int32(),
    "size_in_bytes": pa.int32(),
    "cardinality": pa.int64(),
}
DELETION_VECTOR_TYPE = pa.struct(list(_DELETION_VECTOR_FIELDS.items()))
"""The column `deletion_vector` of a file table."""

REQUIRED_OF_DELETION_VECTORS = ("storage_type", "path_or_inline_dv", "size_in_bytes", "cardinality")
"""Its members that every deletion vector must have; a missing offset means 0."""

_REQUIRED_KEYS = tuple(map(camel_case, REQUIRED_OF_DELETION_VECTORS))

_TYPES: dict[str, pa.DataType] = {
    "path": pa.string(),
    "partition_values": _STRING_MAP,
    "size": pa.int64(),
    "modification_time": pa.int64(),
    "data_change": pa.bool_(),
    "stats": pa.string(),
    "tags": _STRING_MAP,
    "deletion_vector": DELETION_VECTOR_TYPE,
    "base_row_id": pa.int64(),
    "default_row_commit_version": pa.int64(),
    "clustering_provider": pa.string(),
    "deletion_timestamp": pa.int64(),
    "extended_file_metadata": pa.bool_(),
    "app_id": pa.string(),
    "version": pa.int64(),
    "last_updated": pa.int64(),
    "min_reader_version": pa.int32(),
    "min_writer_version": pa.int32(),
    "reader_features": pa.list_(pa.string()),
    "writer_features": pa.list_(pa.string()),
    "id": pa.string(),
    "name": pa.string(),
    "description": pa.string(),
    "format": pa.struct([("provider", pa.string()), ("options", _STRING_MAP)]),
    "schema_string": pa.string(),
    "partition_columns": pa.list_(pa.string()),
    "configuration": _STRING_MAP,
    "created_time": pa.int64(),
    "domain": pa.string(),
    "removed": pa.bool_(),
    "size_in_bytes": pa.int64(),
}
KEY_COLUMNS = ("path", "deletion_vector_id")
"""The columns that identify a logical file in replay: `FileActionKey` as two columns."""


def _columns(cls: type) -> list[str]:
    return [f.name for f in fields(cls) if f.name != "extra"]


def _table_schema(cls: type) -> pa.Schema:
    key = [("path", pa.string()), ("log_path", pa.string())]
    return pa.schema(key + [(name, _TYPES[name]) for name in _columns(cls) if name != "path"])


FILE_SCHEMA = _table_schema(AddFile)
"""One live file per row: `path` is the decoded store name, `log_path` the text in the log."""

REMOVE_SCHEMA = _table_schema(RemoveFile)
"""One tombstone per row, with the same two spellings of the path."""


def _camel_type(data_type: pa.DataType) -> pa.DataType:
    if not pa.types.is_struct(data_type):
        return data_type
    return pa.struct([(camel_case(f.name), _camel_type(f.type)) for f in data_type])


def _struct(cls: type) -> pa.DataType:
    special = {("DomainMetadata", "configuration"): pa.string()}
    return pa.struct(
        [
            (camel_case(name), special.get((cls.__name__, name)) or _camel_type(_TYPES[name]))
            for name in _columns(cls)
        ]
    )


CHECKPOINT_SCHEMA = pa.schema(
    [
        (cls.KEY, _struct(cls))
        for cls in (
            SetTransaction,
            AddFile,
            RemoveFile,
            Metadata,
            Protocol,
            DomainMetadata,
            CheckpointMetadata,
            Sidecar,
        )
    ]
)
"""All columns that a checkpoint may have; exactly one of them is set in each row."""

assert set(_columns(Format)) == {f.name for f in _TYPES["format"]}


def _ensure_kind(values: Sequence[Any], kind: type) -> None:
    # Exactly this type: in Python True is also an int.
    if not {*map(type, values)} <= {kind, NoneType}:
        raise TypeError(f"not all values are of type {kind.__name__}")


def _validity(values: Sequence[Any]) -> tuple[pa.Buffer | None, int]:
    missing = values.count(None)
    if not missing:
        return None, 0
    present = np.fromiter((value is not None for value in values), bool, len(values))
    return pa.py_buffer(np.packbits(present, bitorder="little")), missing


def _offsets(lengths: Sequence[int]) -> pa.Buffer:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(np.array(lengths, np.int64), out=offsets[1:])
    if offsets[-1] > np.iinfo(np.int32).max:
        raise CorruptLogError(
            "a column of the commits after the last checkpoint has more than 2 GiB of text:"
            " write a checkpoint with another engine"
        )
    return pa.py_buffer(offsets.astype(np.int32))


def _strings(values: Sequence[str | None]) -> pa.Array:
    _ensure_kind(values, str)
    validity, missing = _validity(values)
    texts = [value or "" for value in values]
    whole = "".join(texts)
    # Offsets count bytes; in most columns these equal the characters.
    lengths = list(map(len, texts)) if whole.isascii() else [len(text.encode()) for text in texts]
    buffers = [validity, _offsets(lengths), pa.py_buffer(whole.encode())]
    return pa.Array.from_buffers(pa.string(), len(values), buffers, missing)


def _numbers(values: Sequence[int | None], data_type: pa.DataType) -> pa.Array:
    _ensure_kind(values, int)
    validity, missing = _validity(values)
    whole = [value or 0 for value in values] if missing else values
    data = np.array(whole, data_type.to_pandas_dtype())
    return pa.Array.from_buffers(data_type, len(values), [validity, pa.py_buffer(data)], missing)


def _booleans(values: Sequence[bool | None]) -> pa.Array:
    _ensure_kind(values, bool)
    validity, missing = _validity(values)
    bits = np.packbits(np.fromiter((bool(value) for value in values), bool, len(values)), bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(values), [validity, pa.py_buffer(bits)], missing)


def _maps(values: Sequence[Mapping[str, str | None] | None]) -> pa.Array:
    _ensure_kind(values, dict)
    validity, missing = _validity(values)
    keys = [key for value in values if value for key in value]
    items = [item for value in values if value for item in value.values()]
    entries = pa.StructArray.from_arrays(
        [_strings(keys), _strings(items)],
        fields=[pa.field("key", pa.string(), nullable=False), pa.field("value", pa.string())],
    )
    offsets = _offsets([len(value) if value else 0 for value in values])
    return pa.Array.from_buffers(_STRING_MAP, len(values), [validity, offsets], missing, children=[entries])


def _lists(values: Sequence[Sequence[Any] | None], data_type: pa.DataType) -> pa.Array:
    _ensure_kind(values, list)
    validity, missing = _validity(values)
    items = build_array([item for value in values if value for item in value], data_type.value_type)
    offsets = _offsets([len(value) if value else 0 for value in values])
    return pa.Array.from_buffers(data_type, len(values), [validity, offsets], missing, children=[items])


def _structs(values: Sequence[Mapping[str, Any] | None], data_type: pa.DataType) -> pa.Array:
    _ensure_kind(values, dict)
    validity, missing = _validity(values)
    children = [
        build_array([None if v is None else v.get(camel_case(f.name)) for v in values], f.type)
        for f in data_type
    ]
    return pa.Array.from_buffers(data_type, len(values), [validity], missing, children=children)


def build_array(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    """Return an Arrow array of JSON values, without importing pandas.

    Raises `TypeError` or `OverflowError` if a value is not of the type; nothing is converted.
    """
    if values and values.count(None) == len(values):
        return pa.nulls(len(values), data_type)
    if pa.types.is_string(data_type):
        return _strings(values)
    if pa.types.is_boolean(data_type):
        return _booleans(values)
    if pa.types.is_integer(data_type):
        return _numbers(values, data_type)
    if pa.types.is_map(data_type):
        return _maps(values)
    if pa.types.is_list(data_type):
        return _lists(values, data_type)
    return _structs(values, data_type)


Where = Callable[[FileActionKey], str]
"""Names the log file that has the action on a logical file; used for errors only."""


def _anywhere(key: FileActionKey) -> str:
    return "the log"


def _action_table(
    actions: Sequence[Mapping[str, Any]], keys: Sequence[FileActionKey], schema: pa.Schema, where: Where
) -> pa.Table:
    arrays = []
    for column in schema:
        if column.name == "path":
            arrays.append(_strings([key.path for key in keys]))
            continue
        name = "path" if column.name == "log_path" else camel_case(column.name)
        values = [action.get(name) for action in actions]
        try:
            arrays.append(build_array(values, column.type))
        except (TypeError, OverflowError) as error:
            bad = (k for k, v in zip(keys, values, strict=True) if not _is_of_type(v, column.type))
            key = next(bad)
            raise CorruptLogError(
                f"{where(key)}: the action on {key.path!r} has an invalid value for {name!r}"
            ) from error
    return pa.Table.from_arrays(arrays, schema=schema)


def _is_of_type(value: Any, data_type: pa.DataType) -> bool:
    try:
        build_array([value], data_type)
    except (TypeError, OverflowError):
        return False
    return True


def file_table(
    adds: Sequence[Mapping[str, Any]],
    keys: Sequence[FileActionKey],
    where: Where = _anywhere,
    columns: Sequence[str] = tuple(FILE_SCHEMA.names),
) -> pa.Table:
    """Return the bodies of `add` actions as a table with columns of `FILE_SCHEMA`, in the given order.

    Raises `CorruptLogError`, naming the log file by `where`, for an ill-formed action.

    >>> add = {"path": "a%20b", "partitionValues": {}, "size": 1, "modificationTime": 0, "dataChange": True}
    >>> file_table([add], [FileActionKey.from_json(add)]).select(["path", "log_path", "size"]).to_pylist()
    [{'path': 'a b', 'log_path': 'a%20b', 'size': 1}]
    """
    ensure_complete(adds, keys, where)
    return _action_table(adds, keys, pa.schema([FILE_SCHEMA.field(name) for name in columns]), where)


def ensure_complete(
    adds: Sequence[Mapping[str, Any]], keys: Sequence[FileActionKey], where: Where = _anywhere
) -> None:
    """Raise `CorruptLogError`, naming the log file, for an `add` without a required field."""
    for name in ("size", "partitionValues"):
        if None in (values := [add.get(name) for add in adds]):
            key = keys[values.index(None)]
            raise CorruptLogError(f"{where(key)}: the add action of {key.path!r} has no {name}")
    for add, key in zip(adds, keys, strict=True):
        vector = add.get("deletionVector")
        if isinstance(vector, dict) and any(vector.get(name) is None for name in _REQUIRED_KEYS):
            raise CorruptLogError(
                f"{where(key)}: the add action of {key.path!r} has an incomplete deletionVector"
            )


def remove_table(
    removes: Sequence[Mapping[str, Any]],
    keys: Sequence[FileActionKey],
    where: Where = _anywhere,
    columns: Sequence[str] = tuple(REMOVE_SCHEMA.names),
) -> pa.Table:
    """Return the bodies of `remove` actions as a table of `REMOVE_SCHEMA`; otherwise like `file_table`."""
    return _action_table(removes, keys, pa.schema([REMOVE_SCHEMA.field(name) for name in columns]), where)


def key_table(keys: Sequence[FileActionKey]) -> pa.Table:
    """Return file keys as a table with the columns `KEY_COLUMNS`."""
    return pa.Table.from_arrays(
        [_strings([key.path for key in keys]), _strings([key.deletion_vector_id for key in keys])],
        names=list(KEY_COLUMNS),
    )
