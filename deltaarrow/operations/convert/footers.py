"""The footers of many Parquet files, read in threads."""

from collections.abc import Callable, Sequence

from deltaarrow.columnar.footer_templates import FileFooter, FooterReader
from deltaarrow.columnar.parquet_footers import footer_length
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.runtime.gc_pause import gc_paused
from deltaarrow.scan.threads import mapped_in_order
from deltaarrow.storage import FileEntry, Store

__all__ = ["read_footers"]

_TAIL = 1 << 14
_FILES_AT_A_TIME = 128
_LOCAL_READERS = 2
_REQUESTS = 32


def read_footers(
    store: Store,
    files: Sequence[FileEntry],
    reader: FooterReader,
    progress: Callable[[int, int], None] | None = None,
) -> list[FileFooter]:
    """Return the footer of each file, in order; `progress` is told how many are read, and of how many.

    Raises `CorruptDataFileError` with the name of a file that is no Parquet file, or is damaged.
    """
    parts = [files[i : i + _FILES_AT_A_TIME] for i in range(0, len(files), _FILES_AT_A_TIME)]
    found: list[FileFooter] = []
    # Several requests at a time hide the latency of a remote store; a disk needs few.
    workers = _LOCAL_READERS if store.is_local else _REQUESTS
    with gc_paused():
        for part, tails in zip(
            parts, mapped_in_order(lambda part: _tails(store, part), parts, workers), strict=True
        ):
            for file, (footer, end) in zip(part, tails, strict=True):
                try:
                    found.append(reader.read(footer, end))
                except ValueError as error:
                    raise _damaged(store, file, error) from error
            if progress is not None:
                progress(len(found), len(files))
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
