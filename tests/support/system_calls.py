"""Calls of the system that fail: because the process is killed before one, or because the disk is full."""

import os
from collections.abc import Callable

import pytest

__all__ = ["Calls", "Killed"]


class Killed(BaseException):
    """The process is gone: nothing it would do after this takes place."""


class Calls:
    """Lets the n-th call of the system that changes files fail, and with `is_last` all that follow.

    Instead of an error it takes what is done before that call.
    """

    ADDING = ("open", "fsync", "link", "replace", "mkdir")

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        nth: int,
        error: BaseException | Callable[[], None],
        *,
        is_last: bool,
    ) -> None:
        self.left, self.error, self.is_last = nth, error, is_last
        for name in (*self.ADDING, "unlink") if is_last else self.ADDING:
            monkeypatch.setattr(os, name, self.guarded(getattr(os, name)))

    def guarded(self, call):
        def guard(*arguments, **options):
            self.left -= 1
            if self.left == -1 or (self.left < 0 and self.is_last):
                if isinstance(self.error, BaseException):
                    raise self.error
                self.error()
            return call(*arguments, **options)

        return guard
