"""What is wrong with a data file, as the one error that names it.

pyarrow raises what its layers come upon: `pyarrow.ArrowInvalid` for a footer that is cut off, `OSError`
for a page header that is not Thrift, `pyarrow.ArrowNotImplementedError` for an encoding that a flipped bit
has made up. To the caller all of them are a data file that contradicts its format.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import read_footer
from deltaarrow.errors import ConstraintViolationError, CorruptDataFileError, DeltaError
from deltaarrow.storage import Store, system_failure

__all__ = ["READ_ERRORS", "ensure_rows", "ensure_sound_footer", "reading", "reading_failure"]

READ_ERRORS = (pa.ArrowException, OSError, UnicodeError)
"""What pyarrow raises at a broken file. `pyarrow.ArrowCancelled`, which is among them, is no such thing."""


@contextlib.contextmanager
def reading(path: str) -> Iterator[None]:
    """Raise the `DeltaError` of `reading_failure` when pyarrow cannot read the data file `path`."""
    try:
        yield
    except pa.ArrowCancelled:
        raise
    except READ_ERRORS as error:
        raise reading_failure(f"the data file {path}", error) from error


def reading_failure(what: str, error: BaseException) -> DeltaError:
    """Return the error for a data file that a library cannot read: `what` names it.

    `StorageSystemError` where the system would not open or read it, which says nothing of the file;
    `CorruptDataFileError` otherwise. What a store has said already stays as it is.
    """
    if isinstance(error, DeltaError) and not isinstance(error, ConstraintViolationError):
        return error
    if isinstance(error, FileNotFoundError):
        return CorruptDataFileError(f"{what} is in the log and not in storage")
    return system_failure(error, what) or CorruptDataFileError(f"{what} cannot be read: {error}")


def ensure_rows(path: str, metadata: Any, recorded: int | None) -> None:
    """Raise `CorruptDataFileError` unless a footer, its row groups and the log agree on the number of rows.

    `metadata` is a `pyarrow.parquet.FileMetaData`, `recorded` what the log says, if it does.
    """
    rows = metadata.num_rows
    grouped = sum(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
    if grouped != rows:
        raise CorruptDataFileError(f"the data file {path} has {grouped} rows; its footer says {rows}")
    if recorded not in (None, rows):
        raise CorruptDataFileError(f"the data file {path} has {rows} rows; the log says {recorded}")


def ensure_sound_footer(store: Store, path: str) -> None:
    """Raise `CorruptDataFileError` when the footer of a data file contradicts itself; it is read anew.

    A flipped bit in the name of a column makes a column that the file lacks and one that nobody knows; in a
    type, values that are cast to others.
    """
    with reading(path), store.arrow_filesystem().open_input_file(store.arrow_path(path)) as file:
        try:
            read_footer(file)
        except ValueError as error:
            raise CorruptDataFileError(f"the data file {path} cannot be read: {error}") from error
