"""The files of a folder that a conversion takes.

Hidden are names that begin with ``.``, or with ``_`` and have no ``=``, and all below such a folder. If a
stream of Spark wrote the folder, its log ``_spark_metadata`` tells alone which files count: others are
leftovers.
"""

import posixpath
import re
from collections.abc import Sequence

import orjson

from deltaarrow.errors import CorruptLogError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.log import LOG_FOLDER
from deltaarrow.storage import FileEntry, Store, decode_path
from deltaarrow.storage.failures import expecting_file

__all__ = ["is_hidden", "is_iceberg", "list_source"]

_SINK_LOG = "_spark_metadata"
_SINK_FILE = re.compile(r"(\d+)(\.compact)?")
_SINK_VERSION = b"v1"

_ICEBERG_FOLDER = "metadata"
_ICEBERG_HINT = "version-hint.text"


def is_hidden(base: str) -> bool:
    """Whether a name hides a file or a folder.

    >>> [is_hidden(each) for each in ("_x", ".x", "_p=1", "x")]
    [True, True, False, False]
    """
    return base.startswith(".") or (base.startswith("_") and "=" not in base)


def is_iceberg(store: Store) -> bool:
    """Whether a folder has metadata of an Iceberg table."""
    names = [posixpath.basename(entry.name) for entry in store.list_from(_ICEBERG_FOLDER)]
    return any(
        name == _ICEBERG_HINT or name.endswith((".metadata.json", ".metadata.json.gz")) for name in names
    )


def list_source(store: Store) -> list[FileEntry]:
    """Return the files to convert, sorted by name.

    Raises `SchemaMismatchError` if there are none, and `UnsupportedFeatureError` if a folder below is a Delta
    table of its own.
    """
    entries = list(store.list_recursive())
    for entry in entries:
        parts = entry.name.split("/")
        if LOG_FOLDER in parts[1:-1]:
            inner = "/".join(parts[: parts.index(LOG_FOLDER)])
            raise UnsupportedFeatureError(
                f"the folder {inner} of {store.uri} is a Delta table itself; its log decides which of its"
                " files"
                " count, so move it away, or convert the other folders one by one",
                feature="conversion of a folder that contains tables",
            )
    sink = [entry for entry in entries if posixpath.dirname(entry.name) == _SINK_LOG]
    found = [entry for entry in entries if not any(map(is_hidden, entry.name.split("/")))]
    if sink:
        found = _of_sink(store, sink, found)
    if not found:
        raise SchemaMismatchError(
            f"{store.uri} has no files to convert, or does not exist (Spark: DELTA_EMPTY_DIRECTORY)"
        )
    return sorted(found)


def _of_sink(store: Store, sink: Sequence[FileEntry], found: Sequence[FileEntry]) -> list[FileEntry]:
    """Return the files that the log of a streaming sink lists."""
    batches: dict[int, str] = {}
    first = 0
    for entry in sink:
        name = _SINK_FILE.fullmatch(posixpath.basename(entry.name))
        if name is None:
            continue
        number = int(name[1])
        if name[2]:
            first = max(first, number)
        if name[2] or number not in batches:
            batches[number] = entry.name
    numbers = sorted(number for number in batches if number >= first)
    if not numbers or numbers != list(range(first, numbers[-1] + 1)):
        raise CorruptLogError(
            f"{_SINK_LOG} of {store.uri} lacks a batch, so it does not tell which files count"
        )
    live: set[str] = set()
    for number in numbers:
        with expecting_file(batches[number], store.uri):
            version, *lines = store.read(batches[number]).splitlines()
        if version != _SINK_VERSION:
            raise UnsupportedFeatureError(
                f"{batches[number]} of {store.uri} has the version {version!r}, not {_SINK_VERSION!r}",
                feature=_SINK_LOG,
            )
        for line in lines:
            _apply(store, live, batches[number], line)
    by_name = {entry.name: entry for entry in found}
    if gone := sorted(live - by_name.keys()):
        raise CorruptLogError(f"{_SINK_LOG} of {store.uri} lists {gone[0]}, which is not there")
    return [by_name[name] for name in live]


def _apply(store: Store, live: set[str], name: str, line: bytes) -> None:
    try:
        entry = orjson.loads(line)
        path, is_deleted = str(entry["path"]), entry.get("action") == "delete"
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise CorruptLogError(f"{name} of {store.uri} has a line that is not an entry of a sink") from error
    root = f"{store.uri.rstrip('/')}/"
    decoded = decode_path(path)
    if not decoded.startswith(root):
        raise CorruptLogError(f"{name} lists {path}, which is not below {store.uri}")
    if is_deleted:
        live.discard(decoded[len(root) :])
    else:
        live.add(decoded[len(root) :])
