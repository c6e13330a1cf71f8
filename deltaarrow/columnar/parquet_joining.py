"""Parquet files joined row group by row group: their bytes one after the other, under one footer.

So several threads can encode the row groups of one file. Only what a footer says of places in its file
changes; everything else is copied as it is. The files must have the same schema and no page index, whose
places are outside of the footer. The format is Thrift's compact protocol, as the Parquet format defines it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = ["MAGIC", "RowGroupFile", "joined_footer"]

MAGIC: Final = b"PAR1"

_I16, _I64 = 4, 6
_DOUBLE, _BINARY, _LIST, _SET, _STRUCT = 7, 8, 9, 10, 12

_Change: TypeAlias = "Callable[[int], int] | Mapping[int, _Change]"
"""What becomes of a number, or of the fields of a structure or of each structure in a list."""


@dataclass(frozen=True)
class RowGroupFile:
    """A whole Parquet file, of one row group."""

    data: memoryview

    @property
    def body(self) -> memoryview:
        """What is between the first magic number and the footer."""
        return self.data[len(MAGIC) : self._footer_start]

    @property
    def footer(self) -> bytes:
        """The footer without its length."""
        return bytes(self.data[self._footer_start : -8])

    @property
    def _footer_start(self) -> int:
        return len(self.data) - 8 - int.from_bytes(self.data[-8:-4], "little")


def joined_footer(footers: Sequence[bytes], offsets: Sequence[int]) -> bytes:
    """Return the footer of the joined file, with its length and the magic number.

    Args:
        footers: those of the files, at least one.
        offsets: by how many bytes further each body begins in the joined file than in its own.
    """
    groups = [
        _row_group(footer, offset, ordinal)
        for ordinal, (footer, offset) in enumerate(zip(footers, offsets, strict=True))
    ]
    rows = sum(_places(footer).rows for footer in footers)
    first, places = footers[0], _places(footers[0])
    footer = b"".join(
        [
            first[: places.rows_start],
            _varint(rows << 1),
            first[places.rows_stop : places.groups_start],
            _list_header(len(groups)),
            *groups,
            first[places.groups_stop :],
        ]
    )
    return footer + len(footer).to_bytes(4, "little") + MAGIC


@dataclass(frozen=True)
class _Places:
    """Where a footer says how many rows there are, and where its list of row groups is."""

    rows: int
    rows_start: int
    rows_stop: int
    groups_start: int
    groups_stop: int


def _places(footer: bytes) -> _Places:
    reader = _Copier(footer)
    found: dict[int, tuple[int, int]] = {}
    while (field := reader.field()) is not None:
        number, kind = field
        start = reader.at
        reader.skip(kind)
        found[number] = (start, reader.at)
    (rows_start, rows_stop), (groups_start, groups_stop) = found[3], found[4]
    rows = _Copier(footer, rows_start).number()
    return _Places(rows, rows_start, rows_stop, groups_start, groups_stop)


def _row_group(footer: bytes, offset: int, ordinal: int) -> bytes:
    """Return the one row group of a footer with its places moved."""

    def moved(place: int) -> int:
        # Writers say 0 where they say nothing.
        return place + offset if place else 0

    chunk: Mapping[int, _Change] = {2: moved, 3: {9: moved, 10: moved, 11: moved, 14: moved}}
    copier = _Copier(footer, _places(footer).groups_start)
    length, _ = copier.list_header()
    if length != 1:
        raise ValueError(f"a file has {length} row groups and not one")
    return copier.copied_struct({1: chunk, 5: moved, 7: lambda _: ordinal})


class _Copier:
    """Goes through structures of the compact protocol, and copies them with changed numbers."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._number = 0
        self.at = at

    def copied_struct(self, changes: Mapping[int, "_Change"]) -> bytes:
        """Return the structure that begins here with some of its numbers changed."""
        parts: list[bytes] = []
        copied = self.at
        outer, self._number = self._number, 0
        while (field := self.field()) is not None:
            number, kind = field
            change = changes.get(number)
            if change is None:
                self.skip(kind)
                continue
            parts.append(self._data[copied : self.at])
            parts.append(self._changed(kind, change))
            copied = self.at
        self._number = outer
        parts.append(self._data[copied : self.at])
        return b"".join(parts)

    def _changed(self, kind: int, change: "_Change") -> bytes:
        if callable(change):
            if not _I16 <= kind <= _I64:
                raise ValueError(f"a place in a footer has the type {kind}")
            value = change(self.number())
            return _varint((value << 1) ^ (value >> 63))
        if kind == _STRUCT:
            return self.copied_struct(change)
        start = self.at
        length, _ = self.list_header()
        header = self._data[start : self.at]
        return header + b"".join(self.copied_struct(change) for _ in range(length))

    def field(self) -> tuple[int, int] | None:
        """Return the number and the type of the next field; None at the end of the structure."""
        header = self._data[self.at]
        self.at += 1
        if not header:
            return None
        self._number = self._number + (header >> 4) if header >> 4 else self.number()
        return self._number, header & 15

    def skip(self, kind: int) -> None:
        """Go past a value."""
        if kind == _BINARY:
            length = self._plain()
            self.at += length
        elif kind == _STRUCT:
            outer, self._number = self._number, 0
            while (field := self.field()) is not None:
                self.skip(field[1])
            self._number = outer
        elif kind in (_LIST, _SET):
            length, inner = self.list_header()
            for _ in range(length):
                # A boolean in a list has its own byte.
                self.skip(max(inner, 3))
        elif _I16 <= kind <= _I64:
            self._plain()
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == 3:
            self.at += 1
        elif kind not in (1, 2):
            raise ValueError(f"a footer has a value of type {kind}, which Parquet does not use")

    def list_header(self) -> tuple[int, int]:
        """Return the length and the type of a list."""
        header = self._data[self.at]
        self.at += 1
        length = header >> 4
        return (self._plain() if length == 15 else length), header & 15

    def number(self) -> int:
        """Return a signed number."""
        value = self._plain()
        return (value >> 1) ^ -(value & 1)

    def _plain(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7


def _list_header(length: int) -> bytes:
    if length < 15:
        return bytes([length << 4 | _STRUCT])
    return bytes([15 << 4 | _STRUCT]) + _varint(length)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)
