"""Post-commit hook that writes the version checksum."""

from dataclasses import replace

from deltaarrow.actions import CommitInfo
from deltaarrow.log import (
    VersionChecksum,
    checksum_name,
    count_checksum,
    next_checksum,
    render_version_checksum,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.transaction import CommittedTransaction

__all__ = ["write_checksum"]


def write_checksum(done: CommittedTransaction) -> None:
    """Write the version checksum of the committed version.

    The checksum is derived from the checksum of the previous version and the actions of the commit. Without a
    previous checksum, the files of the previous version are counted; if the actions do not determine the
    totals, the files of the new version are counted.
    """
    checksum = _derive(done)
    if checksum is None:
        info = next((action for action in done.actions if isinstance(action, CommitInfo)), CommitInfo())
        checksum = replace(
            _count(Snapshot.load(done.store, done.version, known=done.previous)),
            txn_id=info.txn_id,
            in_commit_timestamp=info.in_commit_timestamp,
        )
    done.store.write(checksum_name(done.version), render_version_checksum(checksum), durable=False)


def _derive(done: CommittedTransaction) -> VersionChecksum | None:
    if not done.is_exact:
        return None
    files = None if done.bulk is None else done.bulk.totals
    if done.previous is None:
        return next_checksum(None, done.actions, files)
    said = done.previous.checksum
    checksum = None if said is None else next_checksum(said, done.actions, files)
    return checksum or next_checksum(_count(done.previous), done.actions, files)


def _count(snapshot: Snapshot) -> VersionChecksum:
    return count_checksum(
        snapshot.files(columns=["size", "deletion_vector"]),
        snapshot.protocol,
        snapshot.metadata,
        snapshot.transactions,
        snapshot.domains,
    )
