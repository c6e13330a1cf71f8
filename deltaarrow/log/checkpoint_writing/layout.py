"""The columns of a checkpoint: chapter "Checkpoint Schema" of the protocol.

Columns and types are delta-spark's, with one exception: timestamps are microseconds as integers, not INT96,
because INT96 has no statistics to skip row groups by. The table properties decide which statistics and
partition values a checkpoint holds.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.actions import CHECKPOINT_SCHEMA, Metadata, Protocol
from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.features import is_supported, properties
from deltaarrow.log.checkpoints import CheckpointFiles
from deltaarrow.partitions import duckdb_type
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema import PrimitiveType, Schema, column_mapping_mode, physical_name, to_arrow_type
from deltaarrow.statistics.typed import TypedStatistics

__all__ = ["CheckpointLayout"]

_ADD = {
    "path": "log_path",
    "partitionValues": "partition_values",
    "size": "size",
    "modificationTime": "modification_time",
    "dataChange": "false",
    "tags": "tags",
    "deletionVector": "deletion_vector",
    "baseRowId": "base_row_id",
    "defaultRowCommitVersion": "default_row_commit_version",
    "clusteringProvider": "clustering_provider",
}
"""The members of a checkpoint's `add`, each with its SQL over the columns of a file table."""

_REMOVE = {
    "path": "log_path",
    "deletionTimestamp": "deletion_timestamp",
    "dataChange": "false",
    "extendedFileMetadata": "extended_file_metadata",
    "partitionValues": "partition_values",
    "size": "size",
    "deletionVector": "deletion_vector",
    "baseRowId": "base_row_id",
    "defaultRowCommitVersion": "default_row_commit_version",
}
"""The members of a `remove`; the protocol leaves out its statistics and tags."""

# DuckDB reads some texts as times that no other engine accepts, such as 'infinity'.
_TEMPORAL = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True)
class CheckpointLayout:
    """The content of a table's checkpoints.

    Attributes:
        statistics: the typed statistics; None if `delta.checkpoint.writeStatsAsStruct` is off.
        partitions: physical name and type of the partition columns stored as typed values.
        has_json: whether statistics are stored as JSON text.
    """

    statistics: TypedStatistics | None
    partitions: Sequence[tuple[str, PrimitiveType]]
    has_json: bool

    @classmethod
    def of(cls, protocol: Protocol, metadata: Metadata) -> "CheckpointLayout":
        """The layout that the table properties ask for."""
        configuration = metadata.configuration
        has_json = properties.CHECKPOINT_WRITE_STATS_AS_JSON.parse(configuration)
        if not properties.CHECKPOINT_WRITE_STATS_AS_STRUCT.parse(configuration):
            return cls(None, (), has_json)
        schema = Schema.from_json(metadata.schema_string)
        mode = column_mapping_mode(
            protocol.min_reader_version, protocol.reader_features, protocol.writer_features, configuration
        )
        statistics = TypedStatistics.of(
            schema,
            metadata.partition_columns,
            configuration,
            mode,
            has_tight_bounds=is_supported(protocol, "deletionVectors"),
        )
        fields = [schema.field(name) for name in metadata.partition_columns]
        partitions = [
            (physical_name(field, mode), field.type)
            for field in fields
            if isinstance(field.type, PrimitiveType)
        ]
        return cls(statistics, tuple(partitions), has_json)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns of a classic checkpoint."""
        return self._schema_of("txn", "add", "remove", "metaData", "protocol", "domainMetadata")

    @cached_property
    def sidecar_schema(self) -> pa.Schema:
        """The columns of a sidecar."""
        return self._schema_of("add", "remove")

    def _schema_of(self, *names: str) -> pa.Schema:
        own = {"add": self._add_type, "remove": _members("remove", _REMOVE)}
        return pa.schema([(name, own.get(name) or CHECKPOINT_SCHEMA.field(name).type) for name in names])

    @cached_property
    def _add_type(self) -> pa.StructType:
        fields = list(_members("add", _ADD))
        if self.has_json:
            fields.append(pa.field("stats", pa.string()))
        if self.partitions:
            values = [(name, to_arrow_type(data_type)) for name, data_type in self.partitions]
            fields.append(pa.field("partitionValues_parsed", pa.struct(values)))
        if self.statistics is not None:
            fields.append(pa.field("stats_parsed", self.statistics.type))
        struct = pa.struct(fields)
        assert pa.types.is_struct(struct)
        return struct

    def select_adds(self, source: str, files: CheckpointFiles | None) -> str:
        """The SELECT of the members of `add` from the SELECT of a file table.

        `files` is the part of an older checkpoint that `source` reads, None for commits. If the part has
        statistics as a struct, they are the column ``stats_parsed`` of `source`.
        """
        members = dict(_ADD)
        if self.has_json:
            members["stats"] = "stats"
        if self.partitions:
            values = (
                f"{quote_identifier(name)} := {_partition_value(name, data_type)}"
                for name, data_type in self.partitions
            )
            members["partitionValues_parsed"] = f"struct_pack({', '.join(values)})"
        if self.statistics is not None:
            found = None if files is None else files.stats_parsed_type
            if files is None or found is None or files.has_json_statistics:
                source = f"SELECT *, {self.statistics.raw('stats')} AS raw_stats FROM ({source})"
                members["stats_parsed"] = self.statistics.from_raw("raw_stats")
            else:
                members["stats_parsed"] = self.statistics.from_struct("stats_parsed", found)
        return _select(members, source)

    def adds_of(self, files: pa.Table) -> pa.Array | None:
        """The members of `add` for the files of commits, given as a table of `FILE_SCHEMA`, without a query.

        Inner names are still those of the table. None if a query is needed: for typed partition values or
        statistics of uncommon types.
        """
        if self.partitions:
            return None
        arrays = []
        for member in self._add_type:
            if member.name == "stats_parsed":
                assert self.statistics is not None
                array = self.statistics.from_texts(files.column("stats").to_pylist())
                if array is None:
                    return None
            elif member.name == "dataChange":
                array = pa.repeat(False, files.num_rows)
            else:
                array = files.column(_ADD.get(member.name, member.name)).combine_chunks()
            arrays.append(array)
        return pa.StructArray.from_arrays(arrays, names=[member.name for member in self._add_type])

    def select_removes(self, source: str, files: CheckpointFiles | None) -> str:
        """The SELECT of the members of `remove` from the SELECT of a table of tombstones."""
        return _select(_REMOVE, source)


def _members(action: str, names: Iterable[str]) -> pa.StructType:
    known = CHECKPOINT_SCHEMA.field(action).type
    struct = pa.struct([known.field(name) for name in names])
    assert pa.types.is_struct(struct)
    return struct


def _select(members: dict[str, str], source: str) -> str:
    listed = ", ".join(f"{sql} AS {quote_identifier(name)}" for name, sql in members.items())
    return f"SELECT {listed} FROM ({source})"


def _partition_value(name: str, data_type: PrimitiveType) -> str:
    text = f"partition_values[{quote_literal(name)}]"
    match data_type.type:
        case "string":
            return text
        case "binary":
            return f"encode({text})"
        case name if name in _TEMPORAL:
            text = f"CASE WHEN regexp_matches({text}, '^[0-9]') THEN {text} END"
    return f"TRY_CAST({text} AS {duckdb_type(data_type)})"
