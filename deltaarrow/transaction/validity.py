"""What a commit must be like, whoever staged it: chapter "Actions" of the protocol.

A commit that breaks one of these rules could not be reconciled, so it is never written.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from deltaarrow.actions import (
    Action,
    AddCDCFile,
    AddFile,
    DomainMetadata,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
)
from deltaarrow.errors import DeltaProtocolError
from deltaarrow.storage import decode_path

__all__ = ["ensure_valid_commit"]


def ensure_valid_commit(actions: Sequence[Action], *, is_append_only: bool = False) -> None:
    """Raise `DeltaProtocolError`, naming what is to blame, unless `actions` may stand in one commit.

    At most one `metaData` and one `protocol`; one `txn` an application and one `domainMetadata` a
    domain; one `add` and one `remove` a path. An `add` and a `remove` of one path are the same file
    with another deletion vector. `is_append_only` says that rows may not be removed.

    >>> ensure_valid_commit([SetTransaction(app_id="a", version=1), SetTransaction(app_id="a", version=2)])
    Traceback (most recent call last):
    ...
    deltaarrow.errors.DeltaProtocolError: a commit has two txn actions of a
    """
    adds = {decode_path(each.path): each for each in actions if isinstance(each, AddFile)}
    removes = {decode_path(each.path): each for each in actions if isinstance(each, RemoveFile)}
    for kind in (Metadata, Protocol):
        if sum(isinstance(each, kind) for each in actions) > 1:
            raise DeltaProtocolError(f"a commit has two {kind.KEY} actions")
    _ensure_single("txn", (each.app_id for each in actions if isinstance(each, SetTransaction)))
    _ensure_single("domainMetadata", (each.domain for each in actions if isinstance(each, DomainMetadata)))
    _ensure_single("add", (decode_path(each.path) for each in actions if isinstance(each, AddFile)))
    _ensure_single("remove", (decode_path(each.path) for each in actions if isinstance(each, RemoveFile)))
    _ensure_single("cdc", (decode_path(each.path) for each in actions if isinstance(each, AddCDCFile)))
    for path in adds.keys() & removes.keys():
        if adds[path].deletion_vector == removes[path].deletion_vector:
            raise DeltaProtocolError(f"a commit adds and removes {path} with the same deletion vector")
    if is_append_only and any(remove.data_change for remove in removes.values()):
        raise DeltaProtocolError(
            "the table is append-only (delta.appendOnly): rows cannot be deleted or overwritten"
        )


def _ensure_single(kind: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if count > 1:
            raise DeltaProtocolError(f"a commit has two {kind} actions of {name}")
