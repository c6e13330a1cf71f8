"""What a transaction has staged: actions, rows that are to go, and the files written for them.

Rows that go are kept as positions until the commit is prepared. Only then are they deletion vectors, those
of the files in the version that the commit goes after: what others deleted meanwhile stays deleted.
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
    """The part of a commit that callers decide on, as far as it has got.

    `actions` are in the order in which they were staged. `row_removals` say by path which rows of live files
    go. `written` are the store names of files that are deleted again when the transaction comes to nothing,
    and `taken` the paths, as the log spells them, of live files that do not stay as they are. `vectors` are
    the deletion vectors that were read for it.
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
        """Let rows of a live file go, besides those of it that go already."""
        if not positions:
            return
        present = self.row_removals.get(file["path"])
        both = positions.copy() if present is None else present.positions | positions
        self.row_removals[file["path"]] = RowRemoval(file, both)

    def with_rows_removed(self, store: Store, configuration: Mapping[str, str], now: int) -> list[Action]:
        """Return all that is staged, the rows that go as what takes the place of their files.

        Their deletion vectors are written for it, and not again as long as the files are what they were.
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
        """Let the rows that go do so from their files as a commit of another writer has left them.

        It is one that does not conflict, so the rows are there, and where they were. The deletion vectors
        of a try that came too late are deleted: they lack what the commit has deleted.
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
        """The names of files of which it is known how they stand in the version that the commit goes after.

        New ones do not, and those that rows go from are followed from one commit to the next.
        """
        return {*self.written, *self.row_removals}

    def is_exact(self, actions: Sequence[Action]) -> bool:
        """Whether every file that is added is new to the table, and every one that is removed is live.

        `actions` are all that is committed.
        """
        new = set(self.written)
        return all(
            action.path in self.taken or (isinstance(action, AddFile) and decode_path(action.path) in new)
            for action in actions
            if isinstance(action, AddFile | RemoveFile)
        )

    @contextlib.contextmanager
    def all_or_nothing(self, store: Store) -> Iterator[None]:
        """Keep all that a ``with`` block stages, or nothing when it fails."""
        actions, row_removals, written = list(self.actions), dict(self.row_removals), len(self.written)
        try:
            yield
        except BaseException:
            self.actions, self.row_removals = actions, row_removals
            self.delete_written(store, written)
            raise

    def delete_written(self, store: Store, first: int = 0) -> None:
        """Delete the files that were written, from the `first` one on."""
        self._delete(store, self.written[first:])
        del self.written[first:]

    @staticmethod
    def _delete(store: Store, names: Sequence[str]) -> None:
        for name in names:
            with contextlib.suppress(Exception):
                store.delete(name)
