"""`hide_secrets`: redacts the exceptions of libraries that a traceback shows beside an error of ours."""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from deltaarrow.display.redaction import redacted, without_secrets_of

__all__ = ["hide_secrets", "secrets_of"]

_PACKAGE = __name__.partition(".")[0]

_DEPTH = 5
"""How deep the attributes of an exception are looked through."""


def hide_secrets(error: BaseException | None, hide: Callable[[str], str] = redacted) -> None:
    """Redact an exception and its causes in place: texts, arguments, notes and attributes.

    An exception that the caller handles, while it calls this package, stays as it is.

    Args:
        error: the exception; None for none.
        hide: returns a text without its secrets.

    >>> error = ValueError("Invalid endpoint: https://ann:pass@host:x")
    >>> hide_secrets(error)
    >>> error
    ValueError('Invalid endpoint: https://***@host:***')
    """
    if error is None:
        return
    outside = _frames_of_callers()
    for each in _chain(error):
        if each.__traceback__ is None or id(each.__traceback__.tb_frame) not in outside:
            _hide(each, hide)


def _frames_of_callers() -> set[int]:
    """The frames of the stack outside of this package."""
    frame: FrameType | None = sys._getframe()
    frames, count = list[int](), 0
    while frame is not None:
        frames.append(id(frame))
        if frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
            count = len(frames)
        frame = frame.f_back
    return set(frames[count:])


def secrets_of(source: str) -> Callable[[str], str]:
    """Return what hides the secrets of a URI or a statement, and those of any other in a text."""
    return lambda text: redacted(without_secrets_of(source, text))


def _hide(error: BaseException, hide: Callable[[str], str]) -> None:
    if error.args:
        error.args = tuple(_hidden(value, hide, _DEPTH) for value in error.args)
    if isinstance(error, OSError):
        for name in ("filename", "filename2", "strerror"):
            value = getattr(error, name)
            if isinstance(value, str) and (text := hide(value)) != value:
                setattr(error, name, text)
    for name, value in list(vars(error).items()):
        vars(error)[name] = _hidden(value, hide, _DEPTH)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    pending, seen = [error], set[int]()
    while pending:
        found = pending.pop()
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        pending += [found.__cause__, found.__context__]
        held = [*found.args, *vars(found).values(), *getattr(found, "exceptions", ())]
        pending += [each for each in held if isinstance(each, BaseException)]


def _hidden(value: Any, hide: Callable[[str], str], depth: int) -> Any:
    """A value without secrets; the same object where it has none."""
    if isinstance(value, str):
        text = hide(value)
        return value if text == value else text
    if depth == 0:
        return value
    if type(value) is dict:
        for key, each in value.items():
            value[key] = _hidden(each, hide, depth - 1)
    elif type(value) is list:
        value[:] = [_hidden(each, hide, depth - 1) for each in value]
    elif type(value) is tuple:
        return tuple(_hidden(each, hide, depth - 1) for each in value)
    elif type(value).__name__ == "URL":  # of yarl, in the errors of aiohttp
        text = hide(str(value))
        return value if text == str(value) else text
    return value
