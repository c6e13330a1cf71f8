"""Errors that tell in which SQL text they are, and where in it."""

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deltaarrow.errors import DeltaError

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["place_at", "placed_at", "placed_in"]


@contextlib.contextmanager
def placed_in(text: str) -> Iterator[None]:
    """Let an error that knows its place, but not in which text, be one of this text."""
    try:
        yield
    except DeltaError as error:
        if error.place is not None and not error.place[0]:
            error.place = text, error.place[1]
        raise


def place_at(error: DeltaError, node: "exp.Expr") -> None:
    """Let an error without a place be at the first word of a tree of sqlglot."""
    if error.place is None:
        starts = [int(each.meta["start"]) for each in node.walk() if "start" in each.meta]
        if starts:
            error.place = "", min(starts)


@contextlib.contextmanager
def placed_at(node: "exp.Expr") -> Iterator[None]:
    """Let an error without a place be at a tree of sqlglot; see `place_at`."""
    try:
        yield
    except DeltaError as error:
        place_at(error, node)
        raise
