"""The footers of many Parquet files, read in threads, or by tasks of an executor of other processes."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Footer, FooterParser, RowGroup, footer_length
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.runtime.executors import TaskLimits, executor_in_use
from deltaarrow.runtime.gc_pause import gc_paused
from deltaarrow.scan.threads import mapped_in_order
from deltaarrow.storage import FileEntry, Store
from deltaarrow.storage.failures import expecting_file

__all__ = ["FileFooter", "FileSchema", "SourceFooters", "read_footers"]

_TAIL = 1 << 14
_FILES_AT_A_TIME = 128
_FILES_OF_A_TASK = 1024
_LOCAL_READERS = 2
_REQUESTS = 32


class FileFooter(NamedTuple):
    """What is kept of the footer of a file; `schema` is the place of its schema in `SourceFooters`."""

    schema: int
    num_rows: int
    row_groups: Sequence[RowGroup]


class FileSchema(NamedTuple):
    """A Parquet schema of files: the name and the footer of the first one, and its columns in Arrow."""

    file: str
    footer: Footer
    arrow_schema: pa.Schema


@dataclass(frozen=True)
class SourceFooters:
    """The footers of files, in order, and their schemas, each once."""

    files: list[FileFooter] = field(default_factory=list)
    schemas: list[FileSchema] = field(default_factory=list)
    _places: dict[bytes, int] = field(default_factory=dict, repr=False)

    def place_of(self, footer: Footer) -> int | None:
        """Return the place of the schema of a footer, if it is known."""
        return self._places.get(footer.schema)

    def add_schema(self, schema: FileSchema) -> int:
        """Return the place of a schema, which may be new."""
        place = self._places.setdefault(schema.footer.schema, len(self.schemas))
        if place == len(self.schemas):
            self.schemas.append(schema)
        return place

    def add(self, others: "SourceFooters") -> None:
        """Add the footers of more files."""
        places = [self.add_schema(schema) for schema in others.schemas]
        self.files.extend(file._replace(schema=places[file.schema]) for file in others.files)


def read_footers(
    store: Store, files: Sequence[FileEntry], progress: Callable[[int, int], None] | None = None
) -> SourceFooters:
    """Read the footers of files; `progress` is told how many are read, and of how many.

    Raises `CorruptDataFileError` with the name of a file that is no Parquet file, or is damaged.
    """
    found = SourceFooters()
    executor = executor_in_use()
    if executor.parts([]) is None:
        with gc_paused():
            for count in _read(store, files, found):
                if progress is not None:
                    progress(count, len(files))
        return found
    tasks = [
        _FooterTask(store, files[i : i + _FILES_OF_A_TASK]) for i in range(0, len(files), _FILES_OF_A_TASK)
    ]
    limits = TaskLimits(len(tasks), "deltaarrow-footers")
    parts: dict[int, SourceFooters] = {}
    with contextlib.closing(executor.run([task.run for task in tasks], limits)) as results:
        for place, part in results:
            parts[place] = part
            if progress is not None:
                progress(sum(len(each.files) for each in parts.values()), len(files))
    for place in sorted(parts):
        found.add(parts.pop(place))
    return found


@dataclass(frozen=True)
class _FooterTask:
    """Reads the footers of some files; picklable."""

    store: Store
    files: Sequence[FileEntry]

    def run(self) -> SourceFooters:
        found = SourceFooters()
        with gc_paused():
            for _ in _read(self.store, self.files, found):
                pass
        return found


def _read(store: Store, files: Sequence[FileEntry], found: SourceFooters) -> Iterator[int]:
    """Add the footers of files; yield how many are read, now and then."""
    parts = [files[i : i + _FILES_AT_A_TIME] for i in range(0, len(files), _FILES_AT_A_TIME)]
    parser = FooterParser()
    # Several requests at a time hide the latency of a remote store; a disk needs few.
    workers = _LOCAL_READERS if store.is_local else _REQUESTS
    tails_of_parts = mapped_in_order(lambda part: _tails(store, part), parts, workers)
    for part, tails in zip(parts, tails_of_parts, strict=True):
        for file, (data, end) in zip(part, tails, strict=True):
            try:
                footer = parser.parse(data, end)
                place = found.place_of(footer)
                if place is None:
                    place = found.add_schema(FileSchema(file.name, footer, footer.arrow_schema()))
            except ValueError as error:
                raise _damaged(store, file, error) from error
            found.files.append(FileFooter(place, footer.num_rows, footer.row_groups))
        yield len(found.files)


def _tails(store: Store, files: Sequence[FileEntry]) -> list[tuple[bytes, int]]:
    """Return the footer of each file, and where it begins in the file."""
    found = []
    for file in files:
        start = max(0, file.size - _TAIL)
        with expecting_file(file.name, store.uri):
            tail = store.read_range(file.name, start, file.size - start)
        try:
            length = footer_length(tail, file.size)
        except ValueError as error:
            raise _damaged(store, file, error) from error
        end = file.size - 8 - length
        if end < start:
            with expecting_file(file.name, store.uri):
                tail = store.read_range(file.name, end, length + 8)
        found.append((tail[-8 - length : -8], end))
    return found


def _damaged(store: Store, file: FileEntry, error: ValueError) -> CorruptDataFileError:
    return CorruptDataFileError(
        f"{file.name} of {store.uri} cannot be read as Parquet: {error}; move it away, or write it again"
    )
