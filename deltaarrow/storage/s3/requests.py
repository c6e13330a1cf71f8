"""S3: listings that begin at a name, and remedies for S3's refusals."""

import datetime
import errno
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import StorageError
from deltaarrow.runtime.optional import require
from deltaarrow.runtime.waits import wait_seconds
from deltaarrow.storage.commit_lock.lock_settings import lock_settings
from deltaarrow.storage.s3.options import s3fs_options
from deltaarrow.storage.s3.writing import S3Output, attempts_of, delete_objects, put_object_if_absent
from deltaarrow.storage.service import TAIL_BYTES, OutputStore, Service, open_filesystem, prefix_of, remedy_of
from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = ["S3Service", "list_s3_objects", "time_of_answer"]

_REMEDIES = {
    "could not connect to the endpoint": "check AWS_ENDPOINT_URL, AWS_REGION and the network",
    "unable to locate credentials": "give AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or"
    " AWS_SKIP_SIGNATURE='true' for public data",
    "access key id you provided": "check AWS_ACCESS_KEY_ID",
    "signature": "check AWS_SECRET_ACCESS_KEY",
    "token": "check AWS_SESSION_TOKEN; it may have expired",
    "config profile": "check AWS_PROFILE",
    "bucket does not exist": "check the name of the bucket",
    "timeout": "check AWS_ENDPOINT_URL and the network, or give a longer timeout",
    "access denied": "the credentials are known and may not do this",
    "forbidden": "the credentials are wrong or may not do this",
}
"""A part of what S3 or its client says, in lower case -> what to do."""


_RETRY_DELAY_S = 0.1

_NO_LOCK = (
    "a catalog lends its credentials, which are not for the lock in DynamoDB that the options or the variable"
    " AWS_S3_LOCKING_PROVIDER ask for; open the table by its location"
)


class S3Service(Service):
    """S3 and servers with its interface, by s3fs."""

    schemes = ("s3", "s3a", "s3n")
    is_safe = None
    has_bucket = True
    reads_ranges = True

    def authority(self, uri: str) -> str:
        """Return nothing: the credentials may reach every bucket."""
        return ""

    def open(self, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
        """Return s3fs's file system."""
        require("s3fs")
        filesystem = open_filesystem("s3", uri, s3fs_options(storage_options))
        if any(key.lower().endswith("max_retries") for key in storage_options):
            # s3fs repeats requests too, which would multiply the number that the caller gives.
            filesystem.retries = 1
        if filesystem.session is None:
            filesystem.session = _session(filesystem)
        return filesystem

    def path(self, filesystem: "fsspec.AbstractFileSystem", location: str) -> str:
        """Return ``bucket/t/f``."""
        if "?versionId=" in location:
            # s3fs would cut the name there and read another object.
            raise StorageError(f"{location!r}: '?versionId=' in a name of S3 is not supported")
        return super().path(filesystem, location)

    def list_files(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, start: str
    ) -> list[dict[str, Any]]:
        """Return the objects directly in a folder from `start` on."""
        return list_s3_objects(filesystem, path, start)

    def find(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> Iterator[Mapping[str, Any]]:
        """Yield all objects below a folder, from one listing."""
        yield from filesystem.find(path, detail=True).values()

    def info_and_tail(
        self, filesystem: "fsspec.AbstractFileSystem", path: str
    ) -> tuple[Mapping[str, Any], bytes]:
        """Return the details of an object and its last bytes, by one request."""
        from fsspec.asyn import sync

        found: tuple[dict[str, Any], bytes] | None = sync(
            filesystem.loop, _details_and_tail, filesystem, path
        )
        return super().info_and_tail(filesystem, path) if found is None else found

    def read(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> bytes:
        """Return a whole object, by one request.

        s3fs would first ask for the size, to read a large object by many parallel requests.
        """
        return _whole(filesystem, lambda: filesystem.cat_file(path, max_concurrency=1))

    def read_range(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, offset: int, length: int
    ) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the object."""
        return _whole(filesystem, lambda: super(S3Service, self).read_range(filesystem, path, offset, length))

    def is_beyond_end(self, error: BaseException) -> bool:
        """Whether the server refuses the range."""
        return isinstance(error, OSError) and error.errno == errno.EINVAL

    def put_if_absent(self, filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
        """Create the object, or raise `FileExistsError`."""
        put_object_if_absent(filesystem, path, data)

    def delete_all(self, filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]) -> dict[str, str]:
        """Delete objects, a thousand with a request."""
        return delete_objects(filesystem, paths)

    def open_output(self, filesystem: "fsspec.AbstractFileSystem", path: str, store: OutputStore) -> Output:
        """Return a stream that becomes a new object."""
        return S3Output(path, store)

    def refusal(self, storage_options: Mapping[str, Any]) -> str:
        """Return that there is no lock, if one is asked for: `LockedStore` has one."""
        return "" if lock_settings(storage_options) is None else _NO_LOCK

    def remedy(self, said: str) -> str:
        """Return what to do about a refusal."""
        return remedy_of(_REMEDIES, said)


def _session(filesystem: "fsspec.AbstractFileSystem") -> Any:
    """The session that s3fs would make itself, but with `time_of_answer` for the times in answers."""
    from aiobotocore.session import AioSession

    session = AioSession(**filesystem.kwargs)
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=time_of_answer)
    return session


def time_of_answer(value: Any) -> datetime.datetime:
    """Return a time in an answer of S3, which has a zone.

    botocore reads each by dateutil, whatever its form: that was two thirds of the work of a listing.

    >>> time_of_answer("2026-02-14T09:30:00.000Z")
    datetime.datetime(2026, 2, 14, 9, 30, tzinfo=datetime.timezone.utc)
    """
    from botocore.utils import parse_timestamp

    try:
        moment = datetime.datetime.fromisoformat(value)
    except (TypeError, ValueError):  # a number, or the form of a header
        moment = None
    if moment is not None and moment.tzinfo is not None:
        return moment
    parsed: datetime.datetime = parse_timestamp(value)
    return parsed


def _whole(filesystem: "fsspec.AbstractFileSystem", read: Callable[[], bytes]) -> bytes:
    """The bytes of an answer, which is asked for again if it breaks off.

    botocore repeats requests that have no answer, and s3fs those whose answer breaks off; where `max_retries`
    keeps s3fs from that, it is done here as often.
    """
    from aiohttp import ClientPayloadError

    repetitions = attempts_of(filesystem) - 1 if filesystem.retries == 1 else 0
    for attempt in range(repetitions):
        try:
            return read()
        except ClientPayloadError:
            time.sleep(wait_seconds(attempt, None, _RETRY_DELAY_S))
    return read()


async def _details_and_tail(
    filesystem: "fsspec.AbstractFileSystem", path: str
) -> tuple[dict[str, Any], bytes] | None:
    """The details of an object and its last bytes; None if it has none, or if the connection breaks off."""
    bucket, key, _ = filesystem.split_path(path)
    request = {"Bucket": bucket, "Key": key, "Range": f"bytes=-{TAIL_BYTES}", **filesystem.req_kw}
    try:
        answer = await filesystem._call_s3("get_object", **request)
    except OSError as error:
        if error.errno == errno.EINVAL:  # an empty object has no range
            return None
        raise
    try:
        tail = await answer["Body"].read()
    except Exception:  # a further request meets the failure again, and repeats itself if it passes
        return None
    finally:
        answer["Body"].close()
    size = answer.get("ContentRange", "").rpartition("/")[2]
    if len(tail) != answer["ContentLength"] or not (size.isdecimal() or not size):
        return None
    details = {key: answer[key] for key in ("ETag", "LastModified") if key in answer}
    return {"name": path, "type": "file", "size": int(size or len(tail)), **details}, tail


def list_s3_objects(filesystem: "fsspec.AbstractFileSystem", folder: str, start: str) -> list[dict[str, Any]]:
    """Return what is directly in `folder` from `start` on, in s3fs's form; maybe a few before it.

    s3fs itself always lists from the beginning, in pages of 1,000 objects.
    """
    bucket, key, _ = filesystem.split_path(folder)
    prefix = prefix_of(key)
    request = {"Bucket": bucket, "Prefix": prefix, "Delimiter": "/", **filesystem.req_kw}
    if len(start) > 1:
        # StartAfter is exclusive: drop the last character, so that `start` itself is included.
        request["StartAfter"] = prefix + start[:-1]
    objects = []
    while True:
        page = filesystem.call_s3("list_objects_v2", **request)
        objects += [
            {"name": f"{bucket}/{found['Key']}", "size": found["Size"], "type": "file", **found}
            for found in page.get("Contents", ())
        ]
        objects += [
            {"name": f"{bucket}/{found['Prefix']}".removesuffix("/"), "type": "directory"}
            for found in page.get("CommonPrefixes", ())
        ]
        if not page.get("IsTruncated"):
            return objects
        request["ContinuationToken"] = page["NextContinuationToken"]
