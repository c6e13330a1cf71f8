"""Positional arguments that older releases of ``deltalake`` took; they are accepted with a warning."""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

__all__ = ["takes_positionally"]

_P = ParamSpec("_P")
_R = TypeVar("_R")


def takes_positionally(*names: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return a decorator of a function whose keyword arguments `names` may follow the positional ones.

    The order of `names` is that of ``deltalake``. A call that uses it gets a warning to name the arguments.

    Raises (the function):
        TypeError: there are more positional arguments, or one is given twice.

    >>> @takes_positionally("b")
    ... def both(a, *, b=None):
    ...     return a, b
    >>> with warnings.catch_warnings(action="ignore"):
    ...     both(1, 2)
    (1, 2)
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        kinds = [each.kind for each in inspect.signature(function).parameters.values()]
        positional = len([kind for kind in kinds if kind is inspect.Parameter.POSITIONAL_OR_KEYWORD])

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> _R:
            if len(args) <= positional:
                return function(*args, **kwargs)
            name, extra = function.__name__, args[positional:]
            if len(extra) > len(names):
                raise TypeError(
                    f"{name}() takes at most {len(names)} more positional arguments: {', '.join(names)}"
                )
            for each in names[: len(extra)]:
                if each in kwargs:
                    raise TypeError(f"{name}() got multiple values for {each!r}")
            warnings.warn(
                f"arguments of {name}() are given positionally; name them: {', '.join(names[: len(extra)])}",
                DeprecationWarning,
                stacklevel=2,
            )
            return function(*args[:positional], **kwargs, **dict(zip(names, extra, strict=False)))

        return call

    return decorate
