"""What a transaction has staged: actions, rows that are to go, and the files written for them."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyroaring import BitMap64

from deltaarrow.actions import Action, AddFile, RemoveFile
from deltaarrow.storage import Store, decode_path
from deltaarrow.transaction.removal import FileRow, RowRemoval, deletion_vector_prefix, remove_rows

__all__ = ["Staged"]


@dataclass
class Staged:
    """The part of a commit that callers decide on, as far as it has got.

    `actions` are in the order in which they were staged. `row_removals` say by path which rows of live files
    go. `written` are the store names of files that are deleted again when the transaction comes to nothing,
    and `taken` the paths, as the log spells them, of live files that do not stay as they are.
    """

    actions: list[Action] = field(default_factory=list)
    row_removals: dict[str, RowRemoval] = field(default_factory=dict)
    written: list[str] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self.actions or self.row_removals)

    def remove_rows(self, file: FileRow, positions: BitMap64) -> None:
        """Let rows of a live file go, besides those of it that go already."""
        present = self.row_removals.get(file["path"])
        both = positions.copy() if present is None else present.positions | positions
        self.row_removals[file["path"]] = RowRemoval(file, both)

    def apply_row_removals(self, store: Store, configuration: Mapping[str, str], now: int) -> None:
        """Write the deletion vectors of the rows that go, and stage what takes the place of their files."""
        if not self.row_removals:
            return
        prefix = deletion_vector_prefix(configuration)
        removes, adds, written = remove_rows(store, list(self.row_removals.values()), now, prefix=prefix)
        self.row_removals.clear()
        self.written.extend(written)
        self.taken.update(remove.path for remove in removes)
        self.actions.extend([*removes, *adds])

    @property
    def is_exact(self) -> bool:
        """Whether every file that is added is new to the table, and every one that is removed is live."""
        new = set(self.written)
        return all(
            action.path in self.taken or (isinstance(action, AddFile) and decode_path(action.path) in new)
            for action in self.actions
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
        for name in self.written[first:]:
            with contextlib.suppress(Exception):
                store.delete(name)
        del self.written[first:]
