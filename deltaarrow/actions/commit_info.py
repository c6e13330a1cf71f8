"""Types of `commitInfo` values that delta-spark requires: chapter "Commit Provenance Information".

The protocol leaves the keys to the writer, but delta-spark types those that it knows. If one value has
another type, it cannot parse the commit and therefore not read the table. A text key with an object or array
only breaks its DESCRIBE HISTORY. Keys that delta-spark does not know may have any JSON value.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from deltaarrow.actions.model import CommitInfo
from deltaarrow.errors import InvalidCommitMetadataError

__all__ = ["CommitInfoFault", "ensure_commit_metadata", "find_commit_info_faults", "with_commit_metadata"]

_LONGS = frozenset({"version", "inCommitTimestamp", "readVersion"})
_BOOLEANS = frozenset({"isBlindAppend"})
_TEXT_MAPS = frozenset({"operationParameters", "operationMetrics", "tags"})
_OBJECTS = frozenset({"job", "notebook"})
_OF_THE_CALLER = frozenset({"userId", "userName", "userMetadata"})
_TEXTS = _OF_THE_CALLER | {"operation", "isolationLevel", "clusterId", "engineInfo", "txnId"}
_SHARED = frozenset({"operationParameters", "readVersion"})
_OWNED = (_LONGS | _BOOLEANS | _TEXT_MAPS | _OBJECTS | _TEXTS | {"timestamp"}) - _OF_THE_CALLER - _SHARED
_INT64 = range(-(1 << 63), 1 << 63)


class CommitInfoFault(NamedTuple):
    """A key of `commitInfo` with a value that delta-spark cannot parse, and the value that it needs.

    With `hides_table` delta-spark cannot read the table any more, otherwise only its history.
    """

    key: str
    wanted: str
    hides_table: bool


def find_commit_info_faults(info: Any) -> Iterator[CommitInfoFault]:
    """Yield what delta-spark cannot parse in the body of a `commitInfo`, given as JSON values.

    >>> list(find_commit_info_faults({"readVersion": 7, "job": "nightly", "anything": [1]}))
    [CommitInfoFault(key='job', wanted='an object', hides_table=True)]
    """
    if not isinstance(info, dict):
        yield CommitInfoFault("commitInfo", "an object", True)
        return
    for key, value in info.items():
        if value is None:
            continue
        if key in _LONGS and (type(value) is not int or value not in _INT64):
            yield CommitInfoFault(key, "a whole number of 64 bits", True)
        elif key == "timestamp" and not _is_time(value):
            yield CommitInfoFault(key, "a number of milliseconds", True)
        elif key in _BOOLEANS and not isinstance(value, bool):
            yield CommitInfoFault(key, "true or false", True)
        elif key in _TEXT_MAPS | _OBJECTS and not isinstance(value, dict):
            yield CommitInfoFault(key, "an object", True)
        elif key in _TEXTS and isinstance(value, dict | list):
            yield CommitInfoFault(key, "a text", False)
        elif key in _TEXT_MAPS and any(isinstance(each, dict | list) for each in value.values()):
            yield CommitInfoFault(key, "an object of texts", False)


def _is_time(value: Any) -> bool:
    if not isinstance(value, str):
        return type(value) is int and value in _INT64
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True


def ensure_commit_metadata(extra: Mapping[str, Any]) -> None:
    """Raise `InvalidCommitMetadataError` for keys that a caller may not add to `commitInfo`.

    >>> ensure_commit_metadata({"job": "nightly"})
    Traceback (most recent call last):
    ...
    deltaarrow.errors.InvalidCommitMetadataError: the commit metadata 'job' has a meaning of its own in ...
    """
    if not isinstance(extra, Mapping):
        raise InvalidCommitMetadataError(
            f"commit metadata must be a mapping of names to JSON values, not {type(extra).__name__}"
        )
    for key, value in extra.items():
        if not isinstance(key, str):
            raise InvalidCommitMetadataError(f"a commit metadata key must be a text, not {key!r}")
        if key in _OWNED:
            raise InvalidCommitMetadataError(
                f"the commit metadata {key!r} has a meaning of its own in commitInfo, and another value could"
                f" make the table unreadable: choose another name, such as 'my_{key}', or userMetadata for a"
                " text"
            )
        if key in _OF_THE_CALLER and not isinstance(value, str):
            raise InvalidCommitMetadataError(
                f"the commit metadata {key!r} must be a text, not {type(value).__name__}: pass it as a text,"
                " or under another name"
            )
        if key == "operationParameters" and not isinstance(value, Mapping):
            raise InvalidCommitMetadataError(
                f"the commit metadata 'operationParameters' must be a mapping, not {type(value).__name__}"
            )
        if key == "readVersion" and (type(value) is not int or not 0 <= value < 1 << 63):
            raise InvalidCommitMetadataError(
                f"the commit metadata 'readVersion' must be a version, a whole number from 0, not {value!r}"
            )
        _ensure_json(key, value)


def with_commit_metadata(info: CommitInfo, extra: Mapping[str, Any]) -> CommitInfo:
    """Return `info` with metadata of the caller that `ensure_commit_metadata` accepts.

    ``operationParameters`` are added to those of the operation, which stay as they are; their values become
    texts, as Spark needs them. A ``readVersion``, which informs readers of history alone, replaces that of
    the transaction.

    >>> info = CommitInfo(operation_parameters={"mode": "Append"})
    >>> with_commit_metadata(info, {"operationParameters": {"mode": "x", "n": 7}}).operation_parameters
    {'mode': 'Append', 'n': '7'}
    """
    given = extra.get("operationParameters", {})
    own = info.operation_parameters or {}
    added = {
        key: each if isinstance(each, str) else orjson.dumps(each).decode()
        for key, each in given.items()
        if key not in own
    }
    return replace(
        info,
        operation_parameters={**own, **added},
        read_version=extra.get("readVersion", info.read_version),
        extra={key: value for key, value in extra.items() if key not in _SHARED},
    )


def _ensure_json(key: str, value: Any) -> None:
    try:
        # orjson changes values that JSON lacks, such as NaN to null; they do not survive the round trip.
        is_json = orjson.loads(orjson.dumps(value)) == value
    except (TypeError, RecursionError):
        is_json = False
    if not is_json:
        raise InvalidCommitMetadataError(
            f"the commit metadata {key!r} has a value that JSON cannot hold, in {value!r:.100}: use texts,"
            " finite numbers of 64 bits, True, False, None, and lists and dictionaries with text keys"
        )
