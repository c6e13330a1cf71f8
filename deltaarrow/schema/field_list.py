"""The fields of a struct: a tuple that equals the list which ``deltalake`` has in its place."""

from typing import TypeVar

__all__ = ["FieldList"]

_Field = TypeVar("_Field")


class FieldList(tuple[_Field, ...]):
    """The fields in order, read-only; it equals a list or a tuple of the same fields.

    >>> FieldList(("x", "y")) == ["x", "y"], FieldList(("x",)) + ["y"]
    (True, ['x', 'y'])
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return tuple.__eq__(self, tuple(other) if isinstance(other, list) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __add__(self, other: object) -> "list[object]":  # type: ignore[override]
        return [*self, *other] if isinstance(other, list | tuple) else NotImplemented

    def __repr__(self) -> str:
        return repr(list(self))
