"""What a transaction has staged: actions, rows to delete, and the files written for them.

Rows to delete stay positions until the commit is prepared. Only then do they become deletion vectors, based
on the files in the version that the commit follows, so rows that others deleted meanwhile stay deleted.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyroaring import BitMap64

from deltaarrow.actions import Action, AddFile, FileActionKey, RemoveFile, file_table
from deltaarrow.storage import Store, decode_path
from deltaarrow.transaction.removal import (
    FileRow,
    MarkedFiles,
    PresentVectors,
    RowRemoval,
    deletion_vector_prefix,
    remove_rows,
)
from deltaarrow.transaction.winning_commit import WinningCommit

__all__ = ["Staged"]


@dataclass
class Staged:
    """The staged part of a commit.

    - `actions`: in the order in which they were staged.
    - `row_removals`: by path, the rows of live files to delete.
    - `written`: the store names of files to delete if the transaction fails.
    - `taken`: the paths, as the log spells them, of live files that the commit replaces or removes.
    - `vectors`: the deletion vectors that were read.
    """

    actions: list[Action] = field(default_factory=list)
    row_removals: dict[str, RowRemoval] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    vectors: PresentVectors = field(default_factory=PresentVectors)
    _marked: MarkedFiles | None = field(default=None, init=False)

    def __bool__(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.actions or self.row_removals)

    def remove_rows(self, file: FileRow, positions: BitMap64) -> None:
        """Stage the deletion of rows of a live file, in addition to those staged already."""
        if not positions:
            return
        present = self.row_removals.get(file["path"])
        both = positions.copy() if present is None else present.positions | positions
        self.row_removals[file["path"]] = RowRemoval(file, both)

    def with_rows_removed(self, store: Store, configuration: Mapping[str, str], now: int) -> list[Action]:
        """Return all staged actions, with the staged row deletions as removes and adds of their files.

        The deletion vectors are written at the first call, and again only if a file has changed since.
        """
        if not self.row_removals:
            return list(self.actions)
        if self._marked is None:
            removals, prefix = list(self.row_removals.values()), deletion_vector_prefix(configuration)
            self._marked = remove_rows(store, removals, now, self.vectors, prefix=prefix)
            self.written.extend(self._marked.written)
            self.taken.update(remove.path for remove in self._marked.removes)
        return [*self.actions, *self._marked.removes, *self._marked.adds]

    def rebase_row_removals(self, store: Store, winner: WinningCommit) -> None:
        """Base the staged row deletions on the files as another writer's commit left them.

        The commit does not conflict, so the rows are still there at the same positions. The deletion vectors
        of an earlier attempt are deleted: they lack the rows that the commit deleted.
        """
        bodies = [body for body in winner.bodies("add") if decode_path(body["path"]) in self.row_removals]
        if not bodies:
            return
        files = file_table(bodies, [FileActionKey.from_json(dict(body)) for body in bodies])
        for file in files.to_pylist(maps_as_pydicts="strict"):
            path = file["path"]
            self.row_removals[path] = replace(self.row_removals[path], file=file)
        if self._marked is not None:
            outdated, self._marked = self._marked.written, None
            self._delete(store, outdated)
            self.written = [name for name in self.written if name not in outdated]

    @property
    def known(self) -> set[str]:
        """The names of files whose state in the version before the commit is known.

        New files are not in it, and files that lose rows are followed from commit to commit.
        """
        return {*self.written, *self.row_removals}

    def is_exact(self, actions: Sequence[Action]) -> bool:
        """Whether every added file is new to the table and every removed file is live.

        `actions` are all actions of the commit.
        """
        new = set(self.written)
        return all(
            action.path in self.taken or (isinstance(action, AddFile) and decode_path(action.path) in new)
            for action in actions
            if isinstance(action, AddFile | RemoveFile)
        )

    @contextlib.contextmanager
    def all_or_nothing(self, store: Store) -> Iterator[None]:
        """Keep all that a ``with`` block stages, or nothing if the block fails."""
        actions, row_removals, written = list(self.actions), dict(self.row_removals), len(self.written)
        try:
            yield
        except BaseException:
            self.actions, self.row_removals = actions, row_removals
            self.delete_written(store, written)
            raise

    def delete_written(self, store: Store, first: int = 0) -> None:
        """Delete the written files, from index `first` on."""
        self._delete(store, self.written[first:])
        del self.written[first:]

    @staticmethod
    def _delete(store: Store, names: Sequence[str]) -> None:
        for name in names:
            with contextlib.suppress(Exception):
                store.delete(name)
