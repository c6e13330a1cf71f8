"""Messages of a Delta Sharing server about a table, checked and converted to actions of the log.

Chapters "API Response Format in Parquet" and "API Response Format in Delta" of the sharing protocol. Both
formats become actions of Delta. Each signed address is replaced by a name, because addresses are secret and
change::

    {"file": {"id": "ab12", "url": "https://store/a.parquet?sig=...", "size": 573, ...}}      Parquet
    {"file": {"id": "ab12", "deltaSingleAction": {"add": {"path": "https://store/...", ...}}}}  Delta
                                       |
                                       v
    {"path": "files/i-ab12", "size": 573, ...}    and    files/i-ab12 -> https://store/a.parquet?sig=...
"""

import hashlib
import json
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from deltaarrow.actions import Metadata, Protocol, parse_fields
from deltaarrow.catalogs.sharing.client import SharingAnswer
from deltaarrow.catalogs.web_requests import is_whole, one_line
from deltaarrow.errors import CorruptLogError, StorageError, UnsupportedFeatureError

__all__ = ["FOLDERS", "Link", "SharedVersion", "joined", "num_live_rows", "read_version"]

FOLDERS = ("files/", "vectors/")
"""The prefixes of the names of data files and of deletion vector files."""
_DELTA = "delta"
_KINDS = ("protocol", "metaData", "file", "endStreamAction")
_SAFE = re.compile(r"[A-Za-z0-9_-]{1,120}")
_PLAIN_FORMAT = Protocol(min_reader_version=1, min_writer_version=2)
_WHOLE_FILE = ("size", "stats")


class Link(NamedTuple):
    """A signed address of a file, valid for a time."""

    url: str
    """The address, which is a secret."""
    expires_ms: int | None
    """When it expires, in milliseconds since the epoch; None if unknown."""
    size: int | None
    """The size of the file in bytes; None if unknown."""


@dataclass(frozen=True)
class SharedVersion:
    """A version of a shared table, or one page of its files.

    Attributes:
        version: the version.
        is_delta: whether the answer was in Delta's format.
        protocol: its protocol; the lowest for the Parquet format.
        metadata: its metadata.
        adds: bodies of `add` actions, whose paths are names of `links`.
        links: name -> address, of data files and files of deletion vectors.
        refresh_token: the token for new addresses of the same files; empty if the server gave none.
        next_page: the token for further files; empty if there are none.
    """

    version: int
    is_delta: bool
    protocol: Protocol
    metadata: Metadata
    adds: list[dict[str, Any]] = field(default_factory=list, repr=False)
    links: dict[str, Link] = field(default_factory=dict, repr=False)
    refresh_token: str = field(default="", repr=False)
    next_page: str = field(default="", repr=False)

    def ensure_same(self, other: "SharedVersion", subject: str) -> None:
        """Raise `StorageError` unless another response describes the same version identically."""
        if (other.version, other.is_delta, other.protocol) != (
            self.version,
            self.is_delta,
            self.protocol,
        ) or (
            other.metadata.id,
            other.metadata.schema_string,
            other.metadata.partition_columns,
        ) != (self.metadata.id, self.metadata.schema_string, self.metadata.partition_columns):
            raise StorageError(
                f"the sharing server describes version {self.version} of {subject} in two ways; open it again"
            )


def read_version(answer: SharingAnswer, subject: str) -> SharedVersion:
    """Return the version of a table that an answer describes.

    Raises `StorageError` for an answer that is incomplete or not understood, and `UnsupportedFeatureError`
    for a protocol of sharing, or a kind of address, that is not known.
    """
    if answer.version is None:
        raise StorageError(f"the sharing server's answer about {subject} has no version")
    responded = answer.capabilities.get("responseformat", "parquet")
    if responded not in (_DELTA, "parquet"):
        raise UnsupportedFeatureError(
            f"the sharing server answers in the format {responded!r} about {subject}; delta and"
            " parquet are known",
            feature="Delta Sharing",
        )
    reader = _Reader(subject, responded == _DELTA)
    for line in answer.lines:
        reader.take(line)
    if answer.capabilities.get("includeendstreamaction") == "true" and reader.end is None:
        raise StorageError(f"the sharing server's answer about {subject} was cut off; try again")
    if reader.protocol is None or reader.metadata is None:
        raise StorageError(f"the sharing server's answer about {subject} has no protocol, or no metaData")
    end = reader.end or {}
    return SharedVersion(
        answer.version,
        reader.is_delta,
        reader.protocol,
        reader.metadata,
        reader.adds,
        reader.with_least_expiry(end.get("minUrlExpirationTimestamp")),
        _optional_text(end, "refreshToken"),
        _optional_text(end, "nextPageToken"),
    )


class _Reader:
    def __init__(self, subject: str, is_delta: bool) -> None:
        self._subject = subject
        self.is_delta = is_delta
        self.protocol: Protocol | None = None
        self.metadata: Metadata | None = None
        self.adds: list[dict[str, Any]] = []
        self.links: dict[str, Link] = {}
        self.end: Mapping[str, Any] | None = None

    def take(self, line: Mapping[str, Any]) -> None:
        kinds = [kind for kind in _KINDS if line.get(kind) is not None]
        if len(kinds) != 1 or not isinstance(line[kinds[0]], dict) or self.end is not None:
            raise self._odd(f"a line with {', '.join(line) or 'nothing'}")
        body = line[kinds[0]]
        try:
            match kinds[0]:
                case "protocol":
                    self.protocol = self._protocol(body)
                case "metaData":
                    self.metadata = parse_fields(Metadata, self._wrapped(body, "deltaMetadata"))
                case "file":
                    self._take_file(body)
                case _:
                    self._take_end(body)
        except CorruptLogError as error:
            raise CorruptLogError(f"the sharing server's answer about {self._subject}: {error}") from error

    def with_least_expiry(self, least: object) -> dict[str, Link]:
        """The links, where those without a time of their own have the least of all."""
        if not is_whole(least):
            return self.links
        return {n: k._replace(expires_ms=least) if k.expires_ms is None else k for n, k in self.links.items()}

    def _protocol(self, body: Mapping[str, Any]) -> Protocol:
        if self.is_delta:
            return parse_fields(Protocol, self._wrapped(body, "deltaProtocol"))
        version = body.get("minReaderVersion")
        if version != 1:
            raise UnsupportedFeatureError(
                f"{self._subject} needs version {version!r} of the sharing protocol; this release knows 1",
                feature="Delta Sharing",
            )
        return _PLAIN_FORMAT

    def _take_file(self, body: Mapping[str, Any]) -> None:
        identity = body.get("id")
        if not isinstance(identity, str) or not identity:
            raise self._odd("a file without an id")
        expires = body.get("expirationTimestamp")
        expires = expires if is_whole(expires) else None
        if not self.is_delta:
            action = {each: body[each] for each in ("partitionValues", *_WHOLE_FILE) if each in body}
            self._add(
                identity, body.get("url"), expires, {**action, "modificationTime": 0, "dataChange": True}
            )
            return
        single = self._wrapped(body, "deltaSingleAction")
        if set(single) != {"add"} or not isinstance(single["add"], dict):
            raise self._odd("a file that is not added")
        add = dict(single["add"])
        if (vector := add.get("deletionVector")) is not None:
            add["deletionVector"] = self._vector(vector, body.get("deletionVectorFileId"), expires)
        self._add(identity, add.get("path"), expires, {"modificationTime": 0, "dataChange": True, **add})

    def _add(self, identity: str, url: object, expires: int | None, add: dict[str, Any]) -> None:
        size = add.get("size")
        if not is_whole(size) or size < 0:
            raise self._odd("a file without a size")
        add["path"] = self._link(FOLDERS[0], identity, url, expires, size)
        self.adds.append(add)

    def _vector(self, vector: object, identity: object, expires: int | None) -> dict[str, Any]:
        """A deletion vector whose address is a name."""
        if not isinstance(vector, dict) or vector.get("storageType") not in ("i", "p"):
            raise self._odd("a deletion vector without an address")
        if vector["storageType"] == "i":
            return vector
        url = vector.get("pathOrInlineDv")
        if not isinstance(identity, str) or not identity:
            # What is signed follows the path, which stays the same.
            identity = str(url).partition("?")[0]
        return {**vector, "pathOrInlineDv": self._link(FOLDERS[1], identity, url, expires, None)}

    def _link(self, folder: str, identity: str, url: object, expires: int | None, size: int | None) -> str:
        """Keep an address under a name, which is the same in every answer, and return the name."""
        if not isinstance(url, str) or urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise UnsupportedFeatureError(
                f"the sharing server gives a file of {self._subject} no address of a web server; only http"
                " and https are read",
                feature="Delta Sharing",
            )
        is_safe = _SAFE.fullmatch(identity) is not None
        name = f"i-{identity}" if is_safe else f"h-{hashlib.sha256(identity.encode()).hexdigest()}"
        name = folder + name
        known = self.links.get(name)
        if known is not None and known.size != size:
            raise self._odd("one id for several files")
        self.links[name] = Link(url, expires, size)
        return name

    def _take_end(self, body: Mapping[str, Any]) -> None:
        self.end = body
        if told := body.get("errorMessage"):
            said = one_line(str(told))
            raise StorageError(f"the sharing server stops in its answer about {self._subject}: {said}")

    def _wrapped(self, body: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """The action that a message of Delta's format wraps; the message itself in Parquet's."""
        if not self.is_delta:
            return body
        found = body.get(key)
        if not isinstance(found, dict):
            raise self._odd(f"a message without {key}")
        return found

    def _odd(self, what: str) -> StorageError:
        return StorageError(f"the sharing server's answer about {self._subject} has {what}")


def _optional_text(body: Mapping[str, Any], key: str) -> str:
    found = body.get(key)
    return found if isinstance(found, str) else ""


def joined(pages: Sequence[SharedVersion], subject: str) -> SharedVersion:
    """Join the pages of an answer to one version.

    Raises `StorageError` if they are not of one version.
    """
    first, last = pages[0], pages[-1]
    for each in pages[1:]:
        first.ensure_same(each, subject)
    return SharedVersion(
        first.version,
        first.is_delta,
        first.protocol,
        first.metadata,
        [add for each in pages for add in each.adds],
        {name: link for each in pages for name, link in each.links.items()},
        last.refresh_token or first.refresh_token,
    )


def num_live_rows(adds: Sequence[Mapping[str, Any]]) -> int:
    """Return a lower bound of the rows of files: the rows in their statistics, without deleted rows."""
    rows = 0
    for add in adds:
        try:
            told = json.loads(add.get("stats") or "{}").get("numRecords")
            vector = add.get("deletionVector")
            deleted = vector["cardinality"] if vector else 0
        except (AttributeError, KeyError, TypeError, ValueError):
            continue
        if is_whole(told) and is_whole(deleted):
            rows += max(0, told - deleted)
    return rows
