"""The staged work of a transaction: actions, rows to delete, and the files written for them.

Rows to delete stay positions until the commit is prepared. Only then do they become deletion vectors, based
on the files in the version that the commit follows, so rows that others deleted meanwhile stay deleted.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyroaring import BitMap64

from deltaarrow.actions import Action, AddFile, FileActionKey, RemoveFile, file_table
from deltaarrow.storage import Store, decode_path
from deltaarrow.transaction.bulk_adds import BulkAdds
from deltaarrow.transaction.relocation import Relocation, relocate
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
    - `relocations`: the new files that replace live ones.
    - `written`: the store names of files to delete if the transaction fails.
    - `taken`: the paths, as the log spells them, of live files that the commit replaces or removes.
    - `restored`: the store names of files that the commit adds again. The version that was read does not have
      these logical files, and the commit removes what it has of the same data files.
    - `bulk`: many added files without an object each, if any.
    - `vectors`: the deletion vectors that were read.
    """

    actions: list[Action] = field(default_factory=list)
    row_removals: dict[str, RowRemoval] = field(default_factory=dict)
    relocations: list[Relocation] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    restored: set[str] = field(default_factory=set)
    bulk: BulkAdds | None = None
    vectors: PresentVectors = field(default_factory=PresentVectors)
    _marked: MarkedFiles | None = field(default=None, init=False)
    _relocated: MarkedFiles | None = field(default=None, init=False)

    def __bool__(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.actions or self.row_removals or self.relocations)

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
        return [
            *self.actions,
            *self._with_rows_marked(store, configuration, now),
            *self._with_rows_relocated(store, configuration, now),
        ]

    def _with_rows_marked(self, store: Store, configuration: Mapping[str, str], now: int) -> Iterator[Action]:
        if not self.row_removals:
            return
        if self._marked is None:
            removals, prefix = list(self.row_removals.values()), deletion_vector_prefix(configuration)
            self._marked = self._written(remove_rows(store, removals, now, self.vectors, prefix=prefix))
        yield from self._marked.removes
        yield from self._marked.adds

    def _with_rows_relocated(
        self, store: Store, configuration: Mapping[str, str], now: int
    ) -> Iterator[Action]:
        if not self.relocations:
            return
        if self._relocated is None:
            prefix = deletion_vector_prefix(configuration)
            self._relocated = self._written(relocate(store, self.relocations, now, self.vectors, prefix))
        yield from self._relocated.removes
        yield from self._relocated.adds

    def _written(self, files: MarkedFiles) -> MarkedFiles:
        self.written.extend(files.written)
        self.taken.update(remove.path for remove in files.removes)
        return files

    def rebase_rows(self, store: Store, winner: WinningCommit) -> None:
        """Base staged deletions and relocations on the files as another writer's commit left them.

        The commit does not conflict, so the rows are still there at the same positions. The deletion vectors
        of an earlier attempt are deleted: they lack the rows that the commit deleted.
        """
        relocated = self.relocated_paths
        bodies = [
            body
            for body in winner.bodies("add")
            if (path := decode_path(body["path"])) in self.row_removals or path in relocated
        ]
        if not bodies:
            return
        table = file_table(bodies, [FileActionKey.from_json(dict(body)) for body in bodies])
        files = {row["path"]: row for row in table.to_pylist(maps_as_pydicts="strict")}
        for path in files.keys() & self.row_removals.keys():
            self.row_removals[path] = replace(self.row_removals[path], file=files[path])
        self.relocations = [each.after(files) for each in self.relocations]
        outdated = {name for each in (self._marked, self._relocated) if each for name in each.written}
        self._marked = self._relocated = None
        self._delete(store, sorted(outdated))
        self.written = [name for name in self.written if name not in outdated]

    @property
    def live_files(self) -> list[FileRow]:
        """The files that rows are taken from."""
        relocated = (file.newest for each in self.relocations for file in each.files.values())
        return [*(removal.file for removal in self.row_removals.values()), *relocated]

    @property
    def relocated_paths(self) -> set[str]:
        """The canonical paths of the files whose rows new files take over."""
        return {path for each in self.relocations for path in each.files}

    @property
    def known(self) -> set[str]:
        """The names of files whose state in the version before the commit is known.

        New files are not in it, and files that lose rows are followed from commit to commit.
        """
        return {*self.written, *self.row_removals, *self.restored}

    def is_exact(self, actions: Sequence[Action]) -> bool:
        """Whether every added file is new to the table and every removed file is live.

        `actions` are all actions of the commit.
        """
        new = {*self.written, *self.restored}
        return all(
            action.path in self.taken or (isinstance(action, AddFile) and decode_path(action.path) in new)
            for action in actions
            if isinstance(action, AddFile | RemoveFile)
        )

    @contextlib.contextmanager
    def all_or_nothing(self, store: Store) -> Iterator[None]:
        """Keep all that a ``with`` block stages, or nothing if the block fails."""
        actions, row_removals, written = list(self.actions), dict(self.row_removals), len(self.written)
        relocations = list(self.relocations)
        try:
            yield
        except BaseException:
            self.actions, self.row_removals, self.relocations = actions, row_removals, relocations
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
