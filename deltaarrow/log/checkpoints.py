"""Reading checkpoints: chapters "Checkpoints", "V2 Spec" and "Checkpoint Schema" of the protocol.

A checkpoint is opened narrowly: its few actions that are not about files are read at once, the file
actions stay where they are, as Parquet files for a query (`CheckpointFiles.sql`). Which content a
checkpoint has is told by its columns and never by its name, because V2 content stands under classic
names as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deltaarrow.actions import parse_fields
from deltaarrow.actions.arrow import DELETION_VECTOR_TYPE
from deltaarrow.actions.codec import camel_case
from deltaarrow.actions.model import DomainMetadata, Metadata, Protocol, SetTransaction, Sidecar
from deltaarrow.compute import quote_file, quote_identifier
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.commits import parse_commit
from deltaarrow.log.names import SIDECAR_FOLDER
from deltaarrow.log.segment import Checkpoint
from deltaarrow.storage.paths import canonical_path_sql, decode_path
from deltaarrow.storage.store import Store

__all__ = ["CheckpointFiles", "CheckpointHead", "open_checkpoint"]

_HEAD_COLUMNS = ("protocol", "metaData", "txn", "domainMetadata", "sidecar")


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """Parquet files of one schema that hold file actions, and how to ask them."""

    names: tuple[str, ...]
    schema: pa.Schema

    def sql(self, store: Store, action: str, columns: Sequence[str], types: pa.Schema) -> str | None:
        """Return a SELECT of the `add` or `remove` actions; None when the files hold none.

        `columns` are names out of `types` or ``deletion_vector_id``. A column that these files do
        not have is NULL, as an absent field of the JSON form is.
        """
        index = self.schema.get_field_index(action)
        if index < 0 or not pa.types.is_struct(self.schema.field(index).type):
            return None
        struct = self.schema.field(index).type
        selected = ", ".join(
            f"{_column_sql(action, struct, name, types)} AS {quote_identifier(name)}" for name in columns
        )
        files = ", ".join(quote_file(store.location(name)) for name in self.names)
        # Hive partitioning would take `a=b` in the path of a table for a column of the checkpoint.
        return (
            f"SELECT {selected} FROM read_parquet([{files}], hive_partitioning = false)"
            f" WHERE {action}.path IS NOT NULL"
        )


def _column_sql(action: str, struct: pa.DataType, name: str, types: pa.Schema) -> str:
    if name == "path":
        return canonical_path_sql(f"{action}.path")
    if name == "log_path":
        return f"{action}.path"
    if name == "deletion_vector_id":
        return _deletion_vector_id_sql(action, struct)
    sql_type = _SQL_TYPES[types.field(name).type]
    key = camel_case(name)
    if name == "deletion_vector":
        return _deletion_vector_sql(action, struct)
    has_column = struct.get_field_index(key) >= 0
    if name == "stats" and struct.get_field_index("stats_parsed") >= 0:
        parsed = f"to_json({action}.stats_parsed)::VARCHAR"
        return f"coalesce({action}.stats, {parsed})" if has_column else parsed
    return f"{action}.{key}::{sql_type}" if has_column else f"NULL::{sql_type}"


_SQL_TYPES = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.int32(): "INTEGER",
    pa.bool_(): "BOOLEAN",
    pa.map_(pa.string(), pa.string()): "MAP(VARCHAR, VARCHAR)",
    DELETION_VECTOR_TYPE: "STRUCT(storage_type VARCHAR, path_or_inline_dv VARCHAR,"
    ' "offset" INTEGER, size_in_bytes INTEGER, cardinality BIGINT)',
}


def _deletion_vector_sql(action: str, struct: pa.DataType) -> str:
    sql_type = _SQL_TYPES[DELETION_VECTOR_TYPE]
    index = struct.get_field_index("deletionVector")
    if index < 0:
        return f"NULL::{sql_type}"
    present = {f.name for f in struct.field(index).type}
    dv = f"{action}.deletionVector"
    parts = ", ".join(
        f"{quote_identifier(f.name)} := "
        + (f"{dv}.{key}" if (key := camel_case(f.name)) in present else "NULL")
        for f in DELETION_VECTOR_TYPE
    )
    return f"CASE WHEN {dv}.storageType IS NOT NULL THEN struct_pack({parts})::{sql_type} END"


def _deletion_vector_id_sql(action: str, struct: pa.DataType) -> str:
    index = struct.get_field_index("deletionVector")
    if index < 0:
        return "''"
    dv = f"{action}.deletionVector"
    has_offset = struct.field(index).type.get_field_index("offset") >= 0
    offset = f"coalesce('@' || {dv}.offset, '')" if has_offset else "''"
    return f"coalesce({dv}.storageType || {dv}.pathOrInlineDv || {offset}, '')"


@dataclass(slots=True)
class CheckpointHead:
    """What a checkpoint says beside its file actions."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, SetTransaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    sidecars: list[Sidecar] = field(default_factory=list)
    json_actions: list[dict[str, Any]] = field(default_factory=list)
    """All actions of a V2 checkpoint in JSON form, file actions among them."""
    files: list[CheckpointFiles] = field(default_factory=list)

    def take(self, key: str, value: Mapping[str, Any]) -> None:
        """Take in one action, given as its key and the inside of its object."""
        match key:
            case "protocol":
                self.protocol = parse_fields(Protocol, value)
            case "metaData":
                self.metadata = parse_fields(Metadata, value)
            case "txn":
                self.transactions[value["appId"]] = parse_fields(SetTransaction, value)
            case "domainMetadata":
                self.domains[value["domain"]] = parse_fields(DomainMetadata, value)
            case "sidecar":
                self.sidecars.append(parse_fields(Sidecar, value))
            case _:
                return


def _without_nulls(value: Any) -> Any:
    """Leave out what is NULL, as JSON leaves out what is absent."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


def _holding_row_groups(metadata: Any, column: str) -> list[int]:
    """Return the row groups in which `column` is set somewhere, as far as their statistics tell."""
    if not metadata.num_row_groups:
        return []
    first = metadata.row_group(0)
    leaves = [
        i for i in range(metadata.num_columns) if first.column(i).path_in_schema.split(".")[0] == column
    ]

    def is_empty(group: Any) -> bool:
        for i in leaves:
            chunk = group.column(i)
            statistics = chunk.statistics
            if (
                statistics is None
                or not statistics.has_null_count
                or statistics.null_count < chunk.num_values
            ):
                return False
        return True

    return [g for g in range(metadata.num_row_groups) if not is_empty(metadata.row_group(g))]


def _read_parquet_head(store: Store, name: str, head: CheckpointHead) -> None:
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(store.arrow_path(name), filesystem=store.arrow_filesystem())
    except (FileNotFoundError, pa.ArrowInvalid) as error:
        raise CorruptLogError(f"the checkpoint {name} cannot be read: {error}") from error
    with file:
        schema = file.schema_arrow
        for column in _HEAD_COLUMNS:
            if schema.get_field_index(column) < 0 or not pa.types.is_struct(schema.field(column).type):
                continue
            groups = _holding_row_groups(file.metadata, column)
            if groups:
                values = file.read_row_groups(groups, columns=[column]).column(column).drop_null()
                for value in values.to_pylist(maps_as_pydicts="strict"):
                    head.take(column, _without_nulls(value))
        _add_files(head, (name,), schema)


def _add_files(head: CheckpointHead, names: tuple[str, ...], schema: pa.Schema) -> None:
    actions = pa.schema([f for f in schema if f.name in ("add", "remove")])
    if not len(actions):
        return
    for i, group in enumerate(head.files):
        if group.schema.equals(actions):
            head.files[i] = CheckpointFiles(group.names + names, actions)
            return
    head.files.append(CheckpointFiles(names, actions))


def _sidecar_name(sidecar: Sidecar) -> str:
    name = decode_path(sidecar.path)
    return name if name.startswith("/") or "://" in name else f"{SIDECAR_FOLDER}/{name}"


def open_checkpoint(store: Store, checkpoint: Checkpoint) -> CheckpointHead:
    """Read what a checkpoint says beside its files, and find where its file actions are.

    Raises `CorruptLogError` when the checkpoint or one of its sidecars cannot be read.
    """
    head = CheckpointHead()
    for file in checkpoint.files:
        if file.name.endswith(".json"):
            head.json_actions = parse_commit(store.read(file.name), file.name)
            for action in head.json_actions:
                for key, value in action.items():
                    if value is not None:
                        head.take(key, value)
        else:
            _read_parquet_head(store, file.name, head)
    for sidecar in head.sidecars:
        _add_files(head, (name := _sidecar_name(sidecar),), _read_schema(store, name))
    return head


def _read_schema(store: Store, name: str) -> pa.Schema:
    import pyarrow.parquet as pq

    try:
        return pq.read_schema(store.arrow_path(name), filesystem=store.arrow_filesystem())
    except (FileNotFoundError, pa.ArrowInvalid) as error:
        raise CorruptLogError(f"the sidecar {name} of a checkpoint cannot be read: {error}") from error
