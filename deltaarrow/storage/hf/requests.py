"""Datasets on the Hugging Face Hub, which are only read: ``hf://datasets/owner/name@revision/path``.

A dataset is a Git repository. Its tree tells names and sizes, a thousand with a request; the time of a file
is that of the commit which last changed it. Files are read by ranges, by an address of the Hub that mostly
leads on to a signed one of another server. The requests are those of huggingface_hub, which also has the
credentials and repeats failed requests.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote

from deltaarrow.display.redaction import redacted
from deltaarrow.errors import StorageError
from deltaarrow.runtime.optional import require
from deltaarrow.storage.hf.options import hf_options
from deltaarrow.storage.service import TAIL_BYTES, Service, remedy_of
from deltaarrow.version import VERSION

if TYPE_CHECKING:
    import fsspec

__all__ = ["HfService"]

_T = TypeVar("_T")

_PLACE = re.compile(r"datasets/([^/@]+)/([^/@]+)(?:@(refs/(?:convert|pr)/[^/]+|[^/]+))?(?:/+(.*))?")
"""The owner, the name and the revision of a dataset, and a path in it. These references hold slashes."""

_DEFAULT_REVISION = "main"

_ASKED_AT_ONCE = 100
"""Files whose times one request asks for; the Hub refuses more than a thousand."""
_ASKERS = 8
"""Such requests at the same time."""

_REMEDIES = {
    "repository not found": "check the name; for a private dataset give HF_TOKEN",
    "revision not found": "check the revision: a branch, a tag or a commit",
    "gated": "accept its conditions on the Hub, and give HF_TOKEN",
    "401 client error": "the token is not accepted; check HF_TOKEN",
    "403 forbidden": "the token may not do this",
    "connection refused": "check HF_ENDPOINT and the network",
    "name or service not known": "check HF_ENDPOINT and the network",
    "timed out": "check HF_ENDPOINT and the network",
}
"""A part of what the Hub or its client says, in lower case -> what to do."""


class _RefusedError(ConnectionError):
    """An answer of the Hub, or of the server that it led to, that is no success."""

    def __init__(self, said: str, status: int) -> None:
        super().__init__(said)
        self.status = status


class _Place(NamedTuple):
    """A path in a dataset."""

    repository: str
    revision: str
    path: str

    @property
    def root(self) -> str:
        """What the paths of its files begin with, inside the file system."""
        return f"datasets/{self.repository}@{quote(self.revision, safe='')}"


class HfService(Service):
    """The Hugging Face Hub, by huggingface_hub."""

    schemes = ("hf",)
    reads_ranges = True

    def normalised(self, uri: str, storage_options: Mapping[str, Any]) -> str:
        """Return the location with its revision, unless that is the default one."""
        found = _PLACE.fullmatch(uri.partition("://")[2].rstrip("/"))
        if found is None:
            raise StorageError(f"{uri!r} is no dataset; give hf://datasets/owner/name/path")
        owner, name, named, path = found.groups()
        revision, given = named and unquote(named), hf_options(storage_options).get("revision")
        if revision is not None and given is not None and revision != given:
            raise StorageError(f"{uri!r} and the storage option 'revision' disagree; remove one of them")
        revision = revision or given or _DEFAULT_REVISION
        at = "" if revision == _DEFAULT_REVISION else f"@{quote(revision, safe='')}"
        return f"hf://datasets/{owner}/{name}{at}/{path or ''}".rstrip("/")

    def authority(self, uri: str) -> str:
        """Return nothing: the token may reach every dataset."""
        return ""

    def open(self, uri: str, storage_options: Mapping[str, Any]) -> "fsspec.AbstractFileSystem":
        """Return the file system of huggingface_hub, for a token and a server."""
        require("huggingface_hub")
        from huggingface_hub import HfFileSystem

        options = hf_options(storage_options)
        options.pop("revision", None)  # it is in the location
        return HfFileSystem(**options)

    def path(self, filesystem: "fsspec.AbstractFileSystem", location: str) -> str:
        """Return the path of a location inside the file system, always with a revision."""
        place = _place_of(location.partition("://")[2])
        return f"{place.root}/{place.path}".rstrip("/")

    def list_files(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, start: str
    ) -> list[dict[str, Any]]:
        """Return what is directly in a folder, with sizes and times for files from `start` on."""
        below = len(path) + 1
        found = [*_tree(filesystem, path, recursive=False)]
        files = [each for each in found if each["type"] == "file" and each["name"][below:] >= start]
        folders = [each for each in found if each["type"] != "file"]
        return [*_with_times(filesystem, path, files), *folders]

    def find(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> Iterator[dict[str, Any]]:
        """Yield all files below a folder, from one listing."""
        try:
            found = [each for each in _tree(filesystem, path, recursive=True) if each["type"] == "file"]
        except FileNotFoundError:
            return iter(())
        return _with_times(filesystem, path, found)

    def info(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> dict[str, Any]:
        """Return the details of a file or folder, by one request."""
        place = _place_of(path)
        if not place.path:
            return {"name": path, "type": "directory", "size": 0}
        found = _details_of(filesystem, place, [place.path])
        if place.path not in found:
            raise FileNotFoundError(path)
        return found[place.path]

    def info_and_tail(
        self, filesystem: "fsspec.AbstractFileSystem", path: str
    ) -> tuple[Mapping[str, Any], bytes]:
        """Return the size and the last bytes of a file, by one request; without a time, which it lacks."""
        try:
            answer = _get(filesystem, path, f"bytes=-{TAIL_BYTES}")
        except _RefusedError as error:
            if error.status != _BEYOND_END:  # an empty file has no range
                raise
            return super().info_and_tail(filesystem, path)
        size = answer.headers.get("Content-Range", "").rpartition("/")[2]
        data: bytes = answer.content
        if answer.status_code == _WHOLE:
            return {"name": path, "type": "file", "size": len(data), "mtime": 0}, data
        if not size.isdecimal():
            return super().info_and_tail(filesystem, path)
        return {"name": path, "type": "file", "size": int(size), "mtime": 0}, data

    def read(self, filesystem: "fsspec.AbstractFileSystem", path: str) -> bytes:
        """Return a whole file."""
        data: bytes = _get(filesystem, path).content
        return data

    def read_range(
        self, filesystem: "fsspec.AbstractFileSystem", path: str, offset: int, length: int
    ) -> bytes:
        """Return `length` bytes from `offset`, also from a server that knows no ranges and sends all."""
        answer = _get(filesystem, path, f"bytes={offset}-{offset + length - 1}")
        data: bytes = answer.content
        return data[offset : offset + length] if answer.status_code == _WHOLE else data

    def is_beyond_end(self, error: BaseException) -> bool:
        """Whether the server says that it cannot satisfy the range."""
        return isinstance(error, _RefusedError) and error.status == _BEYOND_END

    def remedy(self, said: str) -> str:
        """Return what to do about a refusal."""
        return remedy_of(_REMEDIES, said)


_WHOLE, _BEYOND_END = 200, 416


def _place_of(path: str) -> _Place:
    """The dataset, the revision and the path of a path inside the file system."""
    found = _PLACE.fullmatch(path)
    if found is None:
        raise StorageError(f"{path!r} is no file of a dataset")
    owner, name, revision, inside = found.groups()
    return _Place(f"{owner}/{name}", unquote(revision or _DEFAULT_REVISION), inside or "")


def _api(filesystem: "fsspec.AbstractFileSystem") -> Any:
    from huggingface_hub import HfApi

    return HfApi(filesystem.endpoint, filesystem.token, library_name="deltaarrow", library_version=VERSION)


def _answer(path: str, request: Callable[[], _T]) -> _T:
    """Make a request; raise `FileNotFoundError` for a missing file, and errors without signed addresses."""
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError

    try:
        return request()
    except EntryNotFoundError:
        raise FileNotFoundError(path) from None
    except HfHubHTTPError as error:
        # The client's error, which a traceback would show, names the address.
        said = " ".join(redacted(str(error)).split())
        raise _RefusedError(said, error.response.status_code) from None


def _get(filesystem: "fsspec.AbstractFileSystem", path: str, wanted: str | None = None) -> Any:
    """The answer to a request for a file, or for a range of it."""
    from huggingface_hub import constants, hf_hub_url
    from huggingface_hub.utils import build_hf_headers, hf_raise_for_status, http_backoff

    place = _place_of(path)
    url = hf_hub_url(
        place.repository,
        place.path,
        repo_type="dataset",
        revision=place.revision,
        endpoint=filesystem.endpoint,
    )
    headers = build_hf_headers(token=filesystem.token, library_name="deltaarrow", library_version=VERSION) | {
        "Accept-Encoding": "identity"
    }
    if wanted is not None:
        headers["Range"] = wanted

    def request() -> Any:
        answer = http_backoff("GET", url, headers=headers, timeout=constants.HF_HUB_DOWNLOAD_TIMEOUT)
        hf_raise_for_status(answer)
        return answer

    return _answer(path, request)


def _tree(filesystem: "fsspec.AbstractFileSystem", path: str, *, recursive: bool) -> Iterator[dict[str, Any]]:
    """Yield fsspec's details of what is in a folder, without times."""
    place = _place_of(path)
    found = _answer(
        path,
        lambda: [
            *_api(filesystem).list_repo_tree(
                place.repository,
                place.path or None,
                recursive=recursive,
                revision=place.revision,
                repo_type="dataset",
            )
        ],
    )
    return (_details(place, each) for each in found)


def _with_times(
    filesystem: "fsspec.AbstractFileSystem", path: str, files: Sequence[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Yield the details of files with their times.

    Raises `StorageError` if one is gone by now: without it, a listing of the log would tell another version.
    """
    place = _place_of(path)
    below = len(place.root) + 1
    names = [each["name"][below:] for each in files]
    some = [names[first : first + _ASKED_AT_ONCE] for first in range(0, len(names), _ASKED_AT_ONCE)]
    if not some:
        return
    with ThreadPoolExecutor(min(_ASKERS, len(some))) as pool:
        for asked, found in zip(some, pool.map(partial(_details_of, filesystem, place), some), strict=True):
            if absent := next((name for name in asked if name not in found), None):
                raise StorageError(f"{absent!r} went away while it was listed; try again")
            yield from found.values()


def _details_of(
    filesystem: "fsspec.AbstractFileSystem", place: _Place, paths: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The details, with times, of those of some paths that the dataset has."""
    found = _answer(
        f"{place.root}/{place.path}",
        lambda: _api(filesystem).get_paths_info(
            place.repository, list(paths), expand=True, revision=place.revision, repo_type="dataset"
        ),
    )
    return {each.path: _details(place, each) for each in found}


def _details(place: _Place, found: Any) -> dict[str, Any]:
    size = getattr(found, "size", None)
    details = {"name": f"{place.root}/{found.path}", "type": "directory" if size is None else "file"}
    if size is not None:
        details |= {"size": size, "etag": found.blob_id}
    if found.last_commit is not None:
        details["last_modified"] = found.last_commit.date
    return details
