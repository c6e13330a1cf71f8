"""Conversion of actions to and from the JSON objects of a commit: chapter "Actions" of the protocol.

The camelCase name of a field follows from its snake_case name, so the dataclasses of
`deltaarrow.actions.model` are the only description of an action. A field that is None is left out, as in
delta-spark; unknown keys are kept in `extra`.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args

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
from deltaarrow.deletion_vectors import DeletionVectorDescriptor
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
_INT64 = range(-(1 << 63), 1 << 63)


@functools.cache
def camel_case(name: str) -> str:
    """Spell a snake_case name as the log does.

    >>> camel_case("default_row_commit_version")
    'defaultRowCommitVersion'
    """
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


# --- values from JSON ------------------------------------------------------------------------------
# Each returns the value of the field, or raises TypeError: the log may come from any writer.


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    raise TypeError


def _integer(value: Any) -> int:
    # In Python True is also an int; a number beyond 64 bits has already become a float.
    if type(value) is int and value in _INT64:
        return value
    raise TypeError


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise TypeError


def _object(value: Any) -> Mapping[str, Any]:
    if isinstance(value, dict):
        return value
    raise TypeError


def _nullable_texts(value: Any) -> Mapping[str, str | None]:
    if all(item is None or isinstance(item, str) for item in _object(value).values()):
        return _object(value)
    raise TypeError


def _texts(value: Any) -> Mapping[str, str]:
    # A null value means that the key is not set, as in a checkpoint, which cannot tell the two apart.
    return {key: item for key, item in _nullable_texts(value).items() if item is not None}


def _text_list(value: Any) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise TypeError


def _deletion_vector(value: Any) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor.from_json(_object(value))


def _format(value: Any) -> Format:
    return parse_fields(Format, _object(value))


_PARSERS: dict[Any, Callable[[Any], Any]] = {
    str: _text,
    int: _integer,
    bool: _boolean,
    Mapping[str, Any]: _object,
    Mapping[str, str | None]: _nullable_texts,
    Mapping[str, str]: _texts,
    tuple[str, ...]: _text_list,
    DeletionVectorDescriptor: _deletion_vector,
    Format: _format,
}
"""Type of a dataclass field -> parser of its JSON value."""


class _FieldCodec(NamedTuple):
    attribute: str
    key: str
    is_required: bool
    parse: Callable[[Any], Any]


def _field_codecs(cls: Any) -> tuple[_FieldCodec, ...]:
    codecs = []
    for f in fields(cls):
        if f.name == "extra":
            continue
        kinds = [kind for kind in get_args(f.type) if kind is not NoneType]
        optional = NoneType in get_args(f.type)
        required = f.default is MISSING and f.default_factory is MISSING
        parser = _PARSERS[kinds[0] if optional else f.type]
        codecs.append(_FieldCodec(f.name, camel_case(f.name), required, parser))
    return tuple(codecs)


_FIELDS: dict[type, tuple[_FieldCodec, ...]] = {
    cls: _field_codecs(cls) for cls in (*_CLASSES.values(), Format)
}


def parse_fields(cls: type[T], obj: Any) -> T:
    """Build one action of class `cls` from its JSON body.

    Raises `CorruptLogError`, naming the action and the field, when a required field is missing or a value is
    invalid.
    """
    if not isinstance(obj, Mapping):
        raise CorruptLogError(f"a {cls.__name__} action is not a JSON object")
    arguments: dict[str, Any] = {}
    codecs = _FIELDS[cls]
    for codec in codecs:
        value = obj.get(codec.key)
        if value is None:
            if codec.is_required:
                raise CorruptLogError(f"a {cls.__name__} action has no {codec.key!r}")
            continue
        try:
            arguments[codec.attribute] = codec.parse(value)
        except TypeError:
            raise CorruptLogError(
                f"a {cls.__name__} action has the invalid value {_shown(value)} for {codec.key!r}"
            ) from None
    known = {codec.key for codec in codecs}
    if extra := {key: value for key, value in obj.items() if key not in known}:
        arguments["extra"] = extra
    return cls(**arguments)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


def parse_action(obj: Mapping[str, Any]) -> Action | None:
    """Parse one JSON object of a commit; None when the action is unknown.

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
        for attribute, key, _, _ in _FIELDS[type(action)]
        if (value := getattr(action, attribute)) is not None
    }
    return rendered | dict(action.extra)


def render_action(action: Action) -> dict[str, Any]:
    """Return the JSON object of an action, as in a line of a commit.

    >>> render_action(SetTransaction(app_id="etl", version=7))
    {'txn': {'appId': 'etl', 'version': 7}}
    """
    return {action.KEY: _render_fields(action)}


def render_json_lines(actions: Iterable[Action]) -> bytes:
    """Return the text of a commit: one JSON document per line."""
    return b"".join(orjson.dumps(render_action(action)) + b"\n" for action in actions)
