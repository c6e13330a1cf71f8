"""The log of a catalog-managed table: chapter "Catalog-managed tables" of the protocol.

Only the catalog knows which commits of such a table were made (*ratified*). Some have their usual names in
the log (*published*), some are files in ``_staged_commits``, and some are texts that only the catalog has
(*inline*). `CatalogStore` presents them all as one log, so code that reads a log needs no special case:

1. The catalog is asked before the folder is listed, so that a commit published in between is not missed.
2. Files of versions after the catalog's latest version are left out.
3. A ratified commit replaces the published one of the same version.
4. Staged files that the catalog does not name are rejected or not yet ratified; they do not count.
"""

import contextlib
import itertools
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Never, Protocol

from deltaarrow.errors import CorruptLogError, UnsupportedFeatureError
from deltaarrow.log.names import (
    LOG_FOLDER,
    STAGED_FOLDER,
    LogFile,
    LogFileKind,
    commit_name,
    parse_log_file,
    staged_version,
)
from deltaarrow.storage import FileEntry, FileStatus, FolderListing, Output, Store

if TYPE_CHECKING:
    import fsspec
    import pyarrow.fs

__all__ = ["Catalog", "CatalogStore", "RatifiedCommit", "RatifiedCommits", "is_catalog_store"]


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


def is_catalog_store(store: Store) -> bool:
    """Whether `store` shows the log of a catalog-managed table."""
    return isinstance(store, CatalogStore)


class CatalogStore:
    """A read-only store that shows a table as its catalog describes it.

    Pickling replaces the catalog by its last answer: the unpickled table stays at the versions known then.
    """

    can_put_if_absent = False

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store = store
        self.catalog = catalog
        self._said: RatifiedCommits | None = None
        self.uri = store.uri
        self.is_local = store.is_local
        self.storage_options = store.storage_options

    def __repr__(self) -> str:
        return f"CatalogStore({self._store!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CatalogStore) and other._store == self._store

    def __hash__(self) -> int:
        return hash(self._store)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle with the catalog's last answer in place of the catalog."""
        return CatalogStore, (self._store, self._said or self.catalog.ratified_commits())

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

    # --- all other files --------------------------------------------------------------------------

    def list_recursive(self, folder: str = "") -> Iterator[FileEntry]:
        """Yield all files below `folder`."""
        return self._store.list_recursive(folder)

    def walk(self) -> Iterator[FolderListing]:
        """Yield what is in each folder."""
        return self._store.walk()

    def real_folder(self, name: str) -> str | None:
        """Return the name by which `walk` finds a folder."""
        return self._store.real_folder(name)

    def statuses(self, names: Sequence[str]) -> list[FileStatus | None]:
        """Return the status of each name."""
        return self._store.statuses(names)

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`."""
        return self._store.read_range(name, offset, length)

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        return self._store.size(name)

    def identity(self, name: str) -> Hashable | None:
        """Return a value that changes when the file is replaced."""
        return self._store.identity(name)

    def exists(self, name: str) -> bool:
        """Whether there is a file of this name."""
        return self._store.exists(name)

    def location(self, name: str) -> str:
        """Return the absolute name."""
        return self._store.location(name)

    def arrow_filesystem(self) -> "pyarrow.fs.FileSystem":
        """Return the file system for pyarrow."""
        return self._store.arrow_filesystem()

    def arrow_path(self, name: str) -> str:
        """Return the path of the file inside `arrow_filesystem`."""
        return self._store.arrow_path(name)

    def fsspec_filesystem(self) -> "fsspec.AbstractFileSystem | None":
        """Return the fsspec file system behind the store."""
        return self._store.fsspec_filesystem()

    def reaching(self) -> contextlib.AbstractContextManager[None]:
        """Return the context manager of the wrapped store."""
        return self._store.reaching()

    @property
    def filesystem_key(self) -> Hashable:
        """The key of the wrapped store."""
        return self._store.filesystem_key

    # --- refused ----------------------------------------------------------------------------------

    def put_if_absent(self, name: str, data: bytes, *more: memoryview) -> None:
        """Refuse."""
        self._refuse(name, data, *more)

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Refuse."""
        self._refuse(name, data)

    def delete(self, name: str) -> None:
        """Refuse."""
        self._refuse(name)

    def delete_all(self, names: Sequence[str]) -> dict[str, Exception]:
        """Refuse."""
        self._refuse(", ".join(names))

    def delete_folder(self, name: str) -> bool:
        """Refuse."""
        self._refuse(name)

    def open_output(self, name: str) -> Output:
        """Refuse."""
        self._refuse(name)

    def _refuse(self, name: str, *_: Any) -> Never:
        raise UnsupportedFeatureError(
            f"cannot change {name} of {self.uri}: a catalog manages this table, and this release only reads"
            " such tables; make the change through the catalog",
            feature="catalogManaged",
        )


def _is_commit(file: LogFile) -> bool:
    return file.kind is LogFileKind.COMMIT
