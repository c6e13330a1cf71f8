"""A full VACUUM whose folders are listed by tasks of an executor that runs them in other processes.

This process lists the uppermost folders, one level after another, until there are enough of them below. They
are divided among tasks, and so are the names of needed files, by these folders. A task lists its folders,
leaves out what is needed, and asks for sizes and times of the rest. So this process holds neither the listing
nor, but compressed, the names of the live files.

Tasks compare names. Whether two names lead to one file is decided by one process, because hosts number the
devices of a shared file system differently.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.columnar.numpy_arrays import booleans, integers, numbers_of, scalar_of
from deltaarrow.operations.vacuum.candidates import Candidates, Decision, whole
from deltaarrow.operations.vacuum.folder_listing import FolderWalk, HiddenNames, candidates_of_walk
from deltaarrow.operations.vacuum.needed import Needed, NeededSource, held_against
from deltaarrow.operations.vacuum.reasons import Reason
from deltaarrow.operations.vacuum.statuses import with_statuses
from deltaarrow.runtime.executors import TaskLimits, executor_in_use
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.threads import mapped_in_order
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import Store

__all__ = ["list_unneeded"]

_LISTED_HERE, _LISTED_HERE_OF_DISK = 1 << 14, 1 << 18
"""A job of Spark takes about as long as 16 requests for 1,000 objects each, or a disk for so many files."""
_FOLDERS = 16
"""Below so many folders the next level is listed here, too."""
_MOST_GROUPS = 1024
"""Folders are divided among tasks by groups, so that few lists of names are kept for many folders."""
_SIZE_OF_FILE = 1 << 10
"""A listed file costs a part so many bytes. A folder costs as much as 1,024 files: a request to a store."""
_NAMES_HELD = 1 << 20
"""So many names are compressed together."""
_REQUESTS = 16
_NO_NAMES = ("", ".", "..")
"""An object may have such a part in its name; the name of a folder that ends in one means another folder."""


def list_unneeded(
    snapshot: Snapshot, sources: Sequence[NeededSource], listed_here: int | None
) -> tuple[Candidates, Needed | None]:
    """List the files of a table's folder; where tasks do it, without the needed ones.

    Tasks do it if the executor in use runs them elsewhere and the table has more than `listed_here` files;
    None stands for the number from which on tasks are quicker. The needed files are returned then that are
    no candidates and may be one of them by another name. Where this process has listed all, it returns None
    for them. Raises what reading `sources` raises.
    """
    walk = FolderWalk(HiddenNames.of(snapshot), with_kept=False)
    store = snapshot.store
    if listed_here is None:
        listed_here = _LISTED_HERE_OF_DISK if store.is_local else _LISTED_HERE
    level = None
    if executor_in_use().parts([]) is not None and snapshot.totals()[0] > listed_here:
        level = _list_top(store, walk)
    if level is None:
        walk = FolderWalk(walk.hidden, with_kept=False).go(store)
    if level is None or not level.folders:
        return candidates_of_walk(walk, walk.files.table()), None
    needed = _NeededByFolder(level)
    for source in sources:
        # Called again after a cleanup of the log, it takes some names twice.
        source.through(needed.add)
    needed.pack()
    found = [_unneeded(store, walk, needed.elsewhere), *_run(store, walk.hidden, needed)]
    for each in found[1:]:
        walk.folders += each.folders
        walk.links |= each.links
    candidates = candidates_of_walk(walk, pa.concat_tables([_unpacked(each.files) for each in found]))
    return candidates, Needed(others=[name for each in found for name in each.aliases])


class _Level(NamedTuple):
    """Folders that are not listed yet, all of them so many folders below the root."""

    depth: int
    folders: list[str]


def _list_top(store: Store, walk: FolderWalk) -> _Level | None:
    """List the uppermost folders, and return those below; None if a name would be taken for another one."""
    level = _Level(0, [""])
    while level.folders and len(level.folders) < _FOLDERS:
        below = []
        for folder in level.folders:
            listing = store.list_folder(folder)
            if listing is None:
                continue
            if any(base in _NO_NAMES for base in listing.folders):
                return None
            walk.take(listing)
            below += [f"{folder}/{base}" if folder else base for base in listing.folders]
        level = _Level(level.depth + 1, below)
    return level


@dataclass
class _NeededByFolder:
    """The names of needed files, by groups of the folders of a level.

    Attributes:
        counts: how many names each group has.
        packed: the names of each group, compressed.
        elsewhere: the names in no folder of the level.
    """

    level: _Level
    elsewhere: list[pa.Array] = field(default_factory=list)
    _held: list[list[pa.Array]] = field(init=False)
    _num_held: int = 0

    def __post_init__(self) -> None:
        groups = min(len(self.level.folders), _MOST_GROUPS)
        self.counts = np.zeros(groups, np.int64)
        self.packed: list[list[bytes]] = [[] for _ in range(groups)]
        self._held = [[] for _ in range(groups)]

    def folders(self, group: int) -> list[str]:
        """Return the folders of a group."""
        return self.level.folders[group :: len(self.counts)]

    def add(self, names: Iterator[pa.Array]) -> None:
        """Add names; NULL does not count."""
        for array in names:
            inside = array.drop_null()
            if not len(inside):
                continue
            groups = self._groups(inside)
            order = np.argsort(groups, kind="stable")
            found, begins = np.unique(groups[order], return_index=True)
            in_order = inside.take(integers(order))
            for group, begin, end in zip(found, begins, [*begins[1:], len(order)], strict=True):
                part = in_order[begin:end]
                if group < 0:
                    self.elsewhere.append(part)
                else:
                    self._held[group].append(part)
                    self.counts[group] += len(part)
            self._num_held += len(inside)
            if self._num_held > _NAMES_HELD:
                self.pack()

    def _groups(self, names: pa.Array) -> np.ndarray:
        """The group of each name, by the folder that it is in; -1 if that is none of the level."""
        above = pc.struct_field(pc.extract_regex(names, self._pattern), "folder").dictionary_encode()
        known = self._places
        groups = np.array([*(known.get(name, -1) for name in above.dictionary.to_pylist()), -1])
        places = pc.fill_null(above.indices, scalar_of(len(groups) - 1, above.indices.type))
        found: np.ndarray = groups[numbers_of(places)]
        return found

    @cached_property
    def _pattern(self) -> str:
        return f"^(?P<folder>[^/]+(?:/[^/]+){{{self.level.depth - 1}}})/"

    @cached_property
    def _places(self) -> dict[str, int]:
        return {folder: place % len(self.counts) for place, folder in enumerate(self.level.folders)}

    def pack(self) -> None:
        """Compress what is held."""
        for packed, held in zip(self.packed, self._held, strict=True):
            if held:
                packed.append(_packed(pa.table([pa.concat_arrays(held)], ["path"])))
                held.clear()
        self._num_held = 0


class _Unneeded(NamedTuple):
    """What a task has found.

    Attributes:
        files: candidates that are not needed, compressed.
        links: the links among them.
        aliases: needed names that are links, or were not found: they may be a candidate by another name.
        folders: see `FolderWalk`.
    """

    files: bytes
    links: set[str]
    aliases: list[str]
    folders: list[tuple[str, bool, list[str]]]


def _run(store: Store, hidden: HiddenNames, needed: _NeededByFolder) -> list[_Unneeded]:
    executor = executor_in_use()
    groups = range(len(needed.counts))
    # What a part costs beyond its size is the cost of the first folder.
    sizes = [
        int(needed.counts[group]) * _SIZE_OF_FILE + (len(needed.folders(group)) - 1) * 1024 * _SIZE_OF_FILE
        for group in groups
    ]
    parts = executor.parts(sizes)
    assert parts is not None  # as tasks are run elsewhere
    tasks = [
        _ListTask(
            store,
            hidden,
            [folder for group in part for folder in needed.folders(group)],
            [names for group in part for names in needed.packed[group]],
        )
        for part in parts
    ]
    if len(tasks) == 1:
        return [tasks[0]()]
    limits = TaskLimits(len(tasks), "deltaarrow-listing")
    with contextlib.closing(executor.run(tasks, limits)) as results:
        found = dict(results)
    return [found[place] for place in range(len(tasks))]


@dataclass(frozen=True)
class _ListTask:
    """Lists folders, and leaves out what is needed; picklable."""

    store: Store
    hidden: HiddenNames
    folders: list[str]
    needed: list[bytes]

    def __call__(self) -> _Unneeded:
        walk = FolderWalk(self.hidden, with_kept=False)
        # Several requests at a time hide the latency of a remote store.
        workers = 0 if self.store.is_local else _REQUESTS
        for found in mapped_in_order(self._walked, self.folders, workers):
            walk.add(found)
        names = (whole(_unpacked(each).column("path")) for each in self.needed)
        return _unneeded(self.store, walk, names)

    def _walked(self, folder: str) -> FolderWalk:
        return FolderWalk(self.hidden, with_kept=False).go(self.store, folder)


def _unneeded(store: Store, walk: FolderWalk, needed: Iterator[pa.Array] | list[pa.Array]) -> _Unneeded:
    files = walk.files.table()
    paths = whole(files.column("path"))
    # An object has one name.
    held = held_against(paths, needed, with_others=store.is_local)
    links = build_array(sorted(walk.links), pa.string())
    is_needed = pc.is_in(links, value_set=paths.filter(booleans(held.is_needed)))
    decision = Decision.begin(files.filter(booleans(~held.is_needed)), Reason.UNREFERENCED)
    decision, _ = with_statuses(store, decision)
    return _Unneeded(
        _packed(decision.files),
        set(links.filter(pc.invert(is_needed)).to_pylist()),
        [*links.filter(is_needed).to_pylist(), *held.others],
        walk.folders,
    )


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _unpacked(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
