"""Downloads of byte ranges from signed addresses of files. Such an address is a secret."""

import http.client
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from deltaarrow.catalogs.web_requests import MOST_BYTES, TRANSIENT, bounded_handlers
from deltaarrow.errors import StorageError
from deltaarrow.runtime.waits import ATTEMPTS, wait_seconds

__all__ = ["download"]


class _ToWebServers(urllib.request.HTTPRedirectHandler):
    """Follows redirections to web servers alone."""

    def redirect_request(self, *arguments: Any) -> urllib.request.Request | None:
        url = arguments[-1]
        is_web = urllib.parse.urlsplit(url).scheme in ("http", "https")
        return super().redirect_request(*arguments) if is_web else None


def _opener(end: int | None) -> urllib.request.OpenerDirector:
    """What opens addresses of web servers, and nothing of this machine, to read a file up to a byte."""
    found = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        *bounded_handlers(None if end is None else end + MOST_BYTES),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _ToWebServers(),
    ):
        found.add_handler(handler)
    return found


def download(
    url: str, begin: int, end: int | None, about: str, timeout: float, retry_delay: float
) -> bytes | int:
    """Return the bytes of a range, or the status of HTTP if the store refuses.

    Args:
        url: the address.
        begin: where the range begins.
        end: where it ends; None for the end of the file.
        about: the file, for errors.
        timeout: seconds to wait for the store.
        retry_delay: seconds before the second attempt; each further wait is twice as long.

    Raises `StorageError` if the store cannot be reached.
    """
    answer: bytes | int | str = b""
    for attempt in range(ATTEMPTS):
        answer, after = _range(url, begin, end, timeout)
        is_transient = isinstance(answer, str) or (isinstance(answer, int) and answer in (*TRANSIENT, 500))
        if not is_transient or attempt == ATTEMPTS - 1:
            break
        time.sleep(wait_seconds(attempt, after, retry_delay))
    if isinstance(answer, str):
        host = urllib.parse.urlsplit(url).hostname
        raise StorageError(f"cannot reach {host} for {about}: {answer}")
    return answer


def _range(url: str, begin: int, end: int | None, timeout: float) -> tuple[bytes | int | str, str | None]:
    """The bytes, a status or why there is no answer; and how long the store wants to be left alone."""
    if end is not None and end <= begin:
        return b"", None
    last = "" if end is None else str(end - 1)
    headers = {"Range": f"bytes={begin}-{last}", "Accept-Encoding": "identity"}
    length = -1 if end is None else end - begin
    try:
        with _opener(end).open(urllib.request.Request(url, headers=headers), timeout=timeout) as answer:
            if answer.status == 206:
                told = answer.headers.get("Content-Range", f"bytes {begin}-")
                return (answer.read(length) if told.startswith(f"bytes {begin}-") else "AnotherRange"), None
            # A server that knows no ranges sends all.
            return answer.read(end if end is not None else -1)[begin:], None
    except urllib.error.HTTPError as error:
        with error:
            return (b"" if error.code == 416 else error.code), error.headers.get("Retry-After")
    except (OSError, http.client.HTTPException) as error:
        # Its text may hold the address.
        return type(getattr(error, "reason", error)).__name__, None
