"""The hint in ``_last_checkpoint``, chapters "Last Checkpoint File" and its JSON checksum.

The hint only decides where a listing begins, so a missing, stale, broken or unreadable hint does no harm.
Its checksum is the MD5 of the canonical form in the appendix of the protocol: every leaf as
``"key"+"nested"="value"``, sorted, strings URI-encoded.
"""

import functools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson
import pyarrow as pa

from deltaarrow.actions import Action, Sidecar, render_action
from deltaarrow.errors import StorageError
from deltaarrow.log.file_names import LAST_CHECKPOINT
from deltaarrow.schema import from_arrow_schema
from deltaarrow.storage import Store

__all__ = ["Hint", "HintedManifest", "checksum", "read_hint", "schema_json", "write_hint"]

# Beyond these limits delta-spark leaves out a part as well.
_LONGEST_SCHEMA = 20_000
_MOST_ACTIONS = 30
_MOST_SIDECARS = 30


@functools.lru_cache(1024)
def _encode(text: str) -> str:
    from urllib.parse import quote

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
    """Return the MD5 checksum of a hint; its key ``checksum`` is ignored.

    >>> checksum({"version": 1, "size": 2, "checksum": "of an older text"})
    '6b2b994e3366b5a8863ac037d3db410a'
    """
    return _digest(_leaves({key: value for key, value in hint.items() if key != "checksum"}, ""))


def _digest(leaves: Iterable[tuple[str, str]]) -> str:
    import hashlib

    # Sorted by path alone, as the protocol says: comparing whole lines would put "10" before "1".
    canonical = ",".join(f"{path}={value}" for path, value in sorted(leaves))
    return hashlib.md5(canonical.encode(), usedforsecurity=False).hexdigest()


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate key")
    return dict(pairs)


def read_hint(store: Store, *, checked: bool = False) -> int | None:
    """Return the version of the checkpoint that the hint names; None without a valid hint.

    `checked` also compares the hint with its checksum, which takes longer than listing a log: a wrong version
    only makes the listing begin elsewhere. A hint that cannot be read is ignored with a warning; a store that
    cannot be reached is a `StorageError`.
    """
    try:
        data = store.read(LAST_CHECKPOINT)
        hint = json.loads(data, object_pairs_hook=_unique_keys) if checked else orjson.loads(data)
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    except (OSError, StorageError) as error:
        if not store.is_local and not isinstance(error.__cause__, PermissionError):
            raise  # nothing else can be reached either, and each question is repeated for seconds
        import logging

        logging.getLogger(__name__).warning("%s is ignored: %s", LAST_CHECKPOINT, error)
        return None
    if not isinstance(hint, dict):
        return None
    version = hint.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 0:
        return None
    expected = hint.get("checksum")
    if checked and expected is not None and expected != checksum(hint):
        return None
    return version


class HintedManifest(NamedTuple):
    """The file of a V2 checkpoint that names the sidecars, and its content."""

    path: str
    size_in_bytes: int
    modification_time: int
    actions: Sequence[Action]
    sidecars: Sequence[Sidecar]

    def to_json(self) -> dict[str, Any]:
        """Return the object ``v2Checkpoint``; readers take long lists from the file itself."""
        found: dict[str, Any] = {
            "path": self.path,
            "sizeInBytes": self.size_in_bytes,
            "modificationTime": self.modification_time,
        }
        if len(self.actions) <= _MOST_ACTIONS:
            found["nonFileActions"] = [render_action(action) for action in self.actions]
        if len(self.sidecars) <= _MOST_SIDECARS:
            found["sidecarFiles"] = [render_action(sidecar)[Sidecar.KEY] for sidecar in self.sidecars]
        return found


class Hint(NamedTuple):
    """The hint to a checkpoint of `size` actions; `manifest` is set for a V2 checkpoint only."""

    version: int
    size: int
    size_in_bytes: int
    num_of_add_files: int
    checkpoint_schema: pa.Schema | None = None
    manifest: HintedManifest | None = None

    def render(self) -> bytes:
        """Return the text of the file."""
        hint: dict[str, Any] = {
            "version": self.version,
            "size": self.size,
            "sizeInBytes": self.size_in_bytes,
            "numOfAddFiles": self.num_of_add_files,
        }
        if self.manifest is not None:
            hint["v2Checkpoint"] = self.manifest.to_json()
        leaves = [*_leaves(hint, "")]
        if self.checkpoint_schema is not None:
            described = _describe(self.checkpoint_schema)
            if described is not None:
                hint["checkpointSchema"], of_schema = described
                leaves += of_schema
        return orjson.dumps(hint | {"checksum": _digest(leaves)})


def schema_json(schema: pa.Schema) -> str | None:
    """Return the columns of a checkpoint as Spark writes them; None if they are too long for a hint.

    >>> schema_json(pa.schema([("a", pa.int64())]))
    '{"type":"struct","fields":[{"name":"a","type":"long","nullable":true,"metadata":{}}]}'
    """
    text = from_arrow_schema(schema).to_json()
    return text if len(text) <= _LONGEST_SCHEMA else None


@functools.lru_cache(16)
def _describe(schema: pa.Schema) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]] | None:
    """Return the object ``checkpointSchema`` and its leaves, equal for all checkpoints of a table."""
    text = schema_json(schema)
    if text is None:
        return None
    value: dict[str, Any] = orjson.loads(text)
    return value, tuple(_leaves({"checkpointSchema": value}, ""))


def write_hint(store: Store, hint: Hint) -> None:
    """Replace the hint of a table. It is not flushed to disk, since losing it does no harm."""
    store.write(LAST_CHECKPOINT, hint.render(), durable=False)
