"""`dataclass`, as that of the standard library, for the many classes that a first statement imports.

The standard library compiles each method of each class by itself (until Python 3.13), six for a frozen one.
For the classes of one statement this takes half as long as `import pyarrow`. Here only ``__init__`` is
compiled; the other methods are closures. The classes are dataclasses in all else: `dataclasses.fields`,
`dataclasses.replace`, pickling and matching work.
"""

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_set = object.__setattr__

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        slots: bool = False,
        kw_only: bool = False,
        repr: bool = True,
        **options: Any,
    ) -> Any:
        """Return the class as a dataclass; takes the arguments of `dataclasses.dataclass`.

        A class with other options is left to the standard library.

        >>> @dataclass(frozen=True)
        ... class Point:
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, 0), dataclasses.replace(Point(1), y=2)
        (Point(x=1, y=0), True, Point(x=1, y=2))
        """

        def made(cls: type) -> type:
            given = {"slots": slots, "kw_only": kw_only}
            if options:
                return dataclasses.dataclass(cls, frozen=frozen, repr=repr, **given, **options)
            return _made(cls, given, is_frozen=frozen, has_repr=repr)

        return made if cls is None else made(cls)


def _made(cls: type, given: dict[str, bool], *, is_frozen: bool, has_repr: bool) -> type:
    own = set(cls.__dict__)
    # The standard library compares this with the bases, and then makes these two methods itself.
    is_derived = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
    given = {**given, "frozen": is_frozen and is_derived}
    if not cls.__doc__:
        # Else the standard library would write one from the signature, which takes long to find.
        cls.__doc__ = cls.__name__
    made: Any = dataclasses.dataclass(cls, init=False, repr=False, eq=False, **given)
    fields = dataclasses.fields(made)
    methods: dict[str, Callable[..., Any]] = {"__init__": _init(made, fields, is_frozen=is_frozen)}
    methods["__eq__"] = _eq([each.name for each in fields if each.compare])
    if has_repr:
        methods["__repr__"] = _repr([each.name for each in fields if each.repr])
    if is_frozen:
        hashed = [each.name for each in fields if (each.compare if each.hash is None else each.hash)]
        methods["__hash__"] = _hash(hashed)
        if not is_derived:
            methods |= _frozen_methods(made, frozenset(each.name for each in fields))
    elif "__hash__" not in own:
        made.__hash__ = None
    for name, method in methods.items():
        if name not in own or (name == "__hash__" and made.__dict__["__hash__"] is None):
            method.__qualname__ = f"{made.__qualname__}.{name}"
            setattr(made, name, method)
        elif name in ("__setattr__", "__delattr__"):
            raise TypeError(f"Cannot overwrite attribute {name} in class {made.__name__}")
    if is_frozen and given["slots"]:
        made.__getstate__, made.__setstate__ = _pickling([each.name for each in fields])
    parameters = made.__dataclass_params__
    parameters.init = parameters.eq = True
    parameters.repr, parameters.frozen = has_repr, is_frozen
    return made  # type: ignore[no-any-return]


def _init(cls: type, fields: tuple[Any, ...], *, is_frozen: bool) -> Callable[..., Any]:
    """The method ``__init__``: the only one that is compiled, because arguments are bound fastest so."""
    known: dict[str, Any] = {"_set": _set, "_made": _MADE}
    line = " _set(self, {0!r}, {1})" if is_frozen else " self.{0} = {1}"
    body: list[str] = []
    defaults: list[Any] = []
    keyword_defaults: dict[str, Any] = {}
    positional = [each.name for each in fields if each.init and not each.kw_only]
    named = [each.name for each in fields if each.init and each.kw_only]
    for each in fields:
        has_factory = each.default_factory is not dataclasses.MISSING
        if has_factory:
            known[f"_make_{each.name}"] = each.default_factory
        default = _MADE if has_factory else each.default
        if each.init:
            value = f"_make_{each.name}() if {each.name} is _made else {each.name}"
            body.append(line.format(each.name, value if has_factory else each.name))
            if default is dataclasses.MISSING:
                if defaults and not each.kw_only:
                    raise TypeError(f"non-default argument {each.name!r} follows default argument")
            elif each.kw_only:
                keyword_defaults[each.name] = default
            else:
                defaults.append(default)
        elif has_factory:
            body.append(line.format(each.name, f"_make_{each.name}()"))
    if hasattr(cls, "__post_init__"):
        body.append(" self.__post_init__()")
    arguments = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    exec(f"def __init__({arguments}):\n" + "\n".join(body or [" pass"]), known)
    init: Any = known["__init__"]
    init.__defaults__, init.__kwdefaults__ = tuple(defaults) or None, keyword_defaults or None
    init.__annotations__ = {each.name: each.type for each in fields if each.init} | {"return": None}
    init.__module__ = cls.__module__
    return init  # type: ignore[no-any-return]


class _Made:
    """Stands for a default that a factory makes, as in the signatures of the standard library."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()


def _values(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function from an instance to its values as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _eq(names: list[str]) -> Callable[..., Any]:
    values = _values(names)

    def __eq__(self: Any, other: object) -> Any:  # noqa: N807
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return __eq__


def _hash(names: list[str]) -> Callable[..., Any]:
    values = _values(names)

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _repr(names: list[str]) -> Callable[..., Any]:
    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _frozen_methods(cls: Any, names: frozenset[str]) -> dict[str, Callable[..., Any]]:
    def __setattr__(self: Any, name: str, value: Any) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _pickling(names: list[str]) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The methods that pickle an instance without ``__dict__``."""

    def __getstate__(self: Any) -> list[Any]:  # noqa: N807
        return [getattr(self, name) for name in names]

    def __setstate__(self: Any, state: list[Any]) -> None:  # noqa: N807
        for name, value in zip(names, state, strict=True):
            _set(self, name, value)

    return __getstate__, __setstate__
