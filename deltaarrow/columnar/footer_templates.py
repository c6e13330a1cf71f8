"""Parquet footers of many files, read by templates.

The footers of one writer have the same fields in the same order and differ in numbers. The first column
chunk of a kind is parsed field by field, and its whole footer is checked by `parse_footer`. It leaves a
*template*: regular expressions for its bytes, in which names and types are literal and numbers are free.
Later chunks match it in a few calls. A chunk that matches no template leaves another one, after another
check.

Like `deltaarrow.columnar.parquet_footers`, this reads foreign files without pyarrow's own accessors, which
abort the process if a chunk contradicts the schema.
"""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa

from deltaarrow.columnar.parquet_footers import Footer, parse_footer

__all__ = ["ChunkFacts", "FileFooter", "FooterReader"]

_MAGIC = b"PAR1"
_VARINT = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_TRUE, _FALSE, _BYTE, _I64, _DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 1, 2, 3, 6, 7, 8, 9, 10, 12
_BYTE_ARRAY, _FIXED_LENGTH = 6, 7
_MAX_TEMPLATES = 256

# Fields of a file and of a column chunk; a path of numbers for those in its structures. See parquet.thrift.
_SCHEMA, _NUM_ROWS, _ROW_GROUPS, _PAIRS, _CREATED_BY = 2, 3, 4, 5, 6
_GROUP_CHUNKS, _GROUP_ROWS = 1, 3
_TYPE, _NAMES, _NUM_VALUES = (3, 1), (3, 3), (3, 5)
_OLD_HIGH, _OLD_LOW, _NULLS, _HIGH, _LOW = (3, 12, 1), (3, 12, 2), (3, 12, 3), (3, 12, 5), (3, 12, 6)
_ELSEWHERE = ((1,), (8,), (9,))
_WANTED = (_NUM_VALUES, _NULLS, _LOW, _HIGH, _OLD_LOW, _OLD_HIGH)


class ChunkFacts(NamedTuple):
    """What a footer states of a column chunk; None for what it does not state.

    `low` and `high` are bounds as the file stores values. `old_order` says that they come from the deprecated
    fields, which compare bytes as signed.
    """

    num_values: int
    null_count: int | None
    low: bytes | None
    high: bytes | None
    old_order: bool


class FileFooter(NamedTuple):
    """The footer of one file.

    `schema` is a number that files of the same Parquet schema share; `pairs` are the key-value pairs of the
    file; `groups` are its row groups, each with the number of rows and a chunk per leaf.
    """

    schema: int
    num_rows: int
    pairs: Sequence[tuple[bytes, bytes]]
    created_by: bytes
    groups: Sequence[tuple[int, Sequence[ChunkFacts]]]


class FooterReader:
    """Reads the footers of many files; not for several threads.

    `footers` has a checked footer for each number of `FileFooter.schema`; `arrow_schemas` has its columns.
    """

    def __init__(self) -> None:
        self.footers: list[Footer] = []
        self.arrow_schemas: list[pa.Schema] = []
        self._schemas: dict[bytes, int] = {}
        self._last_schema = b""
        self._templates: list[list[list[_Template]]] = []
        self.last_tail: tuple[bytes, Sequence[tuple[bytes, bytes]], bytes] = (b"", (), b"")

    def read(self, data: bytes, end: int) -> FileFooter:
        """Parse a footer that begins at byte `end` of its file; `ValueError` says what is wrong."""
        try:
            return _Parse(self, data, end).whole()
        except (IndexError, KeyError, TypeError, UnicodeError, RecursionError) as error:
            raise ValueError("its footer does not have the structure of Parquet") from error

    def schema_at(self, data: bytes, at: int) -> int:
        """Return where the list of schema elements ends that begins at a place."""
        if self._last_schema and data.startswith(self._last_schema, at):
            return at + len(self._last_schema)
        end = _Walk(data).value(_LIST, at, ())
        self._last_schema = data[at:end]
        return end

    def schema_number(self, data: bytes, end: int) -> int:
        """Return the number of the schema that `schema_at` found last."""
        number = self._schemas.get(self._last_schema)
        if number is None:
            self.footers.append(parse_footer(data, end))
            self._templates.append([[] for _ in self.footers[-1].leaves])
            self.arrow_schemas.append(_arrow_schema(self._last_schema))
            number = self._schemas[self._last_schema] = len(self._schemas)
        return number

    def templates(self, schema: int) -> list[list["_Template"]]:
        """Return the templates of each leaf, the last one that matched first."""
        return self._templates[schema]


class _Parse:
    """The parse of one footer."""

    def __init__(self, reader: FooterReader, data: bytes, end: int) -> None:
        self._reader = reader
        self._data = data
        self._end = end
        self._schema = -1
        self._is_checked = False

    def whole(self) -> FileFooter:
        data, at, number = self._data, 0, 0
        rows = -1
        groups: list[tuple[int, Sequence[ChunkFacts]]] = []
        while number < _ROW_GROUPS and (header := data[at]):
            number, at = _field(data, at, number)
            kind = header & 15
            if number == _SCHEMA and kind == _LIST:
                at = self._reader.schema_at(data, at)
                self._schema = self._reader.schema_number(data, self._end)
            elif number == _NUM_ROWS and kind == _I64:
                rows, at = _integer(data, at)
            elif number == _ROW_GROUPS and kind == _LIST:
                groups, at = self._groups(at)
            else:
                at = _skipped(data, kind, at)
        if sum(count for count, _ in groups) != rows or self._schema < 0:
            raise ValueError(f"its footer says {rows} rows, but its row groups have another number")
        known, pairs, created_by = self._reader.last_tail
        if not known or data[at:] != known:
            pairs, created_by = self._tail(at, number)
            self._reader.last_tail = data[at:], pairs, created_by
        return FileFooter(self._schema, rows, pairs, created_by, groups)

    def _tail(self, at: int, number: int) -> tuple[Sequence[tuple[bytes, bytes]], bytes]:
        """Return what follows the row groups: the key-value pairs, and who created the file."""
        data = self._data
        pairs: Sequence[tuple[bytes, bytes]] = ()
        created_by = b""
        while header := data[at]:
            number, at = _field(data, at, number)
            if number == _PAIRS and header & 15 == _LIST:
                walk = _Walk(data, ((1,), (2,)))
                at = walk.value(_LIST, at, ())
                pairs = tuple(zip(walk.found.get((1,), ()), walk.found.get((2,), ()), strict=True))
            elif number == _CREATED_BY and header & 15 == _BINARY:
                length, at = _varint(data, at)
                created_by = data[at : at + length]
                at += length
            elif number <= _ROW_GROUPS:
                raise ValueError("the fields of its footer are in another order than their numbers")
            else:
                at = _skipped(data, header & 15, at)
        if at + 1 != len(data):
            raise ValueError("its footer is shorter than its stated length")
        return pairs, created_by

    def _groups(self, at: int) -> tuple[list[tuple[int, Sequence[ChunkFacts]]], int]:
        count, kind, at = _list_header(self._data, at)
        found = []
        for _ in range(count):
            group, at = self._group(at)
            found.append(group)
        if count and kind != _STRUCT:
            raise ValueError("a list in its footer has elements of the wrong type")
        return found, at

    def _group(self, at: int) -> tuple[tuple[int, Sequence[ChunkFacts]], int]:
        data, number, rows = self._data, 0, -1
        leaves = self._reader.footers[self._schema].leaves
        chunks: list[ChunkFacts] = []
        while header := data[at]:
            number, at = _field(data, at, number)
            if number == _GROUP_CHUNKS and header & 15 == _LIST:
                count, _, at = _list_header(data, at)
                if count != len(leaves):
                    raise ValueError("a row group has other columns than the schema")
                for templates in self._reader.templates(self._schema):
                    found = templates[0].match(data, at) if templates else None
                    chunk, at = found or self._other_chunk(templates, at)
                    chunks.append(chunk)
            elif number == _GROUP_ROWS and header & 15 == _I64:
                rows, at = _integer(data, at)
            else:
                at = _skipped(data, header & 15, at)
        if len(chunks) != len(leaves):
            raise ValueError("a row group has other columns than the schema")
        for leaf, (num_values, null_count, *_) in zip(leaves, chunks, strict=True):
            is_impossible = null_count is not None and not 0 <= null_count <= num_values
            if is_impossible or (num_values != rows and not leaf.repetition_level):
                raise ValueError(f"a row group has impossible counts of values of {'.'.join(leaf.path)}")
        return (rows, chunks), at + 1

    def _other_chunk(self, templates: list["_Template"], at: int) -> tuple[ChunkFacts, int]:
        """Return the chunk at a place that the first template does not match, and where it ends."""
        for place, template in enumerate(templates[1:], 1):
            if (found := template.match(self._data, at)) is not None:
                templates.insert(0, templates.pop(place))
                return found
        if not self._is_checked:
            parse_footer(self._data, self._end)
            self._is_checked = True
        template = _Walk(self._data, _WANTED).template(at)
        found = template.match(self._data, at)
        if found is None:
            raise ValueError("its footer does not have the structure of Parquet")
        templates.insert(0, template)
        del templates[_MAX_TEMPLATES:]
        return found


# --- templates -------------------------------------------------------------------------------------


class _Segment(NamedTuple):
    """A pattern of a template; a value of the length it ends with follows, unless `keeps` is None."""

    match: Callable[[bytes, int], re.Match[bytes] | None]
    keeps: bool | None


class _Template(NamedTuple):
    """The bytes of a column chunk; `places` are the numbers of the captured values of `_WANTED`."""

    segments: Sequence[_Segment]
    places: tuple[int, int | None, int | None, int | None]
    old_order: bool

    def match(self, data: bytes, at: int) -> tuple[ChunkFacts, int] | None:
        """Return the chunk at a place of a footer and where it ends; None if its structure is another."""
        values: list[bytes] = []
        for match, keeps in self.segments:
            found = match(data, at)
            if found is None:
                return None
            values += found.groups()
            at = found.end()
            if keeps is not None:
                length = _unsigned(values.pop())
                if keeps:
                    values.append(data[at : at + length])
                at += length
        count, nulls, low, high = self.places
        chunk = (
            _signed(values[count]),
            None if nulls is None else _signed(values[nulls]),
            None if low is None else values[low],
            None if high is None else values[high],
            self.old_order,
        )
        return ChunkFacts._make(chunk), at


class _Walk:
    """Goes over values of Thrift's compact protocol, and notes how they are spelled.

    `found` has the binaries at the paths of `wanted`.
    """

    def __init__(self, data: bytes, wanted: Sequence[tuple[int, ...]] = ()) -> None:
        self._data = data
        self._wanted = wanted
        self._parts: list[bytes] = []
        self._segments: list[_Segment] = []
        self._places: dict[tuple[int, ...], int] = {}
        self._fixed_length = True
        self.found: dict[tuple[int, ...], list[bytes]] = {}

    def template(self, at: int) -> _Template:
        """Return the template of the column chunk at a place."""
        end = self.value(_STRUCT, at, ())
        if end > len(self._data):
            raise IndexError(end)
        self._end_segment(None)
        is_old = _LOW not in self._places and _HIGH not in self._places
        low, high = (_OLD_LOW, _OLD_HIGH) if is_old else (_LOW, _HIGH)
        places = self._places
        found = (places[_NUM_VALUES], places.get(_NULLS), places.get(low), places.get(high))
        return _Template(tuple(self._segments), found, is_old)

    def value(self, kind: int, at: int, path: tuple[int, ...]) -> int:
        """Go over a value of a kind; return where it ends."""
        if kind in (_TRUE, _FALSE):
            return at
        if _BYTE < kind <= _I64:
            return self._number(at, path)
        if kind == _BINARY:
            return self._binary(at, path)
        if kind in (_LIST, _SET):
            return self._list(at, path)
        if kind == _STRUCT:
            return self._struct(at, path)
        width = {_BYTE: 1, _DOUBLE: 8}[kind]
        self._parts.append(b".{%d}" % width)
        return at + width

    def _struct(self, at: int, path: tuple[int, ...]) -> int:
        data, number = self._data, 0
        while header := data[at]:
            start = at
            number, at = _field(data, at, number)
            self._literal(start, at)
            if (number,) in _ELSEWHERE and not path and self._wanted is _WANTED:
                raise ValueError("a column chunk is encrypted, or in another file")
            at = self.value(header & 15, at, (*path, number))
        self._literal(at, at + 1)
        return at + 1

    def _list(self, at: int, path: tuple[int, ...]) -> int:
        start = at
        count, kind, at = _list_header(self._data, at)
        if path == _NAMES:
            # The names of a column are literal, like its type.
            end = _Walk(self._data).value(_LIST, start, ())
            self._literal(start, end)
            return end
        self._literal(start, at)
        for _ in range(count):
            # A boolean in a list has its own byte.
            at = self.value(max(kind, _BYTE), at, path)
        return at

    def _number(self, at: int, path: tuple[int, ...]) -> int:
        number, end = _integer(self._data, at)
        if path == _TYPE:
            self._literal(at, end)
            self._fixed_length = number < _BYTE_ARRAY
        elif path in self._wanted:
            self._note(path)
            self._parts.append(b"(%b)" % _VARINT)
        else:
            self._parts.append(_VARINT)
        return end

    def _binary(self, at: int, path: tuple[int, ...]) -> int:
        length, start = _varint(self._data, at)
        end = start + length
        if end > len(self._data):
            raise IndexError(end)
        is_wanted = path in self._wanted
        if self._wanted is not _WANTED:
            if is_wanted:
                self.found.setdefault(path, []).append(self._data[start:end])
            return end
        if is_wanted:
            self._note(path)
        if is_wanted and self._fixed_length:
            self._literal(at, start)
            self._parts.append(b"(.{%d})" % length)
            return end
        self._parts.append(b"(%b)" % _VARINT)
        self._end_segment(is_wanted)
        return end

    def _note(self, path: tuple[int, ...]) -> None:
        self._places[path] = len(self._places)

    def _literal(self, start: int, end: int) -> None:
        self._parts.append(re.escape(self._data[start:end]))

    def _end_segment(self, keeps: bool | None) -> None:
        pattern = re.compile(b"".join(self._parts), re.DOTALL)
        self._segments.append(_Segment(pattern.match, keeps))
        self._parts = []


def _arrow_schema(elements: bytes) -> pa.Schema:
    """Return the columns of a list of schema elements, without what a writer of Arrow noted beside it."""
    import pyarrow.parquet as pq

    # A file of version 2 without rows and row groups.
    footer = b"\x15\x04\x19" + elements + b"\x16\x00\x19\x0c\x00"
    length = len(footer).to_bytes(4, "little")
    try:
        found = pq.read_schema(pa.BufferReader(b"".join((_MAGIC, footer, length, _MAGIC))))
    except pa.ArrowException as error:
        raise ValueError(f"its columns cannot be read: {error}") from error
    return found


# --- Thrift ----------------------------------------------------------------------------------------


def _skipped(data: bytes, kind: int, at: int) -> int:
    """Return where a value ends."""
    if _BYTE < kind <= _I64:
        return _varint(data, at)[1]
    return _Walk(data).value(kind, at, ())


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        octet = data[at]
        at += 1
        value |= (octet & 127) << shift
        if octet < 128:
            return value, at
        shift += 7


@lru_cache(maxsize=1 << 12)
def _unsigned(data: bytes) -> int:
    return _varint(data, 0)[0]


@lru_cache(maxsize=1 << 12)
def _signed(data: bytes) -> int:
    return _integer(data, 0)[0]


def _integer(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _field(data: bytes, at: int, before: int) -> tuple[int, int]:
    """Return the number of the field whose header is at a place, and where its value begins."""
    header = data[at]
    if header >= 16:
        return before + (header >> 4), at + 1
    return _integer(data, at + 1)


def _list_header(data: bytes, at: int) -> tuple[int, int, int]:
    """Return the length of a list, the kind of its elements and where they begin."""
    header = data[at]
    if header >> 4 < 15:
        return header >> 4, header & 15, at + 1
    count, at = _varint(data, at + 1)
    return count, header & 15, at
