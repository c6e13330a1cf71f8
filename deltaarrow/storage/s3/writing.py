"""Writes to S3: conditional puts, streamed uploads, bulk deletions.

S3 puts an object only if it is absent when the request says ``If-None-Match: *``. A server that does not
know the condition ignores it silently; `FsspecStore.can_put_if_absent` finds that out.
"""

import contextlib
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from deltaarrow.runtime.waits import wait_seconds
from deltaarrow.storage.service import OutputStore
from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = ["S3Output", "attempts_of", "delete_objects", "put_object_if_absent"]

_PART_BYTES = 8 << 20
_CONFLICT_RETRIES = 5
_PAUSE_SECONDS = 0.05
_BUSY_SECONDS = 0.2
_LONGEST_S = 10.0
"""After this time a put is not repeated."""
_MOST_DELETED = 1000
"""The objects that one request may delete."""
_MARK = "deltaarrow-upload"
"""The object metadata that identifies the upload."""


def put_object_if_absent(filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
    """Create the object, or raise `FileExistsError`.

    If several writers put it at once, S3 may answer all but one with a conflict and ask them to try again;
    the retry then finds the object. A put without an answer may have been carried out: the object shows
    whether it was, before it is put again.
    """
    bucket, key, _ = filesystem.split_path(path)
    request = {"Bucket": bucket, "Key": key, "Body": data, "IfNoneMatch": "*", **filesystem.req_kw}
    conflicts, attempts = _CONFLICT_RETRIES, attempts_of(filesystem)
    asked, last = 0, time.monotonic() + _LONGEST_S
    while True:
        try:
            _call_once(filesystem, "put_object", request)
            return
        except Exception as error:  # that of a lost connection is botocore's own
            code = _code(error)
            if isinstance(error, FileExistsError) or code == "PreconditionFailed":
                raise FileExistsError(path) from error
            if code == "ConditionalRequestConflict" and conflicts:
                conflicts -= 1
                time.sleep(_PAUSE_SECONDS * 2 ** (_CONFLICT_RETRIES - conflicts))
                continue
            if code is not None and not _passes(error):
                raise
            failure = error
        present = _read_once(filesystem, {"Bucket": bucket, "Key": key, **filesystem.req_kw})
        if present == data:
            return
        if present is not None:
            raise FileExistsError(path) from failure
        asked += 1
        if asked >= attempts or time.monotonic() > last:
            raise failure
        # A server that has answered is too busy; one that has not may have carried out the put long ago.
        time.sleep(wait_seconds(asked, None, _PAUSE_SECONDS if code is None else _BUSY_SECONDS))


def attempts_of(filesystem: "fsspec.AbstractFileSystem") -> int:
    """Return how often a request is sent at most, by the client's options.

    botocore repeats requests that have no answer, and s3fs those whose answer breaks off; where `max_retries`
    keeps s3fs from that, botocore alone counts.
    """
    if filesystem.retries > 1:
        return int(filesystem.retries)
    limits = filesystem.config_kwargs.get("retries", {})
    # botocore writes the number of all attempts over that of repetitions.
    return int(limits.get("max_attempts", limits.get("total_max_attempts", 1) - 1)) + 1


def _read_once(filesystem: "fsspec.AbstractFileSystem", request: dict[str, Any]) -> bytes | None:
    """Return the bytes of an object; None if there is none, or if that cannot be found out."""
    from fsspec.asyn import sync

    async def read() -> bytes:
        answer = await _sent_once(filesystem, "get_object", request)
        return bytes(await answer["Body"].read())

    with contextlib.suppress(Exception):
        found: bytes = sync(filesystem.loop, read)
        return found
    return None


def _call_once(filesystem: "fsspec.AbstractFileSystem", method: str, request: dict[str, Any]) -> Any:
    from fsspec.asyn import sync

    return sync(filesystem.loop, _sent_once, filesystem, method, request)


async def _sent_once(filesystem: "fsspec.AbstractFileSystem", method: str, request: dict[str, Any]) -> Any:
    """Send a request as s3fs does, without its repetitions, and a conditional put without botocore's too."""
    from s3fs.errors import translate_boto_error

    await filesystem.set_session()
    client = await filesystem.get_s3(request["Bucket"])
    client.meta.events.register_first("needs-retry.s3.PutObject", _may_repeat, unique_id="deltaarrow-puts")
    call = getattr(client, method)
    try:
        return await call(**filesystem._get_s3_method_kwargs(call, **request))
    except Exception as error:
        raise translate_boto_error(error) from error


def _may_repeat(
    request_dict: dict[str, Any], caught_exception: BaseException | None = None, **_: Any
) -> bool | None:
    """Answer botocore: no repetition of a conditional put; None lets botocore decide.

    `put_object_if_absent` repeats its own puts. s3fs repeats those of an `S3Output` that have no answer.
    """
    headers = request_dict["headers"]
    is_repeated = caught_exception is not None or f"x-amz-meta-{_MARK}" not in headers
    return False if "If-None-Match" in headers and is_repeated else None


def _code(error: BaseException) -> str | None:
    """The code of S3's answer, which s3fs keeps in the cause of its own error."""
    response: Any = getattr(error, "response", None) or getattr(error.__cause__, "response", None) or {}
    code: str | None = response.get("Error", {}).get("Code")
    return code


def _passes(error: BaseException) -> bool:
    """Whether S3's answer is one that passes: it is too busy, or has failed."""
    response: Any = getattr(error, "response", None) or getattr(error.__cause__, "response", None) or {}
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return bool(status >= 500 or status == 429)


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
