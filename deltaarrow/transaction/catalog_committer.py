"""The committer of catalog-managed tables: chapter "Catalog-managed tables" of the protocol.

1. The commit becomes a file in ``_staged_commits``, which nobody counts yet.
2. The catalog is asked to ratify it. From its yes on the commit is part of the table.
3. The ratified commits are published: copied in order to the names that commits have in any table. Then the
   catalog may forget them. What a writer that was killed leaves unpublished, the next writer publishes.

The catalog knows a commit by the unique name of its staged file. So a commit whose answer was lost is looked
for by this name, and proposed again only if its version is still free: it is never made twice.
"""

import logging
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deltaarrow.actions import Action, CommitInfo, render_json_lines
from deltaarrow.display.redaction import redacted
from deltaarrow.errors import CommitFailedError, StorageError, UnsupportedFeatureError
from deltaarrow.features import is_supported
from deltaarrow.log import (
    CatalogStore,
    CommittingCatalog,
    ProposedCommit,
    RatifiedCommits,
    Refusal,
    commit_name,
    is_catalog_store,
)
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store
from deltaarrow.transaction.committer import Committed, Conflict, FileSystemCommitter, unknown_state

__all__ = ["CatalogCommitter", "committer_of"]

_LOGGER = logging.getLogger(__name__)
_ATTEMPTS = 6
_FIRST_WAIT_S = 0.05


@dataclass(frozen=True, slots=True)
class CatalogCommitter:
    """Commits by letting the catalog ratify a staged file; `previous` is the version before."""

    store: CatalogStore
    previous: Snapshot | None = None

    def ensure_able(self) -> None:
        """Raise unless the catalog ratifies commits and the store can be written."""
        if self.store.committing_catalog is None:
            raise UnsupportedFeatureError(
                f"cannot write to {redacted(self.store.uri)}: it has the table feature catalogManaged, and"
                " its catalog tells commits here but takes none; make the change through the catalog, such as"
                " deltaarrow.catalogs.UnityCatalog",
                feature="catalogManaged",
            )
        if not self.store.can_put_if_absent:
            raise StorageError(
                f"{redacted(self.store.uri)} cannot be written to: its store has no proven put-if-absent,"
                " which publishing a commit needs"
            )

    def commit(
        self, version: int, actions: Sequence[Action], lines: Iterable[memoryview] = ()
    ) -> Committed | Conflict:
        """Try to create `version`, the one after `previous`, from the given actions.

        `lines` are further actions, rendered.

        Raises `CommitStateUnknownError` if neither the catalog nor the log can tell whether the version was
        created. After any other exception it was not created by this call and will not be.
        """
        previous = self.previous
        if previous is None or not is_supported(previous.protocol, "catalogManaged"):
            raise UnsupportedFeatureError(
                f"cannot commit to {redacted(self.store.uri)} through its catalog: the table lacks the table"
                " feature catalogManaged; the catalog has to create the table",
                feature="catalogManaged",
            )
        catalog = self.store.committing_catalog
        assert catalog is not None
        data = b"".join((render_json_lines(actions), *lines))
        name = self.store.stage(version, data)
        try:
            [status] = self.store.statuses([name])
            if status is None:
                raise StorageError(f"{name} of {redacted(self.store.uri)} is gone right after it was written")
            infos = (action for action in actions if isinstance(action, CommitInfo))
            proposal = ProposedCommit(
                version=version,
                file_name=name.rpartition("/")[2],
                size=len(data),
                modified_ms=status.modified_ms,
                timestamp_ms=next((info.in_commit_timestamp or 0 for info in infos), 0),
                actions=actions,
                protocol=previous.protocol,
                metadata=previous.metadata,
            )
        except BaseException:
            self._discard(name)
            raise
        said = _Proposal(self.store, catalog, proposal, name, data).settle()
        if said is None:
            self._discard(name)
            return Conflict(version)
        try:
            self.store.publish(said)
        except Exception:
            _LOGGER.warning(
                "version %d of %s is made; the next commit publishes it",
                version,
                redacted(self.store.uri),
                exc_info=True,
            )
        return Committed(version)

    def _discard(self, name: str) -> None:
        _discard(self.store, name)


@dataclass(slots=True)
class _Proposal:
    """The way of a staged commit to the catalog's decision."""

    store: CatalogStore
    catalog: CommittingCatalog
    proposal: ProposedCommit
    name: str
    data: bytes
    is_in_doubt: bool = False

    def settle(self) -> RatifiedCommits | None:
        """Return what the catalog holds once it has ratified the commit; None if the version is another's."""
        why = "the catalog gives no answer that decides"
        try:
            for attempt in range(_ATTEMPTS):
                if attempt:
                    time.sleep(_FIRST_WAIT_S * 2**attempt * random.uniform(0.5, 1.0))
                answer = self.catalog.ratify(self.proposal)
                if isinstance(answer, RatifiedCommits):
                    return answer
                if answer is Refusal.FULL:
                    why = "its catalog wants older commits to be published first, and they were"
                    self.store.publish()
                    continue
                # TAKEN may speak of this very commit, if a proxy has sent it twice.
                was_in_doubt, self.is_in_doubt = self.is_in_doubt, True
                said = self.catalog.ratified_commits()
                if said.latest_version >= self.proposal.version:
                    return said if self._is_among(said) else None
                self.is_in_doubt = was_in_doubt or answer is Refusal.UNKNOWN
        except Exception as error:
            if not self.is_in_doubt:
                _discard(self.store, self.name)
                raise
            why = str(error)
        if self.is_in_doubt:
            raise unknown_state(
                redacted(self.store.uri), self.proposal.version, self.proposal.actions, why
            ) from None
        _discard(self.store, self.name)
        raise CommitFailedError(
            f"version {self.proposal.version} of {redacted(self.store.uri)} was not made: {why}"
        )

    def _is_among(self, said: RatifiedCommits) -> bool:
        """Whether the commit of the version is this one, which the catalog or the log tells."""
        for commit in said.commits:
            if commit.version == self.proposal.version:
                return commit.staged_file == self.proposal.file_name
        return self.store.read(commit_name(self.proposal.version)) == self.data


def _discard(store: CatalogStore, name: str) -> None:
    """Delete the file of a commit that will not be made; one that stays is only waste."""
    try:
        store.discard_staged(name)
    except Exception:
        _LOGGER.debug("%s of %s cannot be deleted", name, redacted(store.uri), exc_info=True)


def committer_of(store: Store, previous: Snapshot | None = None) -> CatalogCommitter | FileSystemCommitter:
    """Return what commits to the table in a store after the version `previous`."""
    return CatalogCommitter(store, previous) if is_catalog_store(store) else FileSystemCommitter(store)
