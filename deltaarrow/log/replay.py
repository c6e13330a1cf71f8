"""Replaying a log segment: chapter "Action Reconciliation" of the protocol.

1. The newest `protocol` and the newest `metaData` win.
2. Of the `txn` actions of one application the newest wins.
3. Of the `domainMetadata` of one domain the newest wins; a removed one hides the older ones.
4. Of all references to one logical file, `add` or `remove`, the newest wins: an `add` that wins is a
   live file, a `remove` that wins is a tombstone.
5. A logical file is known by its canonical path together with the id of its deletion vector.

The commits after the checkpoint are few and are reconciled in memory (`LogTail`). The checkpoint is
not: its file actions are asked by a query, which leaves out what the tail has decided already and
carries the pruning predicate inside (`query_files`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaarrow.actions import (
    FILE_SCHEMA,
    REMOVE_SCHEMA,
    AddFile,
    DomainMetadata,
    FileActionKey,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    file_table,
    remove_table,
)
from deltaarrow.actions.arrow import (
    KEY_COLUMNS,
    REQUIRED_OF_DELETION_VECTORS,
    ensure_complete,
)
from deltaarrow.compute import files_cursor
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.answers import RecentAnswers
from deltaarrow.log.checkpoints import CheckpointFiles, CheckpointHead, read_file_actions
from deltaarrow.log.checksums import (
    VersionChecksum,
    find_contradiction,
    is_shortcut,
    read_version_checksum,
)
from deltaarrow.log.choice import Choice, FileCondition, Part, choose
from deltaarrow.log.commits import read_commit
from deltaarrow.log.fallback import open_segment
from deltaarrow.log.few_files import list_few, rows_of, with_looked_at
from deltaarrow.log.many_files import condition_on, list_many
from deltaarrow.log.names import checksum_name
from deltaarrow.log.recent_files import RecentFiles
from deltaarrow.log.segment import LARGE_CHECKPOINT, LogSegment
from deltaarrow.log.tail import LogTail, read_tail
from deltaarrow.storage.store import Store

if TYPE_CHECKING:
    import duckdb

__all__ = ["LogState", "replay"]

_SMALL_CHECKPOINT = 1 << 16
"""So many bytes of Parquet hold a few hundred files, which are read sooner than a query is prepared."""
_MANY_ADDS = 1000
"""A table of fewer is made in no time."""


@dataclass
class LogState:
    """A replayed segment: small actions in memory, file actions on demand.

    Where a version checksum has told protocol and metadata, the log is read when more is asked for;
    `CorruptLogError` is raised then if it says otherwise.
    """

    store: Store
    segment: LogSegment
    protocol: Protocol
    metadata: Metadata
    _read_log: Callable[[], "_Contents"]
    said: VersionChecksum | None = None
    """The version checksum, where protocol and metadata are from it."""

    @cached_property
    def _contents(self) -> tuple[CheckpointHead, LogTail]:
        # Another segment of the version, where the checkpoint of the first one is broken.
        self.segment, head, tail = self._read_log()
        return head, tail

    @property
    def _head(self) -> CheckpointHead:
        return self._contents[0]

    @property
    def _tail(self) -> LogTail:
        return self._contents[1]

    def loaded(self) -> "LogState":
        """Return itself with the log in memory."""
        _ = self._contents
        return self

    @property
    def is_read(self) -> bool:
        """Whether the log is in memory, and not only what a version checksum says of it."""
        return "_contents" in self.__dict__

    @cached_property
    def transactions(self) -> dict[str, SetTransaction]:
        """The newest `txn` action of every application."""
        return self._head.transactions | self._tail.transactions

    @cached_property
    def domains(self) -> dict[str, DomainMetadata]:
        """The domain metadata that is not removed."""
        domains = self._head.domains | self._tail.domains
        return {name: domain for name, domain in domains.items() if not domain.removed}

    @cached_property
    def held(self) -> tuple[LogTail, Sequence[CheckpointFiles]]:
        """The file actions that are in memory, and the files of the checkpoint that hold the others.

        Those of a small checkpoint are in memory once they were asked for.
        """
        parts = self._head.files
        if self.checkpoint_bytes > _SMALL_CHECKPOINT or not all(p.has_json_statistics for p in parts):
            return self._tail, parts
        tail = LogTail(adds=dict(self._tail.adds), removes=dict(self._tail.removes))
        known: set[tuple[str, FileActionKey]] = set()
        for files in parts:
            for name in files.names:
                actions = read_file_actions(self.store, name, files.schema)
                # A live file is one whatever tombstone is left of it.
                actions.sort(key=lambda action: AddFile.KEY not in action)
                tail.take_older(name, actions)
                for kind, body in (each for action in actions for each in action.items()):
                    key = kind, FileActionKey.from_json(body)
                    if key in known:
                        raise CorruptLogError(f"{name}: the checkpoint has {body['path']} twice")
                    known.add(key)
        return tail, ()

    def _added(self, names: Iterable[str]) -> pa.Table:
        """Columns of the live files that are in memory, in the order in which they were committed."""
        held = self._added_columns
        missing = [name for name in names if name not in held.column_names]
        if missing:
            made = self.held_table(AddFile.KEY, [*reversed(self.held[0].adds)], missing)
            arrays = [*held.columns, *made.columns]
            held = self._added_columns = pa.table(arrays, [*held.column_names, *missing])
        return held

    @cached_property
    def _added_columns(self) -> pa.Table:
        """Those columns that were asked for so far: a query needs few of them, and logs may be long."""
        return pa.table({})

    @cached_property
    def _recent_files(self) -> RecentFiles:
        adds = self.held[0].adds
        found = RecentFiles(adds)
        # What is left out is not made into a table, where it would be found out.
        ensure_complete([adds[key] for key in found.keys], found.keys, partial(self.name_of, AddFile.KEY))
        return found

    def held_table(
        self, action: str, keys: Sequence[FileActionKey], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return some of the file actions in memory, all `add` or all `remove`, as a table.

        `columns` are those of it; all if it is None.
        Raises `CorruptLogError`, naming the file of the log, for one that is ill-formed.
        """
        is_add = action == AddFile.KEY
        make, schema = (file_table, FILE_SCHEMA) if is_add else (remove_table, REMOVE_SCHEMA)
        bodies = self.held[0].adds if is_add else self.held[0].removes
        names = schema.names if columns is None else columns
        try:
            return make([bodies[key] for key in keys], keys, partial(self.name_of, action), names)
        except CorruptLogError:
            if not self.held[1]:
                self.blame_checkpoint(action)
            raise

    def name_of(self, action: str, key: FileActionKey) -> str:
        """Return the name of the newest file of the log with an action on a logical file; for errors."""
        names = [file.name for file in reversed(self.segment.deltas)]
        if self._head.json_actions and self.segment.checkpoint is not None:
            names += [file.name for file in self.segment.checkpoint.files]
        for name in names:
            bodies = (line.get(action) for line in read_commit(self.store, name))
            if any(body is not None and FileActionKey.from_json(body) == key for body in bodies):
                return name
        return "the log"

    @property
    def checkpoint_files(self) -> Sequence[CheckpointFiles]:
        """The Parquet files that hold the file actions of the checkpoint."""
        return self._head.files

    @property
    def checkpoint_bytes(self) -> int:
        """How large the files of the checkpoint are together; 0 where there is none."""
        files = self.segment.checkpoint.files if self.segment.checkpoint is not None else ()
        return sum(file.entry.size for file in files) + sum(s.size_in_bytes for s in self._head.sidecars)

    @property
    def tail(self) -> LogTail:
        """What the commits after the checkpoint come to; it is not to be changed."""
        return self._tail

    def recent_adds(self) -> Iterable[Mapping[str, Any]]:
        """Return the live files that no Parquet checkpoint has, as JSON gives them, with all fields."""
        return self._tail.adds.values()

    def recent_removes(self) -> Iterable[Mapping[str, Any]]:
        """Return the tombstones that no Parquet checkpoint has, likewise."""
        return self._tail.removes.values()

    def query_files(
        self,
        columns: Sequence[str] | None = None,
        condition: FileCondition | None = None,
    ) -> pa.Table:
        """Return the live files as a table of `FILE_SCHEMA`, or of the named columns of it.

        A file for which `condition` is false is left out. Files of a checkpoint with statistics as a struct
        are judged by these, without parsing a text.
        """
        names = list(columns) if columns is not None else FILE_SCHEMA.names
        find = partial(self._query, "add", self._added, FILE_SCHEMA, names, condition)
        if condition is None or self.checkpoint_bytes < LARGE_CHECKPOINT:
            return find()
        # What is asked is the text of the SQL: equal predicates may have values of unlike types.
        kept = condition.whole(stats="stats", partition_values="partition_values")
        own = (condition_on(files, condition)[0] for files in self.held[1])
        return self._answers.of((tuple(names), kept, *own), find)

    @cached_property
    def _answers(self) -> RecentAnswers:
        return RecentAnswers()

    def query_tombstones(self) -> pa.Table:
        """Return the removed files that the log still remembers, a table of `REMOVE_SCHEMA`."""
        read = partial(self.held_table, RemoveFile.KEY, [*self.held[0].removes])
        return self._query("remove", read, REMOVE_SCHEMA, REMOVE_SCHEMA.names, None)

    def blame_checkpoint(self, action: str) -> None:
        """Raise `CorruptLogError` for a file of the checkpoint whose actions of a kind cannot be read."""
        schema = FILE_SCHEMA if action == AddFile.KEY else REMOVE_SCHEMA
        self._blame_checkpoint(action, [*dict.fromkeys([*schema.names, *KEY_COLUMNS])], schema)

    def _query(
        self,
        action: str,
        read_held: Callable[[list[str]], pa.Table],
        schema: pa.Schema,
        names: list[str],
        condition: FileCondition | None,
    ) -> pa.Table:
        result_schema = pa.schema([schema.field(name) for name in names])
        held, parts = self.held
        parts = [files for files in parts if files.holds(action)]
        kept = None
        if condition is not None:
            kept = condition.whole(stats="stats", partition_values="partition_values")
        looked_at = with_looked_at(names, schema, [kept])
        if not parts and kept is None:
            return read_held(looked_at).select(names)
        read_left = read_held
        if condition is not None and condition.partitions and len(held.adds) > _MANY_ADDS:
            open_cursor = partial(files_cursor, self.store)
            left, is_exact = self._recent_files.left_by_texts(open_cursor, condition.partitions)
            if left is not None:
                wanted = self._recent_files.of(left)
                if not parts and is_exact and condition.is_all and condition.statistics is None:
                    return self.held_table(AddFile.KEY, wanted, names)
                if len(wanted) < len(held.adds):
                    read_left = partial(self.held_table, AddFile.KEY, wanted)
        import duckdb

        with files_cursor(self.store) as cursor:
            try:
                choices = [(files, self._chosen(cursor, files, condition)) for files in parts]
                find = partial(
                    self._find, cursor, action, schema, names, condition, kept, read_held, read_left
                )
                table = find(choices)
                if self._have_changed(choices):
                    table = find([(files, Choice([Part(files)])) for files in parts])
            except (duckdb.OutOfMemoryException, duckdb.InterruptException):
                raise
            except duckdb.Error as error:
                self.blame_checkpoint(action)
                raise CorruptLogError(
                    f"the files of version {self.segment.version} cannot be listed: {error}"
                ) from error
        if parts and not _is_complete(table, action):
            self._blame_checkpoint(action, [*dict.fromkeys([*names, *KEY_COLUMNS])], schema)
        # A cast would load all functions of Arrow.
        return table if table.schema.equals(result_schema) else table.cast(result_schema)

    def _chosen(
        self, cursor: "duckdb.DuckDBPyConnection", files: CheckpointFiles, condition: FileCondition | None
    ) -> Choice:
        """The rows to read of files of the checkpoint."""
        if condition is None or self.checkpoint_bytes < LARGE_CHECKPOINT:
            return Choice([Part(files)])
        return choose(cursor, self.store, self._head, files, condition)

    def _find(
        self,
        cursor: "duckdb.DuckDBPyConnection",
        action: str,
        schema: pa.Schema,
        names: list[str],
        condition: FileCondition | None,
        kept: str | None,
        read_held: Callable[[list[str]], pa.Table],
        read_left: Callable[[list[str]], pa.Table],
        choices: Sequence[tuple[CheckpointFiles, Choice]],
    ) -> pa.Table:
        """Ask the rows that were chosen, and the tail."""
        held = self.held[0]
        if choices and condition is not None and kept is not None:
            answer = partial(self._recently_added, cursor, condition, names)
            few = list_few(cursor, self.store, choices, held, answer, read_held, names, kept)
            if few is not None:
                return few
        keys = [*held.adds, *held.removes] if choices else []
        return list_many(cursor, self.store, choices, keys, read_left, action, schema, names, condition)

    def _recently_added(
        self, cursor: "duckdb.DuckDBPyConnection", condition: FileCondition, names: list[str]
    ) -> pa.Table | None:
        """Columns of those files in memory that a condition leaves; None where a query has to tell them."""
        left = self._recent_files.left(cursor, condition)
        if left is None:
            return None
        if len(left) > _MANY_ADDS:
            return self.held_table(AddFile.KEY, self._recent_files.of(left), names)
        return rows_of(self._added(names).select(names), left)

    def _have_changed(self, choices: Sequence[tuple[CheckpointFiles, Choice]]) -> bool:
        """Whether the files of which rows were chosen are others by now; what is held of them is let go."""
        changed = [
            (files.names, choice.held)
            for files, choice in choices
            if choice.held is not None and not choice.held.are_current()
        ]
        for names, held in changed:
            if self._head.held.get(names) is held:
                self._head.held.pop(names, None)
        return bool(changed)

    def _blame_checkpoint(self, action: str, names: list[str], schema: pa.Schema) -> None:
        """Raise `CorruptLogError` naming the file of the checkpoint whose file actions cannot be read."""
        import duckdb

        for files in self._head.files:
            for name in files.names:
                sql = CheckpointFiles((name,), files.schema).sql(self.store, action, names, schema)
                if sql is None:
                    continue
                with files_cursor(self.store) as cursor:
                    try:
                        table = cursor.sql(sql).to_arrow_table()
                    except duckdb.Error as error:
                        raise CorruptLogError(f"{name} cannot be read: {error}") from error
                if not _is_complete(table, action):
                    raise CorruptLogError(f"{name} has an {action} action without a field that it must have")


_Contents = tuple[LogSegment, CheckpointHead, LogTail]


def _read(store: Store, segment: LogSegment, known: LogState | None, *, falls_back: bool) -> _Contents:
    """Read a checkpoint and the commits after it, but for what is known of both."""
    if known is not None and known.store == store and known.segment.checkpoint == segment.checkpoint:
        held = known.segment.deltas
        if segment.deltas[: len(held)] == held:
            tail = read_tail(store, segment.deltas[len(held) :])
            tail.take_older_tail(known._tail)
            return segment, known._head, tail
        head = known._head
    else:
        segment, head = open_segment(store, segment, falls_back=falls_back)
    tail = read_tail(store, segment.deltas)
    if head.json_actions and segment.checkpoint is not None:
        # The file actions of a JSON checkpoint are older than all commits, and are in memory anyway.
        tail.take_older(segment.checkpoint.files[0].name, head.json_actions)
    return segment, head, tail


def _is_complete(files: pa.Table, action: str) -> bool:
    """Whether no file action lacks a field of those that are in the table."""
    required = {"path", "size", "partition_values"} if action == AddFile.KEY else {"path"}
    if any(files.column(name).null_count for name in required.intersection(files.column_names)):
        return False
    if "deletion_vector" not in files.column_names:
        return True
    vectors = files.column("deletion_vector").drop_null().combine_chunks()
    return not any(vectors.field(name).null_count for name in REQUIRED_OF_DELETION_VECTORS)


def _shortcut(
    store: Store, segment: LogSegment, *, for_write: bool
) -> tuple[VersionChecksum, Protocol, Metadata] | None:
    """Read the checksum of a long segment; None when it does not tell protocol and metadata."""
    is_cheaper = is_shortcut(segment, needs_files=not for_write)
    said = read_version_checksum(store, segment.version) if is_cheaper else None
    if said is None or said.protocol is None or said.metadata is None:
        return None
    if find_contradiction(said, said.protocol, said.metadata) is not None:
        return None
    return said, said.protocol, said.metadata


def _decide(
    store: Store, segment: LogSegment, head: CheckpointHead, tail: LogTail
) -> tuple[Protocol, Metadata]:
    """Return the protocol and the metadata that win."""
    protocol = tail.protocol or head.protocol
    metadata = tail.metadata or head.metadata
    if protocol is None:
        raise CorruptLogError(
            f"the log of {store.uri} holds no protocol action up to version {segment.version}"
        )
    if metadata is None:
        raise CorruptLogError(
            f"the log of {store.uri} holds no metaData action up to version {segment.version}"
        )
    return protocol, metadata


def _read_checked(store: Store, segment: LogSegment, said: VersionChecksum, falls_back: bool) -> _Contents:
    """Read a segment whose checksum was believed so far; raise if it should not have been."""
    segment, head, tail = _read(store, segment, None, falls_back=falls_back)
    if what := find_contradiction(said, *_decide(store, segment, head, tail)):
        raise CorruptLogError(
            f"{checksum_name(segment.version)} says another {what} than the log; it is advisory,"
            " and the table is read without it once it is deleted"
        )
    return segment, head, tail


def replay(
    store: Store,
    segment: LogSegment,
    known: LogState | None = None,
    *,
    by_checksum: bool = True,
    for_write: bool = False,
    falls_back: bool = True,
) -> LogState:
    """Read what a segment says, but for the file actions of its checkpoint.

    `known` is another version of the same table; what its segment has in common with this one, the
    checkpoint and perhaps the first commits after it, is not read again. `by_checksum` says whether a
    long log may be left unread for now where its version checksum tells protocol and metadata;
    `for_write` that it probably stays unread, because files are to be added and not to be listed;
    `falls_back` whether another way to the version may be gone where the checkpoint cannot be opened.

    Raises `CorruptLogError` when there is no protocol or no metadata, or a file cannot be read.
    """
    if known is not None and not known.is_read:
        known = None
    if by_checksum and known is None:
        shortcut = _shortcut(store, segment, for_write=for_write)
        if shortcut is not None:
            said, protocol, metadata = shortcut
            read_log = partial(_read_checked, store, segment, said, falls_back)
            return LogState(store, segment, protocol, metadata, read_log, said)
    contents = _read(store, segment, known, falls_back=falls_back)
    protocol, metadata = _decide(store, *contents)
    return LogState(store, contents[0], protocol, metadata, lambda: contents).loaded()
