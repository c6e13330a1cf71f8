"""Reading checkpoints: chapters "Checkpoints", "V2 Spec" and "Checkpoint Schema" of the protocol.

Opening a checkpoint reads only its few actions that are not about files. The file actions stay in their
Parquet files for queries (`CheckpointFiles.sql`). The columns tell which content a checkpoint has, never its
name, because V2 content is also stored under classic names.
"""

import contextlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.actions import (
    AddFile,
    DomainMetadata,
    Metadata,
    Protocol,
    SetTransaction,
    Sidecar,
    parse_fields,
)
from deltaarrow.actions.arrow_tables import DELETION_VECTOR_TYPE, REQUIRED_OF_DELETION_VECTORS
from deltaarrow.actions.codec import camel_case
from deltaarrow.columnar.parquet_footers import Footer, read_footer
from deltaarrow.compute import quote_file, quote_identifier
from deltaarrow.errors import CorruptLogError, StorageError
from deltaarrow.log.commits import read_commit
from deltaarrow.log.file_names import SIDECAR_FOLDER, LogFile, has_unique_name
from deltaarrow.log.row_numbers import place_sql, present_rows
from deltaarrow.log.segment import Checkpoint
from deltaarrow.runtime.cache import CacheSpace
from deltaarrow.statistics.struct_texts import struct_text_sql
from deltaarrow.storage import OpenFile, Store, canonical_path_sql, decode_path, system_failure

if TYPE_CHECKING:
    import pyarrow.parquet as pq

__all__ = [
    "CheckpointFiles",
    "CheckpointHead",
    "is_complete",
    "open_checkpoint",
    "open_file",
    "read_file_actions",
    "read_sidecar_names",
    "sidecar_location",
]

_HEAD_COLUMNS = ("protocol", "metaData", "txn", "domainMetadata", "sidecar")
_NEVER_APART = {"add": ("path", "size", "modificationTime", "dataChange"), "remove": ("path", "dataChange")}
_FEW_ROWS = 4096


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """Parquet files of one schema that hold file actions, and the SQL to query them."""

    names: tuple[str, ...]
    schema: pa.Schema
    addresses: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Where DuckDB finds the files that are open (`OpenFile`); it opens the others by their names."""

    @property
    def stats_parsed_type(self) -> pa.DataType | None:
        """The type of the statistics as a struct; None without such statistics."""
        return self._type_in_add("stats_parsed")

    @property
    def has_json_statistics(self) -> bool:
        """Whether statistics are stored as text, not only as a struct."""
        return self._type_in_add("stats") is not None

    def holds(self, action: str) -> bool:
        """Whether the files may hold `add` or `remove` actions."""
        return bool(self.schema.get_field_index(action) >= 0)

    def _type_in_add(self, name: str) -> pa.DataType | None:
        index = self.schema.get_field_index("add")
        struct = self.schema.field(index).type if index >= 0 else pa.struct([])
        place = struct.get_field_index(name)
        return None if place < 0 or pa.types.is_null(struct.field(place).type) else struct.field(place).type

    def sql(
        self,
        store: Store,
        action: str,
        columns: Sequence[str],
        types: pa.Schema,
        *,
        among: str | None = None,
    ) -> str | None:
        """Return a SELECT of the `add` or `remove` actions; None when the files hold none.

        `columns` are names from `types`, ``deletion_vector_id``, ``place`` (see
        `deltaarrow.log.row_numbers`) or, if there is a `stats_parsed_type`, ``stats_parsed``. A column
        that these files do not have is NULL, like an absent field in JSON. `among` is a condition on
        ``file_row_number``; rows that it keeps but that hold no such action are NULL in all columns except
        ``place``.
        """
        index = self.schema.get_field_index(action)
        if index < 0:
            return None
        struct = self.schema.field(index).type
        selected = ", ".join(
            f"{_column_sql(action, struct, name, types)} AS {quote_identifier(name)}" for name in columns
        )
        places = [self.addresses.get(name) or store.location(name) for name in self.names]
        files = ", ".join(map(quote_file, places))
        # Hive partitioning would turn `a=b` in the table's path into a column of the checkpoint.
        return (
            f"SELECT {selected} FROM read_parquet([{files}], hive_partitioning = false)"
            f" WHERE {f'{action}.path IS NOT NULL' if among is None else among}"
        )


def _column_sql(action: str, struct: pa.DataType, name: str, types: pa.Schema) -> str:
    if name == "path":
        return canonical_path_sql(f"{action}.path")
    if name == "log_path":
        return f"{action}.path"
    if name == "place":
        return place_sql()
    if name == "stats_parsed":
        return f"{action}.stats_parsed"
    if name == "deletion_vector_id":
        return _deletion_vector_id_sql(action, struct)
    sql_type = _SQL_TYPES[types.field(name).type]
    key = camel_case(name)
    if name == "deletion_vector":
        return _deletion_vector_sql(action, struct)
    has_column = struct.get_field_index(key) >= 0
    if name == "stats" and (place := struct.get_field_index("stats_parsed")) >= 0:
        parsed = f"{action}.stats_parsed"
        # Spelling out members takes planning time, and few files have a struct where others have text.
        if has_column:
            return f"coalesce({action}.stats, to_json({parsed})::VARCHAR)"
        return struct_text_sql(parsed, struct.field(place).type)
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
    """The actions of a checkpoint that are not about files.

    For a V2 checkpoint in JSON form, `json_actions` keeps the file actions.
    """

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, SetTransaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    sidecars: list[Sidecar] = field(default_factory=list)
    json_actions: list[dict[str, Any]] = field(default_factory=list)
    files: list[CheckpointFiles] = field(default_factory=list)
    cache: CacheSpace = field(default_factory=CacheSpace, compare=False)

    def take(self, key: str, value: Mapping[str, Any]) -> None:
        """Add one action, given as its key and its JSON object."""
        match key:
            case "protocol":
                self.protocol = parse_fields(Protocol, value)
            case "metaData":
                self.metadata = parse_fields(Metadata, value)
            case "txn":
                transaction = parse_fields(SetTransaction, value)
                self.transactions[transaction.app_id] = transaction
            case "domainMetadata":
                domain = parse_fields(DomainMetadata, value)
                self.domains[domain.domain] = domain
            case "sidecar":
                self.sidecars.append(parse_fields(Sidecar, value))
            case _:
                return


def _without_nulls(value: Any) -> Any:
    """Leave out NULL members, as JSON leaves out absent ones."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return value


@contextlib.contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turn any error about the file's content into a `CorruptLogError` with its name.

    A failure of the system or the store becomes a `StorageError`.
    """
    try:
        yield
    except CorruptLogError as error:
        raise CorruptLogError(f"{name}: {error}") from error
    except StorageError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise system_failure(error, name) or CorruptLogError(f"{name} cannot be read: {error}") from error


def open_file(store: Store, name: str, identity: Hashable, cache: CacheSpace) -> OpenFile | None:
    """Return a checkpoint file that may be replaced, open, as it was opened before or anew.

    None if it costs nothing to open, or if it has another `Store.identity` than asked for.
    """
    known: OpenFile | None = cache.get(("open file", name, identity))
    opened = store.open_file(name) if known is None else known
    if known is None and opened is not None:
        _keep_open(name, opened, cache)
    return opened if opened is not None and opened.identity == identity else None


def _keep_open(name: str, opened: OpenFile, cache: CacheSpace) -> None:
    cache.put(("open file", name, opened.identity), opened, opened.nbytes)


@contextlib.contextmanager
def _open_parquet(
    store: Store, name: str, cache: CacheSpace | None = None
) -> "Iterator[tuple[pq.ParquetFile, Footer]]":
    """Open a Parquet file after checking its footer and that its columns have the types of actions.

    With `cache` the file stays open for `open_file`.
    """
    import pyarrow.parquet as pq

    opened = None if cache is None or has_unique_name(name) else store.open_file(name)
    if cache is not None and opened is not None:
        _keep_open(name, opened, cache)
        file = opened.arrow_file()
    else:
        file = store.arrow_filesystem().open_input_file(store.arrow_path(name))
    with file as source:
        footer = read_footer(source)
        with pq.ParquetFile(source, metadata=footer.metadata()) as parquet:
            for column in parquet.schema_arrow:
                if (rule := _ACTIONS.get(column.name)) is not None and not pa.types.is_null(column.type):
                    _ensure_type(column.name, column.type, rule)
            _ensure_equal_nulls(footer)
            yield parquet, footer


def _ensure_equal_nulls(footer: Footer) -> None:
    """Raise if statistics say that required members of a file action are NULL in different rows."""
    for action in ("add", "remove"):
        wanted = {(action, member) for member in _NEVER_APART[action]}
        leaves = [number for number, leaf in enumerate(footer.leaves) if leaf.path in wanted]
        for group in footer.row_groups:
            counts = {group.chunks[leaf].null_count for leaf in leaves} - {None}
            if len(counts) > 1:
                raise CorruptLogError(f"its statistics contradict each other on the {action} actions")


def _read_parquet_head(store: Store, name: str, head: CheckpointHead) -> bool:
    """Add the actions that are not about files; return whether there is a column for file actions."""
    with _open_parquet(store, name, head.cache) as (file, footer):
        schema = file.schema_arrow
        leaves = {column: footer.leaves_below(column) for column in schema.names}
        for number, group in enumerate(footer.row_groups):
            columns = [
                column
                for column in _HEAD_COLUMNS
                if column in leaves and not all(group.chunks[leaf].is_null for leaf in leaves[column])
            ]
            for batch in _few_rows_at_a_time(file, number, columns):
                for column, values in zip(batch.schema.names, batch.columns, strict=True):
                    # One by one: dropping the NULLs in Arrow would load all of its functions.
                    for row in present_rows(values):
                        value = values[row].as_py(maps_as_pydicts="strict")
                        head.take(column, _without_nulls(value))
        # A file without rows of a kind need not be queried for it.
        held = [
            action
            for action in ("add", "remove")
            if action in leaves
            and not all(group.chunks[leaf].is_null for group in footer.row_groups for leaf in leaves[action])
        ]
    _add_files(head, name, pa.schema([field for field in schema if field.name in held]))
    return bool({"add", "sidecar"} & set(schema.names))


def _few_rows_at_a_time(
    file: "pq.ParquetFile", row_group: int, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Read columns that are almost entirely NULL; large batches of these would take tens of megabytes."""
    if columns:
        yield from file.iter_batches(_FEW_ROWS, row_groups=[row_group], columns=columns, use_threads=False)


def _take_json(head: CheckpointHead, actions: Sequence[Mapping[str, Any]]) -> None:
    for action in actions:
        for key, value in action.items():
            if value is not None:
                head.take(key, value)


def _add_files(head: CheckpointHead, name: str, schema: pa.Schema) -> None:
    actions = pa.schema([f for f in schema if f.name in ("add", "remove") and not pa.types.is_null(f.type)])
    if not len(actions):
        return
    for i, group in enumerate(head.files):
        if group.schema.equals(actions):
            head.files[i] = CheckpointFiles((*group.names, name), actions)
            return
    head.files.append(CheckpointFiles((name,), actions))


def _is_text(data_type: pa.DataType) -> bool:
    types = pa.types
    if types.is_dictionary(data_type):
        return _is_text(data_type.value_type)
    return bool(
        types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type)
    )


def _is_text_map(data_type: pa.DataType) -> bool:
    return pa.types.is_map(data_type) and _is_text(data_type.key_type) and _is_text(data_type.item_type)


def _is_text_list(data_type: pa.DataType) -> bool:
    is_list = pa.types.is_list(data_type) or pa.types.is_large_list(data_type)
    return is_list and _is_text(data_type.value_type)


# What a column must look like: a test of its type, or the members of a struct and whether each is required.
_Rule = Callable[[pa.DataType], bool] | dict[str, tuple[bool, "_Rule"]]

_DELETION_VECTOR: _Rule = {
    "storageType": (True, _is_text),
    "pathOrInlineDv": (True, _is_text),
    "offset": (False, pa.types.is_integer),
    "sizeInBytes": (True, pa.types.is_integer),
    "cardinality": (True, pa.types.is_integer),
}
_FILE_ACTION: dict[str, tuple[bool, _Rule]] = {
    "path": (True, _is_text),
    "partitionValues": (False, _is_text_map),
    "size": (False, pa.types.is_integer),
    "modificationTime": (False, pa.types.is_integer),
    "deletionTimestamp": (False, pa.types.is_integer),
    "dataChange": (True, pa.types.is_boolean),
    "extendedFileMetadata": (False, pa.types.is_boolean),
    "stats": (False, _is_text),
    "stats_parsed": (False, pa.types.is_struct),
    "tags": (False, _is_text_map),
    "deletionVector": (False, _DELETION_VECTOR),
    "baseRowId": (False, pa.types.is_integer),
    "defaultRowCommitVersion": (False, pa.types.is_integer),
    "clusteringProvider": (False, _is_text),
}
_ACTIONS: dict[str, dict[str, tuple[bool, _Rule]]] = {
    "add": _FILE_ACTION
    | {
        "partitionValues": (True, _is_text_map),
        "size": (True, pa.types.is_integer),
        "modificationTime": (True, pa.types.is_integer),
    },
    "remove": _FILE_ACTION,
    "protocol": {
        "minReaderVersion": (True, pa.types.is_integer),
        "minWriterVersion": (True, pa.types.is_integer),
        "readerFeatures": (False, _is_text_list),
        "writerFeatures": (False, _is_text_list),
    },
    "metaData": {
        "id": (True, _is_text),
        "schemaString": (True, _is_text),
        "partitionColumns": (True, _is_text_list),
        "configuration": (True, _is_text_map),
    },
    "txn": {"appId": (True, _is_text), "version": (True, pa.types.is_integer)},
    "domainMetadata": {"domain": (True, _is_text), "configuration": (True, _is_text)},
    "sidecar": {"path": (True, _is_text), "sizeInBytes": (True, pa.types.is_integer)},
}
"""The columns that a checkpoint may have, and the required type of each."""


def _ensure_type(path: str, data_type: pa.DataType, rule: _Rule) -> None:
    """Raise for a column whose cast might produce values that nobody wrote."""
    if not isinstance(rule, dict):
        if not (pa.types.is_null(data_type) or rule(data_type)):
            raise CorruptLogError(f"the column {path} has the wrong type {data_type}")
        return
    if not pa.types.is_struct(data_type):
        raise CorruptLogError(f"the column {path} has the wrong type {data_type}")
    for name, (is_required, inner) in rule.items():
        index = data_type.get_field_index(name)
        if index >= 0:
            _ensure_type(f"{path}.{name}", data_type.field(index).type, inner)
        elif is_required:
            raise CorruptLogError(f"there is no column {path}.{name}")


def sidecar_location(sidecar: Sidecar) -> str:
    """Return the store name of a sidecar. Raises `CorruptLogError` if it is outside its folder."""
    name = decode_path(sidecar.path)
    if ".." in name.split("/"):
        raise CorruptLogError(f"the sidecar {sidecar.path!r} is not in {SIDECAR_FOLDER}")
    return name if name.startswith("/") or "://" in name else f"{SIDECAR_FOLDER}/{name}"


def open_checkpoint(store: Store, checkpoint: Checkpoint) -> CheckpointHead:
    """Read the actions that are not about files, and find the files that hold the file actions.

    Raises `CorruptLogError`, naming the file, when the checkpoint or one of its sidecars cannot be read.
    """
    head = CheckpointHead()
    has_files = False
    for file in checkpoint.files:
        if file.name.endswith(".json"):
            actions = read_commit(store, file.name)
            if not actions:
                raise CorruptLogError(f"{file.name} is empty; it may have been cut off while it was written")
            head.json_actions = [a for a in actions if "add" in a or "remove" in a]
            with _reading(file.name):
                _take_json(head, actions)
            has_files = True
        else:
            with _reading(file.name):
                # A part of a multi-part checkpoint may have none.
                has_files |= _read_parquet_head(store, file.name, head)
    if not has_files:
        names = " and ".join(file.name for file in checkpoint.files[:: max(1, len(checkpoint.files) - 1)])
        raise CorruptLogError(f"{names}: there is neither a column add nor a column sidecar")
    with _reading(checkpoint.files[0].name):
        # A sidecar named twice is read once.
        sidecars = dict.fromkeys(map(sidecar_location, head.sidecars))
    for name in sidecars:
        with _reading(name), _open_parquet(store, name) as (opened, _):
            schema = opened.schema_arrow
            if not {"add", "remove"} & set(schema.names):
                raise CorruptLogError("there is neither a column add nor a column remove")
            _add_files(head, name, schema)
    return head


def read_file_actions(store: Store, name: str, schema: pa.Schema) -> list[dict[str, Any]]:
    """Read the file actions of a Parquet file of this schema as a commit has them, without typed values.

    Each action becomes an object, so use it for small files only. Raises `CorruptLogError`, naming the file.
    """
    import pyarrow.parquet as pq

    columns = [
        f"{action.name}.{member.name}"
        for action in schema
        for member in action.type
        if not member.name.endswith("_parsed")
    ]
    with _reading(name), pq.ParquetFile(store.arrow_path(name), filesystem=store.arrow_filesystem()) as file:
        table = file.read(columns=columns)
        return [
            {action: _file_action(value)}
            for action in table.column_names
            for value in table.column(action).drop_null().to_pylist(maps_as_pydicts="strict")
            if value["path"] is not None
        ]


def _file_action(value: Mapping[str, Any]) -> dict[str, Any]:
    # A map keeps its NULLs: they are partition values.
    found = {key: item for key, item in value.items() if item is not None}
    vector = _without_nulls(found.pop("deletionVector", {}))
    return found | {"deletionVector": vector} if "storageType" in vector else found


def is_complete(files: pa.Table, action: str) -> bool:
    """Whether every file action has all required fields among the columns of the table."""
    required = {"path", "size", "partition_values"} if action == AddFile.KEY else {"path"}
    if any(files.column(name).null_count for name in required.intersection(files.column_names)):
        return False
    if "deletion_vector" not in files.column_names:
        return True
    vectors = files.column("deletion_vector").drop_null().combine_chunks()
    return not any(vectors.field(name).null_count for name in REQUIRED_OF_DELETION_VECTORS)


def read_sidecar_names(store: Store, file: LogFile) -> set[str]:
    """Read the base names of the sidecars that a checkpoint file names; `CorruptLogError` if that fails."""
    head = CheckpointHead()
    if file.name.endswith(".json"):
        actions = read_commit(store, file.name)
        with _reading(file.name):
            _take_json(head, actions)
    else:
        with _reading(file.name):
            _read_parquet_head(store, file.name, head)
    with _reading(file.name):
        return {sidecar_location(sidecar).rpartition("/")[2] for sidecar in head.sidecars}
