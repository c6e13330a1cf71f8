"""Google Cloud Storage: listings that begin at a name, and puts on the condition of generation 0.

Google puts an object only if it is absent when the request says ``ifGenerationMatch=0``. The requests are
those of its JSON interface, sent by gcsfs, which also has the credentials and repeats failed requests.
"""

import base64
import email
import logging
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from deltaarrow.errors import StorageError
from deltaarrow.runtime.optional import require
from deltaarrow.storage.gcs.options import gcsfs_options
from deltaarrow.storage.service import (
    TAIL_BYTES,
    OutputStore,
    PartsOutput,
    RequestBody,
    Service,
    delete_each,
    prefix_of,
    remedy_of,
    split_path,
)
from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = ["GcsService"]

_REMEDIES = {
    "cannot connect to host": "check GOOGLE_BASE_URL and the network",
    "invalid credentials": "check GOOGLE_SERVICE_ACCOUNT or GOOGLE_APPLICATION_CREDENTIALS",
    "anonymous caller": "give GOOGLE_SERVICE_ACCOUNT, or GOOGLE_SKIP_SIGNATURE='true' for public data only",
    ", 401": "the credentials are not accepted; a GOOGLE_BEARER_TOKEN may have expired",
    "forbidden": "the credentials are known and may not do this",
    "requester pays": "give requester_pays=True and the project",
    "/upload/storage/": "check the name of the bucket",
    "timeout": "check GOOGLE_BASE_URL and the network, or give a longer timeout",
}
"""A part of what Google or gcsfs says, in lower case -> what to do."""

_DETAILS = "name,size,updated,generation"
_CONTENT_TYPE = "application/octet-stream"

_MOST_DELETED = 100
"""The objects that one request may delete."""
_BATCHES = 8
"""Such requests at the same time."""
_DELETED_CODES = (200, 204, 404)
_NO_BATCHES = ("404", "405", "501")
"""Answers of a server that does not know such requests."""
_RESPONSE = re.compile(r"response-\D*([0-9]+)>?$")
_STATUS = re.compile(r"\s*HTTP/[0-9.]+ ([0-9]+)")


class GcsService(Service):
    """Google Cloud Storage, by gcsfs."""

    schemes = ("gs", "gcs")
    is_safe = None
    has_bucket = True
    reads_ranges = True

    def authority(self, uri: str) -> str:
        """Return nothing: the credentials may reach every bucket."""
        return ""

    def open(self, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
        """Return gcsfs's file system over HTTP, without its further one for buckets with folders (gRPC)."""
        require("gcsfs")
        # gcsfs logs the errors that it raises, and Python prints what is logged where nothing handles it.
        logger = logging.getLogger("gcsfs")
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
        from gcsfs.core import GCSFileSystem

        return GCSFileSystem(**gcsfs_options(storage_options), use_listings_cache=False)

    def list_files(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, start: str
    ) -> list[dict[str, Any]]:
        """Return the objects directly in a folder from `start` on."""
        return [*_objects(filesystem, path, start, delimiter="/")]

    def find(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> Iterator[dict[str, Any]]:
        """Yield all objects below a folder, from one listing."""
        return _objects(filesystem, path, "", delimiter=None)

    def info(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> dict[str, Any]:
        """Return the details of an object, by one request."""
        bucket, key = split_path(path)
        if not key:
            raise FileNotFoundError(path)
        found = filesystem.call("GET", "b/{}/o/{}", bucket, key, json_out=True, fields=_DETAILS)
        return _details(bucket, found)

    def info_and_tail(
        self, filesystem: "fsspec.AbstractFileSystem", path: str
    ) -> tuple[Mapping[str, Any], bytes]:
        """Return the details of an object and its last bytes, by one request."""
        from email.utils import parsedate_to_datetime

        request = {"Range": f"bytes=-{TAIL_BYTES}"}
        try:
            headers, tail = filesystem.call("GET", filesystem.url(path), headers=request)
        except Exception as error:
            if not self.is_beyond_end(error):  # an empty object has no range
                raise
            return super().info_and_tail(filesystem, path)
        size, modified = headers.get("Content-Range", "").rpartition("/")[2], headers.get("Last-Modified")
        if modified is None or not size.isdecimal():
            return super().info_and_tail(filesystem, path)
        details = {
            "name": path,
            "type": "file",
            "size": int(size),
            "updated": parsedate_to_datetime(modified),
        }
        return details | {"generation": headers.get("X-Goog-Generation")}, tail

    def is_beyond_end(self, error: BaseException) -> bool:
        """Whether the server says that it cannot satisfy the range."""
        return str(getattr(error, "code", "")) == "416"

    def put_if_absent(self, filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
        """Create the object, or raise `FileExistsError`, which gcsfs makes of an unmet condition."""
        _put(filesystem, path, data, ifGenerationMatch="0")

    def write(self, filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
        """Create or replace the object.

        gcsfs's own method puts a fixed text between the parts of its request, which data may hold too.
        """
        _put(filesystem, path, data)

    def delete(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> None:
        """Delete the object."""
        filesystem.call("DELETE", "b/{}/o/{}", *split_path(path))

    def delete_all(self, filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]) -> dict[str, str]:
        """Delete objects, a hundred with a request; those that it leaves one by one."""
        some = [paths[first : first + _MOST_DELETED] for first in range(0, len(paths), _MOST_DELETED)]
        if not some:
            return {}
        with ThreadPoolExecutor(min(_BATCHES, len(some))) as pool:
            left = pool.map(lambda batch: _left_by_batch(filesystem, batch), some)
            return delete_each(self, filesystem, [path for paths_left in left for path in paths_left])

    def open_output(self, filesystem: "fsspec.AbstractFileSystem", path: str, store: OutputStore) -> Output:
        """Return a stream that becomes a new object."""
        return _GcsOutput(path, store)

    def remedy(self, said: str) -> str:
        """Return what to do about a refusal."""
        return remedy_of(_REMEDIES, said)


def _details(bucket: str, found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": f"{bucket}/{found['name']}",
        "type": "file",
        "size": int(found.get("size", 0)),
        "updated": found["updated"],
        "generation": found.get("generation"),
    }


def _objects(
    filesystem: "fsspec.AbstractFileSystem", path: str, start: str, *, delimiter: str | None
) -> Iterator[dict[str, Any]]:
    bucket, key = split_path(path)
    prefix = prefix_of(key)
    request = {"prefix": prefix or None, "delimiter": delimiter, "maxResults": 1000}
    if start:
        request["startOffset"] = prefix + start
    request["fields"] = f"nextPageToken,prefixes,items({_DETAILS})"
    token = None
    while True:
        page = filesystem.call("GET", "b/{}/o", bucket, json_out=True, pageToken=token, **request)
        yield from (_details(bucket, found) for found in page.get("items", ()))
        for folder in page.get("prefixes", ()):
            yield {"name": f"{bucket}/{folder}".removesuffix("/"), "type": "directory"}
        token = page.get("nextPageToken")
        if not token:
            return


def _left_by_batch(filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]) -> list[str]:
    """Delete objects by one request; return those of which the answer does not say that they are gone.

    gcsfs's own method takes a name with ``#`` for a generation, and tells answers apart by their order.
    """
    boundary = f"===={uuid.uuid4()}===="
    account = filesystem._get_params({}).get("userProject")
    payer = f"?userProject={quote(account, safe='')}" if account else ""
    parts = []
    for number, path in enumerate(paths):
        bucket, key = (quote(part, safe="") for part in split_path(path))
        parts.append(
            f"--{boundary}\r\nContent-Type: application/http\r\nContent-ID: <{number}>\r\n\r\n"
            f"DELETE /storage/v1/b/{bucket}/o/{key}{payer} HTTP/1.1\r\n\r\n"
        )
    parts.append(f"--{boundary}--\r\n")
    headers = {"Content-Type": f'multipart/mixed; boundary="{boundary}"'}
    try:
        told, content = filesystem.call(
            "POST", filesystem.batch_url_base, headers=headers, data=RequestBody("".join(parts).encode())
        )
    except Exception as error:
        if str(getattr(error, "code", "")) in _NO_BATCHES or isinstance(error, FileNotFoundError):
            return list(paths)
        raise
    gone = _deleted_in(told.get("Content-Type", ""), content)
    return [path for number, path in enumerate(paths) if number not in gone]


def _deleted_in(content_type: str, content: bytes) -> set[int]:
    """The numbers of the deletions of which the answer to a batch says that the object is gone."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    gone = set()
    for part in email.message_from_bytes(head + content).walk():
        number = _RESPONSE.search(part.get("Content-ID", ""))
        text = part.get_payload()
        status = _STATUS.match(text) if isinstance(text, str) else None
        if number is not None and status is not None and int(status[1]) in _DELETED_CODES:
            gone.add(int(number[1]))
    return gone


def _upload_url(filesystem: "fsspec.AbstractFileSystem", bucket: str) -> str:
    server: str = filesystem.base.removesuffix("/storage/v1/")
    return f"{server}/upload/storage/v1/b/{quote(bucket, safe='')}/o"


def _put(filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes, **condition: str) -> None:
    bucket, key = split_path(path)
    filesystem.call(
        "POST",
        _upload_url(filesystem, bucket),
        uploadType="media",
        name=key,
        headers={"Content-Type": _CONTENT_TYPE},
        data=RequestBody(data),
        **condition,
    )


class _GcsOutput(PartsOutput):
    """An object that is put by one request, or by a resumable upload where it is large."""

    def __init__(self, path: str, store: OutputStore) -> None:
        self._session: str | None = None
        super().__init__(path, store)

    def _send(self, part: bytes) -> None:
        if self._session is None:
            bucket, key = split_path(self._path)
            headers, _ = self._filesystem.call(
                "POST",
                _upload_url(self._filesystem, bucket),
                uploadType="resumable",
                name=key,
                ifGenerationMatch="0",
                json={},
                headers={"X-Upload-Content-Type": _CONTENT_TYPE},
            )
            self._session = headers["Location"]
        self._put_part(part, total="*")

    def _put_part(self, part: bytes, total: str) -> None:
        """Send a part again from where the server says that it has bytes to, until it has all of it."""
        begin, end = self._sent, self._sent + len(part)
        while begin < end:
            rest = part[begin - self._sent :]
            headers, _ = self._filesystem.call(
                "PUT",
                self._session,
                headers={"Content-Type": _CONTENT_TYPE, "Content-Range": f"bytes {begin}-{end - 1}/{total}"},
                data=RequestBody(rest),
            )
            # An answer without the header says, to the last part, that the object is complete.
            told = headers.get("Range")
            stored = end if told is None and total != "*" else _stored_bytes(told)
            if stored <= begin:
                raise StorageError(f"the server keeps nothing of the upload of {self._path!r}")
            begin = stored

    def _finish(self, rest: bytes) -> None:
        if self._session is None:
            _put(self._filesystem, self._path, rest, ifGenerationMatch="0")
        else:
            self._put_part(rest, total=str(self._sent + len(rest)))

    def _stored_md5(self) -> bytes | None:
        bucket, key = split_path(self._path)
        found = self._filesystem.call("GET", "b/{}/o/{}", bucket, key, json_out=True, fields="md5Hash")
        return base64.b64decode(found["md5Hash"])

    def _cancel(self) -> None:
        if self._session is not None:
            self._filesystem.call("DELETE", self._session)


def _stored_bytes(told: str | None) -> int:
    """The number of bytes that the server has, by the header ``Range: bytes=0-99``; none without it."""
    return 0 if told is None else int(told.rpartition("-")[2]) + 1
