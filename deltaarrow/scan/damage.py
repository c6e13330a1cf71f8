"""Errors for broken data files: one exception, which names the file, for all that pyarrow raises.

pyarrow raises different exceptions for broken files: `pyarrow.ArrowInvalid` for a truncated footer,
`OSError` for a page header that is not Thrift, `pyarrow.ArrowNotImplementedError` for an unknown encoding
after a bit flip.
"""

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Footer, read_footer
from deltaarrow.errors import ConstraintViolationError, CorruptDataFileError, DeltaError, StorageError
from deltaarrow.storage import IrregularFileError, Store, system_failure

__all__ = [
    "READ_ERRORS",
    "absent_file",
    "ensure_rows",
    "ensure_sound_footer",
    "location_to_read",
    "reading",
    "reading_failure",
    "sound_footer",
]

READ_ERRORS = (pa.ArrowException, OSError, UnicodeError)
"""Exceptions that pyarrow raises for a broken file; the subclass `pyarrow.ArrowCancelled` is not meant."""


_WITHOUT_IT = (
    "the version cannot be read any more, a newer one may not need the file, and repair() of a DeltaTable"
    " takes lost files out of the newest version"
)
_ABSENT_TO_DUCKDB = "No files found that match the pattern"
_UNREACHED_BY_DUCKDB = re.compile(
    r"^Traceback .*?^Storage(?:System)?Error: (cannot reach .*?)(?:\n\nLINE |\Z)", re.DOTALL | re.MULTILINE
)
"""DuckDB tells the error of a store, from which it reads through Python, by its traceback alone."""


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Raise the `DeltaError` of `reading_failure` if pyarrow cannot read the data file `path`."""
    try:
        yield
    except (pa.ArrowCancelled, DeltaError):
        raise
    except READ_ERRORS as error:
        raise reading_failure(f"the data file {path}", error) from error


def reading_failure(what: str, error: BaseException) -> DeltaError:
    """Return the error for a data file that a library cannot read; `what` names the file.

    It is a `StorageSystemError` if the system failed to open or read the file, whose content may be fine, a
    `StorageError` if DuckDB tells that a store cannot be reached, and a `CorruptDataFileError` otherwise.
    Errors of a store are returned unchanged.
    """
    if isinstance(error, DeltaError) and not isinstance(error, ConstraintViolationError):
        return error
    if unreached := _UNREACHED_BY_DUCKDB.search(str(error)):
        return StorageError(unreached[1].rstrip())
    if isinstance(error, IrregularFileError):
        return CorruptDataFileError(f"{what} is {error.strerror}; {_WITHOUT_IT}")
    if isinstance(error, FileNotFoundError) or _ABSENT_TO_DUCKDB in str(error):
        return absent_file(what)
    return system_failure(error, what) or CorruptDataFileError(f"{what} cannot be read: {error}")


def absent_file(what: str) -> CorruptDataFileError:
    """Return the error for a file that the log names and storage has not; `what` names it."""
    return CorruptDataFileError(
        f"{what} is in the log and not in storage: VACUUM or another program has deleted it; {_WITHOUT_IT}"
    )


def location_to_read(store: Store, path: str) -> str:
    """Return where another library than pyarrow opens a data file.

    Raises `CorruptDataFileError` if a pipe or another thing that is no file has the name.
    """
    if not store.is_local:
        return store.location(path)
    try:
        return store.arrow_path(path)
    except IrregularFileError as error:
        raise reading_failure(f"the data file {path}", error) from error


def ensure_rows(path: str, metadata: Any, recorded: int | None) -> None:
    """Raise `CorruptDataFileError` unless a footer, its row groups and the log agree on the number of rows.

    `metadata` is a `pyarrow.parquet.FileMetaData`; `recorded` is the number in the log, or None.
    """
    rows = metadata.num_rows
    grouped = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    if grouped != rows:
        raise CorruptDataFileError(f"the data file {path} has {grouped} rows; its footer says {rows}")
    if recorded not in (None, rows):
        raise CorruptDataFileError(f"the data file {path} has {rows} rows; the log says {recorded}")


def ensure_sound_footer(store: Store, path: str) -> None:
    """Read the footer of a data file again; raise `CorruptDataFileError` if it contradicts itself.

    A flipped bit in a column name makes one column absent and adds an unknown one; a flipped bit in a type
    casts values to wrong ones.
    """
    sound_footer(store, path)


def sound_footer(store: Store, path: str) -> Footer:
    """Return the footer of a data file; raise `CorruptDataFileError` if it contradicts itself."""
    with reading(path), store.arrow_filesystem().open_input_file(store.arrow_path(path)) as file:
        try:
            return read_footer(file)
        except ValueError as error:
            raise CorruptDataFileError(f"the data file {path} cannot be read: {error}") from error
