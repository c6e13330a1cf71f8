"""Errors with the SQL text they are about, and the position in it."""

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from deltaarrow.errors import DeltaError
from deltaarrow.spark_sql.tree.nodes import Call, Node

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["call_at", "place_at", "placed_at", "placed_in"]

_FIRST = "first"
"""The key of `_start_of` among the metadata of a node, once it is known."""


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
    if error.place is None and (start := _start_of(node)) is not None:
        error.place = "", start


def call_at(bound: Node, node: "exp.Expr") -> Node:
    """A call that may raise, with the place of the tree of sqlglot that it was made of; other nodes as is."""
    if not isinstance(bound, Call) or not bound.can_fail or bound.place is not None:
        return bound
    return replace(bound, place=_start_of(node))


def _start_of(node: "exp.Expr") -> int | None:
    """Where the first word of a tree of sqlglot is in the text; None if sqlglot does not tell."""
    meta = node.meta
    if _FIRST not in meta:
        starts = [_start_of(each) for each in node.iter_expressions()]
        known = [each for each in (meta.get("start"), *starts) if each is not None]
        meta[_FIRST] = min(known, default=None)
    start: int | None = meta[_FIRST]
    return start


@contextlib.contextmanager
def placed_at(node: "exp.Expr") -> Iterator[None]:
    """Let an error without a place be at a tree of sqlglot; see `place_at`."""
    try:
        yield
    except DeltaError as error:
        place_at(error, node)
        raise
