"""The commit that a transaction intends, in the form that conflict rules read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pyroaring import BitMap64

from deltaarrow.actions import Action, AddFile, Metadata, RemoveFile
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import decode_path
from deltaarrow.transaction.isolation import IsolationLevel
from deltaarrow.transaction.read_set import ReadSet
from deltaarrow.transaction.removal import PresentVectors

__all__ = ["CommitIntent"]


@dataclass(frozen=True)
class CommitIntent:
    """What a transaction has read, from which version, and what it wants to commit.

    `removed_rows` maps a path to the positions of the rows that the transaction deletes. They are not in
    `actions`, because the deletion vectors depend on the version that the commit follows. `vectors` reads
    deletion vectors. `relocated` holds the paths of files whose rows stand, in order, in added files: a row
    that another commit deletes from an old file is deleted from the new one.
    """

    snapshot: Snapshot
    read: ReadSet
    actions: Sequence[Action]
    isolation: IsolationLevel
    removed_rows: Mapping[str, BitMap64] = field(default_factory=dict)
    vectors: PresentVectors = field(default_factory=PresentVectors)
    relocated: Collection[str] = ()

    @property
    def changes_metadata(self) -> bool:
        """Whether the commit changes the metadata."""
        return any(isinstance(action, Metadata) for action in self.actions)

    @cached_property
    def added_paths(self) -> set[str]:
        """The canonical paths of the added files."""
        return {decode_path(action.path) for action in self.actions if isinstance(action, AddFile)}

    @cached_property
    def removed_paths(self) -> set[str]:
        """The canonical paths of the files that are removed whole."""
        return {decode_path(action.path) for action in self.actions if isinstance(action, RemoveFile)}
