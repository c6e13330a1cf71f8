"""Replaying a log segment: chapter "Action Reconciliation" of the protocol.

1. The newest `protocol` and the newest `metaData` win.
2. The newest `txn` of each application wins.
3. The newest `domainMetadata` of each domain wins; a removed one hides the older ones.
4. The newest reference to a logical file, `add` or `remove`, wins: a winning `add` is a live file, a
   winning `remove` is a tombstone.
5. A logical file is identified by its canonical path together with the id of its deletion vector.

The commits after the checkpoint are few; they are reconciled in memory (`LogTail`). The file actions of the
checkpoint stay in its files, and queries leave out those that the commits override
(`deltaarrow.log.file_sources`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from deltaarrow.actions import (
    FILE_SCHEMA,
    REMOVE_SCHEMA,
    AddFile,
    DomainMetadata,
    FileActionKey,
    Metadata,
    Protocol,
    SetTransaction,
    file_table,
    remove_table,
)
from deltaarrow.actions.arrow_tables import KEY_COLUMNS
from deltaarrow.columnar.numpy_arrays import numbers_of
from deltaarrow.compute import files_cursor
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.checkpoints import (
    CheckpointFiles,
    CheckpointHead,
    is_complete,
    read_file_actions,
    sidecar_location,
)
from deltaarrow.log.checksums import (
    VersionChecksum,
    ensure_agreement,
    ensure_counted,
    read_held_checksum,
    read_shortcut,
)
from deltaarrow.log.commits import ReadCommits, read_commit, read_commits
from deltaarrow.log.fallback import open_segment, segment_listed_again
from deltaarrow.log.limits import DEFAULT_LIMITS, LogLimits
from deltaarrow.log.segment import LogSegment
from deltaarrow.log.tail import LogTail, read_tail
from deltaarrow.runtime.cache import CacheSpace
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.storage import Store

__all__ = ["LogState", "replay"]

_TRIES = 3


@dataclass
class LogState:
    """A replayed segment: small actions in memory, file actions on demand.

    When protocol and metadata come from a version checksum, the log itself is read only when it is needed;
    `CorruptLogError` is raised then if the log contradicts the checksum.
    """

    store: Store
    segment: LogSegment
    protocol: Protocol
    metadata: Metadata
    _read_log: Callable[[], "_Contents"]
    said: VersionChecksum | None = None
    """The version checksum that protocol and metadata were taken from, or compared with."""
    said_version: int = -1
    """The version of that checksum; the commits after it have been read."""
    by_checksum: bool = True
    """Whether the list of files is compared with the version checksum."""
    limits: LogLimits = DEFAULT_LIMITS
    is_part: bool = False
    """Whether it has only some of the files of the version: see `part`."""
    narrowed: "Callable[[Any], LogState | None] | None" = field(default=None, compare=False, repr=False)
    """Returns the version with only the files that may match a predicate, if a server can tell them."""
    limited: "Callable[[int], LogState | None] | None" = field(default=None, compare=False, repr=False)
    """Returns the version with only some files that have so many rows, if a server can tell them."""
    _next: "LogState | None" = field(default=None, compare=False, repr=False)
    """The same version made from other files, after those of the checkpoint were deleted or rewritten."""

    @cached_property
    def _contents(self) -> tuple[CheckpointHead, LogTail]:
        # If the checkpoint is broken, this is another segment of the same version.
        self.segment, head, tail = self._read_log()
        return head, tail

    @property
    def _head(self) -> CheckpointHead:
        return self._contents[0]

    @property
    def _tail(self) -> LogTail:
        return self._contents[1]

    def loaded(self) -> "LogState":
        """Return this state after reading the log into memory."""
        _ = self._contents
        return self

    @property
    def is_read(self) -> bool:
        """Whether the log itself is in memory, not only its version checksum."""
        return "_contents" in self.__dict__

    @cached_property
    def transactions(self) -> dict[str, SetTransaction]:
        """The newest `txn` action of every application."""
        return self._head.transactions | self._tail.transactions

    @cached_property
    def domains(self) -> dict[str, DomainMetadata]:
        """The domain metadata, without removed domains."""
        domains = self._head.domains | self._tail.domains
        return {name: domain for name, domain in domains.items() if not domain.removed}

    @cached_property
    def file_actions(self) -> tuple[LogTail, Sequence[CheckpointFiles]]:
        """The file actions in memory, and the checkpoint files that hold the others.

        Those of a small checkpoint are read into memory on first use.
        """
        parts = self._head.files
        if self.checkpoint_bytes > self.limits.replayed_bytes or not all(
            p.has_json_statistics for p in parts
        ):
            return self._tail, parts
        tail = LogTail(adds=dict(self._tail.adds), removes=dict(self._tail.removes))
        known: set[tuple[str, FileActionKey]] = set()
        for files in reversed(parts):
            for name in reversed(files.names):
                # The last one first, as in commits.
                actions = read_file_actions(self.store, name, files.schema)[::-1]
                # A live file stays live even if an old tombstone of it remains.
                actions.sort(key=lambda action: AddFile.KEY not in action)
                adds = [action[AddFile.KEY] for action in actions if AddFile.KEY in action]
                if files.stats_parsed_type is not None and any("stats" not in add for add in adds):
                    # Only SQL converts the struct to JSON text.
                    return self._tail, parts
                tail.take_older(name, actions)
                for kind, body in (each for action in actions for each in action.items()):
                    key = kind, FileActionKey.from_json(body)
                    if key in known:
                        raise CorruptLogError(f"{name}: the checkpoint lists {body['path']} twice")
                    known.add(key)
        return tail, ()

    def recent_table(
        self, action: str, keys: Sequence[FileActionKey], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Return some of the file actions in memory, all `add` or all `remove`, as a table.

        `columns` are the columns of the table; None means all.
        Raises `CorruptLogError`, naming the log file, for an ill-formed action.
        """
        is_add = action == AddFile.KEY
        make, schema = (file_table, FILE_SCHEMA) if is_add else (remove_table, REMOVE_SCHEMA)
        bodies = self.file_actions[0].adds if is_add else self.file_actions[0].removes
        names = schema.names if columns is None else columns
        try:
            return make([bodies[key] for key in keys], keys, partial(self.name_of, action), names)
        except CorruptLogError:
            if not self.file_actions[1]:
                self.blame_checkpoint(action)
            raise

    def name_of(self, action: str, key: FileActionKey) -> str:
        """Return the newest log file that has an action on a logical file, for error messages."""
        names = [file.name for file in reversed(self.segment.deltas)]
        if self._head.json_actions and self.segment.checkpoint is not None:
            names += [file.name for file in self.segment.checkpoint.files]
        for name in names:
            bodies = (line.get(action) for line in read_commit(self.store, name))
            if any(body is not None and FileActionKey.from_json(body) == key for body in bodies):
                return name
        return "the log"

    @property
    def checkpoint_cache(self) -> CacheSpace:
        """The cache of the checkpoint, shared by all versions that begin with it."""
        return self._head.cache

    @property
    def checkpoint_files(self) -> Sequence[CheckpointFiles]:
        """The Parquet files that hold the file actions of the checkpoint."""
        return self._head.files

    @property
    def checkpoint_bytes(self) -> int:
        """The total size of the checkpoint files; 0 without a checkpoint."""
        return sum(self.checkpoint_sizes.values())

    @property
    def checkpoint_sizes(self) -> dict[str, int]:
        """The size of each file of the checkpoint, with sidecars, by its store name."""
        files = self.segment.checkpoint.files if self.segment.checkpoint is not None else ()
        sizes = {file.name: file.entry.size for file in files}
        return sizes | {sidecar_location(each): each.size_in_bytes for each in self._head.sidecars}

    @property
    def tail(self) -> LogTail:
        """The reconciled commits after the checkpoint; do not change it."""
        return self._tail

    def part(self, names: Collection[str], *, with_commits: bool = False) -> "LogState":
        """Return the same version with some of its file actions only; picklable.

        These are the actions in Parquet files of the checkpoint that no commit overrides and, if
        `with_commits`, those in memory. A part is not compared with the version checksum.

        Args:
            names: the store names of the checkpoint files.
            with_commits: whether the part has the actions in memory.
        """
        tail, parts = self.file_actions
        wanted = frozenset(names)
        chosen = [replace(each, names=tuple(n for n in each.names if n in wanted)) for each in parts]
        head = CheckpointHead(files=[each for each in chosen if each.names])
        tail = tail if with_commits else LogTail(others=self._keys_of_commits)
        return LogState(
            self.store,
            self.segment,
            self.protocol,
            self.metadata,
            partial(_as_read, (self.segment, head, tail)),
            by_checksum=False,
            # What is in memory now is all that may be.
            limits=replace(self.limits, replayed_bytes=-1),
            is_part=True,
        )

    @cached_property
    def _keys_of_commits(self) -> frozenset[FileActionKey]:
        return frozenset(self.file_actions[0].keys)

    def recent_adds(self) -> Iterable[Mapping[str, Any]]:
        """Return the live files that are in no Parquet checkpoint, as JSON objects with all fields."""
        return self._tail.adds.values()

    def recent_removes(self) -> Iterable[Mapping[str, Any]]:
        """Return the tombstones that are in no Parquet checkpoint, as JSON objects with all fields."""
        return self._tail.removes.values()

    @cached_property
    def held_checksum(self) -> VersionChecksum | None:
        """The version checksum to compare the files with; None without one or without a checkpoint."""
        if not self.by_checksum:
            return None
        if self.said is not None and self.said_version == self.segment.version:
            return self.said
        if self.loaded().segment.checkpoint is None:
            return None
        return read_held_checksum(self.store, self.segment, self.protocol, self.metadata)

    def ensure_counted(self, files: pa.Table) -> None:
        """Raise `CorruptLogError` unless the version checksum agrees with `files`, all live files."""
        has_sizes = "size" in files.column_names
        size = int(numbers_of(files.column("size")).sum()) if has_sizes else None
        self.ensure_totals(files.num_rows, size)

    def ensure_totals(self, files: int, size: int | None = None) -> None:
        """Raise `CorruptLogError` unless the version checksum counts so many live files and bytes."""
        if (said := self.held_checksum) is not None:
            ensure_counted(said, self.segment, files, size)

    def through_cleanup(self, query: Callable[["LogState"], pa.Table]) -> pa.Table:
        """Run a query; repeat it from a new listing of the log if the checkpoint was deleted or rewritten.

        A part of a version is not listed again: a task tells the error to the process that has the version.

        Raises `VersionNotFoundError` when the log was cleaned up so that the version can no longer be read.
        """
        if self.is_part:
            return query(self)
        state = self._next or self
        for _ in range(_TRIES):
            try:
                return query(state)
            except CorruptLogError as error:
                segment = segment_listed_again(self.store, state.segment, state._head, error)
                state = replay(self.store, segment, by_checksum=self.by_checksum, limits=self.limits)
                if state.metadata.id != self.metadata.id:
                    # Another table has replaced this one.
                    raise
                self._next = state
        return query(state)

    def blame_checkpoint(self, action: str) -> None:
        """Raise `CorruptLogError` naming the checkpoint file whose actions of one kind cannot be read."""
        import duckdb

        schema = FILE_SCHEMA if action == AddFile.KEY else REMOVE_SCHEMA
        names = [*dict.fromkeys([*schema.names, *KEY_COLUMNS])]

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
                if not is_complete(table, action):
                    raise CorruptLogError(f"{name} has an {action} action without a required field")


_Contents = tuple[LogSegment, CheckpointHead, LogTail]


def _as_read(contents: _Contents) -> _Contents:
    return contents


def _read(
    store: Store,
    segment: LogSegment,
    known: LogState | None,
    *,
    falls_back: bool,
    read: ReadCommits = read_commits,
) -> _Contents:
    """Read a checkpoint and the commits after it, reusing what `known` has of both."""
    if known is not None and known.store == store and known.segment.checkpoint == segment.checkpoint:
        held = known.segment.deltas
        if segment.deltas[: len(held)] == held:
            tail = read_tail(store, segment.deltas[len(held) :], read)
            tail.take_older_tail(known._tail)
            return segment, known._head, tail
        head = known._head
    else:
        segment, head = open_segment(store, segment, falls_back=falls_back)
    tail = read_tail(store, segment.deltas, read)
    if head.json_actions and segment.checkpoint is not None:
        # The file actions of a JSON checkpoint are older than all commits and already in memory.
        tail.take_older(segment.checkpoint.files[0].name, head.json_actions)
    return segment, head, tail


def _decide(
    store: Store, segment: LogSegment, head: CheckpointHead, tail: LogTail
) -> tuple[Protocol, Metadata]:
    """Return the winning protocol and metadata."""
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


def _read_checked(
    store: Store, segment: LogSegment, said: VersionChecksum, said_version: int, falls_back: bool
) -> _Contents:
    """Read the log of a segment that was opened by checksum; raise if the two contradict each other."""
    segment, head, tail = _read(store, segment, None, falls_back=falls_back)
    ensure_agreement(said, segment, *_decide(store, segment, head, tail), version=said_version)
    return segment, head, tail


def _after_checksum(
    store: Store, segment: LogSegment, known: LogState, read: ReadCommits, *, falls_back: bool
) -> LogState | None:
    """Read the commits after a version opened by checksum; None if more than these is new."""
    held = known.segment.deltas
    if known.said is None or known.store != store or known.segment.checkpoint != segment.checkpoint:
        return None
    if segment.deltas[: len(held)] != held:
        return None
    tail = read_tail(store, segment.deltas[len(held) :], read)
    protocol, metadata = tail.protocol or known.protocol, tail.metadata or known.metadata
    said = replace(known.said, protocol=protocol, metadata=metadata)
    read_log = partial(_read_checked, store, segment, said, known.said_version, falls_back)
    return LogState(
        store, segment, protocol, metadata, read_log, said, known.said_version, limits=known.limits
    )


def replay(
    store: Store,
    segment: LogSegment,
    known: LogState | None = None,
    *,
    by_checksum: bool = True,
    for_write: bool = False,
    falls_back: bool = True,
    read: ReadCommits = read_commits,
    limits: LogLimits | None = None,
) -> LogState:
    """Replay a segment, without reading the file actions of its checkpoint.

    Args:
        store: the store of the table.
        segment: the log files to replay.
        known: another version of the same table; the checkpoint and first commits that both segments share
            are not read again.
        by_checksum: whether to compare a checkpoint with the version checksum, and to take protocol and
            metadata from the checksum while a long log stays unread.
        for_write: whether the log will probably stay unread, because files are added and not listed.
        falls_back: whether to try other files that make the version when the checkpoint cannot be opened.
        read: reads commits.
        limits: those of `known` if None.

    Raises `CorruptLogError` when the log has no protocol or no metadata, when a file cannot be read, or when
    the log contradicts the version checksum.
    """
    limits = limits or (DEFAULT_LIMITS if known is None else known.limits)
    unread = known if known is not None and not known.is_read else None
    if unread is not None:
        known = None
    if by_checksum and known is None:
        shortcut = read_shortcut(store, segment, needs_files=not for_write)
        if shortcut is not None:
            said, protocol, metadata = shortcut
            read_log = partial(_read_checked, store, segment, said, segment.version, falls_back)
            return LogState(
                store, segment, protocol, metadata, read_log, said, segment.version, limits=limits
            )
    if unread is not None:
        newer = _after_checksum(store, segment, unread, read, falls_back=falls_back)
        if newer is not None:
            return newer
    contents = _read(store, segment, known, falls_back=falls_back, read=read)
    protocol, metadata = _decide(store, *contents)
    segment, head, _ = contents
    is_new = segment.checkpoint is not None and (known is None or known._head is not head)
    held = read_held_checksum(store, segment, protocol, metadata) if by_checksum and is_new else None
    return LogState(
        store, segment, protocol, metadata, lambda: contents, held, segment.version, by_checksum, limits
    ).loaded()
