"""Delta tables written by hand, from axes, for tests: JSON and plain pyarrow, and no code of the package.

A test composes only what it needs::

    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    first = table.add_file(pa.table({"id": [1, 2]}))
    table.commit([first])                                   # version 0 holds protocol, metaData and the add
    table.commit([table.remove(first)]).checkpoint(kind="v2-json", sidecars=2)

Actions are plain dictionaries in the protocol's spelling, so a test can change any of them before
it commits. The builder remembers its commits, replays them in the simplest way and writes
checkpoints from that, so it is also the slow model for tests of replay (`live_files`).
"""

import base64
import json
import os
import struct
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from tests.support.delta_json import bounds_type, counts_type, delta_schema, file_statistics, typed

__all__ = ["EPOCH_MS", "TableBuilder"]

EPOCH_MS = 1_767_225_600_000
"""Version 0 is committed at this time, 2026-01-01T00:00:00Z; each version a second later."""

Action = dict[str, dict[str, Any]]

_STRINGS = pa.map_(pa.string(), pa.string())
_DELETION_VECTOR = pa.struct(
    {
        "storageType": pa.string(),
        "pathOrInlineDv": pa.string(),
        "offset": pa.int32(),
        "sizeInBytes": pa.int32(),
        "cardinality": pa.int64(),
    }
)
_ADD = {
    "path": pa.string(),
    "partitionValues": _STRINGS,
    "size": pa.int64(),
    "modificationTime": pa.int64(),
    "dataChange": pa.bool_(),
    "tags": _STRINGS,
    "deletionVector": _DELETION_VECTOR,
    "baseRowId": pa.int64(),
    "defaultRowCommitVersion": pa.int64(),
    "clusteringProvider": pa.string(),
}
_CHECKPOINT = {
    "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
    "remove": pa.struct(
        {
            "path": pa.string(),
            "deletionTimestamp": pa.int64(),
            "dataChange": pa.bool_(),
            "extendedFileMetadata": pa.bool_(),
            "partitionValues": _STRINGS,
            "size": pa.int64(),
            "deletionVector": _DELETION_VECTOR,
            "baseRowId": pa.int64(),
            "defaultRowCommitVersion": pa.int64(),
        }
    ),
    "metaData": pa.struct(
        {
            "id": pa.string(),
            "name": pa.string(),
            "description": pa.string(),
            "format": pa.struct({"provider": pa.string(), "options": _STRINGS}),
            "schemaString": pa.string(),
            "partitionColumns": pa.list_(pa.string()),
            "configuration": _STRINGS,
            "createdTime": pa.int64(),
        }
    ),
    "protocol": pa.struct(
        {
            "minReaderVersion": pa.int32(),
            "minWriterVersion": pa.int32(),
            "readerFeatures": pa.list_(pa.string()),
            "writerFeatures": pa.list_(pa.string()),
        }
    ),
    "domainMetadata": pa.struct({"domain": pa.string(), "configuration": pa.string(), "removed": pa.bool_()}),
}
_CHECKPOINT_METADATA = pa.struct({"version": pa.int64(), "tags": _STRINGS})
_SIDECAR = pa.struct(
    {"path": pa.string(), "sizeInBytes": pa.int64(), "modificationTime": pa.int64(), "tags": _STRINGS}
)

_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_Z85 = bytes.maketrans(_B85, _Z85)


class TableBuilder:
    """A Delta table in folder `path`, made commit by commit."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.log = self.path / "_delta_log"
        self.log.mkdir(parents=True, exist_ok=True)
        self.commits: dict[int, list[Action]] = {}
        self._staged: list[Action] = []
        self._logical = pa.schema([])
        self._partition_columns: list[str] = []

    # --- actions ---------------------------------------------------------------------------------

    def protocol(
        self,
        reader: int = 1,
        writer: int = 2,
        reader_features: Sequence[str] | None = None,
        writer_features: Sequence[str] | None = None,
    ) -> Self:
        """Stage a `protocol`; the feature lists are left out of the JSON where they are None."""
        action: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": writer}
        if reader_features is not None:
            action["readerFeatures"] = list(reader_features)
        if writer_features is not None:
            action["writerFeatures"] = list(writer_features)
        self._staged.append({"protocol": action})
        return self

    def features(self, *names: str, writer_only: Sequence[str] = ()) -> Self:
        """Stage the protocol (3,7) that lists `names` for reader and writer, `writer_only` for the writer."""
        return self.protocol(3, 7, list(names), [*names, *writer_only])

    def metadata(
        self,
        schema: pa.Schema | Mapping[str, Any] | str,
        partition_columns: Sequence[str] = (),
        configuration: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Self:
        """Stage a `metaData`; `schema` is an Arrow schema, the protocol's JSON object or its text."""
        if isinstance(schema, pa.Schema):
            self._logical = schema
            text = json.dumps(delta_schema(schema))
        else:
            text = schema if isinstance(schema, str) else json.dumps(schema)
        self._partition_columns = list(partition_columns)
        action = {
            "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": text,
            "partitionColumns": list(partition_columns),
            "configuration": dict(configuration or {}),
            "createdTime": EPOCH_MS,
        }
        self._staged.append({"metaData": action | fields})
        return self

    def add_file(
        self,
        rows: pa.Table | int,
        partition_values: Mapping[str, str | None] | None = None,
        stats: bool | Mapping[str, Any] | str = True,
        name: str | None = None,
        deletion_vector: Mapping[str, Any] | None = None,
        parquet: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Action:
        """Write `rows` to a data file and return its `add`, not yet committed.

        An int for `rows` writes no file: an `add` of so many rows whose file is absent, for tests that must
        not open it. `name` is the path as the log has it (not encoded here) and, unless `fields` say
        otherwise, relative. `stats`: computed, none, given as an object, or given as text. `parquet` goes
        to `pq.write_table`.
        """
        path = name or f"part-00000-{uuid.uuid4()}-c000.snappy.parquet"
        size = 1000
        if isinstance(rows, pa.Table):
            file = self.path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(rows, file, **({"store_schema": False} | dict(parquet or {})))
            size = file.stat().st_size
        add: dict[str, Any] = {
            "path": path,
            "partitionValues": dict(partition_values or {}),
            "size": size,
            "modificationTime": EPOCH_MS,
            "dataChange": True,
        }
        if stats is True:
            found = file_statistics(rows) if isinstance(rows, pa.Table) else {"numRecords": rows}
            add["stats"] = json.dumps(found)
        elif stats is not False:
            add["stats"] = stats if isinstance(stats, str) else json.dumps(stats)
        if deletion_vector is not None:
            add["deletionVector"] = dict(deletion_vector)
        return {"add": add | fields}

    def cdc(
        self,
        rows: pa.Table,
        partition_values: Mapping[str, str | None] | None = None,
        name: str | None = None,
        **fields: Any,
    ) -> Action:
        """Write `rows`, with their ``_change_type``, to a change data file and return its `cdc`."""
        name = name or f"_change_data/cdc-00000-{uuid.uuid4()}.c000.snappy.parquet"
        add = self.add_file(rows, partition_values, stats=False, name=name)["add"]
        kept = {key: add[key] for key in ("path", "partitionValues", "size")}
        return {"cdc": kept | {"dataChange": False} | fields}

    def remove(self, add: Action, **fields: Any) -> Action:
        """The `remove` that cancels `add`, with its deletion vector."""
        kept = ("path", "partitionValues", "size", "deletionVector", "baseRowId", "defaultRowCommitVersion")
        remove = {key: add["add"][key] for key in kept if key in add["add"]}
        remove |= {"deletionTimestamp": EPOCH_MS, "dataChange": True, "extendedFileMetadata": True}
        return {"remove": remove | fields}

    def with_deletion_vector(self, add: Action, descriptor: Mapping[str, Any]) -> list[Action]:
        """The two actions that put (another) deletion vector on a file: remove the old key, add the new."""
        fresh = {"add": add["add"] | {"deletionVector": dict(descriptor)}}
        return [self.remove(add), fresh]

    def txn(self, app_id: str, version: int) -> Action:
        """A `txn` action."""
        return {"txn": {"appId": app_id, "version": version, "lastUpdated": EPOCH_MS}}

    def domain(self, domain: str, configuration: str, removed: bool = False) -> Action:
        """A `domainMetadata` action."""
        return {"domainMetadata": {"domain": domain, "configuration": configuration, "removed": removed}}

    def deletion_vector(
        self, positions: Iterable[int], storage: str = "u", prefix: str = ""
    ) -> dict[str, Any]:
        """A descriptor of `positions`: "u" and "p" write a ``.bin`` file into the table, "i" is inline."""
        bitmap = BitMap64(positions)
        payload = struct.pack("<i", 1681511377) + bitmap.serialize()
        if storage == "i":
            padded = payload + bytes(-len(payload) % 4)
            text = base64.b85encode(padded).translate(_TO_Z85).decode()
            return {
                "storageType": "i",
                "pathOrInlineDv": text,
                "sizeInBytes": len(payload),
                "cardinality": len(bitmap),
            }
        identity = uuid.uuid4()
        file = self.path / prefix / f"deletion_vector_{identity}.bin"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(
            b"\x01" + struct.pack(">i", len(payload)) + payload + struct.pack(">I", zlib.crc32(payload))
        )
        text = prefix + base64.b85encode(identity.bytes).translate(_TO_Z85).decode()
        if storage == "p":
            text = file.absolute().as_uri()
        return {
            "storageType": storage,
            "pathOrInlineDv": text,
            "offset": 1,
            "sizeInBytes": len(payload),
            "cardinality": len(bitmap),
        }

    # --- files of the log ------------------------------------------------------------------------

    @property
    def version(self) -> int:
        """The newest committed version, or -1."""
        return max(self.commits, default=-1)

    def commit(
        self,
        actions: Iterable[Action] = (),
        *,
        version: int | None = None,
        timestamp: int | None = None,
        info: Mapping[str, Any] | None = None,
        write: bool = True,
    ) -> Self:
        """Write a commit of what is staged and `actions`, as `version` (default: the next one).

        `timestamp` (ms) goes into ``commitInfo`` and becomes the file's modification time. `write=False`
        only remembers the commit, as if log cleanup had taken its file.
        """
        version = self.version + 1 if version is None else version
        timestamp = EPOCH_MS + 1000 * version if timestamp is None else timestamp
        first = {"commitInfo": {"timestamp": timestamp, "operation": "WRITE", **(info or {})}}
        lines: list[Action] = [first, *self._staged, *actions]
        self._staged = []
        self.commits[version] = lines
        if write:
            file = self.log / f"{version:020d}.json"
            file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            os.utime(file, (timestamp / 1000, timestamp / 1000))
        return self

    def compacted(self, first: int, last: int, actions: Iterable[Action] | None = None) -> Self:
        """Write ``first.last.compacted.json``: `actions`, or the reconciled commits of that range."""
        if actions is None:
            actions = _reconcile(
                line for version in range(first, last + 1) for line in self.commits[version]
            ).values()
        file = self.log / f"{first:020d}.{last:020d}.compacted.json"
        file.write_text("".join(json.dumps(action) + "\n" for action in actions), encoding="utf-8")
        return self

    def checkpoint(
        self,
        version: int | None = None,
        kind: str = "classic",
        *,
        parts: int = 2,
        sidecars: int = 0,
        stats: str = "json",
        hint: bool = True,
    ) -> list[Path]:
        """Write a checkpoint of `version` and return its files, the top-level ones first.

        `kind`: "classic", "multipart" (in `parts`), "v2-parquet" and "v2-json" (a UUID in the name), or
        "v2-classic" (V2 content under the classic name); the V2 kinds put files into `sidecars` Parquet
        files, or inline where that is 0. `stats`: "json", "struct" (``stats_parsed`` and
        ``partitionValues_parsed``), "both" or "none". `hint` writes ``_last_checkpoint``.
        """
        version = self.version if version is None else version
        state = self._state(version)
        files = [action for action in state if "add" in action or "remove" in action]
        others = [action for action in state if "add" not in action and "remove" not in action]
        schema = self._checkpoint_schema(stats)
        stem = f"{version:020d}.checkpoint"
        made: list[Path] = []
        if kind == "classic":
            made.append(self._write_parquet(self.log / f"{stem}.parquet", others + files, schema))
        elif kind == "multipart":
            rows = others + files
            for part in range(parts):
                file = self.log / f"{stem}.{part + 1:010d}.{parts:010d}.parquet"
                made.append(self._write_parquet(file, rows[part::parts], schema))
        elif kind in ("v2-parquet", "v2-json", "v2-classic"):
            top = [{"checkpointMetadata": {"version": version}}, *others]
            side = pa.schema([schema.field("add"), schema.field("remove")])
            for number in range(sidecars):
                file = self.log / "_sidecars" / f"{uuid.uuid4()}.parquet"
                file.parent.mkdir(exist_ok=True)
                made.append(self._write_parquet(file, files[number::sidecars], side))
                found = file.stat()
                top.append(
                    {
                        "sidecar": {
                            "path": file.name,
                            "sizeInBytes": found.st_size,
                            "modificationTime": int(found.st_mtime * 1000),
                        }
                    }
                )
            top += [] if sidecars else files
            if kind == "v2-json":
                file = self.log / f"{stem}.{uuid.uuid4()}.json"
                file.write_text("".join(json.dumps(action) + "\n" for action in top), encoding="utf-8")
            else:
                name = f"{stem}.parquet" if kind == "v2-classic" else f"{stem}.{uuid.uuid4()}.parquet"
                both = schema.append(pa.field("checkpointMetadata", _CHECKPOINT_METADATA))
                file = self._write_parquet(self.log / name, top, both.append(pa.field("sidecar", _SIDECAR)))
            made.insert(0, file)
        else:
            raise ValueError(f"unknown kind of checkpoint: {kind}")
        if hint:
            self.last_checkpoint(version, len(state), parts=parts if kind == "multipart" else None)
        return made

    def last_checkpoint(self, version: int, size: int = 1, text: str | None = None, **fields: Any) -> Self:
        """Write ``_last_checkpoint``: `version`, `size` and `fields` that are not None, or just `text`."""
        hint = {"version": version, "size": size} | {k: v for k, v in fields.items() if v is not None}
        (self.log / "_last_checkpoint").write_text(json.dumps(hint) if text is None else text)
        return self

    def delete_commits(self, *versions: int) -> Self:
        """Take the JSON files of `versions` away, as log cleanup does (or a fault)."""
        for version in versions:
            (self.log / f"{version:020d}.json").unlink()
        return self

    # --- the model -------------------------------------------------------------------------------

    def live_files(self, version: int | None = None) -> dict[tuple[str, str | None], dict[str, Any]]:
        """The `add`s alive at `version`, by (path as written, deletion vector id): the obvious replay."""
        state = self._state(self.version if version is None else version)
        return {_file_key(action["add"]): action["add"] for action in state if "add" in action}

    def _state(self, version: int) -> list[Action]:
        lines = (
            line for number in sorted(self.commits) if number <= version for line in self.commits[number]
        )
        return list(_reconcile(lines).values())

    def _checkpoint_schema(self, stats: str) -> pa.Schema:
        add = dict(_ADD)
        if stats in ("json", "both"):
            add["stats"] = pa.string()
        if stats in ("struct", "both"):
            data = [field for field in self._logical if field.name not in self._partition_columns]
            parsed = {"numRecords": pa.int64()}
            bounds = bounds_type(data)
            if bounds is not None:
                parsed |= {"minValues": bounds, "maxValues": bounds}
            parsed["nullCount"] = counts_type(data)
            add["stats_parsed"] = pa.struct(parsed)
            if self._partition_columns:
                add["partitionValues_parsed"] = pa.struct(
                    [self._logical.field(name) for name in self._partition_columns]
                )
        columns = {"txn": _CHECKPOINT["txn"], "add": pa.struct(add), **_CHECKPOINT}
        return pa.schema(columns)

    def _write_parquet(self, file: Path, actions: Sequence[Action], schema: pa.Schema) -> Path:
        rows = [self._parquet_row(action, schema) for action in actions]
        columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in schema]
        pq.write_table(pa.table(columns, schema=schema), file)
        return file

    def _parquet_row(self, action: Action, schema: pa.Schema) -> dict[str, Any]:
        row = {}
        for kind, body in action.items():
            if schema.get_field_index(kind) < 0:
                continue
            wanted = schema.field(kind).type
            values = dict(body)
            names = {field.name for field in wanted}
            if "stats_parsed" in names and "stats" in body:
                values["stats_parsed"] = json.loads(body["stats"])
            if "partitionValues_parsed" in names:
                values["partitionValues_parsed"] = body["partitionValues"]
            row[kind] = typed(values, wanted)
        return row


def _file_key(action: Mapping[str, Any]) -> tuple[str, str | None]:
    vector = action.get("deletionVector")
    if vector is None:
        return action["path"], None
    offset = vector.get("offset")
    return action["path"], (
        vector["storageType"] + vector["pathOrInlineDv"] + ("" if offset is None else f"@{offset}")
    )


def _reconcile(lines: Iterable[Action]) -> dict[object, Action]:
    """The last action of each key, as the protocol's chapter on action reconciliation has it."""
    state: dict[object, Action] = {}
    for line in lines:
        for kind, body in line.items():
            if kind in ("protocol", "metaData"):
                key: object = kind
            elif kind == "txn":
                key = (kind, body["appId"])
            elif kind == "domainMetadata":
                key = (kind, body["domain"])
            elif kind in ("add", "remove"):
                key = ("file", *_file_key(body))
            else:
                continue
            state.pop(key, None)
            state[key] = {kind: body}
    return state
