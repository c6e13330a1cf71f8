"""The footers of many Parquet files, read in threads."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Footer, FooterParser, RowGroup, footer_length
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.runtime.gc_pause import gc_paused
from deltaarrow.scan.threads import mapped_in_order
from deltaarrow.storage import FileEntry, Store

__all__ = ["FileFooter", "FileSchema", "SourceFooters", "read_footers"]

_TAIL = 1 << 14
_FILES_AT_A_TIME = 128
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


def read_footers(
    store: Store, files: Sequence[FileEntry], progress: Callable[[int, int], None] | None = None
) -> SourceFooters:
    """Read the footers of files; `progress` is told how many are read, and of how many.

    Raises `CorruptDataFileError` with the name of a file that is no Parquet file, or is damaged.
    """
    parts = [files[i : i + _FILES_AT_A_TIME] for i in range(0, len(files), _FILES_AT_A_TIME)]
    found, parser = SourceFooters(), FooterParser()
    places: dict[bytes, int] = {}
    # Several requests at a time hide the latency of a remote store; a disk needs few.
    workers = _LOCAL_READERS if store.is_local else _REQUESTS
    with gc_paused():
        for part, tails in zip(
            parts, mapped_in_order(lambda part: _tails(store, part), parts, workers), strict=True
        ):
            for file, (data, end) in zip(part, tails, strict=True):
                try:
                    footer = parser.parse(data, end)
                    place = places.setdefault(footer.schema, len(places))
                    if place == len(found.schemas):
                        found.schemas.append(FileSchema(file.name, footer, footer.arrow_schema()))
                except ValueError as error:
                    raise _damaged(store, file, error) from error
                found.files.append(FileFooter(place, footer.num_rows, footer.row_groups))
            if progress is not None:
                progress(len(found.files), len(files))
    return found


def _tails(store: Store, files: Sequence[FileEntry]) -> list[tuple[bytes, int]]:
    """Return the footer of each file, and where it begins in the file."""
    found = []
    for file in files:
        start = max(0, file.size - _TAIL)
        tail = store.read_range(file.name, start, file.size - start)
        try:
            length = footer_length(tail, file.size)
        except ValueError as error:
            raise _damaged(store, file, error) from error
        end = file.size - 8 - length
        if end < start:
            tail = store.read_range(file.name, end, length + 8)
        found.append((tail[-8 - length : -8], end))
    return found


def _damaged(store: Store, file: FileEntry, error: ValueError) -> CorruptDataFileError:
    return CorruptDataFileError(
        f"{file.name} of {store.uri} cannot be read as Parquet: {error}; move it away, or write it again"
    )
