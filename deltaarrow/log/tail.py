"""The commits after a checkpoint, reconciled in memory: chapter "Action Reconciliation" of the protocol.

Commits are read newest first; an older action never replaces a newer one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deltaarrow.actions import (
    AddFile,
    DomainMetadata,
    FileActionKey,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    parse_fields,
)
from deltaarrow.errors import CorruptLogError
from deltaarrow.log.commits import ReadCommits, read_commits
from deltaarrow.log.file_names import LogFile, LogFileKind
from deltaarrow.runtime.gc_pause import gc_paused
from deltaarrow.storage import Store

__all__ = ["LogTail", "read_tail"]

JsonAction = dict[str, Any]

_ACTION_KEYS = frozenset(
    cls.KEY for cls in (AddFile, RemoveFile, SetTransaction, DomainMetadata, Protocol, Metadata)
)


@dataclass(slots=True)
class LogTail:
    """The reconciled actions of the commits after the checkpoint, file actions newest first."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, SetTransaction] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    adds: dict[FileActionKey, JsonAction] = field(default_factory=dict)
    removes: dict[FileActionKey, JsonAction] = field(default_factory=dict)
    others: frozenset[FileActionKey] = frozenset()
    """The keys of more file actions of commits, in part of a version without these actions."""

    @property
    def keys(self) -> list[FileActionKey]:
        """The keys of all file actions of commits, which override those of the checkpoint."""
        return [*self.adds, *self.removes, *self.others]

    def take_older(self, name: str, actions: Sequence[JsonAction]) -> None:
        """Add the actions of the older file `name`, newest first; newer actions are kept.

        Raises `CorruptLogError`, naming the file, for an action that is ill-formed.
        """
        try:
            self._take_older(actions)
        except CorruptLogError as error:
            raise CorruptLogError(f"{name}: {error}") from error
        except (KeyError, TypeError, AttributeError) as error:
            raise CorruptLogError(f"{name} holds an ill-formed action: {error!r}") from error

    def _take_older(self, actions: Sequence[JsonAction]) -> None:
        adds, removes, key_of = self.adds, self.removes, FileActionKey.from_json
        for action in actions:
            if len(action) == 1 and (add := action.get("add")) is not None:
                # Most lines are adds.
                file = key_of(add)
                if file not in removes:
                    adds.setdefault(file, add)
                continue
            if len(action) > 1 and len(_ACTION_KEYS.intersection(action)) > 1:
                raise CorruptLogError(f"one line holds several actions: {', '.join(action)}")
            for key, value in action.items():
                if value is None:
                    continue
                match key:
                    case "add":
                        file = FileActionKey.from_json(value)
                        if file not in self.removes:
                            self.adds.setdefault(file, value)
                    case "remove":
                        file = FileActionKey.from_json(value)
                        if file not in self.adds:
                            self.removes.setdefault(file, value)
                    case "txn":
                        transaction = parse_fields(SetTransaction, value)
                        self.transactions.setdefault(transaction.app_id, transaction)
                    case "domainMetadata":
                        domain = parse_fields(DomainMetadata, value)
                        self.domains.setdefault(domain.domain, domain)
                    case "protocol":
                        self.protocol = self.protocol or parse_fields(Protocol, value)
                    case "metaData":
                        self.metadata = self.metadata or parse_fields(Metadata, value)
                    case _:
                        continue

    def take_older_tail(self, older: "LogTail") -> None:
        """Add the reconciled actions of older commits; `older` is not changed."""
        self.protocol = self.protocol or older.protocol
        self.metadata = self.metadata or older.metadata
        self.transactions = older.transactions | self.transactions
        self.domains = older.domains | self.domains
        adds = {f: add for f, add in older.adds.items() if f not in self.adds and f not in self.removes}
        removes = {f: rm for f, rm in older.removes.items() if f not in self.adds and f not in self.removes}
        # The newest come first, as in `take_older`.
        self.adds |= adds
        self.removes |= removes


def _newest_first(file: LogFile, actions: list[JsonAction]) -> list[JsonAction]:
    # A commit is in order. A log compaction has one action per key; in tables where a writer left several,
    # the newest comes first.
    return actions if file.kind is LogFileKind.COMPACTION else actions[::-1]


def read_tail(store: Store, deltas: Sequence[LogFile], read: ReadCommits = read_commits) -> LogTail:
    """Read and reconcile commits and log compactions, given in ascending order."""
    tail = LogTail()
    with gc_paused():
        contents = read(store, [file.name for file in deltas])
        for file, actions in zip(reversed(deltas), reversed(contents), strict=True):
            if not actions and file.kind is LogFileKind.COMMIT:
                raise CorruptLogError(f"{file.name} is empty; it may have been cut off while it was written")
            tail.take_older(file.name, _newest_first(file, actions))
    return tail
