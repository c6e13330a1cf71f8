"""Reading commits and log compactions: chapter "Delta Log Entries" of the protocol.

A commit is one JSON document a line. Files whose documents are spread over several lines exist, and
are read as well; a file that ends inside a document is an error, never the actions before the tear.
"""

import json
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import orjson

from deltaarrow.errors import CorruptLogError
from deltaarrow.storage.store import Store

__all__ = ["parse_commit", "read_commits"]

JsonAction = dict[str, Any]


def _parse_documents(text: str) -> Iterable[JsonAction]:
    decoder = json.JSONDecoder()
    position, end = 0, len(text)
    while True:
        while position < end and text[position].isspace():
            position += 1
        if position == end:
            return
        document, position = decoder.raw_decode(text, position)
        yield document


def parse_commit(data: bytes, name: str = "a commit") -> list[JsonAction]:
    """Return the actions of a commit as JSON objects, in the order of the file.

    Raises `CorruptLogError`, naming the file, when it is not a sequence of whole JSON objects.

    >>> parse_commit(b'{"txn":{"appId":"a","version":1}}')
    [{'txn': {'appId': 'a', 'version': 1}}]
    """
    lines = [line for line in data.splitlines() if line and not line.isspace()]
    try:
        # One call for the whole file: half the time of a call a line.
        actions: list[JsonAction] = orjson.loads(b"[" + b",".join(lines) + b"]")
    except orjson.JSONDecodeError:
        try:
            actions = list(_parse_documents(data.decode()))
        except ValueError as error:
            raise CorruptLogError(f"{name} is not valid JSON: {error}") from error
    if not all(isinstance(action, dict) for action in actions):
        raise CorruptLogError(f"{name} holds a line that is not a JSON object")
    return actions


def _read(store: Store, name: str) -> list[JsonAction]:
    try:
        data = store.read(name)
    except FileNotFoundError as error:
        raise CorruptLogError(f"{name} was listed and is gone; the log was cleaned up meanwhile") from error
    return parse_commit(data, name)


def read_commits(store: Store, names: Sequence[str]) -> list[list[JsonAction]]:
    """Read commits or log compactions, several at a time where the store is remote."""
    if store.is_local or len(names) < 2:
        return [_read(store, name) for name in names]
    with ThreadPoolExecutor(max_workers=min(16, 4 * (os.cpu_count() or 1))) as pool:
        return list(pool.map(lambda name: _read(store, name), names))
