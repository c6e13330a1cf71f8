"""What `commitInfo` may hold so that delta-spark can parse it: chapter "Commit Provenance Information".

The protocol leaves the keys to the writer, and delta-spark gives types to those that it knows. One value of
another type, and it cannot parse the commit, with which the whole table is lost to it. A text key that holds
an object or an array fails its DESCRIBE HISTORY alone. Keys that delta-spark does not know hold any JSON.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from deltaarrow.errors import InvalidCommitMetadataError

__all__ = ["CommitInfoFault", "ensure_commit_metadata", "find_commit_info_faults"]

_LONGS = frozenset({"version", "inCommitTimestamp", "readVersion"})
_BOOLEANS = frozenset({"isBlindAppend"})
_TEXT_MAPS = frozenset({"operationParameters", "operationMetrics", "tags"})
_OBJECTS = frozenset({"job", "notebook"})
_OF_THE_CALLER = frozenset({"userId", "userName", "userMetadata"})
_TEXTS = _OF_THE_CALLER | {"operation", "isolationLevel", "clusterId", "engineInfo", "txnId"}
_OWNED = (_LONGS | _BOOLEANS | _TEXT_MAPS | _OBJECTS | _TEXTS | {"timestamp"}) - _OF_THE_CALLER
_INT64 = range(-(1 << 63), 1 << 63)


class CommitInfoFault(NamedTuple):
    """A key of `commitInfo` whose value delta-spark cannot take, and what it has to be.

    With `hides_table` delta-spark cannot read the table any more, else only its history.
    """

    key: str
    wanted: str
    hides_table: bool


def find_commit_info_faults(info: Any) -> Iterator[CommitInfoFault]:
    """Yield what delta-spark cannot parse of the inside of a `commitInfo`, as JSON gives it.

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
    """Raise `InvalidCommitMetadataError` for further keys of `commitInfo` that a caller may not give it.

    >>> ensure_commit_metadata({"job": "nightly"})
    Traceback (most recent call last):
    ...
    deltaarrow.errors.InvalidCommitMetadataError: the commit metadata 'job' has a meaning of its own in ...
    """
    if not isinstance(extra, Mapping):
        raise InvalidCommitMetadataError(
            f"commit metadata is a mapping of names to JSON values, not {type(extra).__name__}"
        )
    for key, value in extra.items():
        if not isinstance(key, str):
            raise InvalidCommitMetadataError(f"a commit metadata key is a text, not {key!r}")
        if key in _OWNED:
            raise InvalidCommitMetadataError(
                f"the commit metadata {key!r} has a meaning of its own in commitInfo, and another value could"
                f" make the table unreadable: choose another name, such as 'my_{key}', or userMetadata for a"
                " text"
            )
        if key in _OF_THE_CALLER and not isinstance(value, str):
            raise InvalidCommitMetadataError(
                f"the commit metadata {key!r} is a text, not {type(value).__name__}: give it as one, or under"
                " another name"
            )
        _ensure_json(key, value)


def _ensure_json(key: str, value: Any) -> None:
    try:
        # What orjson makes of values that JSON has not, such as null of NaN, comes back as something else.
        is_json = orjson.loads(orjson.dumps(value)) == value
    except (TypeError, RecursionError):
        is_json = False
    if not is_json:
        raise InvalidCommitMetadataError(
            f"the commit metadata {key!r} holds what JSON cannot, in {value!r:.100}: give texts, finite"
            " numbers of 64 bits, True, False, None, and lists and dictionaries with text keys of these"
        )
