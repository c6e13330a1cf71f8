r"""`SqlColumn`: a column of a data file in DuckDB SQL, as the type to read and the expression for its value.

DuckDB's reader gets the names of the file with the types of the table. It widens types and fills absent
columns and fields with NULL. Other conversions need an expression:

==============================  ====================================================================
in the file                     expression
==============================  ====================================================================
other names in nested types     ``remap_struct``, through which filters still reach the reader
timestamp without zone, INT96   ``make_timestamptz(epoch_us(t))``: as UTC, whatever the session's zone
timestamp with zone             ``make_timestamp(epoch_us(t))`` if the type of the table has no zone
text in plain binary            ``decode(b)``; a cast would render bytes as ``\xE2``
text of CHAR(n)                 ``rpad``, unless it is as long already
absent struct or variant        NULL: if a query extracts from a struct that the reader filled in, or shows
inside a struct                 one that ``remap_struct`` did, DuckDB fails and invalidates the database
==============================  ====================================================================

Nested values of these kinds are unpacked, converted by the expression, and packed again.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from deltaarrow.compute import quote_identifier, quote_literal
from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.partitions import duckdb_type as duckdb_primitive_type
from deltaarrow.scan.char_padding import Paddings, inner_paddings, padding_sql
from deltaarrow.scan.file_schemas.footers import PROVEN, VARIANT_MARK
from deltaarrow.schema import ArrayType, DataType, MapType, PrimitiveType, StructType, to_arrow_type

__all__ = ["BeyondDuckDBError", "SqlColumn", "duckdb_type", "sql_column"]


class BeyondDuckDBError(UnsupportedFeatureError):
    """DuckDB's own reader cannot show these files as the table; `deltaarrow.scan.batches` may be able to."""


# Types that cannot be partition columns.
_DATA_ONLY = {"variant": "VARIANT", "void": '"NULL"'}


def duckdb_type(data_type: DataType) -> str:
    """Return the DuckDB type for values of a Delta type.

    >>> from deltaarrow.schema import Field
    >>> duckdb_type(ArrayType(StructType([Field("a b", "decimal(5,2)")])))
    'STRUCT("a b" DECIMAL(5,2))[]'
    """
    if isinstance(data_type, StructType):
        return _struct_type((field.name, duckdb_type(field.type)) for field in data_type.fields)
    if isinstance(data_type, ArrayType):
        return f"{duckdb_type(data_type.element_type)}[]"
    if isinstance(data_type, MapType):
        return f"MAP({duckdb_type(data_type.key_type)}, {duckdb_type(data_type.value_type)})"
    return _DATA_ONLY.get(data_type.type) or duckdb_primitive_type(data_type)


def _struct_type(members: Iterable[tuple[str, str]]) -> str:
    described = list(members)
    if any(not name for name, _ in described):
        raise BeyondDuckDBError("a field of a struct has an empty name", feature="struct")
    text = ", ".join(f"{quote_identifier(name)} {type_name}" for name, type_name in described)
    if not text:
        raise BeyondDuckDBError("DuckDB has no struct without fields", feature="struct")
    return f"STRUCT({text})"


@dataclass(frozen=True)
class SqlColumn:
    """How to read one column: `bound_type` is the type to request from the reader, `expression` the value."""

    bound_type: str
    expression: str


def sql_column(
    column: str, wanted: DataType, scanned: pa.DataType, found: pa.Field, paddings: Paddings
) -> SqlColumn:
    """Return how to read a column of a file.

    Args:
        column: the column as an SQL expression, such as ``f."c1"``.
        wanted: the logical type.
        scanned: the same type with the names of the file, from `deltaarrow.scan.column_binding`.
        found: the column in the file, from `deltaarrow.scan.file_schemas.footers`.
        paddings: the strings to pad.

    Raises:
        BeyondDuckDBError: DuckDB's reader cannot read the column.
    """
    part = _part(wanted, scanned, found, paddings, is_top=True)
    return SqlColumn(part.bound_type, part.value(column, 0))


# --- parts of a type -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Part:
    """A type or a part of it; `bound_type` is the type that is read, `logical` the type of the result."""

    bound_type: str
    logical: str

    @property
    def renames(self) -> bool:
        """Whether a name inside the type differs between file and table."""
        return False

    @property
    def converts(self) -> bool:
        """Whether a value inside the type needs a conversion."""
        return False

    def value(self, source: str, depth: int) -> str:
        """Return the SQL of the logical value, given that of the read value; `depth` is the lambda depth."""
        if self.converts:
            return self.converted(source, depth)
        if self.renames:
            return f"remap_struct({source}, NULL::{self.logical}, {self.mapping()}, NULL)"
        return source

    def converted(self, source: str, depth: int) -> str:
        raise NotImplementedError

    def mapping(self) -> str:
        """The third argument of ``remap_struct``."""
        raise NotImplementedError


@dataclass(frozen=True)
class _Value(_Part):
    conversion: str | None = None

    @property
    def converts(self) -> bool:
        return self.conversion is not None

    def converted(self, source: str, depth: int) -> str:
        assert self.conversion is not None
        return self.conversion.replace("{}", source)


@dataclass(frozen=True)
class _Absent(_Part):
    """A field of a struct that the file lacks and that is not requested from the reader."""

    @property
    def converts(self) -> bool:
        return True

    def converted(self, source: str, depth: int) -> str:
        return f"NULL::{self.logical}"


@dataclass(frozen=True)
class _Struct(_Part):
    members: tuple[tuple[str, str, _Part], ...]
    """Name in the table, name in the file, part."""

    @property
    def renames(self) -> bool:
        return any(name != source or part.renames for name, source, part in self.members)

    @property
    def converts(self) -> bool:
        return any(part.converts for _, _, part in self.members)

    def converted(self, source: str, depth: int) -> str:
        values = ", ".join(
            f"{quote_identifier(name)} := "
            + part.value(f"struct_extract({source}, {quote_literal(member)})", depth)
            for name, member, part in self.members
        )
        return f"CASE WHEN {source} IS NOT NULL THEN struct_pack({values}) END"

    def mapping(self) -> str:
        return _mapping(self.members)


@dataclass(frozen=True)
class _List(_Part):
    element: _Part

    @property
    def renames(self) -> bool:
        return self.element.renames

    @property
    def converts(self) -> bool:
        return self.element.converts

    def converted(self, source: str, depth: int) -> str:
        return f"list_transform({source}, lambda e{depth}: {self.element.value(f'e{depth}', depth + 1)})"

    def mapping(self) -> str:
        return _mapping([("list", "list", self.element)])


@dataclass(frozen=True)
class _Map(_Part):
    key: _Part
    item: _Part

    @property
    def renames(self) -> bool:
        return self.key.renames or self.item.renames

    @property
    def converts(self) -> bool:
        return self.key.converts or self.item.converts

    def converted(self, source: str, depth: int) -> str:
        key = self.key.value(f"e{depth}.key", depth + 1)
        item = self.item.value(f"e{depth}.value", depth + 1)
        pair = f"lambda e{depth}: struct_pack(key := {key}, value := {item})"
        entries = f"list_transform(map_entries({source}), {pair})"
        return f"CASE WHEN {source} IS NOT NULL THEN map_from_entries({entries}) END"

    def mapping(self) -> str:
        return _mapping([("key", "key", self.key), ("value", "value", self.item)])


def _mapping(entries: Iterable[tuple[str, str, _Part]]) -> str:
    texts = []
    for name, source, part in entries:
        target = quote_literal(source)
        if part.renames:
            target = f"({target}, {part.mapping()})"
        texts.append(f"{quote_literal(name)}: {target}")
    return "{" + ", ".join(texts) + "}"


def _part(
    wanted: DataType,
    scanned: pa.DataType,
    found: pa.Field,
    paddings: Paddings,
    *,
    is_top: bool = False,
    repeats: bool = False,
) -> _Part:
    """Return how to read a type (`is_top`) or a part of it; `repeats` says that it is in a list or map."""
    if isinstance(wanted, StructType):
        return _struct(wanted, scanned, found.type, paddings, is_top=is_top, repeats=repeats)
    if isinstance(wanted, ArrayType):
        inner = found.type.value_field
        within = inner_paddings(paddings, "element")
        element = _part(wanted.element_type, scanned.value_type, inner, within, repeats=True)
        return _List(f"{element.bound_type}[]", f"{element.logical}[]", element)
    if isinstance(wanted, MapType):
        of_key, of_item = (inner_paddings(paddings, step) for step in ("key", "value"))
        key = _part(wanted.key_type, scanned.key_type, found.type.key_field, of_key, repeats=True)
        item = _part(wanted.value_type, scanned.item_type, found.type.item_field, of_item, repeats=True)
        bound, logical = f"MAP({key.bound_type}, {item.bound_type})", f"MAP({key.logical}, {item.logical})"
        return _Map(bound, logical, key, item)
    part = _value(wanted, found)
    if () in paddings:
        return _Value(part.bound_type, part.logical, padding_sql(part.conversion or "{}", paddings[()]))
    return part


def _struct(
    wanted: StructType,
    scanned: pa.StructType,
    found: pa.StructType,
    paddings: Paddings,
    *,
    is_top: bool,
    repeats: bool,
) -> _Struct:
    members: list[tuple[str, str, _Part]] = []
    held = {field.name: field for field in found}
    # DuckDB finds fields case-insensitively.
    taken = {name.casefold() for name in held}
    if len(taken) < found.num_fields:
        raise BeyondDuckDBError("a struct in a file has fields whose names differ only in case")
    if not is_top and not any(source.name in held for source in scanned):
        # Inside a list, DuckDB fails; elsewhere, it shows NULL structs as not NULL.
        raise BeyondDuckDBError("a struct inside a column of a file has none of the table's fields")
    for field, source in zip(wanted.fields, scanned, strict=True):
        name = source.name
        if name in held:
            within = inner_paddings(paddings, field.name)
            part = _part(field.type, source.type, held[name], within, repeats=repeats)
        else:
            name = _free_name(name, taken)
            absent = duckdb_type(field.type)
            is_taken_apart = not repeats and (
                isinstance(field.type, StructType) or field.type == PrimitiveType("variant")
            )
            part = _Absent(absent, absent) if is_taken_apart else _Value(absent, absent)
        members.append((field.name, name, part))
    read = [(name, part.bound_type) for _, name, part in members if not isinstance(part, _Absent)]
    bound = _struct_type(read or [(_free_name("absent", taken), "BOOLEAN")])
    logical = _struct_type((name, part.logical) for name, _, part in members)
    return _Struct(bound, logical, tuple(members))


def _free_name(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, case-insensitively, and add it to `taken`."""
    while name.casefold() in taken:
        name += "_"
    taken.add(name.casefold())
    return name


def _value(wanted: PrimitiveType, found: pa.Field) -> _Value:
    logical = duckdb_type(wanted)
    types = pa.types
    if types.is_timestamp(found.type) and found.type.unit == "ns":
        raise BeyondDuckDBError("DuckDB would truncate nanoseconds", feature="nanosecond timestamps")
    if wanted.type == "timestamp" and types.is_timestamp(found.type) and found.type.tz is None:
        return _Value("TIMESTAMP", logical, "make_timestamptz(epoch_us({}))")
    if wanted.type == "timestamp_ntz" and types.is_timestamp(found.type) and found.type.tz is not None:
        return _Value("TIMESTAMP WITH TIME ZONE", logical, "make_timestamp(epoch_us({}))")
    if wanted.type == "string" and types.is_binary(found.type):
        return _Value("BLOB", logical, "decode({})")
    if wanted.type == "variant":
        _ensure_shown(found)
    return _Value(logical, logical)


def _ensure_shown(variant: pa.Field) -> None:
    mark = (variant.metadata or {}).get(VARIANT_MARK)
    if mark is None:
        raise BeyondDuckDBError(
            "the file does not annotate a column of variants as VARIANT", feature="variantType"
        )
    if variant.type != to_arrow_type(PrimitiveType("variant")):
        raise BeyondDuckDBError(
            "DuckDB cannot read the shredding of a variant in the file", feature="variantShredding"
        )
    if mark != PROVEN:
        raise BeyondDuckDBError(
            "DuckDB's reader turns variants that are null into NULL, and the file may have some",
            feature="variantType",
        )
