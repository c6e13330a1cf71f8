"""Writing to S3: conditional puts, the proof that a server honours them, and streamed uploads.

S3 puts an object only if it is absent when the request says ``If-None-Match: *``. A server that does not
know the condition ignores it without a word, and two writers would overwrite each other's commits, so
none is believed unseen: an object of our own is put twice, and the second put has to fail.
"""

import time
import uuid
from typing import TYPE_CHECKING, Any

from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = ["S3Output", "put_object_if_absent", "refuses_second_put"]

_PART_BYTES = 8 << 20
_CONFLICT_RETRIES = 5
_PAUSE_SECONDS = 0.05


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

    The object has a name of its own, which nobody reads, and is deleted again.
    """
    path = f"{folder.rstrip('/')}/_put_if_absent_{uuid.uuid4()}"
    put_object_if_absent(filesystem, path, b"")
    try:
        put_object_if_absent(filesystem, path, b"")
    except FileExistsError:
        return True
    finally:
        filesystem.rm_file(path)
    return False


class S3Output(Output):
    """Parts that become an object at the end; the parts of an upload that is given up are deleted."""

    def __init__(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> None:
        self._file = filesystem.open(path, "xb", block_size=_PART_BYTES)
        super().__init__(self._file)

    def _publish(self) -> None:
        self._file.close()

    def _abandon(self) -> None:
        # s3fs would complete the upload of a file that is dropped unclosed.
        self._file.closed = True
        self._file.discard()
