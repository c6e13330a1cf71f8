"""Actions to and from the JSON objects of a commit, chapter "Actions" of the protocol.

The camelCase name of a field follows from its snake_case name, so the dataclasses of
`deltaarrow.actions.model` are the only description of an action there is. A field that is None is
left out, as delta-spark leaves it out; keys that are not known are kept in `extra`.
"""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

import orjson

from deltaarrow.actions.model import (
    Action,
    AddCDCFile,
    AddFile,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    RemoveFile,
    SetTransaction,
    Sidecar,
)
from deltaarrow.deletion_vectors.descriptor import DeletionVectorDescriptor
from deltaarrow.errors import CorruptLogError

__all__ = ["camel_case", "parse_action", "parse_fields", "render_action", "render_json_lines"]

T = TypeVar("T")

_CLASSES: dict[str, type[Action]] = {
    cls.KEY: cls
    for cls in (
        Protocol,
        Metadata,
        AddFile,
        RemoveFile,
        AddCDCFile,
        SetTransaction,
        DomainMetadata,
        CommitInfo,
        CheckpointMetadata,
        Sidecar,
    )
}
_TUPLES = {"reader_features", "writer_features", "partition_columns"}


@functools.cache
def camel_case(name: str) -> str:
    """Spell a snake_case name as the log does.

    >>> camel_case("default_row_commit_version")
    'defaultRowCommitVersion'
    """
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


def _field_names(cls: Any) -> tuple[tuple[str, str, bool], ...]:
    """Return (attribute, JSON key, required) for every field but `extra`."""
    return tuple(
        (f.name, camel_case(f.name), f.default is MISSING and f.default_factory is MISSING)
        for f in fields(cls)
        if f.name != "extra"
    )


_FIELDS: dict[type, tuple[tuple[str, str, bool], ...]] = {
    cls: _field_names(cls) for cls in (*_CLASSES.values(), Format)
}


def parse_fields(cls: type[T], obj: Mapping[str, Any]) -> T:
    """Build one action of class `cls` from the inside of its JSON object.

    Raises `CorruptLogError` naming the action and the field when a required field is absent.
    """
    arguments: dict[str, Any] = {}
    names = _FIELDS[cls]
    for attribute, key, required in names:
        value = obj.get(key)
        if value is None:
            if required:
                raise CorruptLogError(f"a {cls.__name__} action of the log has no {key!r}")
            continue
        if attribute in _TUPLES:
            value = tuple(value)
        elif attribute == "deletion_vector":
            value = DeletionVectorDescriptor.from_json(value)
        elif attribute == "format":
            value = parse_fields(Format, value)
        arguments[attribute] = value
    known = {key for _, key, _ in names}
    if extra := {key: value for key, value in obj.items() if key not in known}:
        arguments["extra"] = extra
    return cls(**arguments)


def parse_action(obj: Mapping[str, Any]) -> Action | None:
    """Turn one JSON object of a commit into its action; None when the action is not known.

    >>> parse_action({"txn": {"appId": "etl", "version": 7}})
    SetTransaction(app_id='etl', version=7, last_updated=None, extra={})
    >>> parse_action({"somethingNew": {}}) is None
    True
    """
    for key, value in obj.items():
        if value is not None and (cls := _CLASSES.get(key)) is not None:
            return parse_fields(cls, value)
    return None


def _render_value(value: Any) -> Any:
    if isinstance(value, DeletionVectorDescriptor):
        return value.to_json()
    if isinstance(value, Format):
        return _render_fields(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    return value


def _render_fields(action: Any) -> dict[str, Any]:
    rendered = {
        key: _render_value(value)
        for attribute, key, _ in _FIELDS[type(action)]
        if (value := getattr(action, attribute)) is not None
    }
    return rendered | dict(action.extra)


def render_action(action: Action) -> dict[str, Any]:
    """Return the JSON object of an action, as it stands on a line of a commit.

    >>> render_action(SetTransaction(app_id="etl", version=7))
    {'txn': {'appId': 'etl', 'version': 7}}
    """
    return {action.KEY: _render_fields(action)}


def render_json_lines(actions: Iterable[Action]) -> bytes:
    """Return the text of a commit: one JSON document a line."""
    return b"".join(orjson.dumps(render_action(action)) + b"\n" for action in actions)
