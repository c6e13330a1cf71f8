"""Checks of the log against storage: data files, their footers and their deletion vectors."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from deltaarrow.deletion_vectors import DeletedRows, read_deletion_vector, read_deletion_vectors
from deltaarrow.errors import DeltaError, StorageError
from deltaarrow.log import LOG_FOLDER
from deltaarrow.scan import FileTask
from deltaarrow.scan.damage import ensure_sound_footer
from deltaarrow.scan.file_schemas.footers import read_row_counts
from deltaarrow.storage import Store
from deltaarrow.verify.report import Check, Examination

__all__ = ["examine_data_files", "examine_deletion_vectors"]

T = TypeVar("T")

_FOOTERS_AT_A_TIME = 1024
_VECTORS_AT_A_TIME = 256
_REQUESTS = 16


def _chunks(items: Sequence[T], length: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), length):
        yield items[start : start + length]


def _stored_sizes(store: Store, names: Iterable[str]) -> dict[str, int | StorageError | None]:
    """The size of every file, None if it does not exist, or the error that explains why it cannot exist."""

    def size(name: str) -> int | StorageError | None:
        try:
            return store.size(name)
        except FileNotFoundError:
            return None
        except StorageError as error:
            return error

    listed = {e.name: e.size for e in store.list_recursive() if not e.name.startswith(f"{LOG_FOLDER}/")}
    sizes: dict[str, int | StorageError | None] = {name: listed.get(name) for name in names}
    # Not in the listing: stored elsewhere, behind a link, or missing.
    unlisted = [name for name, listed_size in sizes.items() if listed_size is None]
    with ThreadPoolExecutor(_REQUESTS) as pool:
        sizes.update(zip(unlisted, pool.map(size, unlisted), strict=True))
    return sizes


def examine_data_files(found: Examination, store: Store, tasks: Sequence[FileTask]) -> dict[str, int]:
    """Check that files exist, are whole and readable; return the row count of each good one, by path."""
    sizes = _stored_sizes(store, (task.path for task in tasks))
    good: dict[str, None] = {}
    seen: set[str] = set()
    for task in tasks:
        found.checked[Check.DATA_FILE] += 1
        size = sizes[task.path]
        if task.path in seen:
            found.error(Check.DATA_FILE, "the file is live twice, with different deletion vectors", task.path)
        elif size is None:
            found.error(Check.DATA_FILE, "the file is in the log but not in storage", task.path)
        elif isinstance(size, StorageError):
            found.error(Check.DATA_FILE, f"the file cannot be reached: {size}", task.path)
        elif size != task.size:
            what = f"the file has {size} bytes, but the log says {task.size}"
            found.error(Check.DATA_FILE, what, task.path)
        else:
            good[task.path] = None
        seen.add(task.path)
    counts: dict[str, int] = {}
    for paths in _chunks(list(good), _FOOTERS_AT_A_TIME):
        try:
            counts |= read_row_counts(store, paths)
        except DeltaError:
            # One of them is broken: asking for each alone finds it, and all other broken ones.
            for path in paths:
                try:
                    counts |= read_row_counts(store, [path])
                except DeltaError as error:
                    found.error(Check.DATA_FILE, error, path)
    for path in _contradictory(found, store, [*counts]):
        del counts[path]
    return counts


def _contradictory(found: Examination, store: Store, paths: Sequence[str]) -> list[str]:
    """Report the files whose footers contradict themselves; return their paths."""

    def fault(path: str) -> DeltaError | None:
        try:
            ensure_sound_footer(store, path)
        except DeltaError as error:
            return error
        return None

    with ThreadPoolExecutor(_REQUESTS) as pool:
        faults = [(path, error) for path, error in zip(paths, pool.map(fault, paths), strict=True) if error]
    for path, error in faults:
        found.error(Check.DATA_FILE, error, path)
    return [path for path, _ in faults]


def examine_deletion_vectors(
    found: Examination, store: Store, tasks: Sequence[FileTask], rows: dict[str, int]
) -> None:
    """Check every deletion vector by itself and against the row count of its file, where known."""
    masked = [task for task in tasks if task.deletion_vector is not None]
    for some in _chunks(masked, _VECTORS_AT_A_TIME):
        found.checked[Check.DELETION_VECTOR] += len(some)
        for task, vector in _read_vectors(store, some):
            if task.num_records is None:
                what = "a file with a deletion vector has no numRecords in its statistics"
                found.error(Check.DELETION_VECTOR, what, task.path)
            if isinstance(vector, DeltaError):
                found.error(Check.DELETION_VECTOR, vector, task.path)
                continue
            try:
                vector.ensure_within(rows.get(task.path, 1 << 63))
            except DeltaError as error:
                found.error(Check.DELETION_VECTOR, error, task.path)


def _read_vectors(
    store: Store, tasks: Sequence[FileTask]
) -> Iterator[tuple[FileTask, DeletedRows | DeltaError]]:
    descriptors = [task.deletion_vector for task in tasks if task.deletion_vector is not None]
    try:
        yield from zip(tasks, read_deletion_vectors(store, descriptors), strict=True)
    except DeltaError:
        for task, descriptor in zip(tasks, descriptors, strict=True):
            try:
                vector: DeletedRows | DeltaError = read_deletion_vector(store, descriptor)
            except DeltaError as error:
                vector = error
            yield task, vector
