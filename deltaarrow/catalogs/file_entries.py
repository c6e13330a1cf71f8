"""The states of the names of a file catalog as JSON: tables, views, namespaces, and dropped names."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import orjson

from deltaarrow.catalogs.namespace import View, fold
from deltaarrow.errors import DeltaError
from deltaarrow.schema import Schema

__all__ = [
    "DROPPED_SIZE",
    "Slot",
    "TableEntry",
    "checked_name",
    "dropped_location",
    "is_dropped",
    "is_name",
    "parse_view",
    "render_dropped",
    "render_state",
    "render_view",
]

_NAME = re.compile(r"(?!_delta_log$)\w[\w -]*", re.ASCII)
_ID = "id"
_LOCATION = "location"
_MANAGED = "managed"
_DROPPED = "dropped"
_MOVING = "moving_to"
_FROM = "moved_from"
_QUERY = "query"
_SCHEMA = "schema"
_NAMESPACE = "namespace"

Slot = tuple[str, str, int]
"""A namespace, a name of it and the number of a state of the name."""


def is_name(folded: str) -> bool:
    """Whether a case-folded string can be a name: a valid file name on every store."""
    return _NAME.fullmatch(folded) is not None


def checked_name(name: str) -> str:
    """Return a name case-folded; `ValueError` for what cannot be a name."""
    folded = fold(name)
    if not is_name(folded):
        raise ValueError(f"{name!r} is no name, which has letters, digits, _, - and blanks")
    return folded


def render_state(content: Mapping[str, Any]) -> bytes:
    """Render a state. No two states are equal: so a writer knows its own."""
    return orjson.dumps({**content, _ID: uuid.uuid4().hex})


def render_dropped(location: str | None = None) -> bytes:
    """Render the state of a name that is dropped; `location` is that of a table whose files go with it."""
    return render_state({_DROPPED: location})


DROPPED_SIZE = len(render_dropped())
"""The size of the state of a dropped name without a location; other states of this release are larger."""


def is_dropped(data: bytes) -> bool:
    """Whether a name is dropped; not if its file is damaged."""
    try:
        found = orjson.loads(data)
    except ValueError:
        return False
    return isinstance(found, dict) and _DROPPED in found


def dropped_location(data: bytes) -> str | None:
    """Return the location of a dropped table whose files go with the name."""
    found = orjson.loads(data).get(_DROPPED)
    return found if isinstance(found, str) else None


@dataclass(frozen=True)
class TableEntry:
    """Where the table of a name is.

    Attributes:
        location: its path or URI.
        is_managed: whether the catalog owns its files.
        moving: the state of another name that takes the table away, once it is put.
        source: the state of another name that had the table before.
    """

    location: str
    is_managed: bool
    moving: Slot | None = None
    source: Slot | None = None

    @classmethod
    def parse(cls, shown: str, data: bytes) -> Self:
        """Parse a state; `DeltaError` with the name `shown` if it is damaged."""
        try:
            found = orjson.loads(data)
            entry = cls(found[_LOCATION], found[_MANAGED], _slot(found.get(_MOVING)), _slot(found.get(_FROM)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DeltaError(f"the catalog's file of {shown} is damaged: {error}") from error
        if not isinstance(entry.location, str) or not isinstance(entry.is_managed, bool):
            raise DeltaError(f"the catalog's file of {shown} is damaged: {found}")
        return entry

    def render(self) -> bytes:
        """Render a state."""
        content: dict[str, Any] = {_LOCATION: self.location, _MANAGED: self.is_managed}
        if self.moving is not None:
            content[_MOVING] = self.moving
        if self.source is not None:
            content[_FROM] = self.source
        return render_state(content)


def _slot(found: Any) -> Slot | None:
    if found is None:
        return None
    namespace, name, number = found
    if not (is_name(namespace) and is_name(name) and type(number) is int and number >= 0):
        raise ValueError(f"{found} is no state of a name")
    return namespace, name, number


def parse_view(shown: str, name: str, data: bytes) -> View:
    """Parse the state of a view; `DeltaError` with the name `shown` if it is damaged."""
    try:
        found = orjson.loads(data)
        schema = Schema.from_json(found[_SCHEMA])
        return View(name, str(found[_QUERY]), schema, found.get(_NAMESPACE))
    except (ValueError, TypeError, KeyError, AttributeError, DeltaError) as error:
        raise DeltaError(f"the file of the view {shown} is damaged: {error}") from error


def render_view(view: View) -> bytes:
    """Render the state of a view."""
    return render_state({_QUERY: view.query, _SCHEMA: view.schema.to_json(), _NAMESPACE: view.namespace})
