"""The place of an error in the text of a query."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from deltaarrow.display.marked_line import marked_line
from deltaarrow.errors import DeltaError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.spark_sql.queries.parsing import place_of

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["AtPlaceError", "placed", "with_caret"]


_AT_CHARACTER = re.compile(r" \(at character (\d+)\)")


class AtPlaceError(Exception):
    """An error on its way out of the compiler, with the index of the character that it is about."""

    def __init__(self, error: DeltaError, place: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.place = place


@contextmanager
def placed(node: "exp.Expr") -> Iterator[None]:
    """Note the place of a node for the errors of a block, unless a part of it was noted."""
    try:
        yield
    except DeltaError as error:
        place = place_of(node)
        if place is None:
            raise
        raise AtPlaceError(error, place) from error


def with_caret(found: AtPlaceError, text: str) -> DeltaError:
    """The error with the line of its place."""
    error = found.error
    exact = _AT_CHARACTER.search(str(error))
    caret = marked_line(text, found.place if exact is None else int(exact[1]) - 1)
    message = f"{_AT_CHARACTER.sub('', str(error))}\n{caret}"
    if type(error) is UnsupportedFeatureError:
        return UnsupportedFeatureError(message, feature=error.feature)
    if type(error) is SchemaMismatchError:
        return SchemaMismatchError(message)
    error.add_note(caret)
    return error
