"""`Value`: what compares by the fields that it holds, and never changes, as a frozen dataclass.

Python compiles six functions for every frozen dataclass when its module is imported, for more than half a
millisecond; the subclasses of `Value` share theirs. It is for modules that every program needs and that
define many small classes; where a class is built by the thousand, a dataclass is the quicker one.
"""

from dataclasses import FrozenInstanceError
from typing import Any, ClassVar, Never, dataclass_transform

__all__ = ["Value"]


@dataclass_transform(frozen_default=True)
class Value:
    """A base of classes whose annotations are their fields, with defaults as in a dataclass.

    Fields are given by position or by name, are matched by position, and are hashed and compared along with
    the class. Defaults are immutable.

    >>> class Point(Value):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(x=1, y=0), Point(1) in {Point(2)}
    (Point(x=1, y=0), True, False)
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls.__match_args__ = (*cls.__match_args__, *cls.__annotations__)  # type: ignore[misc]

    def __init__(self, *values: Any, **named: Any) -> None:
        names, given = self.__match_args__, len(values) + len(named)
        held = dict(zip(names, values, strict=False)) | named
        cls = type(self)
        try:
            self.__dict__.update((name, held[name] if name in held else getattr(cls, name)) for name in names)
        except AttributeError as error:
            raise TypeError(f"{cls.__qualname__} lacks the field {error.name}") from None
        if len(held) < given or not held.keys() <= self.__dict__.keys():
            raise TypeError(f"{cls.__qualname__} has the fields {', '.join(names)}, each to be given once")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__qualname__}({fields})"

    def __setattr__(self, name: str, value: Any) -> Never:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> Never:
        raise FrozenInstanceError(f"cannot delete field {name!r}")
