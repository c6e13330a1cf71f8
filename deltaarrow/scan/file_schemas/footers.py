"""Physical schemas of data files: from statistics if they prove the schema, else from footers.

Statistics with a value under a physical name prove that the file has the column, because writers collect
statistics from what they wrote. Statistics do not show how a timestamp is stored (INT96, with or without time
zone), text in binary columns, structs inside lists, or field ids. Files of tables with these, and files with
incomplete statistics, have their footers read: once per process, many at a time.

Schemas describe the file as DuckDB's reader sees it: an Arrow schema in which INT96 is a timestamp without
time zone. An annotated variant, shredded or not, is the struct of an unshredded variant, marked `ANNOTATED`,
or `PROVEN` if the footer proves that DuckDB reads its values correctly.
"""

import contextlib
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.compute import files_cursor, quote_file
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.runtime.cache import CacheSpace
from deltaarrow.scan.damage import absent_file, location_to_read
from deltaarrow.scan.file_schemas.variant_proofs import Leaf, is_well_shredded, tells_null_apart
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import (
    FLOATING,
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    to_arrow_type,
)
from deltaarrow.schema.metadata_keys import PARQUET_FIELD_ID_KEY
from deltaarrow.storage import Store

__all__ = ["ANNOTATED", "PROVEN", "VARIANT_MARK", "file_schemas", "read_row_counts"]

VARIANT_MARK = b"deltaarrow.variant"
"""The metadata key of a field that the file annotates as VARIANT."""
ANNOTATED, PROVEN = b"annotated", b"proven"
"""Its values."""

_FILES_AT_A_TIME = 256

_TYPES: dict[str, pa.DataType] = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "UTINYINT": pa.uint8(),
    "USMALLINT": pa.uint16(),
    "UINTEGER": pa.uint32(),
    "UBIGINT": pa.uint64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "VARCHAR": pa.string(),
    "JSON": pa.string(),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NS": pa.timestamp("ns"),
    "TIMESTAMPTZ_NS": pa.timestamp("ns", "UTC"),
    '"NULL"': pa.null(),
    "VARIANT": pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())]),
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s?(\d+)\)")

_SCHEMAS_SQL = """
    SELECT list(file_name), nodes FROM (
        SELECT file_name, list((name, duckdb_type, field_id, num_children) ORDER BY column_id) AS nodes
        FROM parquet_schema([{files}]) GROUP BY file_name
    ) GROUP BY nodes
"""
_COUNTS_SQL = "SELECT file_name, num_rows FROM parquet_file_metadata([{files}])"

_LEAVES_SQL = r"""
    SELECT file_name, list((entries, nulls, above_null) ORDER BY column_id) FROM (
        SELECT
            file_name,
            column_id,
            sum(num_values)::BIGINT AS entries,
            if(bool_and(stats_null_count IS NOT NULL), sum(stats_null_count)::BIGINT, NULL) AS nulls,
            bool_and(
                coalesce(
                    stats_null_count = num_values
                    OR (stats_min_value != '' AND NOT starts_with(stats_min_value, '\x00')),
                    false
                )
            ) AS above_null
        FROM parquet_metadata([{files}]) GROUP BY ALL
    ) GROUP BY file_name
"""

_Node = tuple[str, str | None, int | None, int | None]


# --- statistics ------------------------------------------------------------------------------------

_INTEGERS = ("byte", "short", "integer", "long")


def _is_told_by_statistics(data_type: DataType, *, top: bool = True) -> bool:
    """Whether statistics of this type prove how a file stores its values."""
    if isinstance(data_type, StructType):
        return top and all(_is_told_by_statistics(field.type) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return _is_told_by_statistics(data_type.element_type, top=False)
    if isinstance(data_type, MapType):
        parts = (data_type.key_type, data_type.value_type)
        return all(_is_told_by_statistics(part, top=False) for part in parts)
    return data_type.type not in ("timestamp", "timestamp_ntz", "binary", "variant", "void")


def _fits(bound: object, data_type: PrimitiveType) -> bool:
    """Whether a bound in the statistics has a JSON type that fits the column."""
    if data_type.type in ("string", "date"):
        return isinstance(bound, str)
    if data_type.type in _INTEGERS:
        return isinstance(bound, int) and not isinstance(bound, bool)
    if data_type in FLOATING:
        return isinstance(bound, int | float) or bound in ("NaN", "Infinity", "-Infinity")
    return data_type.decimal is not None and isinstance(bound, int | float)


def _proves(field: Field, nulls: object, smallest: object, rows: int) -> bool:
    """Whether statistics prove that a file has a column; a struct needs one proven field and all structs."""
    if isinstance(field.type, StructType):
        if not isinstance(nulls, dict):
            return False
        inner = smallest if isinstance(smallest, dict) else {}
        members = [
            (f.type, _proves(f, nulls.get(f.name), inner.get(f.name), rows)) for f in field.type.fields
        ]
        # An absent struct inside a struct is read differently.
        return any(proven for _, proven in members) and all(
            proven for data_type, proven in members if isinstance(data_type, StructType)
        )
    if not isinstance(nulls, int) or isinstance(nulls, bool) or not 0 <= nulls < rows:
        return False
    return smallest is None or not isinstance(field.type, PrimitiveType) or _fits(smallest, field.type)


def _proves_all(task: FileTask, physical: Sequence[Field]) -> bool:
    if task.stats is None:
        return False
    try:
        stats: Any = orjson.loads(task.stats)
    except orjson.JSONDecodeError:
        return False
    if not isinstance(stats, dict):
        return False
    rows, nulls, smallest = stats.get("numRecords"), stats.get("nullCount"), stats.get("minValues") or {}
    if not isinstance(rows, int) or not isinstance(nulls, dict) or not isinstance(smallest, dict):
        return False
    return all(_proves(f, nulls.get(f.name), smallest.get(f.name), rows) for f in physical)


# --- footers ---------------------------------------------------------------------------------------


_schemas = CacheSpace()
"""Cached schemas of files, by store, path and size."""

_ENTRY_BYTES = 512
"""The estimated bytes of a cache entry, for a schema that many files share."""


class _Nodes:
    """The nodes of a Parquet schema, depth first, and the variants found among them.

    `variants` has the storage type of each variant, with the index of its first column.
    """

    def __init__(self, nodes: Sequence[_Node], mark: bytes) -> None:
        self._rest = iter(nodes)
        self._columns = 0
        self.mark = mark
        self.variants: list[tuple[int, pa.StructType]] = []

    def take(self) -> _Node:
        node = next(self._rest)
        if not node[3]:
            self._columns += 1
        return node

    def take_variant(self, members: int) -> pa.StructType:
        first = self._columns
        stored = pa.struct([_field(self) for _ in range(members)])
        self.variants.append((first, stored))
        return stored


def _field(nodes: _Nodes) -> pa.Field:
    name, type_name, field_id, children = nodes.take()
    metadata = {} if field_id is None else {PARQUET_FIELD_ID_KEY: str(field_id).encode()}
    if type_name == "VARIANT":
        metadata[VARIANT_MARK] = nodes.mark
    return pa.field(name, _type(nodes, type_name or "", children or 0), metadata=metadata or None)


def _type(nodes: _Nodes, type_name: str, children: int) -> pa.DataType:
    """Return the type of a node; its children are taken from `nodes`."""
    if not children:
        return _leaf(type_name)
    if type_name == "VARIANT":
        stored = nodes.take_variant(children)
        return _TYPES["VARIANT"] if is_well_shredded(stored) else stored
    if type_name.endswith("[]"):
        return pa.list_(_repeated(nodes, type_name[:-2]))
    if type_name.startswith("MAP("):
        key_value = nodes.take()
        members = [_field(nodes) for _ in range(key_value[3] or 0)]
        if len(members) != 2:
            return _unknown(type_name)
        return pa.map_(members[0].with_nullable(False), members[1])
    return pa.struct([_field(nodes) for _ in range(children)])


def _repeated(nodes: _Nodes, element: str) -> pa.Field:
    """Return the element of a list: the child of the repeated node or, in legacy forms, the node itself."""
    name, type_name, field_id, children = nodes.take()
    if type_name == f"{element}[]" and children == 1:
        return _field(nodes)
    metadata = None if field_id is None else {PARQUET_FIELD_ID_KEY: str(field_id).encode()}
    return pa.field(name, _type(nodes, element, children or 0), metadata=metadata)


def _leaf(type_name: str) -> pa.DataType:
    if type_name in _TYPES:
        return _TYPES[type_name]
    if match := _DECIMAL.fullmatch(type_name):
        return pa.decimal128(int(match[1]), int(match[2]))
    if type_name.endswith("[]"):
        return pa.list_(_leaf(type_name[:-2]))
    return _unknown(type_name)


def _unknown(type_name: str) -> pa.DataType:
    return pa.opaque(pa.null(), type_name, "DuckDB")


def _schema(nodes: _Nodes) -> pa.Schema:
    root = nodes.take()
    return pa.schema([_field(nodes) for _ in range(root[3] or 0)])


def _ask(store: Store, sql: str, paths: Sequence[str]) -> list[tuple[Any, ...]]:
    """Run a query on the footers of files, many files at a time, and return its rows."""
    import duckdb

    def ask(some: Sequence[str]) -> list[tuple[Any, ...]]:
        files = ", ".join(quote_file(location_to_read(store, path)) for path in some)
        with files_cursor(store) as cursor:
            return cursor.execute(sql.format(files=files)).fetchall()

    def ask_for_one(path: str) -> list[tuple[Any, ...]]:
        try:
            with contextlib.suppress(duckdb.FatalException):
                return ask([path])
            # A broken file in another thread invalidated the database.
            return ask([path])
        except duckdb.Error as error:
            if not store.exists(path):
                raise absent_file(f"the data file {path}") from error
            raise CorruptDataFileError(f"the data file {path} cannot be read: {error}") from error

    def ask_or_blame(some: Sequence[str]) -> list[tuple[Any, ...]]:
        try:
            return ask(some)
        except duckdb.Error:
            # One of the files is missing or broken; single queries find out which.
            return [row for path in some for row in ask_for_one(path)]

    workers = (os.cpu_count() or 1) if store.is_local else 16
    chunk = max(1, min(_FILES_AT_A_TIME, -(-len(paths) // workers)))
    chunks = [paths[i : i + chunk] for i in range(0, len(paths), chunk)]
    if len(chunks) < 2:
        return [row for some in chunks for row in ask_or_blame(some)]
    with ThreadPoolExecutor(workers) as pool:
        return [row for rows in pool.map(ask_or_blame, chunks) for row in rows]


def _by_location(store: Store, paths: Sequence[str]) -> dict[str, str]:
    return {store.location(path): path for path in paths}


def _proven(store: Store, paths: Sequence[str], variants: Sequence[tuple[int, pa.StructType]]) -> list[str]:
    """Return the files, of one schema, whose footers prove that DuckDB reads their variants correctly."""
    if not all(is_well_shredded(stored) for _, stored in variants):
        return []
    names = _by_location(store, paths)
    proven = []
    for location, columns in _ask(store, _LEAVES_SQL, paths):
        leaves = [Leaf(*column) for column in columns]
        if all(tells_null_apart(stored, leaves[first:]) for first, stored in variants):
            proven.append(names[location])
    return proven


def _read_schemas(store: Store, tasks: Sequence[FileTask]) -> dict[str, pa.Schema]:
    """Return the schema in the footer of every file, by path."""
    keys = {task.path: (store.filesystem_key, store.location(task.path), task.size) for task in tasks}
    cached = {path: _schemas.get(key) for path, key in keys.items()}
    found = {path: schema for path, schema in cached.items() if schema is not None}
    missing = _by_location(store, [path for path in keys if path not in found])
    if missing:
        read: dict[str, pa.Schema] = {}
        for locations, described in _ask(store, _SCHEMAS_SQL, list(missing.values())):
            nodes = _Nodes(described, ANNOTATED)
            try:
                schema = _schema(nodes)
            except (StopIteration, ValueError, RecursionError, pa.ArrowException) as error:
                names = ", ".join(missing[location] for location in locations)
                raise CorruptDataFileError(
                    f"the schema in the footer of the data file {names} is malformed"
                ) from error
            paths = [missing[location] for location in locations]
            read |= dict.fromkeys(paths, schema)
            if nodes.variants:
                proven = _schema(_Nodes(described, PROVEN))
                read |= dict.fromkeys(_proven(store, paths, nodes.variants), proven)
        for path, schema in read.items():
            _schemas.put(keys[path], schema, _ENTRY_BYTES)
        found |= read
    return found


# --- both ------------------------------------------------------------------------------------------


def file_schemas(layout: TableLayout, columns: Sequence[str], tasks: Sequence[FileTask]) -> list[pa.Schema]:
    """Return the schema of each task's file, for the data columns `columns` at least.

    Files with the same schema mostly share one object. Raises `CorruptDataFileError`, which names the file,
    for a file that is missing or cannot be read.
    """
    wanted = set(columns)
    fields = [
        physical
        for logical, physical in zip(layout.schema.fields, layout.physical_schema.fields, strict=True)
        if logical.name in wanted and logical.name not in layout.partition_columns
    ]
    fields = [field for field in fields if field.type != PrimitiveType("void")]
    usual = pa.schema([pa.field(field.name, to_arrow_type(field.type)) for field in fields])
    if not fields:
        return [usual] * len(tasks)
    proven: list[bool] = [False] * len(tasks)
    if layout.mapping_mode != "id" and all(_is_told_by_statistics(field.type) for field in fields):
        proven = [_proves_all(task, fields) for task in tasks]
    footers = _read_schemas(
        layout.store, [task for task, known in zip(tasks, proven, strict=True) if not known]
    )
    return [usual if known else footers[task.path] for task, known in zip(tasks, proven, strict=True)]


def read_row_counts(store: Store, paths: Sequence[str]) -> dict[str, int]:
    """Return the number of rows of each data file, including deleted rows, from the footers."""
    names = _by_location(store, paths)
    rows = _ask(store, _COUNTS_SQL, list(names.values()))
    return {names[location]: count for location, count in rows}
