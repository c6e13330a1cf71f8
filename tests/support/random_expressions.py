"""Random expressions: the listed calls of all functions and operators, put into each other."""

import functools
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.errors import DeltaError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import parse_expression
from tests.spark.test_spark_sql import CASES, LISTED
from tests.support.random_rows import TYPES
from tests.support.sql_scripts import spark_type

__all__ = ["COLUMN_TYPES", "Column", "RandomExpressions"]

_SCHEMA = Schema.from_arrow(pa.schema(list(TYPES.items())))
COLUMN_TYPES = {field.name: spark_type(field.type) for field in _SCHEMA.fields}

Column = tuple[str, str]
"""The name of a column and its type as Spark writes it."""

_TOKEN = re.compile(
    r"r?'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`[^`]*`|[A-Za-z_]\w*|\d\w*|->|\s+|.", re.DOTALL
)
_PARAMETER = re.compile(r"(?:\((\w+), *(\w+)\)|\b(\w+)) *->")

_LAST_DIGITS = frozenset(LISTED["mathematics"])
"""Expressions whose last digit may be another one."""

_OTHERS = re.compile(
    r"\b(rand|uuid|now|curdate|current_\w+|localtimestamp|assert_true|raise_error)\b", re.IGNORECASE
)
"""Calls that have another value each time, or none."""

_LITERALS = {
    "tinyint": ["0", "1", "-1"],
    "smallint": ["0", "2", "7"],
    "int": ["0", "1", "2", "-1", "3", "NULL"],
    "bigint": ["0", "2", "-1", "7"],
    "float": ["0", "2.5"],
    "double": ["0", "1", "2.5", "'NaN'"],
    "string": ["''", "'a'", "'b'", "'ab'", "'A'"],
    "binary": ["''", "'a'"],
    "boolean": ["true", "false"],
    "date": ["'2020-02-29'", "'1970-01-01'", "'2021-01-01'"],
    "timestamp": ["'2020-02-29 12:00:00.000001'", "'1970-01-01 00:00:00'"],
    "timestamp_ntz": ["'2020-02-29 12:00:00.000001'", "'1970-01-01 00:00:00'"],
    "array<int>": ["array(1, 2)", "array(NULL, 1)"],
    "array<string>": ["array('a', 'b')"],
}
_OF_DECIMALS = ["0", "1", "0.5"]


@dataclass(frozen=True)
class _Template:
    """A listed expression: its type, and its parts, of which those with a type stand for a column."""

    type: str
    parts: tuple[tuple[str, str | None], ...]


class RandomExpressions:
    """Makes expressions over columns, of a wanted type or of any."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def any(self, columns: Sequence[Column], depth: int) -> Column:
        """An expression and its type."""
        if depth > 0:
            template = self._template(None)
            if template is not None:
                return self._filled(template, columns, depth), template.type
        return self._rng.choice(columns)

    def of_type(self, columns: Sequence[Column], kind: str, depth: int) -> str:
        """An expression of a type."""
        if depth <= 0 or self._rng.random() < 0.4:
            return self._leaf(columns, kind)
        template = self._template(kind)
        if template is not None and self._rng.random() < 0.7:
            return self._filled(template, columns, depth)
        one, other = (self.of_type(columns, kind, depth - 1) for _ in range(2))
        condition = self.of_type(columns, "boolean", depth - 1)
        return self._rng.choice(
            [
                f"CASE WHEN {condition} THEN {one} ELSE {other} END",
                f"coalesce({one}, {other})",
                f"if({condition}, {one}, {other})",
            ]
        )

    def _leaf(self, columns: Sequence[Column], kind: str) -> str:
        own = [name for name, each in columns if each == kind]
        if own and self._rng.random() < 0.85:
            return self._rng.choice(own)
        known = _OF_DECIMALS if kind.startswith("decimal") else _LITERALS.get(kind, ["NULL"])
        return f"CAST({self._rng.choice(known)} AS {kind})"

    def _filled(self, template: _Template, columns: Sequence[Column], depth: int) -> str:
        parts = [
            text if kind is None else self.of_type(columns, kind, depth - 1) for text, kind in template.parts
        ]
        return f"({''.join(parts)})"

    def _template(self, kind: str | None) -> _Template | None:
        for _ in range(12):
            found = _read(self._rng.choice(CASES))
            if found is not None and kind in (None, found.type):
                return found
        return None


@functools.cache
def _read(text: str) -> _Template | None:
    """A listed expression; None for one that random queries leave out."""
    if text in _LAST_DIGITS or _OTHERS.search(text):
        return None
    try:
        expression = parse_expression(text, _SCHEMA, is_stored=False)
    except DeltaError:
        return None
    return _Template(spark_type(expression.type), tuple(_parts(text)))


def _parts(text: str) -> list[tuple[str, str | None]]:
    """The text cut at the columns."""
    parameters = {name for found in _PARAMETER.findall(text) for name in found}
    tokens = _TOKEN.findall(text)
    words = [each for each in tokens if not each.isspace()]
    place, found = 0, []
    for token in tokens:
        if token.isspace():
            found.append((token, None))
            continue
        before = words[place - 1].upper() if place else ""
        after = words[place + 1] if place + 1 < len(words) else ""
        place += 1
        is_column = token in COLUMN_TYPES and token not in parameters
        if is_column and before not in (".", "AS") and after not in ("(", ":", "->"):
            found.append((token, COLUMN_TYPES[token]))
        else:
            found.append((token, None))
    return found
