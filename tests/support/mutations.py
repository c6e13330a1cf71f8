"""Mutations of JSON: every place in a value, and what a hostile or broken writer may put there."""

import copy
from collections.abc import Iterator
from typing import Any

__all__ = ["ODD_VALUES", "places", "replaced", "without"]

Place = tuple[str | int, ...]

ODD_VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    7,
    1.5,
    1e300,
    2**31,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    2**200,
    "",
    "7",
    "x",
    "../../../../../../x",
    "/",
    ".",
    "a\0b",
    "%00",
    "%zz",
    "s3://bucket/x",
    "file:/nowhere/x",
    "x" * 300,
    "é\u2028😀",
    "'; DROP TABLE x; --",
    "{",
    "[[[[[[[[",
    "NaN",
    [],
    {},
    [None],
    [[]],
    ["x", "x"],
    [{}],
    {"x": None},
    {"x": {"x": []}},
    {"": ""},
]
"""What may stand at any place of a JSON value in the log."""


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """Every place below `value`, the way to it as keys and positions."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*at, key)
        yield from places(inner, (*at, key))


def replaced(value: Any, place: Place, new: Any) -> Any:
    """A copy of `value` with `new` at a place."""
    changed = copy.deepcopy(value)
    target = changed
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = new
    return changed


def without(value: Any, place: Place) -> Any:
    """A copy of `value` without what is at a place."""
    changed = copy.deepcopy(value)
    target = changed
    for key in place[:-1]:
        target = target[key]
    del target[place[-1]]
    return changed
