"""Web servers as read-only stores: folders from the links of pages, times from the headers of files.

fsspec asks once. Here a question is repeated after a failure that may pass.
"""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

from deltaarrow.display.hidden_causes import hide_secrets, secrets_of
from deltaarrow.runtime.optional import require
from deltaarrow.runtime.waits import ATTEMPTS, wait_seconds
from deltaarrow.storage.fsspec_options import refused_store
from deltaarrow.storage.service import Service

if TYPE_CHECKING:
    import fsspec

__all__ = ["HttpService"]

_Answer = TypeVar("_Answer")

_ASKERS = 16
"""Files whose headers are asked for at the same time."""
_RETRY_DELAY_S = 0.2
_PASSING = (408, 429, 500, 502, 503, 504)
"""The statuses after which a question is asked again."""


class HttpService(Service):
    """A web server whose pages of folders link to what is in them, by fsspec."""

    schemes = ("http", "https")
    reads_ranges = True

    def normalised(self, uri: str, storage_options: Mapping[str, Any]) -> str:
        """Return the location with its own scheme."""
        scheme, _, rest = uri.partition("://")
        return f"{scheme.lower()}://{rest.rstrip('/')}"

    def open(self, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
        """Return fsspec's file system; `StorageError` if the address has no host or a wrong port."""
        require("aiohttp")
        import yarl  # The parser of aiohttp, which needs it.

        try:
            yarl.URL(uri)
        except ValueError as error:
            hide_secrets(error, secrets_of(uri))
            raise refused_store(uri.partition("://")[0], uri, error) from error
        return super().open(uri, storage_options)

    def list_files(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, start: str
    ) -> list[dict[str, Any]]:
        """Return what is directly in a folder, with sizes and times for files from `start` on."""
        from fsspec.asyn import sync

        prefix = f"{path}/"
        found = _repeated(lambda: filesystem.ls(prefix, detail=False))
        names = [name.partition("?")[0] for name in found]
        names = [name for name in dict.fromkeys(names) if name.startswith(prefix) and name != prefix]
        folders = [name.rstrip("/") for name in names if name.endswith("/")]
        files = [name for name in names if not name.endswith("/") and name[len(prefix) :] >= start]
        if not files:
            return [{"name": name, "type": "directory"} for name in folders]
        with ThreadPoolExecutor(min(_ASKERS, len(files))) as pool:
            headers = pool.map(
                lambda name: _repeated(lambda: sync(filesystem.loop, _headers_of, filesystem, name)), files
            )
            details = [each for each in headers if each is not None]
        return [*details, *({"name": name, "type": "directory"} for name in folders)]

    def info(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> Mapping[str, Any]:
        """Return fsspec's details of a file."""
        return _repeated(lambda: super(HttpService, self).info(filesystem, path))

    def read(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> bytes:
        """Return a whole file."""
        return _repeated(lambda: super(HttpService, self).read(filesystem, path))

    def read_range(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, offset: int, length: int
    ) -> bytes:
        """Return `length` bytes from `offset`, also from a server that knows no ranges and sends all."""
        data = _repeated(lambda: super(HttpService, self).read_range(filesystem, path, offset, length))
        return data if len(data) <= length else data[offset : offset + length]

    def is_beyond_end(self, error: BaseException) -> bool:
        """Whether the server says that it cannot satisfy the range."""
        return getattr(error, "status", None) == 416


def _repeated(ask: Callable[[], _Answer]) -> _Answer:
    """The answer to a question, which is asked again if it fails in a way that may pass."""
    for attempt in range(ATTEMPTS - 1):
        try:
            return ask()
        except Exception as error:
            # fsspec tells of a file that it cannot ask about as of one that is absent.
            cause = error.__cause__ if isinstance(error, FileNotFoundError) else error
            if cause is None or not _may_pass(cause):
                raise
            after = (getattr(cause, "headers", None) or {}).get("Retry-After")
        time.sleep(wait_seconds(attempt, after, _RETRY_DELAY_S))
    return ask()


def _may_pass(error: BaseException) -> bool:
    """Whether a server failed that was reached."""
    import aiohttp

    if isinstance(error, aiohttp.ClientResponseError):
        return error.status in _PASSING
    broken_off = aiohttp.ClientPayloadError, aiohttp.ClientOSError, aiohttp.ServerDisconnectedError
    return isinstance(error, broken_off) and not isinstance(error, aiohttp.ClientConnectorError)


async def _headers_of(filesystem: "fsspec.AbstractFileSystem", name: str) -> dict[str, Any] | None:
    """Details of a file by its headers; None where it is gone, or has no size."""
    from email.utils import parsedate_to_datetime

    session = await filesystem.set_session()
    url = filesystem.encode_url(name)
    headers = {"Accept-Encoding": "identity"}  # else the size may be that of compressed bytes
    async with session.head(url, allow_redirects=True, headers=headers) as answer:
        if answer.status == 404:
            return None
        answer.raise_for_status()
        size, modified = answer.headers.get("Content-Length"), answer.headers.get("Last-Modified")
    details: dict[str, Any] = {"name": name, "type": "file", "size": int(size or 0)}
    if modified is not None:
        details["last_modified"] = parsedate_to_datetime(modified)
    return details
