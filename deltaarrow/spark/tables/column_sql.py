"""The SQL text of a `Column` of PySpark: `ColumnTexts`.

The operations of this package take conditions and values as Spark SQL. PySpark offers no text of a `Column`
that SQL reads, so one is built from what PySpark does show, and Spark is asked whether it means the same:
``DataFrame.sameSemantics`` compares what Spark's analyzer makes of the column and of the text, down to the
types of literals and the origin of each column. Without a text that means the same, the column is refused.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark.tables.column_forms import Qualify
from deltaarrow.spark.tables.column_plan import connect_texts
from deltaarrow.spark.tables.column_text import classic_texts, column_names
from deltaarrow.spark.tables.data_frames import is_connect

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["ColumnTexts"]

_NAME = "value"


class ColumnTexts:
    """The texts of columns over the rows of a frame.

    Args:
        frames: make the frame, whose rows nobody reads. If there are several, each names the same columns in
            another way, and the first that has a text for an expression is taken.
        qualify: the texts of the name of a column over these frames, the likely one first.
    """

    def __init__(
        self,
        frames: "Sequence[Callable[[], DataFrame]]",
        qualify: Qualify = lambda name: [name],
    ) -> None:
        self._frames = [cache(each) for each in frames]
        self._qualify = qualify

    def text(self, expression: "Column | str") -> str:
        """Return the text of a column; that of a text is the text itself.

        Raises `UnsupportedFeatureError` for a column that no text of SQL means, such as a Python function or
        a column of another frame; and Spark's `AnalysisException` for a column that the
        frame does not have.
        """
        if isinstance(expression, str):
            return expression
        unknown: PySparkException | None = None
        for make in self._frames:
            frame = make()
            try:
                wanted = frame.select(expression.alias(_NAME))
            except PySparkException as error:
                unknown = unknown or error
                continue
            for text in self._candidates(expression, frame):
                if _is_same(frame, text, wanted):
                    return text
        if unknown is not None:
            raise unknown
        raise UnsupportedFeatureError(
            f"{expression} has no text in Spark SQL that certainly means the same: write the expression as a"
            " text, such as \"name = 'x'\"",
            feature="expressions of Column",
        )

    def _candidates(self, column: Any, frame: "DataFrame") -> list[str]:
        session: Any = frame.sparkSession
        if not is_connect(session):
            return classic_texts(str(column), self._qualify)
        return connect_texts(column.to_plan(session.client), self._qualify, column_names)


def _is_same(frame: "DataFrame", text: str, wanted: "DataFrame") -> bool:
    try:
        return wanted.sameSemantics(frame.selectExpr(f"{text} AS {_NAME}"))
    except PySparkException:
        return False  # It is no text of SQL, or names what is not there.
