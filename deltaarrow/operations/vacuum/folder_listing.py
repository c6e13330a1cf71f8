"""Candidates of a full VACUUM: a listing of storage without hidden files, the log and other tables.

Hidden is what has a name, or is in a folder with a name, that begins with ``_`` or ``.``; but not the folders
of change data and of partitions whose column has such a name, nor the unfinished files of a writer that was
killed. A folder with a log of its own is another table and stays whole. Links to folders stay and are not
followed; a link to a file is a file.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from deltaarrow.columnar.numpy_arrays import empty_table
from deltaarrow.features import properties
from deltaarrow.log import LOG_FOLDER
from deltaarrow.operations.vacuum.candidates import CANDIDATES, Candidates, Decision, candidate_table
from deltaarrow.operations.vacuum.reasons import Reason
from deltaarrow.partitions import escape_path_name
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import FileStatus, FolderListing, Store, is_temporary_name

__all__ = ["FolderWalk", "HiddenNames", "candidates_of_walk", "list_candidates"]

_CHANGE_DATA = "_change_data"
_ICEBERG_METADATA = "metadata"
_FILES_A_TABLE = 1 << 16


@dataclass(frozen=True)
class HiddenNames:
    """Which names are hidden in a table: those that a VACUUM does not look at.

    Attributes:
        partitions: how folders of partitions begin whose column has a name that would hide them.
        roots: folders at the root that are hidden whatever their name.
    """

    partitions: tuple[str, ...] = ()
    roots: Collection[str] = ()

    @classmethod
    def of(cls, snapshot: Snapshot) -> "HiddenNames":
        """Return those of a table."""
        physical = [snapshot.physical_schema.fields[i].name for i in _places(snapshot)]
        columns = {*snapshot.partition_columns, *physical}
        formats = properties.UNIVERSAL_FORMAT_ENABLED_FORMATS.parse(snapshot.configuration)
        return cls(
            tuple(f"{escape_path_name(name)}=" for name in columns if name[:1] in ("_", ".")),
            (_ICEBERG_METADATA,) if "iceberg" in formats else (),
        )

    def hides(self, base: str, folder: str) -> bool:
        """Whether a name in a folder is hidden.

        >>> hidden = HiddenNames(("_p=",))
        >>> [hidden.hides(*each) for each in (("_p=1", ""), ("_q=1", ""), (".x", "a"), ("x", ""))]
        [False, True, True, False]
        >>> hidden.hides("_change_data", ""), hidden.hides("_change_data", "a")
        (False, True)
        """
        if not folder and base in (*self.roots, _CHANGE_DATA):
            return base in self.roots
        if base[:1] not in ("_", ".") or is_temporary_name(base):
            return False
        return not (self.partitions and base.startswith(self.partitions))

    def hides_path(self, path: str) -> bool:
        """Whether a name relative to the root is hidden, or in a folder that is, the log's included."""
        folder = ""
        for base in path.split("/"):
            if self.hides(base, folder):
                return True
            folder = f"{folder}/{base}" if folder else base
        return False


def _places(snapshot: Snapshot) -> list[int]:
    names = [each.name for each in snapshot.schema.fields]
    return [names.index(column) for column in snapshot.partition_columns]


@dataclass
class _Files:
    """Files that are gathered into tables."""

    tables: list[pa.Table] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    statuses: list[FileStatus | None] = field(default_factory=list)

    def add(self, paths: Sequence[str], statuses: Sequence[FileStatus | None] | None) -> None:
        self.paths += paths
        self.statuses += [None] * len(paths) if statuses is None else statuses
        if len(self.paths) >= _FILES_A_TABLE:
            self._flush()

    def add_all(self, other: "_Files") -> None:
        self.tables += other.tables
        self.add(other.paths, other.statuses)

    def _flush(self) -> None:
        sizes = [None if each is None else each.size for each in self.statuses]
        modified = [None if each is None else each.modified_ms for each in self.statuses]
        self.tables.append(candidate_table(self.paths, sizes, modified))
        self.paths, self.statuses = [], []

    def table(self) -> pa.Table:
        self._flush()
        return pa.concat_tables([empty_table(CANDIDATES), *self.tables])


@dataclass
class FolderWalk:
    """What a walk through folders finds.

    Args:
        hidden: which names are hidden.
        with_kept: whether files that stay for their name alone are asked for.
    """

    hidden: HiddenNames
    with_kept: bool
    files: _Files = field(default_factory=_Files)
    kept: dict[Reason, _Files] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    folders: list[tuple[str, bool, list[str]]] = field(default_factory=list)
    """Each folder that is looked into, whether it holds more than folders, and these."""
    _inherited: dict[str, Reason] = field(default_factory=dict)

    def go(self, store: Store, folder: str = "") -> "FolderWalk":
        """Go through a folder, and those below it; return this walk."""
        for listing in store.walk(folder):
            self.take(listing)
        return self

    def add(self, other: "FolderWalk") -> None:
        """Add what another walk has found, through folders below those of this one, or beside them."""
        self.files.add_all(other.files)
        for reason, files in other.kept.items():
            self.kept.setdefault(reason, _Files()).add_all(files)
        self.links |= other.links
        self.folders += other.folders

    def take(self, listing: FolderListing) -> None:
        """Take what is in a folder; what is kept whole is not entered unless `with_kept`."""
        folder = listing.folder
        prefix = f"{folder}/" if folder else ""
        reason = self._inherited.pop(folder, None)
        if reason is None and folder and LOG_FOLDER in listing.folders:
            reason = Reason.OTHER_TABLE
        if reason is not None:
            self._keep(reason, prefix, listing)
            return
        entered, kept = [], []
        for base in listing.folders:
            if self.hidden.hides(base, folder):
                kept.append(base)
                self._inherited[prefix + base] = Reason.LOG if prefix + base == LOG_FOLDER else Reason.HIDDEN
            else:
                entered.append(prefix + base)
        if not self.with_kept:
            listing.folders[:] = [base for base in listing.folders if base not in kept]
        has_content = bool(listing.files or listing.others or kept)
        self.folders.append((folder, has_content, entered))
        self._take_files(prefix, listing)
        self._keep_some(Reason.LINK, prefix, listing.others, None)
        self.links.update(prefix + base for base in listing.links)

    def _keep(self, reason: Reason, prefix: str, listing: FolderListing) -> None:
        self._keep_some(reason, prefix, [*listing.files, *listing.others], None)
        if self.with_kept:
            self._inherited.update({prefix + base: reason for base in listing.folders})
        else:
            listing.folders.clear()

    def _take_files(self, prefix: str, listing: FolderListing) -> None:
        folder, files, statuses = listing.folder, listing.files, listing.statuses
        hidden = [i for i, base in enumerate(files) if base[0] in "_." and self.hidden.hides(base, folder)]
        if hidden:
            self._keep_some(Reason.HIDDEN, prefix, [files[i] for i in hidden], None)
            out = set(hidden)
            shown = [i for i in range(len(files)) if i not in out]
            files = [files[i] for i in shown]
            statuses = None if statuses is None else [statuses[i] for i in shown]
        self.files.add([prefix + base for base in files] if prefix else files, statuses)

    def _keep_some(
        self, reason: Reason, prefix: str, bases: Sequence[str], statuses: Sequence[FileStatus] | None
    ) -> None:
        if self.with_kept and bases:
            self.kept.setdefault(reason, _Files()).add([prefix + base for base in bases], statuses)

    def empty_folders(self) -> tuple[str, ...]:
        """Return the folders in which there is nothing but such folders, those in others first."""
        empty: set[str] = set()
        found = []
        for folder, has_content, folders in reversed(self.folders):
            if folder and not has_content and empty.issuperset(folders):
                empty.add(folder)
                found.append(folder)
        return tuple(found)


def list_candidates(snapshot: Snapshot, *, with_kept: bool) -> Candidates:
    """List the files of a table's folder; with what stays for its name alone, if that is asked for."""
    walk = FolderWalk(HiddenNames.of(snapshot), with_kept).go(snapshot.store)
    return candidates_of_walk(walk, walk.files.table())


def candidates_of_walk(walk: FolderWalk, files: pa.Table) -> Candidates:
    """Return files that a walk has found as candidates, with what else it found."""
    return Candidates(
        files=files,
        default=Reason.UNREFERENCED,
        kept=[Decision.begin(kept.table(), reason) for reason, kept in walk.kept.items()],
        links=frozenset(walk.links),
        empty_folders=walk.empty_folders(),
        num_folders=len(walk.folders),
        is_listing=True,
    )
