"""Conflict rules: whether a transaction still means the same after other writers' commits.

The rules are those of delta-spark, and each function is named after its rule. A function looks at one winning
commit and raises delta-spark's exception. If none raises, the transaction may follow the commit as if it had
begun there. The statistics of the files that all winning commits added are evaluated in one pass. Four things
differ from delta-spark:

- Whether an added file should have been read is decided by its partition values, its statistics and, where
  the operation can tell, its rows: a file that provably holds no row of what was read changes nothing.
- Transactions that read row by row conflict over rows, not over files: see
  `deltaarrow.transaction.row_level`.
- A conflict says whether the winner has only moved rows, so that a statement can be run again after it: see
  `deltaarrow.operations.dml.operation`.
- delta-spark carries some protocol and metadata changes over into the later transaction. Here only changes
  pass that do not have to be carried over.

A transaction read the version that it began with, so its predicates are evaluated under the schema of that
version. The metadata has not changed since, or `ensure_no_metadata_update` has raised.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deltaarrow.actions import (
    AddCDCFile,
    AddFile,
    DomainMetadata,
    FileActionKey,
    Metadata,
    Protocol,
    file_table,
)
from deltaarrow.actions.domain_names import ROW_TRACKING_DOMAIN
from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.numpy_arrays import booleans, texts
from deltaarrow.errors import (
    CommitFailedError,
    ConcurrentAppendException,
    ConcurrentDeleteDeleteException,
    ConcurrentDeleteReadException,
    ConcurrentTransactionException,
    ConcurrentWriteException,
    MetadataChangedException,
    ProtocolChangedException,
)
from deltaarrow.features import properties
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.schema.metadata_keys import IDENTITY_HIGH_WATER_MARK_KEY
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction.commit_intent import CommitIntent
from deltaarrow.transaction.isolation import IsolationLevel
from deltaarrow.transaction.read_set import Search
from deltaarrow.transaction.row_level import (
    ensure_no_row_is_deleted_twice,
    ensure_no_row_relied_on_was_deleted,
    lost_rows,
)
from deltaarrow.transaction.winning_commit import WinningCommit

__all__ = [
    "ensure_no_added_file_should_have_been_read",
    "ensure_no_application_transaction_conflict",
    "ensure_no_commit_after_the_version",
    "ensure_no_conflict_with_any",
    "ensure_no_domain_metadata_conflict",
    "ensure_no_file_is_deleted_twice",
    "ensure_no_file_is_recommitted_twice",
    "ensure_no_metadata_update",
    "ensure_no_protocol_change",
    "ensure_no_read_file_was_deleted",
    "ensure_unrelated",
]

_ROW_TRACKING_PROPERTIES = frozenset(
    {
        properties.ENABLE_ROW_TRACKING.name,
        properties.MATERIALIZED_ROW_ID_COLUMN_NAME.name,
        properties.MATERIALIZED_ROW_COMMIT_VERSION_COLUMN_NAME.name,
    }
)


def ensure_no_conflict_with_any(intent: CommitIntent, winners: Sequence[WinningCommit]) -> None:
    """Raise the first conflict of an intended commit with the commits made before it, which are ascending."""
    # A commit that changes the metadata may write files that the earlier metadata cannot evaluate.
    checked, failure = winners, None
    for number, winner in enumerate(winners):
        try:
            _ensure_no_conflict_over_table(intent, winner)
        except CommitFailedError as error:
            checked, failure = winners[:number], error
            break
    found = _AddedFiles(intent, checked)
    for winner in checked:
        try:
            _ensure_no_conflict_over_files(intent, winner, found)
        except CommitFailedError as error:
            if winner.only_moves_rows:
                error.moved_in = winner.version
            raise
    if failure is not None:
        raise failure


def _ensure_no_conflict_over_table(intent: CommitIntent, winner: WinningCommit) -> None:
    ensure_no_commit_after_the_version(intent, f"{winner} was made")
    ensure_no_protocol_change(intent, winner)
    ensure_no_metadata_update(intent, winner)
    ensure_no_domain_metadata_conflict(intent, winner)
    ensure_no_application_transaction_conflict(intent, winner)


def ensure_no_commit_after_the_version(intent: CommitIntent, what: str) -> None:
    """A transaction that drops a feature has made sure that one version holds no trace of it."""
    if intent.read.whole_version:
        raise ConcurrentWriteException(
            f"{what} after version {intent.snapshot.version}, which this transaction has to follow; repeat"
            " the operation"
        )


def _ensure_no_conflict_over_files(intent: CommitIntent, winner: WinningCommit, found: "_AddedFiles") -> None:
    lost = lost_rows(intent, winner)
    ensure_no_row_is_deleted_twice(intent, winner, lost)
    ensure_no_row_relied_on_was_deleted(intent, winner, lost)
    rest = winner.without_files(lost)
    ensure_no_added_file_should_have_been_read(intent, rest, found)
    ensure_no_read_file_was_deleted(intent, rest)
    ensure_no_file_is_deleted_twice(intent, rest)
    ensure_no_file_is_recommitted_twice(intent, rest)


def ensure_unrelated(intent: CommitIntent, newest: Snapshot) -> None:
    """Raise unless a commit may follow `newest` whatever the commits before it did.

    Used when commits were cleaned up before they could be checked. A transaction that only adds files depends
    on protocol and metadata alone.
    """
    read = intent.snapshot
    ensure_no_commit_after_the_version(intent, f"version {newest.version} was committed")
    relies_on_more = intent.read.has_files or intent.read.applications
    if newest.protocol != read.protocol:
        raise ProtocolChangedException(
            f"the protocol was changed since version {read.version} was read; read the table again"
        )
    if newest.metadata != read.metadata:
        raise MetadataChangedException(
            f"the metadata was changed since version {read.version} was read; read the table again"
        )
    if relies_on_more or any(not isinstance(action, AddFile | AddCDCFile) for action in intent.actions):
        raise ConcurrentWriteException(
            f"commits between version {read.version}, which was read, and {newest.version} are no longer"
            " in the log, so nobody can tell whether they conflict; read the table again"
        )


def ensure_no_protocol_change(intent: CommitIntent, winner: WinningCommit) -> None:
    """A changed protocol may require something that the written files lack."""
    present = intent.snapshot.protocol
    for body in winner.bodies("protocol"):
        if _feature_sets(body) != _feature_sets_of(present):
            raise ProtocolChangedException(f"the protocol of the table was changed by {winner}")
    if winner.bodies("protocol") and any(isinstance(action, Protocol) for action in intent.actions):
        raise ProtocolChangedException(f"the protocol of the table was written by {winner} too")


def _feature_sets(body: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        body.get("minReaderVersion"),
        body.get("minWriterVersion"),
        frozenset(body.get("readerFeatures") or ()),
        frozenset(body.get("writerFeatures") or ()),
    )


def _feature_sets_of(protocol: Protocol) -> tuple[Any, ...]:
    return (
        protocol.min_reader_version,
        protocol.min_writer_version,
        frozenset(protocol.reader_features or ()),
        frozenset(protocol.writer_features or ()),
    )


def ensure_no_metadata_update(intent: CommitIntent, winner: WinningCommit) -> None:
    """A write was checked against the schema and the properties, and its files were written by them.

    An identity column's high water mark and the switching on of row tracking change neither. They abort only
    a transaction that writes metadata itself, because it would undo them.
    """
    for body in winner.bodies("metaData"):
        if intent.changes_metadata or not _is_harmless(intent.snapshot.metadata, body):
            raise MetadataChangedException(f"the metadata of the table was changed by {winner}")


def _is_harmless(before: Metadata, after: Mapping[str, Any]) -> bool:
    old, new = before.configuration, after.get("configuration") or {}
    changed = {name for name in (*old, *new) if old.get(name) != new.get(name)}
    if changed - _ROW_TRACKING_PROPERTIES:
        return False
    if changed and not properties.ENABLE_ROW_TRACKING.parse(new):
        return False
    return (
        (before.id, before.name, before.description)
        == (after.get("id"), after.get("name"), after.get("description"))
        and list(before.partition_columns) == list(after.get("partitionColumns") or ())
        and _without_marks(before.schema_string) == _without_marks(after["schemaString"])
    )


def _without_marks(schema_string: str) -> Any:
    def drop(obj: dict[str, Any]) -> dict[str, Any]:
        obj.pop(IDENTITY_HIGH_WATER_MARK_KEY, None)
        return obj

    return json.loads(schema_string, object_hook=drop)


def ensure_no_domain_metadata_conflict(intent: CommitIntent, winner: WinningCommit) -> None:
    """Two commits must not set one domain; the row id high water mark is exempt, it is assigned anew."""
    own = {action.domain for action in intent.actions if isinstance(action, DomainMetadata)}
    if both := sorted((own & winner.domains) - {ROW_TRACKING_DOMAIN}):
        raise ConcurrentTransactionException(
            f"the domain metadata of {', '.join(both)} was written by {winner} too; read it again"
        )


def ensure_no_application_transaction_conflict(intent: CommitIntent, winner: WinningCommit) -> None:
    """If an application's version has moved on, its newer commit may be this very write."""
    if both := sorted(intent.read.applications & winner.applications):
        raise ConcurrentTransactionException(
            f"the application {', '.join(both)} has committed {winner} meanwhile; its transaction"
            " version tells whether that was this same write"
        )


def ensure_no_added_file_should_have_been_read(
    intent: CommitIntent, winner: WinningCommit, found: "_AddedFiles"
) -> None:
    """An added file may hold rows that this transaction should have read."""
    if not _counts_added_files(intent, winner):
        return
    if winner.bodies("add") and (path := found.first_that_should_have_been_read(winner)) is not None:
        raise ConcurrentAppendException(
            f"files were added by {winner} that this transaction, which read version"
            f" {intent.snapshot.version}, would have read, among them {path}; repeat the operation"
        )


def _counts_added_files(intent: CommitIntent, winner: WinningCommit) -> bool:
    """Whether it matters what a commit added."""
    if intent.isolation is IsolationLevel.SNAPSHOT_ISOLATION or not intent.read.has_files:
        return False
    if winner.is_row_tracking_backfill:
        return False  # the transaction has read these files; the commit only gives them row ids
    return (
        intent.isolation is not IsolationLevel.WRITE_SERIALIZABLE
        or not winner.is_blind_append
        or intent.changes_metadata
    )


class _AddedFiles:
    """The files that winning commits added, as far as a transaction may have to have read them.

    Reading statistics or rows costs a query, however few the files are, so all commits share it.
    """

    def __init__(self, intent: CommitIntent, winners: Sequence[WinningCommit]) -> None:
        self._intent = intent
        counted = [winner for winner in winners if _counts_added_files(intent, winner)]
        self._adds = [(winner.version, body) for winner in counted for body in winner.bodies("add")]

    def first_that_should_have_been_read(self, winner: WinningCommit) -> str | None:
        """Return the path, as the log spells it, of a file of one commit that may hold a row searched for."""
        paths = [body["path"] for body in winner.bodies("add")]
        if self._intent.read.whole_table:
            return str(paths[0])
        for search, versions, files in self._candidates:
            own = files.filter(booleans(versions == winner.version))
            own = own.filter(pc.is_in(own.column("log_path"), texts(paths)))
            if own.num_rows and search.may_match(own):
                return str(own.column("log_path")[0])
        return None

    @cached_property
    def _candidates(self) -> list[tuple[Search, np.ndarray, pa.Table]]:
        """The searches with the versions and rows of the files that each may match, if any."""
        bodies = [body for _, body in self._adds]
        added = file_table(bodies, [FileActionKey.from_json(dict(body)) for body in bodies])
        versions = np.array([version for version, _ in self._adds])
        searches = self._intent.read.searches
        masks = self._intent.snapshot.may_match_each(added, [search.predicate for search in searches])
        found = [
            (search, versions[mask], added.filter(booleans(mask)))
            for search, mask in zip(searches, masks, strict=True)
        ]
        return [each for each in found if _may_match_together(each[0], each[2])]


def _may_match_together(search: Search, files: pa.Table) -> bool:
    """Whether any of the files may hold a matching row.

    A file that several commits added, with other deletion vectors, cannot be read once for all of them.
    """
    if not files.num_rows:
        return False
    return len(set(files.column("path").to_pylist())) < files.num_rows or search.may_match(files)


def ensure_no_read_file_was_deleted(intent: CommitIntent, winner: WinningCommit) -> None:
    """What a transaction read of a file is outdated once the file, or the rows it relies on, are removed.

    A file that was read row by row without a match is no conflict.
    """
    if overlap := {path for path in winner.removed_paths if intent.read.relies_on(path)}:
        raise ConcurrentDeleteReadException(
            f"files that this transaction read were removed by {winner}, among them {_some(overlap)}; repeat"
            " the operation"
        )


def ensure_no_file_is_deleted_twice(intent: CommitIntent, winner: WinningCommit) -> None:
    """If two transactions remove one file, the second has counted rows that are already gone."""
    if overlap := intent.removed_paths & winner.removed_paths:
        raise ConcurrentDeleteDeleteException(
            f"files that this transaction removes were removed by {winner}, among them {_some(overlap)};"
            " repeat the operation"
        )


def ensure_no_file_is_recommitted_twice(intent: CommitIntent, winner: WinningCommit) -> None:
    """If two transactions restate one file, such as its first row id, the second would undo the first."""
    if overlap := (intent.added_paths - intent.removed_paths) & winner.added_paths:
        raise ConcurrentAppendException(
            f"files that this transaction commits again were added by {winner}, among them {_some(overlap)};"
            " repeat the operation"
        )


def _some(paths: Collection[str]) -> str:
    return min(paths)
