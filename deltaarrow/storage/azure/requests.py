"""Azure Blob Storage and Data Lake Storage: listings, and puts with ``If-None-Match: *``.

adlfs is the file system for DuckDB. The requests of the store itself are those of Microsoft's client, which
adlfs has too: it makes the conditional puts, and repeats failed requests.

A table has one location, the one that Spark knows: ``abfss://container@account.dfs.core.windows.net/t``.
"""

import atexit
import base64
import contextlib
import errno
import functools
import os
import time
import uuid
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deltaarrow.errors import StorageError
from deltaarrow.runtime.optional import require
from deltaarrow.runtime.waits import wait_seconds
from deltaarrow.storage.azure.options import AzureSettings, azure_settings
from deltaarrow.storage.service import (
    OutputStore,
    PartsOutput,
    RequestBody,
    Service,
    authority_of,
    delete_each,
    prefix_of,
    remedy_of,
    split_path,
)
from deltaarrow.storage.store import Output

if TYPE_CHECKING:
    import fsspec

__all__ = ["AzureService"]

_REMEDIES = {
    "cannot connect to host": "check the name of the account, AZURE_STORAGE_ENDPOINT and the network",
    "container does not exist": "check the name of the container",
    "authenticationfailed": "check AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN; a token may have"
    " expired",
    "failed to authenticate": "check AZURE_STORAGE_ACCOUNT_KEY or AZURE_STORAGE_SAS_TOKEN; a token may have"
    " expired",
    "failed to retrieve a token": "give AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN,"
    " AZURE_STORAGE_CLIENT_ID and its secret and tenant, or AZURE_SKIP_SIGNATURE='true' for public data",
    "unable to get authority": "check AZURE_STORAGE_TENANT_ID and the network",
    "not authorized": "the credentials are known and may not do this",
    "incorrect padding": "check AZURE_STORAGE_ACCOUNT_KEY: it is not base64",
    "base64-encoded": "check AZURE_STORAGE_ACCOUNT_KEY: it is not base64",
    "timeout": "check AZURE_STORAGE_ENDPOINT and the network, or give a longer timeout",
}
"""A part of what Azure or its client says, in lower case -> what to do."""

_MOST_DELETED = 256
"""The blobs that one request may delete."""
_ABSENT_CODE = 404
_DELETED_CODES = (200, 202, _ABSENT_CODE)
_BEYOND_END = 416
_REFUSED = 400
_TOO_MANY = 429
_RETRY_DELAY_S = 1.0


class AzureService(Service):
    """Azure, by Microsoft's client and adlfs."""

    schemes = ("abfss", "abfs", "az", "adl", "azure")
    is_safe = None
    has_bucket = True
    reads_ranges = True

    def normalised(self, uri: str, storage_options: Mapping[str, Any]) -> str:
        """Return ``abfss://container@account.dfs.core.windows.net/t`` for all spellings."""
        authority, slash, path = uri.partition("://")[2].rstrip("/").partition("/")
        container, at, host = authority.partition("@")
        if not at:
            host = azure_settings(storage_options, None).host
        if not container or not host:
            raise StorageError(f"{uri!r} names no container; give abfss://container@account{_SUFFIX}/path")
        return f"abfss://{container}@{host}{slash}{path}"

    def authority(self, uri: str) -> str:
        """Return the host of the account: its credentials may reach every container."""
        return authority_of(uri).partition("@")[2]

    def open(self, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
        """Return adlfs's file system with a client for the settings."""
        settings = azure_settings(storage_options, self.authority(uri))
        require("adlfs")
        return _filesystem(os.getpid(), settings)

    def path(self, filesystem: "fsspec.AbstractFileSystem", location: str) -> str:
        """Return ``container/t/f``."""
        return _path_of(location)

    def list_files(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, start: str
    ) -> list[dict[str, Any]]:
        """Return the blobs directly in a folder from `start` on; maybe all of them.

        A listing that holds a name which begins with `start` holds all that follow. Without such a name it
        might be one of a server that means something else by the place to begin at, so all are listed. Older
        servers do not know the place and list all, or refuse it.
        """
        if start:
            try:
                found = [*_blobs(filesystem, path, "walk_blobs", start)]
            except Exception as error:
                if getattr(error, "status_code", None) != _REFUSED:
                    raise
                found = []
            if any(each["name"].startswith(f"{path}/{start}") for each in found):
                return found
        return [*_blobs(filesystem, path, "walk_blobs")]

    def find(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> Iterator[dict[str, Any]]:
        """Yield all blobs below a folder, from one listing."""
        return _blobs(filesystem, path, "list_blobs")

    def info(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> dict[str, Any]:
        """Return the details of a blob, by one request."""
        container, key = split_path(path)
        if not key:
            raise FileNotFoundError(path)
        return _details(container, _call(filesystem, path, "get_blob_properties"))

    def read(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> bytes:
        """Return a whole blob."""
        data: bytes = _run(filesystem, _download, filesystem, path)
        return data

    def read_range(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, offset: int, length: int
    ) -> bytes:
        """Return `length` bytes from `offset`, fewer at the end of the blob."""
        data: bytes = _run(filesystem, _download, filesystem, path, offset=offset, length=length)
        return data

    def is_beyond_end(self, error: BaseException) -> bool:
        """Whether the server says that it cannot satisfy the range."""
        return getattr(error, "status_code", None) == _BEYOND_END

    def put_if_absent(self, filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
        """Create the blob, or raise `FileExistsError`."""
        _call(filesystem, path, "upload_blob", data, overwrite=False)

    def write(self, filesystem: "fsspec.AbstractFileSystem", path: str, data: bytes) -> None:
        """Create or replace the blob."""
        _call(filesystem, path, "upload_blob", data, overwrite=True)

    def delete(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> None:
        """Delete the blob, with its snapshots."""
        _call(filesystem, path, "delete_blob", delete_snapshots="include")

    def delete_all(self, filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]) -> dict[str, str]:
        """Delete blobs of one container, 256 with a request; those that it leaves one by one."""
        left: list[str] = []
        for first in range(0, len(paths), _MOST_DELETED):
            some = paths[first : first + _MOST_DELETED]
            codes = _run(filesystem, _delete, filesystem, some)
            # A server without such requests gives one answer for all.
            are_told = len(codes) == len(some)
            left += [path for n, path in enumerate(some) if not are_told or codes[n] not in _DELETED_CODES]
        return delete_each(self, filesystem, left)

    def open_output(self, filesystem: "fsspec.AbstractFileSystem", path: str, store: OutputStore) -> Output:
        """Return a stream that becomes a new blob."""
        return _AzureOutput(path, store)

    def remedy(self, said: str) -> str:
        """Return what to do about a refusal."""
        return remedy_of(_REMEDIES, said)


_SUFFIX = ".dfs.core.windows.net"


def _path_of(location: str) -> str:
    """``container/t/f`` of a location, or of such a path itself; characters of URLs in names are literal."""
    _, has_scheme, rest = location.partition("://")
    if not has_scheme:
        return location.lstrip("/")
    authority, slash, path = rest.partition("/")
    return f"{authority.partition('@')[0]}{slash}{path}"


def _run(filesystem: "fsspec.AbstractFileSystem", function: Any, *arguments: Any, **options: Any) -> Any:
    """What a coroutine returns, on the loop of the file system, with Azure's answers as Python's errors."""
    from azure.core.exceptions import ResourceExistsError, ResourceModifiedError, ResourceNotFoundError

    try:
        return _run_again(filesystem, function, *arguments, **options)
    except ResourceNotFoundError as error:
        lacks_container = str(getattr(error, "error_code", "")).endswith("ContainerNotFound")
        what = "the container does not exist" if lacks_container else os.strerror(errno.ENOENT)
        raise FileNotFoundError(errno.ENOENT, what) from error
    except (ResourceExistsError, ResourceModifiedError) as error:
        if str(getattr(error, "error_code", "")).rpartition(".")[2] in _EXISTS:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from error
        raise


def _run_again(
    filesystem: "fsspec.AbstractFileSystem", function: Any, *arguments: Any, **options: Any
) -> Any:
    """What a coroutine returns, which runs again if the server has too many requests or cuts off its answer.

    Microsoft's client repeats requests after other failures that may pass, but not where the text of an error
    is cut off.
    """
    from azure.core.exceptions import HttpResponseError, IncompleteReadError
    from fsspec.asyn import sync

    for attempt in range(filesystem.retries):
        try:
            return sync(filesystem.loop, function, *arguments, **options)
        except HttpResponseError as error:
            if error.status_code != _TOO_MANY and not isinstance(error, IncompleteReadError):
                raise
            after = error.response.headers.get("Retry-After") if error.response is not None else None
        time.sleep(wait_seconds(attempt, after, _RETRY_DELAY_S))
    return sync(filesystem.loop, function, *arguments, **options)


_EXISTS = ("BlobAlreadyExists", "BLOB_ALREADY_EXISTS", "ConditionNotMet", "CONDITION_NOT_MET")
"""Codes of answers to a put whose condition is not met."""


def _blob(filesystem: "fsspec.AbstractFileSystem", path: str) -> Any:
    return filesystem.service_client.get_blob_client(*split_path(path))


def _call(
    filesystem: "fsspec.AbstractFileSystem", path: str, method: str, *arguments: Any, **options: Any
) -> Any:
    return _run(filesystem, getattr(_blob(filesystem, path), method), *arguments, **options)


async def _download(filesystem: "fsspec.AbstractFileSystem", path: str, **span: int) -> bytes:
    stream = await _blob(filesystem, path).download_blob(**span)
    data: bytes = await stream.readall()
    return data


async def _delete(filesystem: "fsspec.AbstractFileSystem", paths: Sequence[str]) -> list[int]:
    client = filesystem.service_client.get_container_client(split_path(paths[0])[0])
    keys = [split_path(path)[1] for path in paths]
    answers = await client.delete_blobs(*keys, raise_on_any_failure=False, delete_snapshots="include")
    return [answer.status_code async for answer in answers]


def _details(container: str, found: Any) -> dict[str, Any]:
    is_folder = (found.metadata or {}).get("hdi_isfolder") == "true"
    return {
        "name": f"{container}/{found.name}",
        "type": "directory" if is_folder else "file",
        "size": found.size,
        "last_modified": found.last_modified,
        "etag": found.etag,
    }


def _blobs(
    filesystem: "fsspec.AbstractFileSystem", path: str, method: str, start: str = ""
) -> Iterator[dict[str, Any]]:
    """The blobs below a folder from `start` on, a page at a time."""
    from azure.storage.blob.aio import BlobPrefix

    container, key = split_path(path)
    client = filesystem.service_client.get_container_client(container)
    prefix = prefix_of(key)
    # Folders of accounts that have them are blobs whose metadata say so.
    beginning = {"start_from": prefix + start} if start else {}
    found = getattr(client, method)(name_starts_with=prefix, include=["metadata"], **beginning)
    pages = found.by_page()

    async def next_page() -> list[Any] | None:
        try:
            page = await anext(pages)
        except StopAsyncIteration:
            return None
        return [found async for found in page]

    while (page := _run(filesystem, next_page)) is not None:
        for found in page:
            if isinstance(found, BlobPrefix):
                yield {"name": f"{container}/{found.name}".removesuffix("/"), "type": "directory"}
            else:
                yield _details(container, found)


class _AzureOutput(PartsOutput):
    """A blob that is put by one request, or made of blocks where it is large.

    Blocks that no blob has are deleted by Azure after a week.
    """

    def __init__(self, path: str, store: OutputStore) -> None:
        self._blocks: list[str] = []
        super().__init__(path, store)

    def _send(self, part: bytes) -> None:
        block = base64.b64encode(uuid.uuid4().bytes).decode()
        _call(self._filesystem, self._path, "stage_block", block, RequestBody(part), len(part))
        self._blocks.append(block)

    def _finish(self, rest: bytes) -> None:
        from azure.core import MatchConditions
        from azure.storage.blob import BlobBlock, ContentSettings

        settings = ContentSettings(content_md5=bytearray(self._md5.digest()))
        if not self._blocks:
            put = {"overwrite": False, "content_settings": settings}
            _call(self._filesystem, self._path, "upload_blob", rest, **put)
            return
        self._send(rest)
        blocks = [BlobBlock(block) for block in self._blocks]
        condition = {"match_condition": MatchConditions.IfMissing, "content_settings": settings}
        _call(self._filesystem, self._path, "commit_block_list", blocks, **condition)

    def _stored_md5(self) -> bytes | None:
        found = _call(self._filesystem, self._path, "get_blob_properties").content_settings.content_md5
        return None if found is None else bytes(found)


@functools.lru_cache(maxsize=64)
def _filesystem(process: int, settings: AzureSettings) -> "fsspec.AbstractFileSystem":
    """The file system of a process for settings; stores with the same settings share its connections."""
    filesystem: fsspec.AbstractFileSystem = _filesystem_class()(settings=settings, use_listings_cache=False)
    # adlfs closes its connections when the interpreter ends. In a forked child, which inherits that, it would
    # wait forever for a thread that the child does not have.
    for finalizer in [*getattr(weakref.finalize, "_registry", ())]:
        found = finalizer.peek()
        if found is not None and found[0] is filesystem:
            finalizer.detach()
    atexit.register(_close, process, filesystem)
    return filesystem


def _close(process: int, filesystem: "fsspec.AbstractFileSystem") -> None:
    from fsspec.asyn import sync

    if os.getpid() == process:
        with contextlib.suppress(Exception):
            sync(filesystem.loop, filesystem.service_client.close, timeout=1)


@functools.cache
def _filesystem_class() -> Any:
    from adlfs import AzureBlobFileSystem

    class AzureFileSystem(AzureBlobFileSystem):  # type: ignore[misc]  # adlfs has no types
        """adlfs's file system with the client of our settings.

        adlfs takes variables of the environment over given options, and an account at https:// only.
        """

        protocol = ("abfss", "abfs", "az")  # DuckDB knows a file system by the first
        cachable = False  # fsspec tells instances apart by texts, and no text has the credentials

        def __init__(self, *, settings: AzureSettings, **options: Any) -> None:
            self._settings = settings
            self.retries = settings.retries
            # With a credential of any kind adlfs makes none of its own.
            super().__init__(account_name=settings.account, credential=_Elsewhere(), **options)

        @classmethod
        def _strip_protocol(cls, path: Any) -> Any:
            return [_path_of(each) for each in path] if isinstance(path, list) else _path_of(path)

        def split_path(self, path: str, *arguments: Any, **options: Any) -> tuple[str, str, None]:
            """Return container and name: adlfs would cut a name at ``?versionid=``."""
            return *split_path(_path_of(path)), None

        def do_connect(self) -> None:
            self.account_url = self._settings.url
            self.service_client = self._settings.client()

    return AzureFileSystem


class _Elsewhere:
    """Stands for the credential, which the client has."""

    async def close(self) -> None:
        """Do nothing."""
