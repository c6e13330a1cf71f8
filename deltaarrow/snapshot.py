"""A table at a version: its protocol, metadata and, on demand, its files.

Opening a snapshot reads little of the log. `Snapshot.files` reads the list of files, with a predicate that
leaves out files that cannot hold a matching row.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np
import pyarrow as pa

import deltaarrow.expressions as expressions
import deltaarrow.live_files as live_files
import deltaarrow.spark_sql as spark_sql
import deltaarrow.statistics as statistics
from deltaarrow.actions import DomainMetadata, Metadata, Protocol, SetTransaction
from deltaarrow.display.notebook import html_table
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import CorruptLogError, TableNotFoundError, UnsupportedFeatureError
from deltaarrow.features import ensure_readable, is_supported, properties
from deltaarrow.log import (
    CommitTimes,
    LogSegment,
    LogState,
    ReadCommits,
    VersionChecksum,
    find_contradiction,
    is_catalog_store,
    is_served,
    list_newer,
    list_segment,
    read_commits,
    read_in_commit_timestamp,
    read_version_checksum,
    replay,
)
from deltaarrow.log.file_sources import list_tombstones
from deltaarrow.log.limits import LogLimits
from deltaarrow.log.version_arguments import parse_moment, parse_version
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.runtime.lazy import lazy_attributes
from deltaarrow.schema import (
    PrimitiveType,
    Schema,
    column_mapping_mode,
    holds_char,
    schema_of_log,
    to_physical_schema,
)
from deltaarrow.storage import Store

if TYPE_CHECKING:
    from deltaarrow.expressions import Predicate
    from deltaarrow.live_files import LiveFiles

__all__ = ["Snapshot"]

_load = lazy_attributes(__name__, {"absent_table": "deltaarrow.log.absence"})  # for an error only

_CLEAN_UPS = 3
"""How often a log that is cleaned up during opening is listed again."""


class Snapshot:
    """A Delta table at one version; immutable, picklable and safe to share among threads.

    Build one with `Snapshot.load`. Pickling keeps the store, with its `storage_options`, and the version;
    unpickling replays the log.
    """

    def __init__(self, state: LogState, staged: tuple[Protocol, Metadata] | None = None) -> None:
        self._state, self._staged = state, staged
        self.protocol, self.metadata = (state.protocol, state.metadata) if staged is None else staged
        ensure_readable(self.protocol, self.metadata, through_catalog=is_catalog_store(state.store))
        self.store = state.store
        self.version = state.segment.version
        self.schema = self._parse_schema()
        self.partition_columns = self._checked_partition_columns()
        self.mapping_mode = column_mapping_mode(
            self.protocol.min_reader_version,
            self.protocol.reader_features,
            self.protocol.writer_features,
            self.metadata.configuration,
        )

    def _parse_schema(self) -> Schema:
        try:
            return schema_of_log(self.metadata.schema_string)
        except CorruptLogError as error:
            raise self._corrupt(f"a schema that cannot be read: {error}") from error

    def _checked_partition_columns(self) -> tuple[str, ...]:
        columns = tuple(self.metadata.partition_columns)
        fields = {field.name: field for field in self.schema.fields}
        for column in columns:
            if column not in fields:
                raise self._corrupt(f"a partition column {column!r} that is not in its schema")
            if not isinstance(fields[column].type, PrimitiveType):
                raise self._corrupt(f"a partition column {column!r} of type {fields[column].type!r}")
        if len(set(columns)) < len(columns):
            raise self._corrupt(f"a partition column twice: {list(columns)}")
        return columns

    def _corrupt(self, what: str) -> CorruptLogError:
        return CorruptLogError(f"version {self.version} of {self.store.uri} has {what}")

    @classmethod
    def load(
        cls,
        store: Store,
        version: int | None = None,
        *,
        known: "Snapshot | None" = None,
        for_write: bool = False,
        limits: LogLimits | None = None,
    ) -> "Snapshot":
        """Open the table in `store` at `version`, or at its newest version.

        `known` is another version of the same table; a shared checkpoint is not read again. `for_write` says
        that the list of files is probably not needed: a version checksum may save reading the log.
        If `limits` is None, the limits of `known` apply, or the default limits.

        Raises `TableNotFoundError`, `VersionNotFoundError`, `CorruptLogError` or, for a table that this
        release cannot read, `UnsupportedFeatureError`.
        """
        if is_served(store):
            return cls(store.open_version(version))
        try:
            segment = list_segment(store, version)
        except TableNotFoundError:
            raise _load("absent_table")(store) from None
        state = known._state if known else None
        return cls._replayed(segment, store, version, state, for_write=for_write, limits=limits)

    @classmethod
    def find(cls, store: Store, *, for_write: bool = False) -> "Snapshot | None":
        """Open the table in `store` at its newest version; None if there is no table.

        `for_write` is as for `load`, whose other errors this raises.
        """
        try:
            if is_served(store):
                return cls(store.open_version(None))
            segment = list_segment(store)
        except TableNotFoundError:
            return None
        return cls._replayed(segment, store, for_write=for_write)

    @classmethod
    def _replayed(
        cls,
        segment: LogSegment,
        store: Store,
        version: int | None = None,
        state: LogState | None = None,
        *,
        for_write: bool = False,
        limits: LogLimits | None = None,
    ) -> "Snapshot":
        for _ in range(_CLEAN_UPS):
            try:
                return cls(replay(store, segment, state, for_write=for_write, limits=limits))
            except CorruptLogError as error:
                listed, segment = segment, _listed_again(store, version, error)
                if segment == listed:
                    raise
        return cls(replay(store, segment, state, for_write=for_write, limits=limits))

    @classmethod
    def load_as_version(cls, store: Store, version: SupportsIndex | str | date) -> "Snapshot":
        """Open the table at a version, or at the version that was the newest at a timestamp.

        A string is an ISO 8601 timestamp; without a time zone it is in UTC; a date means its midnight. Raises
        the errors of `load` (`VersionNotFoundError` also for a timestamp after the newest commit),
        `TypeError` for any other type and `ValueError` for a string that is not a timestamp.
        """
        wanted = parse_version(version)
        if not isinstance(wanted, int):
            wanted = cls.load(store).version_at(parse_moment(wanted))
        return cls.load(store, wanted)

    def version_at(self, timestamp_ms: int) -> int:
        """Return the newest version of the table at a time in milliseconds since the epoch, or before.

        Raises `VersionNotFoundError` if all commits that the log has are later, or earlier.
        """
        if is_served(self.store):
            return self.store.version_at(timestamp_ms)
        return self.commit_times().version_as_of(timestamp_ms)

    def update(self, read: ReadCommits | None = None) -> "Snapshot":
        """Return the newest version; this same snapshot if there is none newer.

        This lists the log from this version on and reads the new commits, or instead a version checksum
        unless `read` says how to read commits. After many commits, it starts from a newer checkpoint if there
        is one.

        Raises the errors of `load`.
        """
        if is_served(self.store):
            is_newest = self.store.newest_version() == self.version
            return self if is_newest else Snapshot(self.store.open_version(None))
        segment = list_newer(self.store, self.segment, self._state.limits)
        if segment == self.segment:
            return self
        by_checksum = read is None
        return Snapshot(
            replay(self.store, segment, self._state, by_checksum=by_checksum, read=read or read_commits)
        )

    def replayed(self) -> "Snapshot":
        """Return this version read from the log itself, not from its version checksum."""
        if (self._state.is_read and not self._state.by_checksum) or is_served(self.store):
            return self
        known = self._state if self._state.is_read else None
        return Snapshot(replay(self.store, self.segment, known, by_checksum=False))

    def with_staged(self, protocol: Protocol, metadata: Metadata) -> "Snapshot":
        """Return this version as a transaction sees it that has staged a protocol and metadata."""
        return Snapshot(self._state, (protocol, metadata))

    def in_store(self, store: Store) -> "Snapshot":
        """Return this version with files that another store reads."""
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        found.store = store
        return found

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle as the store and the version."""
        if self._staged is not None:
            return _load_staged, (self.store, self.version, *self._staged)
        return type(self).load, (self.store, self.version)

    def __repr__(self) -> str:
        return f"Snapshot({redacted(self.store.uri)!r}, version={self.version})"

    def _repr_html_(self) -> str:
        heading = {
            "table": redacted(self.store.uri),
            "version": self.version,
            "name": self.metadata.name or "",
        }
        columns = {
            field.name: f"{field.type!r}"
            + ("" if field.nullable else " NOT NULL")
            + (" (partition)" if field.name in self.partition_columns else "")
            for field in self.schema.fields
        }
        return html_table(heading) + html_table(columns)

    @property
    def state(self) -> LogState:
        """The replayed log."""
        return self._state

    @property
    def segment(self) -> LogSegment:
        """The files of the log that make this version."""
        return self._state.segment

    @property
    def configuration(self) -> Mapping[str, str]:
        """The table properties."""
        return self.metadata.configuration

    @property
    def transactions(self) -> Mapping[str, SetTransaction]:
        """The newest `txn` action of every application, by application id."""
        return self._state.transactions

    @property
    def domains(self) -> Mapping[str, DomainMetadata]:
        """The domain metadata that is not removed, by name."""
        return self._state.domains

    @cached_property
    def checksum(self) -> VersionChecksum | None:
        """The version checksum, read once; None without one, or if it contradicts the log or itself.

        If the log is in memory, its transactions and domains come from the log.
        """
        said = self._state.said if self._state.said_version == self.version else None
        if said is not None and not self._state.is_read:
            return said
        if said is None and self.segment.checksum is not None:
            said = read_version_checksum(self.store, self.version)
        if said is None or find_contradiction(said, self.protocol, self.metadata) is not None:
            return None
        said = replace(said, protocol=self.protocol, metadata=self.metadata)
        if not self._state.is_read:
            return said
        return replace(said, transactions=self.transactions, domains=self.domains)

    @cached_property
    def _live_files(self) -> "LiveFiles":
        return live_files.LiveFiles(self._state, self.schema, self.mapping_mode, self.partition_columns)

    @cached_property
    def physical_schema(self) -> Schema:
        """The schema with the names that data files, statistics and partition values use."""
        return to_physical_schema(self.schema, self.mapping_mode)

    @cached_property
    def timestamp_ms(self) -> int:
        """The commit time of the version, in milliseconds since the epoch."""
        if is_served(self.store):
            raise UnsupportedFeatureError(
                f"the server of a shared table does not tell when version {self.version} was committed",
                feature="Delta Sharing",
            )
        commit = self.segment.last_commit
        if commit is None:
            checkpoint = self.segment.checkpoint
            if checkpoint is None:
                raise CorruptLogError(f"version {self.version} has neither a commit nor a checkpoint")
            return checkpoint.files[-1].entry.modified_ms
        if properties.ENABLE_IN_COMMIT_TIMESTAMPS.parse(self.configuration):
            return read_in_commit_timestamp(self.store, commit)
        return commit.entry.modified_ms

    def commit_times(self) -> CommitTimes:
        """List the commits of the log with their times."""
        return CommitTimes.load(self.store, self.configuration)

    def files(self, predicate: "Predicate | None" = None, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the live files, one per row, as a table of `deltaarrow.actions.FILE_SCHEMA`.

        With a `predicate`, files that provably hold no matching row are left out; the others may hold some.
        `columns` selects columns by name.
        """
        return self._live_files.table(None if predicate is None else self._derived(predicate), columns)

    @property
    def may_limit_files(self) -> bool:
        """Whether `some_files` may return fewer than all files."""
        return self._state.limited is not None

    def some_files(self, num_rows: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Return live files that have at least `num_rows` rows; all files unless a server limits them."""
        return self._live_files.some(num_rows, columns)

    def may_match(self, files: pa.Table, predicate: "Predicate") -> np.ndarray:
        """Return a mask of the files, of this version or not, that may hold a row matching a predicate.

        `files` must have the columns ``partition_values`` and ``stats`` of `FILE_SCHEMA`.
        """
        return next(self.may_match_each(files, [predicate]))

    def may_match_each(self, files: pa.Table, predicates: "Iterable[Predicate]") -> Iterator[np.ndarray]:
        """Yield the answer of `may_match` for each of several predicates."""
        derived = map(self._derived, predicates)
        return statistics.matching_each(
            files, derived, self.schema, self.mapping_mode, self.partition_columns
        )

    @cached_property
    def _padded(self) -> frozenset[str]:
        """The columns with strings of CHAR(n)."""
        return frozenset(field.name for field in self.schema.fields if holds_char(field))

    def _derived(self, predicate: "Predicate") -> "Predicate":
        """The predicate on what files hold, with the conditions on generated columns that follow from it."""
        if self._padded:
            predicate = statistics.stored_predicate(predicate, self._padded)
        if not is_supported(self.protocol, "generatedColumns"):
            return predicate
        derived = spark_sql.derived_predicate(predicate, self.schema, self.partition_columns)
        return expressions.And((predicate, derived))

    def totals(self) -> tuple[int, int]:
        """Return the number of live files and their total bytes.

        A version checksum gives the answer if the log would have to be read otherwise and the checksum does
        not contradict itself, the protocol or the metadata.
        """
        if self.segment.checkpoint is not None or not self._state.is_read:
            said = self.checksum
            if said is not None:
                return said.num_files, said.table_size_bytes
        sizes = self.files(columns=["size"]).column("size")
        return len(sizes), sum(sizes.to_pylist())

    def tombstones(self) -> pa.Table:
        """Return the removed files that the log still lists, as a table of `REMOVE_SCHEMA`."""
        return list_tombstones(self._state)


def _load_staged(store: Store, version: int, protocol: Protocol, metadata: Metadata) -> Snapshot:
    return Snapshot.load(store, version).with_staged(protocol, metadata)


def _listed_again(store: Store, version: int | None, error: CorruptLogError) -> LogSegment:
    """List a log again after an error suggests that it was cleaned up since it was listed."""
    try:
        return list_segment(store, version)
    except (CorruptLogError, TableNotFoundError):
        raise error from None
