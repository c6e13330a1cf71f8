"""Limits of Polars's own Parquet reader, for tables and for single files.

Polars finds columns by their exact names and fills missing ones with NULL. That is wrong if a file has the
column under another name: found by field id or, without column mapping, spelled in another case, as in files
of foreign writers. Polars also widens fewer types than Delta does. So the footer of a file is read first;
Polars reads it too, and on a local disk the extra cost is small. In an object store, where reading it costs a
round trip, two kinds of tables skip this, as long as no type in them was widened:

* columns are mapped by name: the physical names are those in the files;
* the statistics count values of every column, which proves that the file has it; Polars is told to fail if it
  does not.

All other limits concern whole tables.
"""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from deltaarrow.engines.polars.object_stores import store_obstacle
from deltaarrow.scan import FileTask, TableLayout
from deltaarrow.scan.column_binding import bind_columns, schema_key
from deltaarrow.scan.damage import ensure_rows, ensure_sound_footer, reading
from deltaarrow.schema import Field, PrimitiveType, StructType, fields_within, to_arrow_type
from deltaarrow.schema.metadata_keys import TYPE_CHANGES_KEY
from deltaarrow.snapshot import Snapshot

__all__ = ["BoundFile", "FileBinder", "obstacle"]

_FOOTER_THREADS = 16
# Polars interprets such a name as a pattern that selects columns.
_PATTERN = re.compile(r"\*|\^.*\$", re.DOTALL)
# Characters of an object name that need no escaping in a URL.
_PLAIN_LOCATION = re.compile(r"(?:(?:s3|gs)://|abfss://[a-z0-9\-]+@)[A-Za-z0-9_.=/\-]+")
_VOID, _VARIANT = PrimitiveType("void"), PrimitiveType("variant")
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())


# --- tables ----------------------------------------------------------------------------------------


def obstacle(snapshot: Snapshot) -> str | None:
    """Return why no file of the table can be given to Polars's reader; None if Polars can read them."""
    protocol, store = snapshot.protocol, snapshot.store
    features = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    if any(feature.startswith("variant") for feature in features):
        # Even if the schema no longer has such a column: its files may have it.
        return "Polars cannot open files with a column of type variant"
    if (reason := store_obstacle(store)) is not None:
        return reason
    for field in (*fields_within(snapshot.schema), *fields_within(snapshot.physical_schema)):
        if field.type == _VARIANT:
            return "Polars cannot open files with a column of type variant"
        if _PATTERN.fullmatch(field.name):
            return f"Polars interprets the column name {field.name!r} as a pattern"
    return None


# --- files -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BoundFile:
    """A file that Polars reads by physical names; `is_complete` if it is known to have all of them."""

    task: FileTask
    is_complete: bool


class FileBinder:
    """Separates the files that Polars can read from the others; caches footers."""

    def __init__(self, layout: TableLayout) -> None:
        self._layout = layout
        self._is_widened = any(TYPE_CHANGES_KEY in f.metadata for f in fields_within(layout.schema))
        self._schemas: dict[str, pa.Schema] = {}
        self._row_counts: dict[str, int] = {}
        self._in_nanoseconds: set[str] = set()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the footers."""
        return FileBinder, (self._layout,)

    def split(
        self, tasks: Sequence[FileTask], columns: Sequence[str]
    ) -> tuple[list[BoundFile], list[FileTask]]:
        """Return the files from which Polars can read `columns`, and the others."""
        if len({task.path for task in tasks}) < len(tasks):
            return [], list(tasks)  # a path occurs twice, perhaps with two deletion vectors
        wanted = {*columns}
        if not wanted.isdisjoint(self._layout.padded_columns - {*self._layout.partition_columns}):
            return [], list(tasks)  # strings of CHAR(n) are padded in Arrow arrays
        fields = [f for f in self._layout.data_fields if f.name in wanted and f.type != _VOID]
        native: list[BoundFile] = []
        unknown: list[FileTask] = []
        other: list[FileTask] = []
        for task in tasks:
            if not self._has_plain_location(task):
                other.append(task)
            elif self._may_trust_names or not fields:
                native.append(BoundFile(task, is_complete=False))
            elif self._may_trust_statistics and _statistics_prove(task, fields):
                native.append(BoundFile(task, is_complete=True))
            else:
                unknown.append(task)
        verdicts: dict[int, bool] = {}
        for task, schema in zip(unknown, self._read_schemas(unknown), strict=True):
            # Files with the same schema mostly share one schema object.
            if id(schema) not in verdicts:
                verdicts[id(schema)] = self._is_understood(task, fields, schema)
            if verdicts[id(schema)] and task.path not in self._in_nanoseconds:
                native.append(BoundFile(task, is_complete=False))
            else:
                other.append(task)
        return native, other

    def have_one_schema(self, tasks: Sequence[FileTask]) -> bool:
        """Whether the files have the same columns with the same types; reads their footers."""
        return len(set(self._read_schemas(tasks))) == 1

    def row_counts(self, tasks: Sequence[FileTask]) -> list[int]:
        """Return the number of rows of each file, deleted ones included, from its footer."""
        self._read_schemas(tasks)
        return [self._row_counts[task.path] for task in tasks]

    @property
    def _may_trust_names(self) -> bool:
        is_near = self._layout.store.is_local
        return self._layout.mapping_mode == "name" and not is_near and not self._is_widened

    @property
    def _may_trust_statistics(self) -> bool:
        is_near = self._layout.store.is_local
        return self._layout.mapping_mode == "none" and not is_near and not self._is_widened

    def _has_plain_location(self, task: FileTask) -> bool:
        store = self._layout.store
        return store.is_local or _PLAIN_LOCATION.fullmatch(store.location(task.path)) is not None

    def _read_schemas(self, tasks: Sequence[FileTask]) -> list[pa.Schema]:
        missing = [task for task in tasks if task.path not in self._schemas]
        if missing:
            threads = 1 if self._layout.store.is_local else _FOOTER_THREADS
            distinct: dict[bytes, pa.Schema] = {}
            with ThreadPoolExecutor(threads) as pool:
                for task, schema in zip(missing, pool.map(self._read_schema, missing), strict=True):
                    self._schemas[task.path] = distinct.setdefault(schema_key(schema), schema)
        return [self._schemas[task.path] for task in tasks]

    def _read_schema(self, task: FileTask) -> pa.Schema:
        store = self._layout.store
        with reading(task.path):
            metadata = pq.read_metadata(store.arrow_path(task.path), filesystem=store.arrow_filesystem())
            ensure_rows(task.path, metadata, task.num_records)
            self._row_counts[task.path] = int(metadata.num_rows)
            schema = metadata.schema.to_arrow_schema()
        is_nested = any(pa.types.is_nested(field.type) for field in schema)
        may_have_times = is_nested or any(pa.types.is_timestamp(field.type) for field in schema)
        if may_have_times and _has_nanoseconds(metadata.schema):
            self._in_nanoseconds.add(task.path)
        if is_nested:
            # Polars notices only for a flat column that it is no longer declared optional.
            ensure_sound_footer(store, task.path)
        return schema

    def _is_understood(self, task: FileTask, fields: Sequence[Field], schema: pa.Schema) -> bool:
        """Whether the file has every column by its exact name, with a type Polars widens, or not at all."""
        binding = bind_columns(self._layout, fields, schema, task.path)
        physical = {f.name: f for f in self._layout.physical_schema.fields}
        found = dict(zip(schema.names, schema.types, strict=True))
        for field, source in zip(fields, binding.sources, strict=True):
            name = self._layout.physical_name(field)
            if source is None:
                if name in found:
                    return False
                continue
            wanted = to_arrow_type(physical[name].type)
            if source == name and found[source] == wanted:
                continue
            if source != name or _names(binding.scan_schema.field(source).type) != _names(wanted):
                return False
            if not _is_widened_by_polars(found[source], wanted):
                return False
        return True


def _has_nanoseconds(schema: pq.ParquetSchema) -> bool:
    """Whether a column has times of whole nanoseconds, whose last digits Polars would cut off.

    Such are not the times of INT96, which old writers have in Delta tables too; all readers cut these.
    """
    columns = (schema.column(place) for place in range(len(schema.names)))
    return any(each.physical_type == "INT64" and "nanoseconds" in str(each.logical_type) for each in columns)


def _is_widened_by_polars(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether Polars reads a type as another with the same names: exactly, or by widening it."""
    types = pa.types
    if found == wanted or (types.is_timestamp(found) and types.is_timestamp(wanted)):
        return True
    if types.is_struct(found) and types.is_struct(wanted):
        inner = {field.name: field.type for field in found}
        return all(_is_widened_by_polars(inner[f.name], f.type) for f in wanted if f.name in inner)
    if types.is_list(found) and types.is_list(wanted):
        return _is_widened_by_polars(found.value_type, wanted.value_type)
    if types.is_map(found) and types.is_map(wanted):
        # Polars does not cast map keys.
        return found.key_type == wanted.key_type and _is_widened_by_polars(found.item_type, wanted.item_type)
    if types.is_decimal(found) and types.is_decimal(wanted):
        return bool(found.scale == wanted.scale and found.precision <= wanted.precision)
    if found in _INTEGERS and wanted in _INTEGERS:
        return _INTEGERS.index(found) <= _INTEGERS.index(wanted)
    return bool(types.is_float32(found) and types.is_float64(wanted))


def _names(data_type: pa.DataType) -> object:
    """The names of nested fields at every level; names of list elements and map entries are ignored."""
    if pa.types.is_struct(data_type):
        return {field.name: _names(field.type) for field in data_type}
    if pa.types.is_map(data_type):
        return _names(data_type.key_type), _names(data_type.item_type)
    if pa.types.is_list(data_type):
        return _names(data_type.value_type)
    return None


def _statistics_prove(task: FileTask, fields: Sequence[Field]) -> bool:
    """Whether the statistics count values of every column, which proves that the file has it.

    Recomputed statistics also name columns that the file lacks, as all NULL.
    """
    if task.stats is None or task.num_records is None:
        return False
    return _has_values(orjson.loads(task.stats).get("nullCount"), task.num_records, fields)


def _has_values(null_counts: object, num_records: int, fields: Sequence[Field]) -> bool:
    if not isinstance(null_counts, dict):
        return False
    for field in fields:
        count = null_counts.get(field.name)
        if isinstance(field.type, StructType):
            if not _has_values(count, num_records, field.type.fields):
                return False
        elif (
            not isinstance(count, int) or count >= num_records or any(True for _ in fields_within(field.type))
        ):
            # Statistics do not cover struct fields inside arrays and maps.
            return False
    return True
