"""Parquet footers, parsed from Thrift's compact protocol and checked for contradictions.

A footer has no checksum, but it states most things twice: names and types both in the schema and in every
column chunk, the number of rows of the file, its row groups and its chunks, the NULLs in the statistics and
in the histogram of levels, a logical type and its older spelling. A flipped bit makes the two differ, and
such a footer is refused here.

pyarrow's `RowGroupMetaData.column` and `ColumnChunkMetaData.statistics` abort the process if a chunk
contradicts the schema. So the chunks of foreign files are read only through this module.

The footers of one writer repeat each other: the whole schema, and of each column the path, the encodings and
the sizes of pages. `FooterParser` remembers the bytes of these and what they say, from row group to row group
and from file to file. All else is parsed and checked in every footer.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

__all__ = [
    "Chunk",
    "Footer",
    "FooterParser",
    "Leaf",
    "RowGroup",
    "footer_length",
    "parse_footer",
    "read_footer",
]

_TAIL = 1 << 16
_MAGIC = b"PAR1"

# The fields of Thrift's structures by number; see parquet.thrift.
_SCHEMA, _NUM_ROWS, _ROW_GROUPS = 2, 3, 4
_TYPE, _TYPE_LENGTH, _REPETITION, _NAME, _CHILDREN = 1, 2, 3, 4, 5
_CONVERTED, _SCALE, _PRECISION, _LOGICAL = 6, 7, 8, 10
_GROUP_CHUNKS, _GROUP_ROWS = 1, 3
_FILE_PATH, _CHUNK_METADATA, _CRYPTO_METADATA, _ENCRYPTED_METADATA = 1, 3, 8, 9
_CHUNK_TYPE, _PATH, _CODEC, _NUM_VALUES, _RAW_BYTES, _STORED_BYTES = 1, 3, 4, 5, 6, 7
_DATA_PAGE, _DICTIONARY_PAGE, _STATISTICS, _SIZES = 9, 11, 12, 16
_OLD_MAX, _OLD_MIN, _NULL_COUNT, _MAX, _MIN = 1, 2, 3, 5, 6
_REPETITION_LEVELS, _DEFINITION_LEVELS = 2, 3

_REQUIRED, _REPEATED = 0, 2
_UNCOMPRESSED = 0
_INT32, _INT64, _BYTE_ARRAY, _FIXED_LENGTH = 1, 2, 6, 7
_DECIMAL, _TIME, _TIMESTAMP, _INTEGER = 5, 7, 8, 10

# Logical type -> its older spelling; the others have none, or it depends on their parameters.
_OLDER_SPELLINGS = {1: 0, 2: 1, 3: 3, 4: 4, _DECIMAL: 5, 6: 6, 12: 19, 13: 20}
_TIME_UNITS = {_TIME: (7, 8), _TIMESTAMP: (9, 10)}
_INTEGER_WIDTHS = {8: 0, 16: 1, 32: 2, 64: 3}


class Leaf(NamedTuple):
    """A column without members, with its Thrift type and the maximum levels of its values."""

    path: tuple[str, ...]
    physical_type: int
    definition_level: int
    repetition_level: int
    encoded_path: list[bytes]
    is_decimal: bool


class Chunk(NamedTuple):
    """The footer's data on a leaf in a row group; None for what it does not state.

    `low` and `high` are bounds as the file stores values. `old_order` says that they come from the deprecated
    fields, which compare bytes as signed.
    """

    num_values: int
    null_count: int | None
    low: bytes | None
    high: bytes | None
    old_order: bool

    @property
    def is_null(self) -> bool:
        """Whether it certainly contains only NULLs."""
        return self.null_count == self.num_values


class RowGroup(NamedTuple):
    """A row group with one chunk per leaf."""

    num_rows: int
    chunks: Sequence[Chunk]


class Footer(NamedTuple):
    """A footer that does not contradict itself; `schema` is its list of schema elements, as stored."""

    leaves: Sequence[Leaf]
    row_groups: Sequence[RowGroup]
    schema: bytes
    data: bytes

    @property
    def num_rows(self) -> int:
        """The rows of the file."""
        return sum(group.num_rows for group in self.row_groups)

    def leaves_below(self, column: str) -> list[int]:
        """Return the numbers of the leaves of a column."""
        return [number for number, leaf in enumerate(self.leaves) if leaf.path[0] == column]

    def metadata(self) -> Any:
        """Return the footer as a `pyarrow.parquet.FileMetaData`."""
        import pyarrow.parquet as pq

        return pq.read_metadata(_file_of(self.data))

    def arrow_schema(self) -> pa.Schema:
        """Return the columns in Arrow, without what a writer of Arrow noted beside them.

        Raises `ValueError` for columns that pyarrow cannot read.
        """
        import pyarrow.parquet as pq

        # A file of version 2 without rows and row groups.
        footer = b"\x15\x04\x19" + self.schema + b"\x16\x00\x19\x0c\x00"
        try:
            # As readers see them: `read_schema` of pyarrow 24 gives columns of JSON as texts.
            return pq.ParquetFile(_file_of(footer), arrow_extensions_enabled=True).schema_arrow
        except pa.ArrowException as error:
            raise ValueError(f"its columns cannot be read: {error}") from error


def _file_of(footer: bytes) -> pa.BufferReader:
    """Return a file with a footer and nothing else."""
    return pa.BufferReader(b"".join((_MAGIC, footer, len(footer).to_bytes(4, "little"), _MAGIC)))


def read_footer(file: pa.NativeFile) -> Footer:
    """Read and check the footer of an open Parquet file; `ValueError` says what is wrong."""
    size = file.size()
    start = max(0, size - _TAIL)
    tail: bytes = file.read_at(size - start, start)
    length = footer_length(tail, size)
    end = size - 8 - length
    data = tail[end - start : -8] if end >= start else file.read_at(length, end)
    return parse_footer(data, end)


def footer_length(tail: bytes, size: int) -> int:
    """Return the length of the footer of a file of `size` bytes, given its last bytes.

    Raises `ValueError` for a file that is no Parquet file, or is truncated.
    """
    if size < 12 or tail[-4:] != _MAGIC:
        raise ValueError("it does not end like a Parquet file")
    length = int.from_bytes(tail[-8:-4], "little")
    if size - 8 - length < len(_MAGIC):
        raise ValueError(f"its footer of {length} bytes is longer than the file")
    return length


def parse_footer(data: bytes, end: int) -> Footer:
    """Parse and check a footer that begins at byte `end` of its file.

    Raises `ValueError`, saying what is wrong, when it is not a Thrift structure or contradicts itself.
    """
    return FooterParser().parse(data, end)


# --- Thrift ----------------------------------------------------------------------------------------


_TRUTH, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 3, 4, 5, 6, 7, 8, 9, 10, 12

_Kind = tuple[int, Any]
"""The type of a value: its kind, with the fields of a structure by number, or the elements of a list."""

_ANY_STRUCT: _Kind = (_STRUCT, {})
_ANY_LIST: _Kind = (_LIST, None)


def _kind(kind: int) -> _Kind:
    return kind, None


def _list_of(kind: _Kind) -> _Kind:
    return _LIST, kind


def _struct_of(*fields: _Kind) -> _Kind:
    """The structure with fields of these kinds, numbered from 1."""
    return _STRUCT, dict(enumerate(fields, 1))


_t, _i8, _i16, _i32, _i64, _text = map(_kind, (_TRUTH, _BYTE, _I16, _I32, _I64, _BINARY))
_UNIT = _struct_of(_ANY_STRUCT, _ANY_STRUCT, _ANY_STRUCT)
_LOGICAL_TYPE: _Kind = (
    _STRUCT,
    dict.fromkeys(range(1, 19), _ANY_STRUCT)
    | {
        _DECIMAL: _struct_of(_i32, _i32),
        _TIME: _struct_of(_t, _UNIT),
        _TIMESTAMP: _struct_of(_t, _UNIT),
        _INTEGER: _struct_of(_i8, _t),
    },
)
_SCHEMA_ELEMENT = _struct_of(_i32, _i32, _i32, _text, _i32, _i32, _i32, _i32, _i32, _LOGICAL_TYPE)
_KEY_VALUES = _list_of(_struct_of(_text, _text))
_CHUNK_METADATA_KIND = _struct_of(
    *(_i32, _list_of(_i32), _list_of(_text), _i32, _i64, _i64, _i64, _KEY_VALUES, _i64, _i64, _i64),
    _struct_of(_text, _text, _i64, _i64, _text, _text, _t, _t),
    *(_list_of(_struct_of(_i32, _i32, _i32)), _i64, _i32),
    _struct_of(_i64, _list_of(_i64), _list_of(_i64)),
)
_COLUMN_CHUNK = _struct_of(_text, _i64, _CHUNK_METADATA_KIND, _i64, _i32, _i64, _i32)
_ROW_GROUP = _struct_of(
    _list_of(_COLUMN_CHUNK), _i64, _i64, _list_of(_struct_of(_i32, _t, _t)), _i64, _i64, _i16
)
_FILE_METADATA = _struct_of(
    *(_i32, _list_of(_SCHEMA_ELEMENT), _i64, _list_of(_ROW_GROUP), _KEY_VALUES, _text, _ANY_LIST)
)


_CHUNK_FIELDS = _CHUNK_METADATA_KIND[1]


class FooterParser:
    """Parses and checks footers one after the other; not for several threads.

    Structures of Thrift's compact protocol are read as dictionaries by field number. A field of the wrong
    kind is refused; other readers skip it. A row group is checked as soon as it is read, because there may be
    many.
    """

    def __init__(self) -> None:
        self._data = b""
        self._at = 0
        self._end = 0
        self._leaves: list[Leaf] = []
        self._known_schema: tuple[bytes, list[Leaf]] = (b"", [])
        self._column = 0
        # By column, the last bytes and value of a field, which is named by its number and kind.
        self._known: defaultdict[int, dict[int, tuple[bytes, Any]]] = defaultdict(dict)

    def parse(self, data: bytes, end: int) -> Footer:
        """Do what `parse_footer` does."""
        self._data, self._at, self._end, self._leaves = data, 0, end, []
        try:
            found = self._struct(_FILE_METADATA[1])
            groups, rows, _ = found[_ROW_GROUPS], found[_NUM_ROWS], found[_SCHEMA]
        except (IndexError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError("its footer does not have the structure of Parquet") from error
        if self._at != len(data):
            raise ValueError("its footer is shorter than its stated length")
        footer = Footer(self._leaves, groups, self._known_schema[0], data)
        if footer.num_rows != rows:
            raise ValueError(f"its footer says {rows} rows, but its row groups have another number")
        return footer

    def _struct(self, fields: Mapping[int, _Kind]) -> dict[int, Any]:
        data, at = self._data, self._at
        known = self._known[self._column] if fields is _CHUNK_FIELDS else None
        found: dict[int, Any] = {}
        number = 0
        while header := data[at]:
            at += 1
            kind = header & 15
            if header > 15:
                number += header >> 4
            else:
                number, at = _integer(data, at)
            wanted, inner = fields.get(number) or (kind, None)
            if kind != wanted and max(kind, wanted) >= _BYTE:
                raise ValueError(f"field {number} of a structure in its footer has the wrong type")
            if _BYTE < kind < _DOUBLE:
                # As in `_integer`; most fields are short ones of these.
                value, second = data[at], data[at + 1]
                if value < 128:
                    at += 1
                    found[number] = (value >> 1) ^ -(value & 1)
                elif second < 128:
                    at += 2
                    value = value & 127 | second << 7
                    found[number] = (value >> 1) ^ -(value & 1)
                else:
                    found[number], at = _integer(data, at)
            elif kind < _BYTE:
                found[number] = kind == _TRUTH
            elif known is None:
                self._at = at
                found[number] = self._value(kind, inner)
                at = self._at
            else:
                # Usually the same as in the row group or file before.
                place = number << 4 | kind
                before = known.get(place)
                if before is not None and data.startswith(before[0], at):
                    at += len(before[0])
                    found[number] = before[1]
                else:
                    self._at = at
                    found[number] = self._value(kind, inner)
                    known[place] = self._since(at), found[number]
                    at = self._at
        self._at = at + 1
        return found

    def _since(self, start: int) -> bytes:
        """Return the bytes of a value that was read; `IndexError` if the data end before it does."""
        if self._at > len(self._data):
            raise IndexError(self._at)
        return self._data[start : self._at]

    def _value(self, kind: int, inner: Any) -> Any:
        if kind == _BINARY:
            length, start = _varint(self._data, self._at)
            self._at = start + length
            return self._data[start : self._at]
        if kind == _STRUCT:
            return self._struct(inner or {})
        if kind in (_LIST, _SET):
            return self._list(inner)
        if _I16 <= kind <= _I64:
            value, self._at = _integer(self._data, self._at)
            return value
        if kind not in (_BYTE, _DOUBLE):
            raise ValueError(f"its footer has a value of type {kind}, which Parquet does not use")
        self._at += 1 if kind == _BYTE else 8
        return self._data[self._at - 1]

    def _list(self, wanted: _Kind | None) -> Any:
        if wanted is _SCHEMA_ELEMENT:
            return self._schema()
        header = self._data[self._at]
        self._at += 1
        length, kind = header >> 4, header & 15
        if length == 15:
            length, self._at = _varint(self._data, self._at)
        if wanted is not None and length and kind != wanted[0]:
            raise ValueError("a list in its footer has elements of the wrong type")
        inner: Any = None if wanted is None else wanted[1]
        # A boolean in a list has its own byte.
        kind = max(kind, _BYTE)
        if wanted is _ROW_GROUP:
            return [_row_group(self._struct(inner), self._leaves, self._end) for _ in range(length)]
        if wanted is _COLUMN_CHUNK:
            chunks = []
            for self._column in range(length):
                chunks.append(self._struct(inner))
            return chunks
        return [self._value(kind, inner) for _ in range(length)]

    def _schema(self) -> list[Leaf]:
        if self._leaves:
            raise ValueError("its footer has two schemas")
        start = self._at
        known, leaves = self._known_schema
        if known and self._data.startswith(known, start):
            self._at += len(known)
        else:
            leaves = _leaves(self._list((_STRUCT, _SCHEMA_ELEMENT[1])))
            self._known_schema = self._since(start), leaves
        self._leaves = leaves
        return leaves


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    value, shift = data[at] & 127, 0
    while data[at] > 127:
        at, shift = at + 1, shift + 7
        value |= (data[at] & 127) << shift
    return value, at + 1


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


# --- the schema ------------------------------------------------------------------------------------


def _leaves(elements: Sequence[Mapping[int, Any]]) -> list[Leaf]:
    rest = iter(elements)
    try:
        found = [leaf for _ in range(next(rest)[_CHILDREN]) for leaf in _leaves_of(rest, (), 0, 0)]
    except StopIteration:
        found = []
    if next(rest, None) is not None or not found:
        raise ValueError("its schema has fewer or more columns than it states")
    return found


def _leaves_of(
    rest: Iterator[Mapping[int, Any]], above: tuple[str, ...], defined: int, repeated: int
) -> list[Leaf]:
    element = next(rest)
    path = (*above, element[_NAME].decode())
    _ensure_one_type(".".join(path), element)
    repetition = element[_REPETITION]
    if not _REQUIRED <= repetition <= _REPEATED:
        raise ValueError(f"its column {'.'.join(path)} has an unknown repetition type")
    defined += repetition != _REQUIRED
    repeated += repetition == _REPEATED
    children = element.get(_CHILDREN, 0)
    if (_TYPE in element) == (children > 0):
        raise ValueError(f"its column {'.'.join(path)} has both a type and members, or neither")
    if not children:
        encoded = [name.encode() for name in path]
        return [Leaf(path, element[_TYPE], defined, repeated, encoded, _is_decimal(element))]
    return [leaf for _ in range(children) for leaf in _leaves_of(rest, path, defined, repeated)]


def _is_decimal(element: Mapping[int, Any]) -> bool:
    return element.get(_CONVERTED) == _OLDER_SPELLINGS[_DECIMAL] or _DECIMAL in element.get(_LOGICAL, {})


def _ensure_one_type(name: str, element: Mapping[int, Any]) -> None:
    """Raise unless a logical type agrees with its older spelling."""
    if element.get(_TYPE) == _FIXED_LENGTH and element[_TYPE_LENGTH] <= 0:
        raise ValueError(f"its column {name} of fixed-length values has no length")
    logical, converted = element.get(_LOGICAL), element.get(_CONVERTED)
    if not logical:
        return
    ((kind, parameters),) = logical.items()
    if kind == _DECIMAL and [parameters[1], parameters[2]] != [element[_SCALE], element[_PRECISION]]:
        raise ValueError(f"its column {name} has two scales or precisions")
    if converted is None:
        return
    expected = _OLDER_SPELLINGS.get(kind)
    if kind in _TIME_UNITS:
        (unit,) = parameters[2]
        expected = dict(enumerate(_TIME_UNITS[kind], 1)).get(unit)
    elif kind == _INTEGER:
        expected = (15 if parameters[2] else 11) + _INTEGER_WIDTHS[parameters[1]]
    if converted != expected and (kind, converted) != (2, 2):
        raise ValueError(f"its column {name} has two types that contradict each other")


# --- row groups ------------------------------------------------------------------------------------


def _row_group(found: Mapping[int, Any], leaves: Sequence[Leaf], end: int) -> RowGroup:
    rows, columns = found[_GROUP_ROWS], found[_GROUP_CHUNKS]
    if len(columns) != len(leaves) or rows < 0:
        raise ValueError("a row group has other columns than the schema")
    spans: list[tuple[int, int]] = []
    chunks = [_chunk(leaf, column, rows, spans) for leaf, column in zip(leaves, columns, strict=True)]
    spans.sort()
    ends = [len(_MAGIC), *(start + length for start, length in spans)]
    if any(start < before for (start, _), before in zip(spans, ends, strict=False)) or ends[-1] > end:
        raise ValueError("the column chunks of a row group overlap")
    return RowGroup(rows, chunks)


def _chunk(leaf: Leaf, column: Mapping[int, Any], rows: int, spans: list[tuple[int, int]]) -> Chunk:
    """Return the data on a chunk, and record its position."""
    if _FILE_PATH in column or _CRYPTO_METADATA in column or _ENCRYPTED_METADATA in column:
        raise ValueError("a column chunk is encrypted, or in another file")
    found = column[_CHUNK_METADATA]
    if found[_PATH] != leaf.encoded_path:
        name, other = ".".join(leaf.path), b".".join(found[_PATH]).decode(errors="replace")
        raise ValueError(f"its column {name!r} is named {other!r} in a row group")
    if found[_CHUNK_TYPE] != leaf.physical_type:
        raise ValueError(f"its column {'.'.join(leaf.path)} has another type in a row group")
    values, stored = found[_NUM_VALUES], found[_STORED_BYTES]
    if values < rows or (values > rows and not leaf.repetition_level):
        raise ValueError(f"its column {'.'.join(leaf.path)} has {values} values in {rows} rows")
    if found[_CODEC] == _UNCOMPRESSED and found[_RAW_BYTES] != stored:
        raise ValueError(f"its column {'.'.join(leaf.path)} has an unknown compression codec")
    if values:
        spans.append((min(found[_DATA_PAGE], found.get(_DICTIONARY_PAGE) or found[_DATA_PAGE]), stored))
    statistics = found.get(_STATISTICS, {})
    nulls = statistics.get(_NULL_COUNT)
    _ensure_bounds(leaf, statistics)
    if nulls is not None and not 0 <= nulls <= values:
        raise ValueError(f"its column {'.'.join(leaf.path)} has {nulls} NULLs among {values} values")
    if (sizes := found.get(_SIZES)) is not None:
        _ensure_levels(leaf, sizes, values)
        nulls = _counted_nulls(leaf, sizes, values, nulls)
    low, high = statistics.get(_MIN), statistics.get(_MAX)
    if low is None and high is None:
        return Chunk(values, nulls, statistics.get(_OLD_MIN), statistics.get(_OLD_MAX), True)
    return Chunk(values, nulls, low, high, False)


def _ensure_bounds(leaf: Leaf, statistics: Mapping[int, Any]) -> None:
    """Raise if bounds are in the wrong order, or two spellings of one differ."""
    lower, upper = statistics.get(_MIN), statistics.get(_MAX)
    if lower is None or upper is None:
        return
    # The bytes of a decimal are a signed number; all other values are ordered byte by byte.
    if leaf.physical_type == _BYTE_ARRAY and not leaf.is_decimal and lower > upper:
        raise ValueError(f"the bounds of its column {'.'.join(leaf.path)} are in the wrong order")
    if leaf.physical_type not in (_INT32, _INT64):
        return
    if lower != statistics.get(_OLD_MIN, lower) or upper != statistics.get(_OLD_MAX, upper):
        raise ValueError(f"its column {'.'.join(leaf.path)} has two bounds that contradict each other")


def _ensure_levels(leaf: Leaf, sizes: Mapping[int, Any], values: int) -> None:
    """Raise unless the level histograms have one entry per level and count all values."""
    repeated, defined = sizes.get(_REPETITION_LEVELS), sizes.get(_DEFINITION_LEVELS)
    for counts, highest in ((repeated, leaf.repetition_level), (defined, leaf.definition_level)):
        if counts and (len(counts) != highest + 1 or sum(counts) != values):
            raise ValueError(f"the levels of its column {'.'.join(leaf.path)} are not those of its schema")


def _counted_nulls(leaf: Leaf, sizes: Mapping[int, Any], values: int, nulls: int | None) -> int | None:
    """Return the number of NULLs, or None if lists hide some; raise if the level histogram contradicts it.

    pyarrow 24 leaves lists that are NULL or empty out of the number of a member inside of them.
    """
    defined = sizes.get(_DEFINITION_LEVELS)
    if not defined or nulls in (None, values - defined[-1]):
        return nulls
    if leaf.repetition_level and nulls < values - defined[-1]:
        return None
    raise ValueError(f"its column {'.'.join(leaf.path)} has {nulls} NULLs, but its levels differ")
