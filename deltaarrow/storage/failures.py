"""Conversion of operating system errors to `StorageError`.

A missing or existing file is an answer, not a failure, and keeps Python's own error: `FileNotFoundError`,
`NotADirectoryError`, `FileExistsError`. Only a writer asks for no file: if the folder that it made is gone,
that is a failure. Other refusals of the system (too many open files, no permission, no space, a broken disk)
say nothing about the table.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from deltaarrow.display.hidden_causes import hide_secrets, secrets_of
from deltaarrow.display.redaction import redacted, without_secrets_of
from deltaarrow.errors import DeltaError, StorageError, StorageSystemError

__all__ = [
    "IrregularFileError",
    "expecting_file",
    "is_failure",
    "naming_failures",
    "storage_failure",
    "system_failure",
    "writing",
]

_ANSWERS = (FileNotFoundError, FileExistsError, NotADirectoryError)

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_TOLD_AS_TEXT = (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EACCES, errno.EPERM)
"""Errors recognised by their text, for libraries that pass on nothing else."""


class IrregularFileError(FileNotFoundError):
    """A folder, a pipe, a socket or a device has the name of a file; reading a pipe may never end."""

    def __init__(self, path: str, mode: int) -> None:
        found = next((text for is_kind, text in _KINDS if is_kind(mode)), "no regular file")
        super().__init__(errno.ENOENT, f"{found}, not a regular file", path)


def is_failure(error: BaseException) -> bool:
    """Whether an error means that the system failed, rather than an answer such as a missing file."""
    return isinstance(error, OSError) and not isinstance(error, (DeltaError, *_ANSWERS))


def storage_failure(error: BaseException, where: str) -> StorageError:
    """Return the error for a failure at a place, whose secrets go from the error of the library."""
    hide_secrets(error, secrets_of(where))
    return system_failure(error, where) or StorageError(
        f"cannot reach {where!r}: {without_secrets_of(where, str(error))}"
    )


def system_failure(error: BaseException, where: str) -> StorageSystemError | None:
    """Return the system failure behind a library's error; None if there is none."""
    if isinstance(error, (DeltaError, *_ANSWERS)):
        return None
    number = error.errno if isinstance(error, OSError) else None
    text = str(error)
    if number is None and (isinstance(error, OSError) or type(error).__module__ == "_duckdb"):
        number = next((each for each in _TOLD_AS_TEXT if os.strerror(each) in text), None)
    if number is None:
        return None
    text = without_secrets_of(where, text)
    return StorageSystemError(number, f"cannot reach {where!r}: {os.strerror(number)} ({text})")


@contextlib.contextmanager
def naming_failures(where: str) -> Iterator[None]:
    """Raise a `StorageError` that names the place if the system fails there."""
    try:
        yield
    except OSError as error:
        if not is_failure(error):
            raise
        raise storage_failure(error, where) from error


@contextlib.contextmanager
def writing(where: str) -> Iterator[None]:
    """As `naming_failures`, for a file that is written: its folder may be deleted at any time."""
    try:
        with naming_failures(where):
            yield
    except FileNotFoundError as error:
        raise StorageSystemError(
            errno.ENOENT, f"cannot write {where!r}: another process has deleted its folder meanwhile"
        ) from error
    except NotADirectoryError as error:
        raise StorageSystemError(
            errno.ENOTDIR, f"cannot write {where!r}: a file is in the place of a folder above it"
        ) from error


@contextlib.contextmanager
def expecting_file(name: str, where: str) -> Iterator[None]:
    """Raise a `StorageError` if a file that was listed, or written by this operation, is there no more."""
    try:
        yield
    except IrregularFileError as error:
        raise StorageError(f"{name} of {redacted(where)} is {error.strerror}") from error
    except FileNotFoundError as error:
        raise StorageError(
            f"{name} of {redacted(where)} is gone: another process has deleted it meanwhile; try again"
        ) from error
