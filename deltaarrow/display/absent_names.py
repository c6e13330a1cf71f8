"""`TellingNames`: errors for missing attributes that name the replacement."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from deltaarrow.display.near_names import did_you_mean

__all__ = ["TellingClass", "TellingNames"]

_HUMPS = re.compile(r"(?<!^)(?=[A-Z])")


class TellingClass(type):
    """A class whose error for an absent name says what to use."""

    if not TYPE_CHECKING:  # type checkers shall find absent names themselves

        def __getattr__(cls, name: str) -> Any:
            raise _absent(cls, name)


class TellingNames(metaclass=TellingClass):
    """The base of classes whose error for an absent name says what to use.

    >>> class Shelf(TellingNames):
    ...     _instead_of = {"append": "put(book)"}
    ...
    ...     def put(self, book): ...
    >>> Shelf().append
    Traceback (most recent call last):
    AttributeError: Shelf has no attribute 'append'; use put(book)
    """

    _instead_of: ClassVar[Mapping[str, str]] = {}
    """Names that users know from elsewhere -> what does the same here."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if any(name in vars(each) for each in type(self).__mro__):
                # A property has failed: let its own error be seen.
                return object.__getattribute__(self, name)
            raise _absent(type(self), name)


def _absent(owner: type[TellingNames], name: str) -> AttributeError:
    says = ""
    if not name.startswith("_"):
        own = [each for each in dir(owner) if not each.startswith("_")]
        snake = _HUMPS.sub("_", name).lower()
        if name in owner._instead_of:
            says = f"; use {owner._instead_of[name]}"
        elif snake in own:
            says = f"; use {snake}"
        else:
            says = did_you_mean(name, own)
    return AttributeError(f"{owner.__name__} has no attribute {name!r}{says}")
