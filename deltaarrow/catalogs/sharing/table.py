"""One table of a share: its versions, and the signed addresses of its files, renewed before they expire.

1. Opening the newest version requests protocol and metadata. The files are requested when they are needed,
   with a predicate on partition columns as a hint, by which the server may leave out files. A number of rows
   that is enough is a hint, too; an answer whose files have fewer rows is not used.
2. An older version is requested by number or time. Servers have it if the provider shares the history.
3. The addresses in an answer expire. The request is repeated before that, and once if the store refuses an
   address. The ids of the files connect old and new addresses.
"""

import contextlib
import datetime
import logging
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from cachetools import LRUCache

from deltaarrow.catalogs.sharing.client import SharingClient
from deltaarrow.catalogs.sharing.download import download
from deltaarrow.catalogs.sharing.hints import predicate_hints
from deltaarrow.catalogs.sharing.messages import (
    FOLDERS,
    Link,
    SharedVersion,
    joined,
    num_live_rows,
    read_version,
)
from deltaarrow.catalogs.sharing.shared_store import SharedTableStore, table_uri
from deltaarrow.errors import CorruptLogError, StorageError, VersionNotFoundError
from deltaarrow.expressions import Predicate
from deltaarrow.log import LogState, served_state
from deltaarrow.runtime.clock import Clock
from deltaarrow.runtime.fork_safety import Lock
from deltaarrow.schema import column_mapping_mode, schema_of_log
from deltaarrow.storage import Store

__all__ = ["SharedTable"]

_LOGGER = logging.getLogger(__name__)
_RENEWED_BEFORE_MS = 300_000
_REFUSED = (400, 401, 403, 410)
"""How stores answer to an address that is no longer valid."""
_MOST_PAGES = 10_000
_MOST_NARROWED = 16
_MOST_VERSIONS = 16


@dataclass(frozen=True)
class _Question:
    """What is asked for: the files of a version, perhaps with hints."""

    version: int
    is_pinned: bool
    """Whether the version has to be named, because it is not the newest."""
    hints: Mapping[str, Any]
    refresh_token: str = ""


@dataclass(frozen=True)
class _Source:
    """A link, the question that brought it, and when to ask again."""

    link: Link
    question: _Question
    renew_at: int | None


class SharedTable:
    """A table.

    Pickles contain neither addresses nor credentials; an unpickled table reads its profile file again. Two
    objects are equal if they stand for the same table of the same server.

    Args:
        client: sends the requests.
        names: the names of share, schema and table.
        clock: the time, by which addresses expire.
    """

    def __init__(self, client: SharingClient, names: tuple[str, str, str], clock: Clock) -> None:
        self._client, self._names, self._clock = client, names, clock
        share, schema, table = names
        self._path = ("shares", share, "schemas", schema, "tables", table)
        self.subject = f"the shared table {share}.{schema}.{table}"
        self.uri = table_uri(client.profile.endpoint, names)
        self._sources: dict[str, _Source] = {}
        self._questions: OrderedDict[int, _Question] = OrderedDict()
        self._lock = Lock()
        self._gives_tokens = False
        self.token: Hashable = object()

    def __repr__(self) -> str:
        return f"<{self.subject} of {self._client.profile.endpoint}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedTable) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, ...]:
        return self._client.profile.endpoint, *self._names

    def __getstate__(self) -> dict[str, Any]:
        # A process that gets only names of files finds their versions by these questions.
        questions = {
            version: _Question(version, each.is_pinned, {}) for version, each in self._questions.items()
        }
        state = {**vars(self), "_sources": {}, "_questions": OrderedDict(questions)}
        del state["token"], state["_lock"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._lock, self.token = Lock(), object()

    def open(self) -> Store:
        """Return the store of the table."""
        return cast("Store", SharedTableStore(self))

    # --- versions ---------------------------------------------------------------------------------

    def newest_version(self) -> int:
        """Return the newest version; `TableNotFoundError` if there is no such table."""
        version = self._client.ask((*self._path, "version"), self.subject).version
        if version is None:
            raise StorageError(f"the sharing server's answer about {self.subject} has no version")
        return version

    def version_at(self, timestamp_ms: int) -> int:
        """Return the newest version at a time; `VersionNotFoundError` if the server does not give it."""
        when = datetime.datetime.fromtimestamp(timestamp_ms / 1000, datetime.UTC)
        text = when.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return self._asked({"timestamp": text, "limitHint": 1}, f"the time {text}").version

    def open_version(self, store: Store, version: int | None) -> LogState:
        """Return a version, by default the newest, whose files `store` reads."""
        answer = self._client.ask((*self._path, "metadata"), self.subject)
        # Servers from before capabilities may refuse a question with what they do not know.
        self._gives_tokens = bool(answer.capabilities)
        newest = read_version(answer, self.subject)
        if version is None or version == newest.version:
            return self._state(store, newest, _Question(newest.version, False, {}))
        if not 0 <= version < newest.version:
            raise VersionNotFoundError(
                f"version {version} does not exist: the newest one of {self.subject} is {newest.version}"
            )
        question = _Question(version, True, {})
        found = self._files(question)
        return self._state(store, found, question, found)

    def _state(
        self, store: Store, head: SharedVersion, question: _Question, found: SharedVersion | None = None
    ) -> LogState:
        """A version whose protocol and metadata are known, and perhaps its files."""
        protocol, metadata = head.protocol, head.metadata
        self._remember(question)

        def read_adds() -> list[dict[str, Any]]:
            return (found or self._of(head, question)).adds

        narrowed: LRUCache[str, LogState] = LRUCache(_MOST_NARROWED)

        def narrow(predicate: Predicate) -> LogState | None:
            if state.is_read:
                return None
            hints = self._hints(head, predicate)
            if not hints:
                return None
            key = hints["jsonPredicateHints"]
            with self._lock:
                known = narrowed.get(key)
            if known is None:
                asked = self._of(head, _Question(question.version, question.is_pinned, hints))
                known = served_state(store, head.version, protocol, metadata, lambda: asked.adds)
                with self._lock:
                    narrowed[key] = known
            return known

        def limit(num_rows: int) -> LogState | None:
            if state.is_read:
                return None
            # The addresses are renewed by a question for all files: an answer with a limit may have others.
            asked = self._of(head, question, limit=num_rows)
            if num_live_rows(asked.adds) < num_rows:
                return None  # the server leaves out what it need not, or the table has no more rows
            return served_state(store, head.version, protocol, metadata, lambda: asked.adds)

        state = served_state(store, head.version, protocol, metadata, read_adds, narrow, limit)
        return state

    def _hints(self, head: SharedVersion, predicate: Predicate) -> dict[str, Any]:
        protocol, metadata = head.protocol, head.metadata
        mode = column_mapping_mode(
            protocol.min_reader_version,
            protocol.reader_features,
            protocol.writer_features,
            metadata.configuration,
        )
        if mode != "none" or not metadata.partition_columns:
            return {}
        return predicate_hints(predicate, schema_of_log(metadata.schema_string), metadata.partition_columns)

    def _of(self, head: SharedVersion, question: _Question, limit: int | None = None) -> SharedVersion:
        """The files of a version whose protocol and metadata are known, or only some, with `limit` rows."""
        found = self._files(question, {} if limit is None else {"limitHint": limit})
        head.ensure_same(found, self.subject)
        return found

    def _files(self, question: _Question, more: Mapping[str, Any] = MappingProxyType({})) -> SharedVersion:
        """The answer to a question, perhaps with more hints, whose links are kept."""
        what = f"version {question.version}"
        hints, found = {**question.hints, **more}, None
        if not question.is_pinned:
            found = self._asked(dict(hints), what)
        if found is None or found.version != question.version:
            found = self._asked({**hints, "version": question.version}, what)
        if found.version != question.version:
            raise VersionNotFoundError(
                f"the server of {self.subject} gives version {found.version} for version {question.version}"
            )
        self._keep(found, question)
        return found

    def _asked(self, body: dict[str, Any], what: str) -> SharedVersion:
        """All pages of an answer."""
        is_travel = "version" in body or "timestamp" in body
        pages: list[SharedVersion] = []
        more: dict[str, Any] = {"includeRefreshToken": True} if self._gives_tokens and not is_travel else {}
        while len(pages) < _MOST_PAGES:
            answer = self._client.ask(
                (*self._path, "query"),
                self.subject,
                body={**body, **more},
                handled=(400, 404) if is_travel else (),
            )
            if answer.status >= 400:
                said = f" ({answer.told})" if answer.told else ""
                raise VersionNotFoundError(
                    f"the sharing server does not give {what} of {self.subject}{said}; providers may share"
                    " the newest version alone: open the table again for that"
                )
            pages.append(read_version(answer, self.subject))
            if not pages[-1].next_page:
                return joined(pages, self.subject)
            more = {**more, "pageToken": pages[-1].next_page}
        raise StorageError(f"the sharing server's answer about {self.subject} has over {_MOST_PAGES} pages")

    # --- files ------------------------------------------------------------------------------------

    def size(self, name: str) -> int:
        """Return the size of a data file in bytes; `FileNotFoundError` for a name that is not known."""
        size = self._source(name).link.size
        if size is None:
            raise StorageError(f"the sharing server's answer has no size for {name} of {self.subject}")
        return size

    def read_range(self, name: str, begin: int, end: int | None) -> bytes:
        """Return bytes of a file.

        Raises `StorageError` if the file cannot be read with an address that was renewed.
        """
        source = self._source(name)
        if source.renew_at is not None and self._clock() >= source.renew_at:
            source = self._renewed(name, source)
        client, about = self._client, f"{name} of {self.subject}"
        answer = download(source.link.url, begin, end, about, client.timeout, client.retry_delay)
        if isinstance(answer, int) and answer in _REFUSED:
            source = self._renewed(name, source)
            answer = download(source.link.url, begin, end, about, client.timeout, client.retry_delay)
        if isinstance(answer, int):
            if answer == 404:
                raise FileNotFoundError(f"{self.uri}/{name}")
            again = ", also with an address that was renewed" if answer in _REFUSED else ""
            raise StorageError(f"the store of {about} answers {answer}{again}; open the table again")
        return answer

    def _source(self, name: str) -> _Source:
        found = self._sources.get(name)
        if found is None and name.startswith(FOLDERS):
            found = self._searched(name)
        if found is None:
            raise FileNotFoundError(f"{self.uri}/{name}")
        return found

    def _searched(self, name: str) -> _Source | None:
        """The source of a file in any of the versions that were opened.

        A process that received a table and names of its files requests the addresses.
        """
        with self._lock:
            for question in [*reversed(self._questions.values())]:
                if name not in self._sources:
                    with contextlib.suppress(VersionNotFoundError):
                        self._keep(self._asked_again(question), question)
            return self._sources.get(name)

    def _renewed(self, name: str, old: _Source) -> _Source:
        """The source of a file with another address than an old one."""
        with self._lock:
            now = self._sources[name]
            if now.link.url == old.link.url:
                _LOGGER.debug("renew the addresses of %s", self.subject)
                self._keep(self._asked_again(old.question, name), old.question)
                now = self._sources[name]
        return now

    def _asked_again(self, question: _Question, name: str = "") -> SharedVersion:
        """An answer with new addresses of the files of a question, one of which is `name`."""
        bodies: list[dict[str, Any]] = []
        if not question.is_pinned:
            if question.refresh_token:
                bodies.append({"refreshToken": question.refresh_token})
            # Also a newer version: a file of the same id is the same file.
            bodies.append(dict(question.hints))
        bodies.append({**question.hints, "version": question.version})
        for number, body in enumerate(bodies):
            try:
                found = self._asked(body, f"version {question.version}")
            except (StorageError, CorruptLogError):
                if number == len(bodies) - 1 or "refreshToken" not in body:
                    raise
                continue
            if not name or name in found.links:
                return found
        raise StorageError(
            f"the sharing server no longer has {name} of version {question.version} of {self.subject}; open"
            " the table again"
        )

    def _keep(self, found: SharedVersion, question: _Question) -> None:
        """Keep the links of an answer."""
        now = self._clock()
        if found.refresh_token:
            question = _Question(question.version, question.is_pinned, question.hints, found.refresh_token)
        for name, link in found.links.items():
            # A time that is over already says that clocks differ; the store's refusal decides then.
            left = (link.expires_ms or 0) - now
            renew_at = now + left - min(_RENEWED_BEFORE_MS, left // 2) if left > 0 else None
            self._sources[name] = _Source(link, question, renew_at)

    def _remember(self, question: _Question) -> None:
        with self._lock:
            self._questions[question.version] = question
            self._questions.move_to_end(question.version)
            while len(self._questions) > _MOST_VERSIONS:
                self._questions.popitem(last=False)
