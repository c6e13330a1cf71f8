"""Which live files of many commits may be wanted, by the texts of their partition values.

Without a checkpoint the file actions of a log are in memory as JSON gives them. To make a table of tens of
thousands takes longer than to read them; so a condition on partition columns is asked of the few texts first
(`deltaarrow.log.partition_texts`), and a table is made of the files that are left.
"""

import threading
from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np

from deltaarrow.actions import FileActionKey
from deltaarrow.log.partition_texts import (
    FIRST_TEXT,
    MOST_TEXTS,
    UNTOLD,
    NumberedTexts,
    TextCondition,
)

if TYPE_CHECKING:
    import duckdb

__all__ = ["RecentFiles"]


class RecentFiles:
    """The live files of commits; safe to share among threads.

    Args:
        adds: the insides of their `add` actions, the newest first.
    """

    def __init__(self, adds: dict[FileActionKey, dict[str, Any]]) -> None:
        self.keys = [*reversed(adds)]
        self._adds = [*reversed(adds.values())]
        self._lock = threading.Lock()
        self._texts: dict[str, NumberedTexts | None] = {}

    def left(
        self, cursor: "duckdb.DuckDBPyConnection", conditions: Mapping[str, TextCondition]
    ) -> tuple[list[FileActionKey], bool] | None:
        """Return the files that conditions on partition columns leave, and whether all could be asked.

        They are in the order in which they were committed. None where no condition could be asked.
        """
        found, is_exact = None, True
        for column, condition in conditions.items():
            if not condition.tells:
                continue
            texts = self._numbered(column)
            if texts is None:
                is_exact = False
                continue
            left = texts.left(cursor, column, condition)
            found = left.rows if found is None else found & left.rows
            is_exact = is_exact and left.is_exact
        if found is None:
            return None
        return [self.keys[row] for row in np.flatnonzero(found).tolist()], is_exact

    def _numbered(self, column: str) -> NumberedTexts | None:
        """The texts of a column; None where they are too many, or no texts."""
        with self._lock:
            if column not in self._texts:
                self._texts[column] = self._number(column)
            return self._texts[column]

    def _number(self, column: str) -> NumberedTexts | None:
        absent: Any = NumberedTexts
        try:
            texts = [add["partitionValues"].get(column, absent) for add in self._adds]
            distinct = dict.fromkeys(texts)
        except (KeyError, AttributeError, TypeError):
            return None  # It is for the table of all to say what that means.
        if not {*map(type, distinct)} <= {str, NoneType, type(absent)} or len(distinct) > MOST_TEXTS:
            return None
        known = [text for text in distinct if text is not absent]
        numbers = {text: FIRST_TEXT + number for number, text in enumerate(known)}
        numbers[absent] = UNTOLD
        return NumberedTexts.of(known, np.array([numbers[text] for text in texts], np.uint16))
