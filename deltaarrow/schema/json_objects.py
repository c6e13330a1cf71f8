"""Immutable JSON objects, for the parts of a schema that are kept verbatim.

A schema must preserve column metadata and unknown keys with any JSON value (PROTOCOL.md, *Schema
Serialization Format* and *Column Metadata*). Immutable objects keep types hashable, picklable and safe
to share between threads.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import orjson

from deltaarrow.errors import CorruptLogError

__all__ = ["JsonObject", "JsonValue", "parse_json", "render_json"]

JsonValue: TypeAlias = Any
"""None, bool, int, float, str, or a list or dict of these."""


class JsonObject(Mapping[str, JsonValue]):
    """A read-only JSON object that keeps the order of its keys.

    Access returns copies of inner lists and objects, so callers cannot change the table's schema. A
    JsonObject equals a dict with the same content.

    >>> JsonObject({"comment": "net price"})["comment"]
    'net price'
    """

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, JsonValue] | None = None) -> None:
        self._values: dict[str, JsonValue] = copy.deepcopy(dict(values)) if values else {}

    def __getitem__(self, key: str) -> JsonValue:
        value = self._values[key]
        return copy.deepcopy(value) if isinstance(value, dict | list) else value

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, JsonObject):
            return _typed(self._values) == _typed(other._values)
        if isinstance(other, dict):
            return _typed(self._values) == _typed(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(_typed(self._values))

    def __repr__(self) -> str:
        return repr(self._values)

    def __reduce__(self) -> tuple[type["JsonObject"], tuple[dict[str, JsonValue]]]:
        """Pickle the content only."""
        return JsonObject, (self._values,)


def _typed(value: JsonValue) -> object:
    """Return a hashable form of a JSON value that distinguishes ``true``, 1 and 1.0."""
    if isinstance(value, dict):
        return dict, frozenset((key, _typed(item)) for key, item in value.items())
    if isinstance(value, list):
        return list, tuple(_typed(item) for item in value)
    return type(value), value


def parse_json(text: str | bytes) -> JsonValue:
    """Parse a JSON text; integers of any size stay exact.

    Raises:
        CorruptLogError: the text is not JSON. NaN, infinities and lone surrogates are not JSON.
    """
    try:
        # orjson is strict; the standard library keeps integers exact.
        orjson.loads(text)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptLogError(f"not a JSON text: {error}") from error


def render_json(value: JsonValue) -> str:
    """Return the compact JSON text with non-ASCII characters unescaped, as Spark writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain)


def _plain(value: object) -> dict[str, JsonValue]:
    if isinstance(value, JsonObject):
        return value._values
    raise TypeError(f"{type(value).__name__} is not a JSON value")
