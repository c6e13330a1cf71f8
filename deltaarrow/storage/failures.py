"""What the operating system answers a store, told as `StorageError`.

That a file is not there, or there already, is an answer and stays Python's own: `FileNotFoundError`,
`NotADirectoryError`, `FileExistsError`. Whatever else the system refuses (too many open files, no right, no
room, a broken disk) says nothing of the table.
"""

import contextlib
import errno
import os
from collections.abc import Iterator

from deltaarrow.errors import DeltaError, StorageError, StorageSystemError

__all__ = ["is_failure", "naming_failures", "storage_failure", "system_failure"]

_ANSWERS = (FileNotFoundError, FileExistsError, NotADirectoryError)

_TOLD_AS_TEXT = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES, errno.EPERM)
"""What is recognised by its text where a library has no more of it than that."""


def is_failure(error: BaseException) -> bool:
    """Whether Python says by an error that the system fails, and not how it answers."""
    return isinstance(error, OSError) and not isinstance(error, (DeltaError, *_ANSWERS))


def storage_failure(error: BaseException, where: str) -> StorageError:
    """Return the error for a failure at a place."""
    return system_failure(error, where) or StorageError(f"cannot reach {where!r}: {error}")


def system_failure(error: BaseException, where: str) -> StorageSystemError | None:
    """Return the failure of the system that an error of a library stands for; None if it stands for none."""
    if isinstance(error, (DeltaError, *_ANSWERS)):
        return None
    number = error.errno if isinstance(error, OSError) else None
    text = str(error)
    if number is None and (isinstance(error, OSError) or type(error).__module__ == "_duckdb"):
        number = next((each for each in _TOLD_AS_TEXT if os.strerror(each) in text), None)
    if number is None:
        return None
    return StorageSystemError(number, f"cannot reach {where!r}: {os.strerror(number)} ({text})")


@contextlib.contextmanager
def naming_failures(where: str) -> Iterator[None]:
    """Raise the `StorageError` that names a place where the system fails at it."""
    try:
        yield
    except OSError as error:
        if not is_failure(error):
            raise
        raise storage_failure(error, where) from error
