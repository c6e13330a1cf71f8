"""Writes to S3: conditional puts, streamed uploads, bulk deletions.

S3 puts an object only if it is absent when the request says ``If-None-Match: *``. A server that does not
know the condition ignores it silently; `FsspecStore.can_put_if_absent` finds that out.
"""

import contextlib
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from deltaarrow.storage.service import OutputStore
from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = ["S3Output", "delete_objects", "put_object_if_absent"]

_PART_BYTES = 8 << 20
_CONFLICT_RETRIES = 5
_PAUSE_SECONDS = 0.05
_MOST_DELETED = 1000
"""The objects that one request may delete."""
_MARK = "deltaarrow-upload"
"""The object metadata that identifies the upload."""


def put_object_if_absent(filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
    """Create the object, or raise `FileExistsError`.

    If several writers put it at once, S3 may answer all but one with a conflict and ask them to try again;
    the retry then finds the object.
    """
    bucket, key, _ = filesystem.split_path(path)
    request = {"Bucket": bucket, "Key": key, "Body": data, "IfNoneMatch": "*", **filesystem.req_kw}
    for attempt in range(_CONFLICT_RETRIES + 1):
        try:
            filesystem.call_s3("put_object", **request)
            return
        except OSError as error:
            if isinstance(error, FileExistsError) or _code(error) == "PreconditionFailed":
                raise FileExistsError(path) from error
            if _code(error) != "ConditionalRequestConflict" or attempt == _CONFLICT_RETRIES:
                raise
            time.sleep(_PAUSE_SECONDS * 2**attempt)


def _code(error: BaseException) -> str | None:
    """The code of S3's answer, which s3fs keeps in the cause of its own error."""
    response: Any = getattr(error, "response", None) or getattr(error.__cause__, "response", None) or {}
    code: str | None = response.get("Error", {}).get("Code")
    return code


def delete_objects(filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]) -> dict[str, str]:
    """Delete objects of one bucket; return what the server says of those that it has not deleted.

    Keys go into the request as they are: s3fs would take ``*``, ``?`` and ``[`` in them for patterns.
    """
    failures: dict[str, str] = {}
    for start in range(0, len(paths), _MOST_DELETED):
        parts = [filesystem.split_path(path) for path in paths[start : start + _MOST_DELETED]]
        bucket = parts[0][0]
        objects = [{"Key": key} for _, key, _ in parts]
        request = {"Bucket": bucket, "Delete": {"Objects": objects, "Quiet": True}, **filesystem.req_kw}
        for error in filesystem.call_s3("delete_objects", **request).get("Errors", ()):
            failures[f"{bucket}/{error['Key']}"] = f"{error.get('Code')}: {error.get('Message')}"
    return failures


class S3Output(Output):
    """Parts that become an object at the end; the parts of an abandoned upload are deleted.

    The object's metadata identifies its upload. If the answer to the last request is lost, and the client's
    repetition finds the object there, the metadata shows that it is this upload's.
    """

    def __init__(self, path: str, store: OutputStore) -> None:
        self._path, self._store = path, store
        self._mark = str(uuid.uuid4())
        filesystem = store.fsspec_filesystem()
        metadata = {**filesystem.s3_additional_kwargs.get("Metadata", {}), _MARK: self._mark}
        self._file = filesystem.open(path, "xb", block_size=_PART_BYTES, Metadata=metadata)
        super().__init__(self._file)

    def write(self, data: Any) -> int:
        """Append bytes or any buffer, sending each full part; return their number."""
        with self._reaching():
            return super().write(data)

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """A block in which s3fs sends the parts with credentials that are valid now."""
        with self._store.reaching():
            self._file.fs = self._store.fsspec_filesystem()
            yield

    def _publish(self) -> None:
        with self._reaching():
            try:
                self._file.close()
            except Exception as error:
                if self._is_there():
                    return
                if _code(error) == "PreconditionFailed":
                    raise FileExistsError(self._path) from error
                raise

    def _is_there(self) -> bool:
        """Whether the object is the one of this upload; False if that cannot be found out."""
        filesystem = self._store.fsspec_filesystem()
        bucket, key, _ = filesystem.split_path(self._path)
        request = {"Bucket": bucket, "Key": key, **filesystem.req_kw}
        with contextlib.suppress(Exception):
            found = filesystem.call_s3("head_object", **request)
            return bool(found["Metadata"].get(_MARK) == self._mark)
        return False

    def _abandon(self) -> None:
        # s3fs would complete the upload of a file that is dropped unclosed.
        self._file.closed = True
        # Leftover parts are harmless; raising here would hide why the upload was abandoned.
        with contextlib.suppress(Exception), self._reaching():
            self._file.discard()
