"""The distinct texts of a partition column in a large checkpoint, so that not every file of it is judged.

A condition on files works on every file's map of texts: a look-up, a test of the spelling, a cast. Files are
many and texts are few, so the condition is asked of the texts, once, and of the files only whether they have
one of those that are left. That is a comparison which DuckDB's reader makes on dictionaries and bounds,
without reading most of the column.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.compute import quote_literal

if TYPE_CHECKING:
    import duckdb

__all__ = ["PartitionTexts"]

_MOST_TEXTS = 10_000
"""More are not looked for: a condition on them would cost as much as one on the files."""
_MOST_LISTED = 256


@dataclass
class PartitionTexts:
    """The texts of the partition columns of files that do not change; they are found when asked for."""

    _found: dict[str, pa.Table | None] = field(default_factory=dict)

    def condition(
        self, cursor: "duckdb.DuckDBPyConnection", source: str, column: str, condition: str | None
    ) -> tuple[str, float] | None:
        """Return a condition that fails for no file which may match, and the share of texts that it leaves.

        None where there is none to be had.

        Args:
            cursor: where the SELECT runs.
            source: a SELECT of the column ``partition_values`` of all files.
            column: the physical name of a partition column.
            condition: a condition on ``partition_values`` that looks at this column alone, and is false
                for texts that cannot match.
        """
        if column not in self._found:
            self._found[column] = _distinct(cursor, source, column)
        texts = self._found[column]
        if texts is None or condition is None:
            return None
        key, name = quote_literal(column), "partition_texts"
        cursor.register(name, texts)
        left = cursor.sql(
            f"SELECT text FROM (SELECT text, MAP {{{key}: text}} AS partition_values FROM {name})"
            f" WHERE {condition}"
        ).fetchall()
        cursor.unregister(name)
        share = len(left) / max(texts.num_rows, 1)
        if not left:
            return "FALSE", share
        # For more than a few texts the reader uses bounds and no list; their order is that of bytes in both.
        listed = sorted((text for (text,) in left), key=str.encode)
        bounds = f"partition_values[{key}] BETWEEN {quote_literal(listed[0])} AND {quote_literal(listed[-1])}"
        if len(listed) > _MOST_LISTED:
            return bounds, share
        return f"{bounds} AND partition_values[{key}] IN ({', '.join(map(quote_literal, listed))})", share


def _distinct(cursor: "duckdb.DuckDBPyConnection", source: str, column: str) -> pa.Table | None:
    """The texts as the column ``text``; None where they are too many, or where a file has none."""
    text = f"map_extract_value(partition_values, {quote_literal(column)})"
    found = cursor.sql(
        f"SELECT DISTINCT {text} AS text FROM ({source}) LIMIT {_MOST_TEXTS + 1}"
    ).to_arrow_table()
    return None if found.num_rows > _MOST_TEXTS or found.column("text").null_count else found
