"""Writing to S3: conditional puts, the proof that a server honours them, and streamed uploads.

S3 puts an object only if it is absent when the request says ``If-None-Match: *``. A server that does not
know the condition ignores it without a word, and two writers would overwrite each other's commits, so
none is believed unseen: an object of our own is put twice, and the second put has to fail.
"""

import contextlib
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = ["S3Output", "put_object_if_absent", "refuses_second_put"]

_PART_BYTES = 8 << 20
_CONFLICT_RETRIES = 5
_PAUSE_SECONDS = 0.05
_MARK = "deltaarrow-upload"
"""The metadata of an object that names the upload which made it."""


def put_object_if_absent(filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
    """Create the object, or raise `FileExistsError`.

    Where several writers put it at once, S3 may answer all but one that there is a conflict and that
    they may try again; whoever does finds it there.
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


def refuses_second_put(filesystem: "fsspec.AbstractFileSystem", folder: str) -> bool:
    """Put an object below `folder` twice, and tell whether the second put failed as it has to.

    The object has a name of its own, which nobody reads, and is deleted again. Where the answer to the first
    put is lost, the client repeats it, and that one fails.
    """
    path = f"{folder.rstrip('/')}/_put_if_absent_{uuid.uuid4()}"
    try:
        put_object_if_absent(filesystem, path, b"")
        put_object_if_absent(filesystem, path, b"")
    except FileExistsError:
        return True
    finally:
        filesystem.rm_file(path)
    return False


class S3Output(Output):
    """Parts that become an object at the end; the parts of an upload that is given up are deleted.

    The object is marked with its upload. Where the answer to the last request is lost, and the client's
    repetition of it finds the object there, the mark tells that it is this one. `reaching` turns what the
    libraries beneath raise into errors of the store.
    """

    def __init__(
        self,
        filesystem: "fsspec.AbstractFileSystem",
        path: str,
        reaching: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._filesystem, self._path, self._reaching = filesystem, path, reaching
        self._mark = str(uuid.uuid4())
        metadata = {**filesystem.s3_additional_kwargs.get("Metadata", {}), _MARK: self._mark}
        self._file = filesystem.open(path, "xb", block_size=_PART_BYTES, Metadata=metadata)
        super().__init__(self._file)

    def write(self, data: Any) -> int:
        """Append bytes or any buffer, sending a part when it is full; return their number."""
        with self._reaching():
            return super().write(data)

    def _publish(self) -> None:
        with self._reaching():
            try:
                self._file.close()
            except Exception:
                if not self._is_there():
                    raise

    def _is_there(self) -> bool:
        """Whether the object is the one of this upload; False where that cannot be asked."""
        bucket, key, _ = self._filesystem.split_path(self._path)
        request = {"Bucket": bucket, "Key": key, **self._filesystem.req_kw}
        with contextlib.suppress(Exception):
            found = self._filesystem.call_s3("head_object", **request)
            return bool(found["Metadata"].get(_MARK) == self._mark)
        return False

    def _abandon(self) -> None:
        # s3fs would complete the upload of a file that is dropped unclosed.
        self._file.closed = True
        # Parts that cannot be deleted harm nobody; to fail because of them would hide why they are left.
        with contextlib.suppress(Exception):
            self._file.discard()
