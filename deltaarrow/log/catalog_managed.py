"""The log of a catalog-managed table: chapter "Catalog-managed tables" of the protocol.

Only the catalog knows which commits of such a table were made (*ratified*). Some have their usual names in
the log (*published*), some are files in ``_staged_commits``, and some are texts that only the catalog has
(*inline*). `CatalogStore` presents them all as one log, so code that reads a log needs no special case:

1. The catalog is asked before the folder is listed, so that a commit published in between is not missed.
2. Files of versions after the catalog's latest version are left out.
3. A ratified commit replaces the published one of the same version.
4. Staged files that the catalog does not name are rejected or not yet ratified; they do not count.

A catalog that ratifies commits (`CommittingCatalog`) lets tables be written too. All files but commits are
written as in any table; commits are staged, ratified by the catalog and then published, which
`deltaarrow.transaction` does.
"""

import itertools
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Never, Protocol, TypeGuard

from deltaarrow.actions import Action, Metadata, Protocol as TableProtocol
from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.log.file_names import (
    LOG_FOLDER,
    STAGED_FOLDER,
    LogFile,
    LogFileKind,
    commit_name,
    parse_log_file,
    staged_name,
    staged_version,
)
from deltaarrow.storage import FileEntry, Output, Store, StoreView

__all__ = [
    "Catalog",
    "CatalogStore",
    "CommittingCatalog",
    "ProposedCommit",
    "RatifiedCommit",
    "RatifiedCommits",
    "Refusal",
    "is_catalog_store",
]


@dataclass(frozen=True, slots=True)
class RatifiedCommit:
    """A commit that a catalog holds: either a staged file or an inline text.

    Args:
        version: the version that the commit makes.
        staged_file: the name of the file in ``_delta_log/_staged_commits``, without folders.
        content: the text of an inline commit, one JSON action per line.

    Raises:
        ValueError: both or neither of file and content are given, or the file name is not that of a staged
            commit of this version.
    """

    version: int
    staged_file: str | None = None
    content: bytes | None = None

    def __post_init__(self) -> None:
        if self.version < 0:
            raise ValueError(f"{self.version} is not a version: versions count from 0")
        if (self.staged_file is None) == (self.content is None):
            raise ValueError(f"give either a staged file or content for the commit of version {self.version}")
        if self.staged_file is not None and staged_version(self.staged_file) != self.version:
            raise ValueError(f"{self.staged_file!r} is not a staged commit of version {self.version}")

    @property
    def name(self) -> str:
        """The store name under which the commit is listed."""
        if self.staged_file is None:
            return commit_name(self.version)
        return f"{STAGED_FOLDER}/{self.staged_file}"


class RatifiedCommits:
    """A catalog's answer; also a catalog that always gives this answer.

    Args:
        commits: the commits that the catalog still holds, without gaps. Published ones may be missing.
        latest_version: the newest version of the table; None means the version of the last commit.

    Raises:
        ValueError: the versions have a gap or a duplicate, or neither a commit nor a version is given.

    >>> commits = RatifiedCommits([RatifiedCommit(7, content=b'{"txn":{"appId":"a","version":1}}')])
    >>> commits.latest_version
    7
    """

    def __init__(self, commits: Sequence[RatifiedCommit], latest_version: int | None = None) -> None:
        ordered = sorted(commits, key=lambda commit: commit.version)
        if latest_version is None:
            if not ordered:
                raise ValueError("give latest_version: there are no commits to take it from")
            latest_version = ordered[-1].version
        if latest_version < 0:
            raise ValueError(f"latest_version {latest_version} is not a version: versions count from 0")
        for older, newer in itertools.pairwise(ordered):
            if newer.version == older.version:
                raise ValueError(f"the ratified commit of version {older.version} is given twice")
            if newer.version != older.version + 1:
                raise ValueError(f"the ratified commit of version {older.version + 1} is missing")
        if ordered and ordered[-1].version > latest_version:
            raise ValueError(
                f"the ratified commit of version {ordered[-1].version} is after the latest_version"
                f" {latest_version}"
            )
        self.commits = tuple(ordered)
        self.latest_version = latest_version

    def __repr__(self) -> str:
        held = [commit.version for commit in self.commits]
        return f"RatifiedCommits(versions={held}, latest_version={self.latest_version})"

    def ratified_commits(self, start_version: int = 0) -> "RatifiedCommits":
        """Return this object."""
        return self


class Catalog(Protocol):
    """The interface of a catalog: it tells which commits of the table were made."""

    def ratified_commits(self, start_version: int = 0) -> RatifiedCommits:
        """Return the ratified commits that the catalog holds, and the latest version of the table.

        Commits before `start_version` may be left out. The method is called whenever the log is listed.
        """


class Refusal(Enum):
    """Why a catalog did not answer that it has ratified a commit."""

    TAKEN = auto()
    """The version is taken, perhaps by this very commit, if it was proposed before."""
    FULL = auto()
    """Too many commits are not published; the catalog takes no further one."""
    UNKNOWN = auto()
    """Nobody can tell whether the commit is ratified, or will be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedCommit:
    """A staged commit that a catalog is asked to ratify.

    Attributes:
        version: the version that the commit makes.
        file_name: the name of its file in ``_delta_log/_staged_commits``.
        size: the size of the file in bytes.
        modified_ms: the time of the file, in milliseconds since the epoch.
        timestamp_ms: the in-commit timestamp, likewise.
        actions: the actions of the commit; files that are added in bulk are left out.
        protocol: the protocol of the version before.
        metadata: the metadata of the version before.
    """

    version: int
    file_name: str
    size: int
    modified_ms: int
    timestamp_ms: int
    actions: Sequence[Action]
    protocol: TableProtocol
    metadata: Metadata


class CommittingCatalog(Catalog, Protocol):
    """A catalog that ratifies commits, so that the table can be written."""

    allows_maintenance: bool
    """Whether clients may compact, vacuum and clean up the table, and not only write it."""

    def ratify(self, proposal: ProposedCommit) -> RatifiedCommits | Refusal:
        """Ask for a commit to become its version, and return what the catalog holds then.

        An exception says that the commit is not ratified and will not be. One commit may be proposed again
        after `Refusal.FULL` and `Refusal.UNKNOWN`.
        """

    def note_published(self, version: int) -> None:
        """Take note that all commits up to a version are published, durably: they may be forgotten."""


def is_catalog_store(store: Store) -> TypeGuard["CatalogStore"]:
    """Whether `store` shows the log of a catalog-managed table."""
    return isinstance(store, CatalogStore)


class CatalogStore(StoreView):
    """A store that shows a table as its catalog describes it.

    It writes only if the catalog ratifies commits, and it writes no commit itself: `stage` and `publish` are
    the steps before and after the catalog's answer.

    Pickling replaces the catalog by its last answer: the unpickled table stays at the versions known then.
    Data files can still be written there, but nothing can be committed.
    """

    def __init__(self, store: Store, catalog: Catalog, may_write: bool | None = None) -> None:
        super().__init__(store)
        self.catalog = catalog
        self.may_write = hasattr(catalog, "ratify") if may_write is None else may_write
        self._said: RatifiedCommits | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the catalog's last answer in place of the catalog."""
        return CatalogStore, (self._store, self._said or self.catalog.ratified_commits(), self.may_write)

    @property
    def can_put_if_absent(self) -> bool:
        """Whether files can be written."""
        return self.may_write and self._store.can_put_if_absent

    @property
    def committing_catalog(self) -> CommittingCatalog | None:
        """The catalog, if it ratifies commits."""
        catalog: Any = self.catalog
        return catalog if hasattr(catalog, "ratify") else None

    @property
    def allows_maintenance(self) -> bool:
        """Whether the catalog lets clients compact, vacuum and clean up the table."""
        catalog = self.committing_catalog
        return catalog is not None and catalog.allows_maintenance

    # --- the log ----------------------------------------------------------------------------------

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Return the files of a folder; log files as the catalog describes them.

        Raises `CorruptLogError` when neither the catalog nor the log has the commit of the latest version.
        """
        if folder != LOG_FOLDER:
            return self._store.list_from(folder, start)
        first = int(start[:20]) if start[:20].isdecimal() else 0
        said = self.catalog.ratified_commits(first)
        held = {commit.version: commit for commit in said.commits if commit.version >= first}
        self._remember(first, list(held.values()), said.latest_version)
        entries = [
            entry
            for entry in self._store.list_from(folder, start)
            if (file := parse_log_file(entry)) is None
            or (file.version <= said.latest_version and not (_is_commit(file) and file.version in held))
        ]
        entries += [FileEntry(commit.name, len(commit.content or b""), 0) for commit in held.values()]
        entries.sort(key=lambda entry: entry.name.rpartition("/")[2])
        if first <= said.latest_version and not any(
            file.version == said.latest_version and (_is_commit(file) or file.is_checkpoint)
            for file in map(parse_log_file, entries)
            if file is not None
        ):
            raise CorruptLogError(
                f"the catalog of {self.uri} says that the newest version is {said.latest_version},"
                " but neither the catalog nor the log has the commit of that version"
            )
        return entries

    def _remember(self, first: int, commits: list[RatifiedCommit], latest_version: int) -> None:
        """Keep an answer from version `first` on, and the directly preceding commits of earlier answers."""
        older = [each for each in (self._said.commits if self._said else ()) if each.version < first]
        # Commits are published in order: if one is missing, all before it are published.
        if older and (not commits or commits[0].version != older[-1].version + 1):
            older = []
        self._said = RatifiedCommits([*older, *commits], latest_version)

    def read(self, name: str) -> bytes:
        """Return the whole file, or the text of an inline commit."""
        said = self._said.commits if self._said is not None else ()
        commit = next((each for each in said if each.name == name), None)
        if commit is not None and commit.content is not None:
            return commit.content
        try:
            return self._store.read(name)
        except FileNotFoundError:
            folder, _, base = name.rpartition("/")
            version = staged_version(base) if folder == STAGED_FOLDER else None
            if version is None:
                raise
            # A staged file may be deleted once it is published; the published commit is its copy.
            return self._store.read(commit_name(version))

    # --- the steps of a commit --------------------------------------------------------------------

    def stage(self, version: int, data: bytes) -> str:
        """Write the file of a commit that the catalog may ratify; return its name in the store."""
        name = staged_name(version, str(uuid.uuid4()))
        self._store.put_if_absent(name, data)
        return name

    def discard_staged(self, name: str) -> None:
        """Delete the file of a commit that was not ratified and will not be."""
        self._store.delete(name)

    def publish(self, said: RatifiedCommits | None = None) -> None:
        """Publish all commits that the catalog holds, in order, and then tell the catalog.

        Any client may publish any ratified commit. `said` is what the catalog holds, if that is known.

        Raises `CorruptLogError` if a version is published with other content, and the errors of the store
        and of the catalog. What is not published then stays with the catalog, and can be published later.
        """
        catalog = self.committing_catalog
        assert catalog is not None
        said = said or catalog.ratified_commits()
        for commit in said.commits:
            self._publish(commit)
        if said.commits:
            catalog.note_published(said.commits[-1].version)

    def _publish(self, commit: RatifiedCommit) -> None:
        name = commit_name(commit.version)
        try:
            content = self._store.read(commit.name) if commit.content is None else commit.content
        except FileNotFoundError:
            if self._store.exists(name):
                return  # whoever published it has deleted the staged file
            raise
        try:
            self._store.put_if_absent(name, content)
        except FileExistsError:
            if self._store.read(name) != content:
                raise CorruptLogError(
                    f"{name} of {self.uri} is not the commit that the catalog has ratified"
                ) from None

    # --- writing: all but commits -----------------------------------------------------------------

    def put_if_absent(self, name: str, data: bytes, *more: memoryview) -> None:
        """Create the file; a commit is refused."""
        self._ensure_writable(name)
        super().put_if_absent(name, data, *more)

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Create or replace the file; a commit is refused."""
        self._ensure_writable(name)
        super().write(name, data, durable=durable)

    def delete(self, name: str) -> None:
        """Delete the file; a commit only where the catalog allows maintenance."""
        self._ensure_deletable(name)
        super().delete(name)

    def delete_all(self, names: Sequence[str]) -> dict[str, Exception]:
        """Delete files; commits only where the catalog allows maintenance."""
        for name in names:
            self._ensure_deletable(name)
        return super().delete_all(names)

    def delete_folder(self, name: str) -> bool:
        """Delete a folder if it is empty."""
        self._ensure_writable(name)
        return super().delete_folder(name)

    def open_output(self, name: str, *, durable: bool = True) -> Output:
        """Return a stream that becomes a new file; a commit is refused."""
        self._ensure_writable(name)
        return super().open_output(name, durable=durable)

    def _ensure_writable(self, name: str) -> None:
        if not self.may_write:
            self._refuse(
                name, "its catalog tells commits and takes none; make the change through the catalog"
            )
        if _commit_version(name) is not None:
            self._refuse(name, "its catalog ratifies every commit")

    def _ensure_deletable(self, name: str) -> None:
        version = _commit_version(name)
        if version is None or not self.allows_maintenance:
            self._ensure_writable(name)
            return
        said = self.catalog.ratified_commits(version)
        if any(commit.version == version for commit in said.commits):
            self._refuse(name, "its catalog holds this commit")

    def _refuse(self, name: str, why: str) -> Never:
        raise UnsupportedFeatureError(
            f"cannot change {name} of {self.uri}: a catalog manages this table, and {why}",
            feature="catalogManaged",
        )


def _is_commit(file: LogFile) -> bool:
    return file.kind is LogFileKind.COMMIT


def _commit_version(name: str) -> int | None:
    """The version that a file in the log commits, published or staged; None for any other file."""
    folder, _, base = name.rpartition("/")
    if folder.endswith(STAGED_FOLDER):
        return staged_version(base)
    if folder != LOG_FOLDER and not folder.endswith(f"/{LOG_FOLDER}"):
        return None
    file = parse_log_file(FileEntry(name, 0, 0))
    return file.version if file is not None and _is_commit(file) else None
