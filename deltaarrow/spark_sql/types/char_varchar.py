"""Length limits of texts declared as CHAR(n) or VARCHAR(n), in columns and anywhere inside them.

In Delta such texts are plain strings. The column's metadata keeps the declared type; for a struct, an array
or a map it keeps the whole type, such as ``struct<code:char(2),names:array<varchar(30)>>``.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.schema import ArrayType, DataType, Field, MapType, StructType, UnreadableColumnError
from deltaarrow.schema.metadata_keys import CHAR_TYPE_KEY
from deltaarrow.spark_sql.types.type_rules import STRING

__all__ = ["TextLimit", "text_limits"]

_TEXT = re.compile(r"(?:var)?char\(([0-9]{1,9})\)", re.IGNORECASE)
_ARRAY, _MAP, _STRUCT = (re.compile(f"{kind}<", re.IGNORECASE) for kind in ("array", "map", "struct"))
_NAME = re.compile(r"[^:<>,()`]+:")
_OTHER = re.compile(r"(?!(?:var)?char)[a-z_]+(?:\([0-9, ]*\))?(?: [a-z0-9_ ]+)?", re.IGNORECASE)
_COMMA, _END = re.compile(","), re.compile(">")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class TextLimit:
    """The most characters that texts in one place may have, and the type declared for them.

    The place is a path as messages show it: struct fields by name, else ``element``, ``key`` or ``value``.
    """

    path: tuple[str, ...]
    declared: str
    characters: int

    def ensure_kept(self, batch: pa.RecordBatch) -> None:
        """Raise `ConstraintViolationError` if a text is longer; NULL and a missing column pass."""
        place = batch.schema.get_field_index(self.path[0])
        if place < 0:
            return
        texts = _inside(batch.column(place), self.path[1:])
        # No text has more characters than bytes.
        if (pc.max(pc.binary_length(texts)).as_py() or 0) <= self.characters:
            return
        lengths = pc.utf8_length(texts)
        longest = pc.max(lengths).as_py()
        if longest > self.characters:
            text = texts[pc.index(lengths, longest).as_py()].as_py()
            shown = repr(text[:_SHOWN]) + ("..." if len(text) > _SHOWN else "")
            raise ConstraintViolationError(
                f"column {'.'.join(self.path)!r} is {self.declared}, and a text in it has {longest}"
                f" characters: {shown}; shorten it"
            )


def text_limits(schema: StructType) -> tuple[TextLimit, ...]:
    """The limits that the columns of a schema declare.

    Raises:
        UnreadableColumnError: a column declares a type that is not understood, or that differs from its
            own.

    >>> declared = {"__CHAR_VARCHAR_TYPE_STRING": "array<varchar(3)>"}
    >>> schema = StructType([Field("names", ArrayType("string"), metadata=declared)])
    >>> [(each.path, each.characters) for each in text_limits(schema)]
    [(('names', 'element'), 3)]
    """
    found: list[TextLimit] = []
    for field in schema.fields:
        text = str(field.metadata.get(CHAR_TYPE_KEY, ""))
        if "char(" in text.lower():
            found += _Declaration(field.name, text).limits(field.type)
    return tuple(found)


def _inside(array: pa.Array, path: tuple[str, ...]) -> pa.Array:
    """The values at the path inside all values that are not NULL, in order."""
    for step in path:
        if pa.types.is_struct(array.type):
            array = pc.struct_field(array, [array.type.get_field_index(step)])
        elif pa.types.is_map(array.type):
            pair = pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])
            array = array.cast(pa.list_(pair)).flatten().field(step)
        else:
            array = array.flatten()
    return array


class _Declaration:
    """The text of a declared type, parsed from left to right alongside the column's type.

    Struct fields match by position, as in Spark: a renamed field keeps its limit under the old name, and
    added fields have none.
    """

    def __init__(self, column: str, text: str) -> None:
        self._column = column
        self._text = text
        self._place = 0

    def limits(self, data_type: DataType) -> list[TextLimit]:
        found = list(self._limits(data_type, (self._column,)))
        if self._place != len(self._text):
            raise self._refused()
        return found

    def _limits(self, data_type: DataType | None, path: tuple[str, ...]) -> Iterator[TextLimit]:
        """The limits in a type; `data_type` is the column's type in that place, None if it has none."""
        if limited := self._take(_TEXT):
            if data_type != STRING:
                raise self._refused()
            yield TextLimit(path, limited[0].lower(), int(limited[1]))
        elif self._take(_ARRAY):
            inner = data_type.element_type if isinstance(data_type, ArrayType) else None
            yield from self._limits(inner, (*path, "element"))
            self._expect(_END)
        elif self._take(_MAP):
            inner = data_type if isinstance(data_type, MapType) else None
            yield from self._limits(inner and inner.key_type, (*path, "key"))
            self._expect(_COMMA)
            yield from self._limits(inner and inner.value_type, (*path, "value"))
            self._expect(_END)
        elif self._take(_STRUCT):
            yield from self._members(data_type.fields if isinstance(data_type, StructType) else (), path)
            self._expect(_END)
        else:
            self._expect(_OTHER)

    def _members(self, fields: Sequence[Field], path: tuple[str, ...]) -> Iterator[TextLimit]:
        for place in itertools.count():
            self._expect(_NAME)
            if place >= len(fields):  # a field was dropped, and which one is not known
                raise self._refused()
            yield from self._limits(fields[place].type, (*path, fields[place].name))
            if not self._take(_COMMA):
                return

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self._text, self._place)
        if found is not None:
            self._place = found.end()
        return found

    def _expect(self, pattern: re.Pattern[str]) -> None:
        if self._take(pattern) is None:
            raise self._refused()

    def _refused(self) -> UnreadableColumnError:
        return UnreadableColumnError(
            f"column {self._column!r} is declared as {self._text}, which is not understood as its type",
            feature="CHAR and VARCHAR",
        )
