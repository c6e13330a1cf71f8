"""Selection of the columns with statistics (PROTOCOL.md, *Per-file Statistics*).

By default, these are the first 32 leaves of the data columns; an array or a map is one leaf.
``delta.dataSkippingNumIndexedCols`` sets another number (all leaves if negative);
``delta.dataSkippingStatsColumns`` names the columns and has priority. Statistics use physical names.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from deltaarrow.errors import InvalidTablePropertyError
from deltaarrow.schema import DataType, PrimitiveType, StructType, has_known_type, physical_name
from deltaarrow.schema.metadata_keys import NUM_INDEXED_COLUMNS, STATISTICS_COLUMNS, STRING_PREFIX_LENGTH

__all__ = [
    "DEFAULT_INDEXED_COLUMNS",
    "DEFAULT_STRING_PREFIX_LENGTH",
    "StatisticsColumn",
    "parse_column_names",
    "readable_columns",
    "statistics_columns",
    "string_prefix_length",
]

DEFAULT_INDEXED_COLUMNS = 32
DEFAULT_STRING_PREFIX_LENGTH = 32


# One part of a name in Spark's grammar: plain, or in backticks with inner backticks doubled.
_NAME_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|(\w+))\s*")
_UNORDERED = frozenset(("boolean", "binary", "variant", "void"))


@dataclass(frozen=True, slots=True)
class StatisticsColumn:
    """A leaf column with statistics: its physical path and its type."""

    path: tuple[str, ...]
    type: DataType

    @property
    def has_bounds(self) -> bool:
        """Whether the column has a minimum and a maximum, not only a NULL count."""
        if not isinstance(self.type, PrimitiveType) or self.type.type in _UNORDERED:
            return False
        return has_known_type(self.type)


def statistics_columns(
    schema: StructType,
    partition_columns: Collection[str],
    configuration: Mapping[str, str],
    mapping_mode: str = "none",
) -> tuple[StatisticsColumn, ...]:
    """Return the columns for which a writer collects statistics, in schema order.

    Args:
        schema: the logical schema of the table.
        partition_columns: logical names; they never have statistics.
        configuration: the table's properties.
        mapping_mode: the column mapping mode, ``none``, ``name`` or ``id``.

    Raises:
        InvalidTablePropertyError: one of the two properties is malformed.

    >>> from deltaarrow.schema import Field, Schema
    >>> schema = Schema([Field("day", "date"), Field("a", "long"), Field("b", "binary")])
    >>> [each.path for each in statistics_columns(schema, ["day"], {})]
    [('a',), ('b',)]
    """
    names = configuration.get(STATISTICS_COLUMNS)
    limit = _integer(configuration, NUM_INDEXED_COLUMNS, DEFAULT_INDEXED_COLUMNS, least=-1)
    data = StructType(each for each in schema.fields if each.name not in partition_columns)
    leaves = list(_leaves(data, mapping_mode, (), ()))
    if names is None:
        return tuple(leaf for _, leaf in (leaves if limit < 0 else leaves[:limit]))
    # A name selects all leaves below it; Spark compares names case-insensitively.
    wanted = {tuple(part.lower() for part in name) for name in parse_column_names(names)}
    return tuple(
        leaf for name, leaf in leaves if any(name[:length] in wanted for length in range(1, len(name) + 1))
    )


def readable_columns(columns: Iterable[StatisticsColumn]) -> tuple[StatisticsColumn, ...]:
    """Return the columns whose statistics DuckDB reads as a struct: names not empty, and unique in any case.

    >>> long = PrimitiveType("long")
    >>> columns = [StatisticsColumn(path, long) for path in [("a", ""), ("b", "c"), ("B", "c"), ("b", "d")]]
    >>> [each.path for each in readable_columns([*columns, StatisticsColumn(("c",), long)])]
    [('c',)]
    """
    columns = tuple(columns)
    spellings: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for each in columns:
        for folded, way in _ways(each):
            spellings.setdefault(folded, set()).add(way)
    return tuple(
        each
        for each in columns
        if all(each.path) and all(len(spellings[folded]) == 1 for folded, _ in _ways(each))
    )


def _ways(column: StatisticsColumn) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield the paths of a column and of its enclosing structs, each case-folded and as written."""
    for length in range(1, len(column.path) + 1):
        way = column.path[:length]
        yield tuple(name.casefold() for name in way), way


def string_prefix_length(configuration: Mapping[str, str]) -> int:
    """Return the largest length of a string bound in UTF-16 units, which Spark counts.

    Raises:
        InvalidTablePropertyError: the property is not an integer in its range.

    >>> string_prefix_length({})
    32
    """
    return _integer(configuration, STRING_PREFIX_LENGTH, DEFAULT_STRING_PREFIX_LENGTH, least=0)


def parse_column_names(text: str) -> list[tuple[str, ...]]:
    """Parse a comma-separated list of column names; each result is the parts of one name.

    Raises:
        InvalidTablePropertyError: the text is not a list of column names.

    >>> parse_column_names("a, `b.c`.d")
    [('a',), ('b.c', 'd')]
    """
    if not text.strip():
        return []
    names: list[tuple[str, ...]] = []
    parts: list[str] = []
    position = 0
    while True:
        match = _NAME_PART.match(text, position)
        if match is None:
            raise InvalidTablePropertyError(f"{STATISTICS_COLUMNS}: not a list of column names: {text!r}")
        parts.append(match[2] if match[1] is None else match[1].replace("``", "`"))
        position = match.end()
        separator = text[position : position + 1]
        if separator != ".":
            names.append(tuple(parts))
            parts = []
        if not separator:
            return names
        if separator not in ".,":
            raise InvalidTablePropertyError(f"{STATISTICS_COLUMNS}: not a list of column names: {text!r}")
        position += 1


def _leaves(
    struct: StructType, mode: str, logical: tuple[str, ...], physical: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], StatisticsColumn]]:
    for each in struct.fields:
        name = (*logical, each.name.lower())
        path = (*physical, physical_name(each, mode))
        if isinstance(each.type, StructType):
            yield from _leaves(each.type, mode, name, path)
        else:
            yield name, StatisticsColumn(path, each.type)


def _integer(configuration: Mapping[str, str], key: str, default: int, *, least: int) -> int:
    text = configuration.get(key)
    if text is None:
        return default
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise InvalidTablePropertyError(f"{key} must be an integer of at least {least}, not {text!r}")
    return value
