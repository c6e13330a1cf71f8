"""Logs that a catalog manages: chapter "Catalog-managed tables" of the protocol.

Of such a table the catalog alone knows which commits were made (*ratified*). Some are in the log under
their usual names (*published*), some are files in ``_staged_commits`` and some only texts that the catalog
holds (*inline*). `CatalogStore` shows them all as one log, so that nothing that reads a log need know:

1. The catalog is asked before the folder is listed, so that no commit is missed that is published between.
2. What the folder has of versions after the catalog's latest one is left out.
3. A commit that the catalog gives stands for the published one of its version.
4. Staged files that the catalog does not name were rejected, or are not ratified yet: they do not count.
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
from deltaarrow.storage import FileEntry, Output, Store

if TYPE_CHECKING:
    import fsspec
    import pyarrow.fs

__all__ = ["Catalog", "CatalogStore", "RatifiedCommit", "RatifiedCommits", "is_catalog_store"]


@dataclass(frozen=True, slots=True)
class RatifiedCommit:
    """A commit that a catalog holds, with one of two places where it is.

    Args:
        version: the version that it makes.
        staged_file: the name of the file in ``_delta_log/_staged_commits``, without folders.
        content: the text of an inline commit, a JSON action a line.

    Raises:
        ValueError: there is no place or two, or the file has not the name of a staged commit.
    """

    version: int
    staged_file: str | None = None
    content: bytes | None = None

    def __post_init__(self) -> None:
        if self.version < 0:
            raise ValueError(f"{self.version} is no version")
        if (self.staged_file is None) == (self.content is None):
            raise ValueError(f"a ratified commit has either a staged file or content: version {self.version}")
        if self.staged_file is not None and staged_version(self.staged_file) != self.version:
            raise ValueError(f"{self.staged_file!r} is not a staged commit of version {self.version}")

    @property
    def name(self) -> str:
        """The store name under which the commit is listed."""
        if self.staged_file is None:
            return commit_name(self.version)
        return f"{STAGED_FOLDER}/{self.staged_file}"


class RatifiedCommits:
    """The answer of a catalog; also a catalog that always gives this answer.

    Args:
        commits: those that the catalog still holds, without gaps. Published ones may be missing.
        latest_version: the newest version of the table; that of the last commit if None.

    Raises:
        ValueError: the commits do not follow each other, or there is none and no version.

    >>> commits = RatifiedCommits([RatifiedCommit(7, content=b'{"txn":{"appId":"a","version":1}}')])
    >>> commits.latest_version
    7
    """

    def __init__(self, commits: Sequence[RatifiedCommit], latest_version: int | None = None) -> None:
        ordered = sorted(commits, key=lambda commit: commit.version)
        if latest_version is None:
            if not ordered:
                raise ValueError("without commits the latest_version has to be given")
            latest_version = ordered[-1].version
        if latest_version < 0:
            raise ValueError(f"{latest_version} is no version")
        for older, newer in itertools.pairwise(ordered):
            if newer.version == older.version:
                raise ValueError(f"the ratified commit of version {older.version} is there twice")
            if newer.version != older.version + 1:
                raise ValueError(f"the ratified commit of version {older.version + 1} is missing")
        if ordered and ordered[-1].version > latest_version:
            raise ValueError(
                f"the ratified commit of version {ordered[-1].version} is after the latest version,"
                f" {latest_version}"
            )
        self.commits = tuple(ordered)
        self.latest_version = latest_version

    def __repr__(self) -> str:
        held = [commit.version for commit in self.commits]
        return f"RatifiedCommits(versions={held}, latest_version={self.latest_version})"

    def ratified_commits(self, start_version: int = 0) -> "RatifiedCommits":
        """Return itself."""
        return self


class Catalog(Protocol):
    """What a catalog has to answer: which commits of the table were made."""

    def ratified_commits(self, start_version: int = 0) -> RatifiedCommits:
        """Return the ratified commits that it holds, and the latest version of the table.

        Commits before `start_version` may be left out. Called whenever the log is listed.
        """


def is_catalog_store(store: Store) -> bool:
    """Whether the log in `store` is seen through a catalog."""
    return isinstance(store, CatalogStore)


class CatalogStore:
    """The store of a table as its catalog wants it seen; it can only be read.

    A pickled one holds what the catalog said last instead of the catalog: where it arrives, the table
    is at the versions that were known when it left.
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
        """Pickle with the last answer in the place of the catalog."""
        return CatalogStore, (self._store, self._said or self.catalog.ratified_commits())

    # --- the log ----------------------------------------------------------------------------------

    def list_from(self, folder: str, start: str = "") -> list[FileEntry]:
        """Return the files of a folder; those of the log as the catalog has them.

        Raises `CorruptLogError` where neither the catalog nor the log has the latest version.
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
                " and neither it nor the log has the commit of that version"
            )
        return entries

    def _remember(self, first: int, commits: list[RatifiedCommit], latest_version: int) -> None:
        """Keep an answer from version `first` on, with the older commits of former ones that precede it."""
        older = [each for each in (self._said.commits if self._said else ()) if each.version < first]
        # Commits are published in order: before one that is missing all are published.
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
            # A staged file may be deleted once it is published, and the published one is its copy.
            return self._store.read(commit_name(version))

    # --- all other files --------------------------------------------------------------------------

    def list_recursive(self, folder: str = "") -> Iterator[FileEntry]:
        """Yield all files below `folder`."""
        return self._store.list_recursive(folder)

    def read_range(self, name: str, offset: int, length: int) -> bytes:
        """Return `length` bytes from `offset`."""
        return self._store.read_range(name, offset, length)

    def size(self, name: str) -> int:
        """Return the size in bytes."""
        return self._store.size(name)

    def identity(self, name: str) -> Hashable | None:
        """Return what is another once the file is replaced."""
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
        """Return the block of the store beneath."""
        return self._store.reaching()

    @property
    def filesystem_key(self) -> Hashable:
        """That of the store beneath."""
        return self._store.filesystem_key

    # --- what is refused --------------------------------------------------------------------------

    def put_if_absent(self, name: str, data: bytes) -> None:
        """Refuse."""
        self._refuse(name, data)

    def write(self, name: str, data: bytes, *, durable: bool = True) -> None:
        """Refuse."""
        self._refuse(name, data)

    def delete(self, name: str) -> None:
        """Refuse."""
        self._refuse(name)

    def open_output(self, name: str) -> Output:
        """Refuse."""
        self._refuse(name)

    def _refuse(self, name: str, *_: Any) -> Never:
        raise UnsupportedFeatureError(
            f"cannot change {name} of {self.uri}: tables that a catalog manages are changed through the"
            " catalog, which this release does not do",
            feature="catalogManaged",
        )


def _is_commit(file: LogFile) -> bool:
    return file.kind is LogFileKind.COMMIT
