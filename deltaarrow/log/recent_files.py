"""Which live files of commits may be wanted, by the texts of their partition values and their statistics.

The file actions of commits are in memory as JSON gives them. To make a table of tens of thousands takes
longer than to read them; so a condition on partition columns is asked of the few texts first
(`deltaarrow.log.partition_texts`), and a table is made of the files that are left. Beside a large checkpoint
they are judged by the whole condition likewise, as a query takes milliseconds to prepare.
"""

import threading
from collections.abc import Mapping
from contextlib import nullcontext
from functools import cached_property
from types import NoneType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deltaarrow.actions import FileActionKey
from deltaarrow.actions.arrow import build_array
from deltaarrow.arrays import integers
from deltaarrow.log.choice import FileCondition
from deltaarrow.log.partition_texts import (
    FIRST_TEXT,
    MOST_TEXTS,
    UNTOLD,
    NumberedTexts,
    OpenCursor,
    TextCondition,
)
from deltaarrow.statistics.held import PLACE, HeldStatistics, Left, StatisticsCondition

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
        """The files in the order in which they were committed."""
        self._adds = [*reversed(adds.values())]
        self._lock = threading.Lock()
        self._texts: dict[str, NumberedTexts | None] = {}
        self._statistics = HeldStatistics(has_few=True)

    def left(self, cursor: "duckdb.DuckDBPyConnection", condition: FileCondition) -> np.ndarray | None:
        """Return a mask of the files that a condition leaves; None where not all of it could be asked."""
        found, is_exact = self.left_by_texts(lambda: nullcontext(cursor), condition.partitions)
        if not is_exact or not condition.is_all:
            return None
        if found is None:
            found = np.ones(len(self.keys), bool)
        if condition.statistics is not None and found.any():
            left = self._left_by_statistics(cursor, condition.statistics)
            if left is None or not left.is_exact:
                return None
            told = np.zeros(len(found), bool)
            told[left.places] = True
            found = found & told
        return found

    def of(self, mask: np.ndarray) -> list[FileActionKey]:
        """Return the files of a mask."""
        return [self.keys[row] for row in np.flatnonzero(mask).tolist()]

    def _left_by_statistics(
        self, cursor: "duckdb.DuckDBPyConnection", condition: StatisticsCondition
    ) -> Left | None:
        texts = self._statistics_texts
        if texts is None:
            return None

        def source() -> str:
            places = integers(np.arange(len(texts)))
            cursor.register("recent", pa.table([places, build_array(texts, pa.string())], [PLACE, "stats"]))
            return f"SELECT {PLACE}, stats FROM recent"

        return self._statistics.left(cursor, source, condition)

    @cached_property
    def _statistics_texts(self) -> list[str | None] | None:
        """The statistics of the files; None where one is no text, as the table of all will say."""
        texts = [add.get("stats") for add in self._adds]
        return texts if {*map(type, texts)} <= {str, NoneType} else None

    def left_by_texts(
        self, open_cursor: OpenCursor, conditions: Mapping[str, TextCondition]
    ) -> tuple[np.ndarray | None, bool]:
        """Return a mask of the files that conditions on partition columns leave, and whether all were asked.

        None where none was.
        """
        found, is_exact = None, True
        for column, condition in conditions.items():
            if not condition.tells:
                continue
            texts = self._numbered(column)
            if texts is None:
                is_exact = False
                continue
            left = texts.left(open_cursor, column, condition)
            found = left.rows if found is None else found & left.rows
            is_exact = is_exact and left.is_exact
        return found, is_exact

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
