"""`TableInspector`: the log of a table as Arrow tables. No data file is opened."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import deltaarrow.operations as operations
import deltaarrow.statistics as file_statistics
from deltaarrow.actions import RemoveFile
from deltaarrow.columnar.numpy_arrays import scalar_of
from deltaarrow.log import read_commit_infos
from deltaarrow.log.file_sources import stream_files
from deltaarrow.schema import (
    ArrayType,
    DataType,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    field_id,
    physical_name,
    render_path,
)
from deltaarrow.schema.metadata_keys import COMMENT_KEY, DEFAULT_KEY, GENERATION_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import statistics_columns
from deltaarrow.table.absent_table_names import TellingTableNames
from deltaarrow.table.describe import json_text, partition_texts

__all__ = ["TableInspector"]

_TIME = pa.timestamp("ms", "UTC")
_TEXTS = pa.map_(pa.string(), pa.string())
_HISTORY = {
    "version": pa.int64(),
    "timestamp": _TIME,
    "operation": pa.string(),
    "operationParameters": _TEXTS,
    "operationMetrics": _TEXTS,
    "readVersion": pa.int64(),
    "isolationLevel": pa.string(),
    "isBlindAppend": pa.bool_(),
    "userMetadata": pa.string(),
    "engineInfo": pa.string(),
    "txnId": pa.string(),
}
_COLUMNS = {
    "path": pa.string(),
    "type": pa.string(),
    "nullable": pa.bool_(),
    "comment": pa.string(),
    "default": pa.string(),
    "generated": pa.string(),
    "physical_path": pa.string(),
    "field_id": pa.int64(),
    "is_partition": pa.bool_(),
    "has_statistics": pa.bool_(),
}
_TOMBSTONES = ["path", "deletion_timestamp", "data_change", "size", "partition_values"]


class TableInspector(TellingTableNames):
    """What the log says of one version of a table, as Arrow tables.

    Args:
        snapshot: the version.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def files(self) -> pa.Table:
        """Return the live files.

        The columns are ``path``, ``size_bytes``, ``modification_time``, ``num_records`` and ``deleted_rows``
        (of ``num_records``), ``clustering_provider`` and, for a partitioned table, the struct ``partition``
        with the strings of the log. `DeltaTable.get_add_actions` has the statistics of each column too.

        >>> import tempfile
        >>> from deltaarrow import DeltaTable, write_deltalake
        >>> folder = tempfile.mkdtemp()
        >>> _ = write_deltalake(folder, pa.table({"id": [1, 2], "p": ["a", "b"]}), partition_by="p")
        >>> files = DeltaTable(folder).inspect.files()
        >>> files["num_records"].to_pylist(), sorted(each["p"] for each in files["partition"].to_pylist())
        ([1, 1], ['a', 'b'])
        """
        names = ["path", "size", "modification_time", "stats", "partition_values", "deletion_vector"]
        files = self._snapshot.files(columns=[*names, "clustering_provider"])
        columns: dict[str, Any] = {
            "path": files.column("path"),
            "size_bytes": files.column("size"),
            "modification_time": files.column("modification_time").cast(_TIME),
            "num_records": self._num_records(files),
            "deleted_rows": _deleted_rows(files),
            "clustering_provider": files.column("clustering_provider"),
        }
        texts = partition_texts(self._snapshot, files)
        columns |= _partition_struct(list(texts), list(texts.values()))
        return pa.table(columns)

    def partitions(self) -> pa.Table:
        """Return the partitions: the totals of their files, and their values.

        The columns are ``num_files``, ``size_bytes``, ``num_records``, ``deleted_rows`` and, for a
        partitioned table, the struct ``partition`` with the strings of the log; another table has one row.
        ``num_records`` is NULL if a file has no statistics.
        """
        files = self._snapshot.files(columns=["size", "stats", "partition_values", "deletion_vector"])
        texts = partition_texts(self._snapshot, files)
        keys = [f"key_{place}" for place in range(len(texts))]
        table = pa.table(
            dict(zip(keys, texts.values(), strict=True))
            | {
                "size": files.column("size"),
                "records": self._num_records(files),
                "deleted": _deleted_rows(files),
            }
        )
        found = table.group_by(keys, use_threads=False).aggregate(
            [
                ("size", "count", pc.CountOptions(mode="all")),
                ("size", "sum", pc.ScalarAggregateOptions(min_count=0)),
                ("records", "sum", pc.ScalarAggregateOptions(skip_nulls=False, min_count=0)),
                ("deleted", "sum", pc.ScalarAggregateOptions(min_count=0)),
            ]
        )
        columns = {
            "num_files": found.column("size_count"),
            "size_bytes": found.column("size_sum"),
            "num_records": found.column("records_sum"),
            "deleted_rows": found.column("deleted_sum"),
        }
        values = [found.column(each) for each in keys]
        return pa.table(columns | _partition_struct(list(texts), values))

    def history(self, limit: int | None = None) -> pa.Table:
        """Return the `commitInfo` of each commit with its ``version``, newest first, as `DeltaTable.history`.

        Parameters and metrics are maps of strings. Values that the writer did not record are NULL.

        Args:
            limit: the largest number of commits to return; None returns every commit in the log.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit}; give 0 or a larger number of commits, or None for all")
        infos = read_commit_infos(self._snapshot.commit_times(), self._snapshot.version, limit)
        rows = [{name: _plain(info.get(name), kind) for name, kind in _HISTORY.items()} for info in infos]
        return pa.Table.from_pylist(rows, schema=pa.schema(list(_HISTORY.items())))

    def columns(self) -> pa.Table:
        """Return the columns and, after each, the parts inside it.

        The columns are ``path`` (in Spark's notation), ``type``, ``nullable``, ``comment``, ``default``,
        ``generated`` (the expressions), ``physical_path``, ``field_id``, ``is_partition`` and
        ``has_statistics`` (whether new files get statistics of the column).

        >>> import tempfile
        >>> from deltaarrow import DeltaTable
        >>> schema = pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string()))])
        >>> columns = DeltaTable.create(tempfile.mkdtemp(), schema).inspect.columns()
        >>> columns["path"].to_pylist(), columns["type"].to_pylist()
        (['id', 'tags', 'tags.element'], ['long', 'array', 'string'])
        """
        snapshot = self._snapshot
        indexed = statistics_columns(
            snapshot.schema, snapshot.partition_columns, snapshot.configuration, snapshot.mapping_mode
        )
        rows = list(self._rows(snapshot.schema, (), (), {each.path for each in indexed}))
        return pa.Table.from_pylist(rows, schema=pa.schema(list(_COLUMNS.items())))

    def deletion_vectors(self) -> pa.Table:
        """Return the deletion vectors of live files.

        The columns are ``path`` (of the data file), ``storage_type``, ``path_or_inline_dv``, ``offset``,
        ``size_in_bytes``, ``cardinality`` and ``num_records`` of the data file.
        """
        files = self._snapshot.files(columns=["path", "deletion_vector", "stats"])
        files = files.filter(pc.is_valid(files.column("deletion_vector")))
        vectors = files.column("deletion_vector").combine_chunks()
        members = {field.name: vectors.field(place) for place, field in enumerate(vectors.type)}
        return pa.table({"path": files.column("path"), **members, "num_records": self._num_records(files)})

    def clustering(self) -> pa.Table:
        """Return the clustering columns in their order: ``path``, ``physical_path`` and ``type``."""
        snapshot = self._snapshot
        rows = []
        for path in operations.clustering_columns(snapshot):
            level: DataType = snapshot.schema
            physical = []
            for name in path:
                assert isinstance(level, StructType)
                field = level.field(name)
                physical.append(physical_name(field, snapshot.mapping_mode))
                level = field.type
            texts = {"path": render_path(path), "physical_path": render_path(physical)}
            rows.append({**texts, "type": _kind(level)})
        kinds = [(name, pa.string()) for name in ("path", "physical_path", "type")]
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds))

    def tombstones(self) -> pa.Table:
        """Return the removed files that the log still names, which VACUUM may delete after the retention.

        The columns are ``path``, ``deletion_timestamp``, ``data_change``, ``size_bytes`` and
        ``partition_values``, a map from physical names to strings.
        """
        state = self._snapshot.replayed().state
        parts = [part.select(_TOMBSTONES) for part in stream_files(state, RemoveFile.KEY, _TOMBSTONES)]
        kinds = [pa.string(), pa.int64(), pa.bool_(), pa.int64(), _TEXTS]
        empty = pa.schema(list(zip(_TOMBSTONES, kinds, strict=True))).empty_table()
        found = pa.concat_tables([*parts, empty]) if parts else empty
        times = found.column("deletion_timestamp").cast(_TIME)
        found = found.set_column(1, "deletion_timestamp", times)
        return found.rename_columns([name if name != "size" else "size_bytes" for name in _TOMBSTONES])

    def _num_records(self, files: pa.Table) -> pa.ChunkedArray:
        nothing = Schema([])
        parsed = file_statistics.parse_statistics(files.column("stats"), nothing, self._snapshot.mapping_mode)
        return parsed.column("numRecords")

    def _rows(
        self, data_type: DataType, path: Sequence[str], physical: Sequence[str], indexed: set[tuple[str, ...]]
    ) -> Iterator[dict[str, Any]]:
        match data_type:
            case StructType():
                for field in data_type.fields:
                    inner = (*path, field.name)
                    stored = (*physical, physical_name(field, self._snapshot.mapping_mode))
                    yield {
                        "path": render_path(inner),
                        "type": _kind(field.type),
                        "nullable": field.nullable,
                        "comment": json_text(field.metadata.get(COMMENT_KEY)),
                        "default": json_text(field.metadata.get(DEFAULT_KEY)),
                        "generated": json_text(field.metadata.get(GENERATION_KEY)),
                        "physical_path": render_path(stored),
                        "field_id": field_id(field),
                        "is_partition": len(inner) == 1 and field.name in self._snapshot.partition_columns,
                        "has_statistics": stored in indexed,
                    }
                    yield from self._rows(field.type, inner, stored, indexed)
            case ArrayType(element_type=element):
                yield from self._part("element", element, data_type.contains_null, path, physical)
            case MapType(key_type=key, value_type=value):
                yield from self._part("key", key, False, path, physical)
                yield from self._part("value", value, data_type.value_contains_null, path, physical)

    def _part(
        self, name: str, data_type: DataType, nullable: bool, path: Sequence[str], physical: Sequence[str]
    ) -> Iterator[dict[str, Any]]:
        inner, stored = (*path, name), (*physical, name)
        yield {
            "path": render_path(inner),
            "type": _kind(data_type),
            "nullable": nullable,
            "physical_path": render_path(stored),
            "is_partition": False,
            "has_statistics": False,
        }
        yield from self._rows(data_type, inner, stored, set())


def _partition_struct(names: Sequence[str], values: Sequence[pa.ChunkedArray]) -> dict[str, pa.Array]:
    if not names:
        return {}
    arrays = [each.combine_chunks() for each in values]
    return {"partition": pa.StructArray.from_arrays(arrays, names=list(names))}


def _deleted_rows(files: pa.Table) -> pa.ChunkedArray:
    cardinality = pc.struct_field(files.column("deletion_vector"), "cardinality")
    return pc.fill_null(cardinality, scalar_of(0, pa.int64()))


def _kind(data_type: DataType) -> str:
    match data_type:
        case PrimitiveType(name):
            return name
        case ArrayType():
            return "array"
        case MapType():
            return "map"
    return "struct"


def _plain(value: object, kind: pa.DataType) -> object:
    """Return what a commit recorded as a value of the type, or None if it is something else."""
    if pa.types.is_map(kind):
        pairs = value.items() if isinstance(value, dict) else ()
        return None if value is None else [(str(name), json_text(each)) for name, each in pairs]
    if pa.types.is_string(kind):
        return json_text(value)
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None
