"""The exceptions of the package.

All of them are `DeltaError`s, so one ``except`` clause catches everything the engine refuses. Arguments of a
wrong type or value raise Python's `TypeError` and `ValueError`. Cases that ``deltalake`` names have the same
name here; conflicts have Spark's names, because users search for them. The tree::

    DeltaError
    ├── TableNotFoundError            no Delta log where one was expected
    ├── VersionNotFoundError          the requested version or timestamp is not in the log
    ├── ChangeDataNotRecordedError    the change data feed was off in a requested version
    ├── DeltaProtocolError            the log breaks the protocol
    │   ├── CorruptLogError           a gap, a torn file, no protocol or metadata
    │   ├── CorruptDeletionVectorError  a deletion vector fails one of its checks
    │   ├── CorruptDataFileError      a data file contradicts the log, its format or itself (also an OSError)
    │   └── UnsupportedFeatureError   a table feature, type or format this release refuses
    │       ├── AppendOnlyError       the table is append-only (also a CommitFailedError)
    │       └── UnknownTypeError      a name is not a primitive type (also a ValueError)
    ├── SchemaMismatchError           data or columns do not fit the table's schema
    ├── ConstraintViolationError      a row breaks a constraint, or a value cannot be computed for it
    ├── InvalidPredicateError         a condition is not understood, or cannot be computed for a row
    │   └── InvalidFilterValueError   a filter tuple has a value of no column type (also a ValueError)
    ├── InvalidCommitMetadataError    the metadata of a commit is invalid (also a ValueError)
    ├── InvalidOptionError            options of a write exclude one another (also a ValueError)
    ├── InvalidTablePropertyError     an unknown or ill-formed ``delta.`` property
    ├── CommitFailedError             the commit was not made
    │   ├── VersionExistsError        another writer made the version first
    │   ├── ConcurrentAppendException        another writer added files that this one should have read
    │   ├── ConcurrentDeleteReadException    another writer removed a file that this one has read
    │   ├── ConcurrentDeleteDeleteException  another writer removed a file that this one removes
    │   ├── ConcurrentTransactionException   another writer set the same application or domain
    │   ├── ConcurrentWriteException         other writers committed first at every attempt
    │   ├── MetadataChangedException         another writer changed schema or properties
    │   └── ProtocolChangedException         another writer changed the protocol
    ├── MissingFilesError             files that a version needs are gone
    ├── FeatureDropError              a table feature cannot be dropped, or not yet
    ├── VacuumError                   a VACUUM would delete too much, or its list of files is not complete
    ├── CommitStateUnknownError       it is unknown whether the commit was made
    ├── StorageError                  a store cannot do what was requested
    │   └── StorageSystemError        the operating system fails (also an OSError)
    ├── ExpressionLimitError          a SQL expression takes too much time or memory
    ├── MemoryLimitError              an operation needs more memory than its limit (also a MemoryError)
    └── MissingDependencyError        an optional library is not installed (also an ImportError)

`DeltaWarning` is the class of the warnings.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from deltaarrow.display.hidden_causes import hide_secrets
from deltaarrow.display.redaction import redacted

__all__ = [
    "AppendOnlyError",
    "ChangeDataNotRecordedError",
    "CommitFailedError",
    "CommitStateUnknownError",
    "ConcurrentAppendException",
    "ConcurrentDeleteDeleteException",
    "ConcurrentDeleteReadException",
    "ConcurrentTransactionException",
    "ConcurrentWriteException",
    "ConstraintViolationError",
    "CorruptDataFileError",
    "CorruptDeletionVectorError",
    "CorruptLogError",
    "DeltaError",
    "DeltaProtocolError",
    "DeltaWarning",
    "ExpressionLimitError",
    "FeatureDropError",
    "InvalidCommitMetadataError",
    "InvalidFilterValueError",
    "InvalidOptionError",
    "InvalidPredicateError",
    "InvalidTablePropertyError",
    "MemoryLimitError",
    "MetadataChangedException",
    "MissingDependencyError",
    "MissingFilesError",
    "ProtocolChangedException",
    "SchemaMismatchError",
    "StorageError",
    "StorageSystemError",
    "TableNotFoundError",
    "UnknownTypeError",
    "UnsupportedFeatureError",
    "VacuumError",
    "VersionExistsError",
    "VersionNotFoundError",
]


class DeltaError(Exception):
    """The root of all errors this package raises on purpose.

    Secrets in its message, and in the messages of its causes, are `redacted`.
    """

    _place: "_Place | None" = None

    def __init__(self, *args: object) -> None:
        super().__init__(*(redacted(each) if isinstance(each, str) else each for each in args))
        hide_secrets(sys.exception())

    @property
    def place(self) -> tuple[str, int] | None:
        """The SQL text of the error, without secrets, and the position of the fault in it.

        None if unknown.
        """
        written = self.written_place
        if written is None or (text := redacted(written[0])) == written[0]:
            return written
        return text, len(redacted(written[0][: written[1]]))

    @place.setter
    def place(self, found: tuple[str, int] | None) -> None:
        self._place = None if found is None else _Place(*found)

    @property
    def written_place(self) -> tuple[str, int] | None:
        """As `place`, with the SQL text as written, secrets included: for lookup, not for display."""
        found = self._place
        return None if found is None else (found.text, found.index)


@dataclass(frozen=True)
class _Place:
    """A position in SQL text; its `repr` hides the text, which may contain secrets."""

    text: str = field(repr=False)
    index: int


class TableNotFoundError(DeltaError):
    """There is no Delta table at the location, or none with the name whose parts are `names`."""

    names: tuple[str, ...] = ()


class VersionNotFoundError(DeltaError):
    """The requested version or timestamp is not in the log, or no longer in it."""


class ChangeDataNotRecordedError(DeltaError):
    """The change data feed was off in a version whose changes were requested."""


class DeltaProtocolError(DeltaError):
    """The table needs something that this release does not support, or breaks the protocol."""


class CorruptLogError(DeltaProtocolError):
    """The log is incomplete or unreadable: a gap in the commits, a torn file, no metadata."""


class CorruptDeletionVectorError(DeltaProtocolError):
    """A deletion vector fails one of its checks: version, magic, size, CRC or cardinality."""


class CorruptDataFileError(DeltaProtocolError, OSError):
    """A data file contradicts the log, its own format, or itself; or it is missing."""


class UnsupportedFeatureError(DeltaProtocolError):
    """A table feature, a type or a format that this release refuses, named in `feature`."""

    def __init__(self, message: str, *, feature: str = "") -> None:
        super().__init__(message)
        self.feature = feature

    def __reduce__(self) -> tuple[object, ...]:
        """Keep `feature` when the error crosses a process border."""
        return _rebuild_unsupported, (str(self), self.feature)


def _rebuild_unsupported(message: str, feature: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(message, feature=feature)


class UnknownTypeError(UnsupportedFeatureError, ValueError):
    """The protocol has no primitive type of the name in `feature`."""

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the class and `feature` when the error crosses a process border."""
        return _rebuild_unknown_type, (str(self), self.feature)


def _rebuild_unknown_type(message: str, feature: str) -> UnknownTypeError:
    return UnknownTypeError(message, feature=feature)


class SchemaMismatchError(DeltaError):
    """Columns or types do not fit the schema of the table."""


class ConstraintViolationError(DeltaError):
    """A row breaks a constraint of the table, such as NOT NULL, or a value cannot be computed for it."""


class InvalidPredicateError(DeltaError):
    """A condition is not understood, names an unknown column, or cannot be computed for a row."""


class InvalidFilterValueError(InvalidPredicateError, ValueError):
    """A filter tuple compares a column with an object that is not a value of any column type."""


class InvalidCommitMetadataError(DeltaError, ValueError):
    """Metadata given for a commit is not JSON, or uses a name that the commit sets itself."""


class InvalidOptionError(DeltaError, ValueError):
    """Options of a write exclude one another, or one needs another."""


class InvalidTablePropertyError(DeltaError):
    """A table property in the ``delta.`` namespace is unknown or has an impossible value."""


class MissingFilesError(DeltaError):
    """Files that a version needs are gone, as after a VACUUM; `files` has their names."""

    def __init__(self, message: str, *, files: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.files = tuple(files)

    def __reduce__(self) -> tuple[object, ...]:
        """Keep `files` when the error crosses a process border."""
        return _rebuild_missing, (str(self), self.files)


def _rebuild_missing(message: str, files: Sequence[str]) -> MissingFilesError:
    return MissingFilesError(message, files=files)


class VacuumError(DeltaError):
    """A VACUUM would delete files too early, or its list of files is not complete."""


class CommitFailedError(DeltaError):
    """The commit was not made; the table is unchanged.

    `moved_in` is the version of the other writer's commit if that only moved rows to other files, as
    compaction does. The same statement means the same at that version. It is None for all other failures.
    """

    moved_in: int | None = None


class AppendOnlyError(UnsupportedFeatureError, CommitFailedError):
    """The table is append-only: it sets ``delta.appendOnly``."""

    def __init__(self, message: str) -> None:
        super().__init__(message, feature="appendOnly")

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the class when the error crosses a process border."""
        return AppendOnlyError, (str(self),)


class VersionExistsError(CommitFailedError):
    """The version that a commit was to make exists already."""


class ConcurrentAppendException(CommitFailedError):
    """Another writer has added files that this transaction would have read."""


class ConcurrentDeleteReadException(CommitFailedError):
    """Another writer has removed a file that this transaction has read."""


class ConcurrentDeleteDeleteException(CommitFailedError):
    """Another writer has removed a file that this transaction removes as well."""


class ConcurrentTransactionException(CommitFailedError):
    """Another writer has meanwhile recorded the same application or the same domain."""


class ConcurrentWriteException(CommitFailedError):
    """Other writers committed first at every attempt, or their commits can no longer be read."""


class MetadataChangedException(CommitFailedError):
    """Another writer has meanwhile changed the schema or the properties of the table."""


class ProtocolChangedException(CommitFailedError):
    """Another writer has meanwhile changed the protocol of the table."""


class CommitStateUnknownError(DeltaError):
    """The commit may have been made, or may yet be: repeating the statement could apply it twice.

    First read `version` of the table. It is this commit if the `txnId` of its `commitInfo` is
    `transaction_id` (see `DeltaTable.history`). If the version does not appear after a while, or is another
    commit, this commit was not made. A write with an application transaction can be repeated without this
    check.
    """

    def __init__(self, message: str, *, version: int, transaction_id: str = "") -> None:
        super().__init__(message)
        self.version = version
        self.transaction_id = transaction_id

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the attributes when the error crosses a process border."""
        return _rebuild_unknown, (str(self), self.version, self.transaction_id)


def _rebuild_unknown(message: str, version: int, transaction_id: str) -> CommitStateUnknownError:
    return CommitStateUnknownError(message, version=version, transaction_id=transaction_id)


class FeatureDropError(DeltaError):
    """A table feature cannot be dropped, or not yet; `error_class` is Spark's name for the reason.

    If it is ``DELTA_FEATURE_DROP_WAIT_FOR_RETENTION_PERIOD``, the newest version no longer uses the feature,
    and a later call drops it.
    """

    def __init__(self, message: str, *, error_class: str) -> None:
        super().__init__(message)
        self.error_class = error_class

    def __reduce__(self) -> tuple[object, ...]:
        """Keep `error_class` when the error crosses a process border."""
        return _rebuild_feature_drop, (str(self), self.error_class)


def _rebuild_feature_drop(message: str, error_class: str) -> FeatureDropError:
    return FeatureDropError(message, error_class=error_class)


class StorageError(DeltaError):
    """A store cannot do what was requested, for instance put a file only if it is absent."""


class StorageSystemError(StorageError, OSError):
    """The operating system fails for a store: open files, permissions, disk space; see ``errno``."""

    def __init__(self, errno: int, message: str) -> None:
        super().__init__(errno, message)

    def __str__(self) -> str:
        return str(self.strerror)


class ExpressionLimitError(DeltaError):
    """A SQL expression takes more time or memory than `set_expression_limits` allows."""


class MemoryLimitError(DeltaError, MemoryError):
    """An operation needs more memory at once than its ``memory_limit``, or that of the process."""


class MissingDependencyError(DeltaError, ImportError):
    """An optional library is not installed; the message has the ``pip install`` command for it."""


class DeltaWarning(UserWarning):
    """A call is valid, but its result is easily misunderstood."""
