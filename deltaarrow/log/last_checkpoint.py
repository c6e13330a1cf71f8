"""The hint in ``_last_checkpoint``, chapters "Last Checkpoint File" and its JSON checksum.

Nothing but the place where a listing may begin is taken from it: it can be missing, stale or broken
without any harm. Its checksum is the MD5 of the canonical form that the appendix of the protocol
describes: every leaf as ``"key"+"nested"="value"``, sorted, strings URI-encoded.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import orjson

from deltaarrow.log.names import LAST_CHECKPOINT
from deltaarrow.storage.store import Store

__all__ = ["checksum", "read_hint", "render_hint", "write_hint"]


def _encode(text: str) -> str:
    return f'"{quote(text, safe="-_.~")}"'


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield (canonical path, canonical value) of every leaf of a JSON value."""
    if isinstance(value, dict | list):
        names = ((_encode(k), v) for k, v in value.items()) if isinstance(value, dict) else enumerate(value)
        for name, item in names:
            yield from _leaves(item, f"{path}+{name}" if path else str(name))
    else:
        yield path, _encode(value) if isinstance(value, str) else json.dumps(value)


def checksum(hint: dict[str, Any]) -> str:
    """Return the MD5 checksum of a hint; its key ``checksum`` is left out of account.

    >>> checksum({"version": 1, "size": 2, "checksum": "of an older text"})
    '6b2b994e3366b5a8863ac037d3db410a'
    """
    content = {key: value for key, value in hint.items() if key != "checksum"}
    # Sorted by path alone, as the protocol has it: comparing whole lines would put "10" before "1".
    canonical = ",".join(f"{path}={value}" for path, value in sorted(_leaves(content, "")))
    return hashlib.md5(canonical.encode(), usedforsecurity=False).hexdigest()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def read_hint(store: Store) -> int | None:
    """Return the version of the checkpoint that the hint names; None when there is no good hint."""
    try:
        hint = json.loads(store.read(LAST_CHECKPOINT), object_pairs_hook=_unique_keys)
    except (FileNotFoundError, ValueError):
        return None
    if not isinstance(hint, dict):
        return None
    version = hint.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        return None
    expected = hint.get("checksum")
    if expected is not None and expected != checksum(hint):
        return None
    return version


def render_hint(*, version: int, size: int, size_in_bytes: int, num_of_add_files: int) -> bytes:
    """Return the text of a hint for a classic checkpoint of `size` actions."""
    hint: dict[str, Any] = {
        "version": version,
        "size": size,
        "sizeInBytes": size_in_bytes,
        "numOfAddFiles": num_of_add_files,
    }
    return orjson.dumps(hint | {"checksum": checksum(hint)})


def write_hint(store: Store, hint: bytes) -> None:
    """Replace the hint of a table."""
    store.write(LAST_CHECKPOINT, hint)
