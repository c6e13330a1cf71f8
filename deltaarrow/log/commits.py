"""Reading commits and log compactions: chapter "Delta Log Entries" of the protocol.

A commit has one JSON document per line. A document spread over several lines is read as well. A file that
ends inside a document is an error; the actions before the tear are not returned.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import orjson

from deltaarrow.errors import CorruptLogError
from deltaarrow.storage import Store

__all__ = ["ReadCommits", "parse_commit", "read_commit", "read_commits"]

JsonAction = dict[str, Any]
ReadCommits = Callable[[Store, Sequence[str]], list[list[JsonAction]]]
"""Reads the named commits of a store, as `read_commits` does."""


_SHOWN = 40
_SPACE = re.compile(r"[ \t\r\n]*")


def _parse_documents(text: str) -> Iterable[Any]:
    """Yield the values of JSON documents, with any line breaks."""
    # `json` only finds where a document ends: it accepts NaN and lone surrogates, which are not JSON.
    decoder = json.JSONDecoder()
    position = _SPACE.match(text).end()  # type: ignore[union-attr] # it matches anywhere
    end = 0
    while position < len(text):
        try:
            _, end = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            if end and "\n" not in text[end:position]:
                line, rest = text.count("\n", 0, position) + 1, text[position:].partition("\n")[0]
                raise ValueError(
                    f"line {line} has {rest[:_SHOWN]!r} after a JSON object, which may be what is left of"
                    " another action; Spark ignores it. If nothing is lost, remove it from the file"
                ) from error
            raise
        yield orjson.loads(text[position:end])
        position = _SPACE.match(text, end).end()  # type: ignore[union-attr]


def parse_commit(data: bytes, name: str = "a commit") -> list[JsonAction]:
    """Return the actions of a commit as JSON objects, in the order of the file.

    Raises `CorruptLogError`, naming the file, unless it is a sequence of whole JSON objects.

    >>> parse_commit(b'{"txn":{"appId":"a","version":1}}')
    [{'txn': {'appId': 'a', 'version': 1}}]
    """
    text = data.strip()
    try:
        # One call for the whole file takes half the time of one call per line.
        actions: list[JsonAction] = orjson.loads(b"[" + text.replace(b"\n", b",") + b"]")
    except orjson.JSONDecodeError:
        actions = []
    # Fewer documents than lines: a newline inside a document was replaced by a comma.
    if text and len(actions) != text.count(b"\n") + 1:
        try:
            actions = list(_parse_documents(data.decode()))
        except (ValueError, RecursionError) as error:
            raise CorruptLogError(f"{name} is not valid JSON: {error}") from error
    if not {*map(type, actions)} <= {dict}:
        raise CorruptLogError(f"{name} holds a line that is not a JSON object")
    return actions


def read_commit(store: Store, name: str) -> list[JsonAction]:
    """Read one commit, log compaction or JSON checkpoint; see `parse_commit`.

    Raises `CorruptLogError`, naming the file, also when the file no longer exists.
    """
    try:
        data = store.read(name)
    except FileNotFoundError as error:
        raise CorruptLogError(
            f"{name} was listed but no longer exists; the log was cleaned up meanwhile"
        ) from error
    return parse_commit(data, name)


def read_commits(store: Store, names: Sequence[str]) -> list[list[JsonAction]]:
    """Read commits or log compactions, several at a time where the store is remote."""
    if store.is_local or len(names) < 2:
        return [read_commit(store, name) for name in names]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(max_workers=min(16, 4 * (os.cpu_count() or 1))) as pool:
        return list(pool.map(lambda name: read_commit(store, name), names))
