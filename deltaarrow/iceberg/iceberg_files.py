"""The live files of a table as Iceberg's data files.

Iceberg's bounds come from Delta's statistics, by the rules of `deltaarrow.statistics.bounds`: a value that
is not proven to be a bound is left out. Floating-point columns have no upper bound, because Delta's
statistics may ignore NaN, which DuckDB and Spark sort after all other numbers.
"""

import datetime as dt
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.iceberg.schema_fields import iceberg_type, id_of
from deltaarrow.partitions import parse_partition_value
from deltaarrow.runtime.optional import require
from deltaarrow.schema import Field, PrimitiveType, StructType, physical_name
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import Asked, ListedFiles
from deltaarrow.statistics.bounds import has_bounds

_manifest = require("pyiceberg.manifest")
_to_bytes = require("pyiceberg.conversions").to_bytes
_Record = require("pyiceberg.typedef").Record

__all__ = ["COLUMNS", "data_files"]

COLUMNS = ("path", "partition_values", "size", "stats", "deletion_vector")
"""What is needed of a list of files."""

_EPOCH = dt.datetime(1970, 1, 1)


def data_files(snapshot: Snapshot, files: pa.Table) -> list[Any]:
    """Return the ``DataFile`` of each row of a table with `COLUMNS`.

    Raises `UnsupportedFeatureError` for a file with a deletion vector or without a row count.
    """
    paths = files.column("path").to_pylist()
    vectors = files.column("deletion_vector")
    if vectors.null_count < len(vectors):
        named = next(path for path, each in zip(paths, vectors, strict=True) if each.is_valid)
        raise UnsupportedFeatureError(
            f"the file {named} has a deletion vector, which version 2 of Iceberg's format does not have;"
            " rewrite such files with table.optimize.purge",
            feature="deletionVectors",
        )
    leaves = list(_leaves(snapshot.schema, snapshot.partition_columns, snapshot.mapping_mode, ()))
    statistics = _Statistics.read(leaves, ListedFiles.of(files), files.num_rows)
    partitions = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    keys = [physical_name(field, snapshot.mapping_mode) for field in partitions]
    found = []
    rows = zip(
        paths,
        files.column("size").to_pylist(),
        files.column("stats").to_pylist(),
        files.column("partition_values").to_pylist(maps_as_pydicts="strict"),
        strict=True,
    )
    for place, (path, size, stats, values) in enumerate(rows):
        partition = [
            _partition_value(values.get(key), field) for key, field in zip(keys, partitions, strict=True)
        ]
        found.append(
            _manifest.DataFile.from_args(
                content=_manifest.DataFileContent.DATA,
                file_path=snapshot.store.location(path),
                file_format=_manifest.FileFormat.PARQUET,
                partition=_Record(*partition),
                record_count=_row_count(stats, path),
                file_size_in_bytes=size,
                null_value_counts=statistics.of("null_count", place),
                lower_bounds=statistics.of("lower", place),
                upper_bounds=statistics.of("upper", place),
                sort_order_id=None,
            )
        )
    return found


def _row_count(stats: str | None, path: str) -> int:
    try:
        count = orjson.loads(stats or "{}").get("numRecords")
    except (orjson.JSONDecodeError, AttributeError):
        count = None
    if type(count) is not int or count < 0:
        raise UnsupportedFeatureError(
            f"the statistics of the file {path} have no numRecords, which Iceberg requires; rewrite the file",
            feature="icebergCompatV2",
        )
    return count


def _partition_value(text: str | None, field: Field) -> Any:
    assert isinstance(field.type, PrimitiveType)
    value = parse_partition_value(text, field.type, field.name)
    if isinstance(value, dt.datetime):
        return (value.replace(tzinfo=None) - _EPOCH) // dt.timedelta(microseconds=1)
    return (value - _EPOCH.date()).days if isinstance(value, dt.date) else value


@dataclass(frozen=True)
class _Leaf:
    path: tuple[str, ...]
    field: Field
    number: int


def _leaves(
    struct_type: StructType, skipped: Sequence[str], mode: str, path: tuple[str, ...]
) -> Iterator[_Leaf]:
    """Yield the columns that may have statistics; those in arrays and maps have none."""
    for field in struct_type.fields:
        if field.name in skipped:
            continue
        way = (*path, physical_name(field, mode))
        if isinstance(field.type, StructType):
            yield from _leaves(field.type, (), mode, way)
        elif isinstance(field.type, PrimitiveType):
            yield _Leaf(way, field, id_of(field))


@dataclass(frozen=True)
class _Statistics:
    """For each kind of statistic the field ids, and the values of all files."""

    columns: dict[str, list[tuple[int, list[Any]]]]

    @classmethod
    def read(cls, leaves: Sequence[_Leaf], files: ListedFiles, count: int) -> "_Statistics":
        asked = {Asked("null_count", leaf.path): leaf for leaf in leaves}
        for leaf in leaves:
            if has_bounds(leaf.field.type):
                asked[Asked("lower", leaf.path, leaf.field)] = leaf
                if leaf.field.type.type not in ("float", "double"):
                    asked[Asked("upper", leaf.path, leaf.field)] = leaf
        if count:
            files.load(asked)
        columns: dict[str, list[tuple[int, list[Any]]]] = {}
        for each, leaf in asked.items():
            values = _values(files.statistic(each)) if count else []
            if each.what != "null_count":
                assert isinstance(leaf.field.type, PrimitiveType)
                values = [_serialised(value, leaf.field.type) for value in values]
            columns.setdefault(each.what, []).append((leaf.number, values))
        return cls(columns)

    def of(self, what: str, place: int) -> dict[int, Any] | None:
        found = {
            number: value
            for number, values in self.columns.get(what, ())
            if (value := values[place]) is not None
        }
        return found or None


def _values(array: pa.Array) -> list[Any]:
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("us", array.type.tz)).view(pa.int64())
    elif pa.types.is_date32(array.type):
        array = array.view(pa.int32())
    values: list[Any] = array.to_pylist()
    return values


def _serialised(value: Any, data_type: PrimitiveType) -> bytes | None:
    """Return a bound in Iceberg's form; None for one that is not a value of the type."""
    if value is None:
        return None
    if value == 0 and isinstance(value, float):
        value = -0.0  # Iceberg sorts it before 0.0, Delta does not.
    try:
        return bytes(_to_bytes(iceberg_type(data_type), value))
    except (ValueError, OverflowError, struct.error):
        return None
