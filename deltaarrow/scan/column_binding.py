"""`Binding`: the columns of a table in one data file, chapter "Reader Requirements for Column Mapping".

There is one binding per Parquet schema. It gives the Arrow schema to scan the file with: the *names* of the
file and the *types* of the table. pyarrow then widens types, reorders columns and fills absent ones, and the
result only needs the logical names. Columns are found as follows:

=========  ==========================================================================================
mapping    the column in the file is found by
=========  ==========================================================================================
``none``   its name; else, as in Spark, the only name that differs in case
``name``   its physical name
``id``     its field id; a file without field ids is refused, because all columns would be NULL
=========  ==========================================================================================

If the type of the table cannot hold the values of the file without loss, the file is refused. If a file
differs from what the table would write today, its footer is first checked for contradictions.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

import deltaarrow.variant as variant
from deltaarrow.columnar.numpy_arrays import ENCODED_TEXT
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.runtime.fork_safety import cached_property
from deltaarrow.scan.damage import ensure_sound_footer, reading
from deltaarrow.scan.tasks import TableLayout
from deltaarrow.schema import (
    CHANGE_TYPE,
    ArrayType,
    DataType,
    Field,
    MapType,
    PrimitiveType,
    StructType,
    ensure_known,
    field_id,
    physical_name,
    to_arrow_type,
)
from deltaarrow.schema.metadata_keys import PARQUET_FIELD_ID_KEY

__all__ = ["Binding", "bind_columns", "schema_key"]

_Key = TypeVar("_Key", bound=Hashable)

_VOID, _VARIANT = PrimitiveType("void"), PrimitiveType("variant")
_INTEGERS = {pa.int8(): 8, pa.int16(): 16, pa.int32(): 32, pa.int64(): 64}
_INTEGERS |= {pa.uint8(): 9, pa.uint16(): 17, pa.uint32(): 33}


@dataclass(frozen=True)
class Binding:
    """How the requested columns are read from files with one Parquet schema.

    `scan_schema` has the columns to scan. `sources` has, for every requested data column, its name in the
    file, or None if the file lacks it. `exact` names the columns with the same type in file and table, which
    filters may be pushed to. `variants` names the columns that contain variants in the file's form, shredded
    or not.
    """

    scan_schema: pa.Schema
    sources: tuple[str | None, ...]
    exact: frozenset[str]
    variants: frozenset[str]


def schema_key(schema: pa.Schema) -> bytes:
    """Return a cache key for a file's schema, with field ids, which pyarrow's equality ignores."""
    return bytes(schema.remove_metadata().serialize())


class _Candidates:
    """The fields of a file, or of a struct in it; each lookup is built once, as tables may be wide."""

    def __init__(self, fields: Iterable[pa.Field]) -> None:
        self.fields = list(fields)

    @cached_property
    def by_name(self) -> Mapping[str, Sequence[pa.Field]]:
        return _grouped((each.name, each) for each in self.fields)

    @cached_property
    def by_folded_name(self) -> Mapping[str, Sequence[pa.Field]]:
        return _grouped((each.name.casefold(), each) for each in self.fields)

    @cached_property
    def by_field_id(self) -> Mapping[bytes, Sequence[pa.Field]]:
        marked = ((each.metadata or {}, each) for each in self.fields)
        return _grouped((m[PARQUET_FIELD_ID_KEY], each) for m, each in marked if PARQUET_FIELD_ID_KEY in m)


def _grouped(pairs: Iterable[tuple[_Key, pa.Field]]) -> Mapping[_Key, Sequence[pa.Field]]:
    found: dict[_Key, list[pa.Field]] = {}
    for key, field in pairs:
        found.setdefault(key, []).append(field)
    return found


class _Binder:
    def __init__(self, mode: str, file_name: str) -> None:
        self.mode = mode
        self.file_name = file_name

    def find(self, field: Field, candidates: _Candidates, path: str) -> pa.Field | None:
        """Return the field of the file that holds `field`, if any."""
        wanted = field_id(field) if self.mode == "id" else None
        # The column of change data files has no field id in any mapping mode.
        if self.mode == "id" and (wanted is not None or path != CHANGE_TYPE):
            if wanted is None:
                raise CorruptDataFileError(
                    f"the schema has no field id for the column {path}, although the table maps columns by id"
                )
            matches = candidates.by_field_id.get(str(wanted).encode(), ())
        else:
            name = physical_name(field, self.mode)
            matches = candidates.by_name.get(name, ())
            if not matches and self.mode == "none":
                matches = candidates.by_folded_name.get(name.casefold(), ())
        if len(matches) > 1:
            raise CorruptDataFileError(
                f"{self.file_name} holds the column {path} more than once, so its values are ambiguous"
            )
        return matches[0] if matches else None

    def type(self, wanted: DataType, found: pa.DataType, path: str) -> pa.DataType:
        """Return the Arrow type to scan: names of the file, types of the table."""
        if isinstance(wanted, StructType):
            if not pa.types.is_struct(found):
                raise self.mismatch(path, wanted, found)
            return pa.struct(self.fields(wanted, found, path))
        if isinstance(wanted, ArrayType):
            if not (pa.types.is_list(found) or pa.types.is_large_list(found)):
                raise self.mismatch(path, wanted, found)
            element = self.type(wanted.element_type, found.value_type, f"{path}.element")
            return pa.list_(pa.field("element", element))
        if isinstance(wanted, MapType):
            if not pa.types.is_map(found):
                raise self.mismatch(path, wanted, found)
            key = self.type(wanted.key_type, found.key_type, f"{path}.key")
            return pa.map_(key, self.type(wanted.value_type, found.item_type, f"{path}.value"))
        if wanted == _VARIANT:
            return self.variant(found, path)
        arrow_type = to_arrow_type(wanted)
        if not _can_hold(arrow_type, found):
            raise self.mismatch(path, wanted, found)
        return arrow_type

    def fields(self, wanted: StructType, found: pa.DataType, path: str) -> list[pa.Field]:
        candidates = _Candidates(found)
        fields = []
        taken = {*candidates.by_name}
        for field in wanted.fields:
            here = f"{path}.{field.name}"
            source = self.find(field, candidates, here)
            if source is None:
                # A name that the file lacks is scanned as NULLs.
                name = field.name
                while name in taken:
                    name += "_"
                taken.add(name)
                fields.append(pa.field(name, to_arrow_type(field.type)))
            else:
                fields.append(pa.field(source.name, self.type(field.type, source.type, here)))
        return fields

    def variant(self, found: pa.DataType, path: str) -> pa.DataType:
        try:
            return variant.shredded_type(found)
        except CorruptDataFileError as error:
            raise CorruptDataFileError(f"{self.file_name}, column {path}: {error}") from error

    def mismatch(self, path: str, wanted: DataType, found: pa.DataType) -> CorruptDataFileError:
        return CorruptDataFileError(
            f"{self.file_name} holds the column {path} as {found}, which the type of the table, {wanted!r},"
            " cannot represent"
        )


def _can_hold(wanted: pa.DataType, found: pa.DataType) -> bool:
    """Whether every value of `found` can be cast to `wanted` exactly, or else the cast raises."""
    types = pa.types
    if wanted == found or types.is_null(found):
        return True
    if types.is_dictionary(found):
        return _can_hold(wanted, found.value_type)
    rules: list[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], bool]]] = [
        (types.is_integer, lambda t: t in _INTEGERS),
        (
            types.is_float64,
            lambda t: types.is_float32(t) or types.is_float16(t) or _INTEGERS.get(t, 64) <= 33,
        ),
        (types.is_float32, types.is_float16),
        (types.is_decimal, lambda t: t in _INTEGERS or _widens_decimal(wanted, t)),
        (types.is_date32, types.is_date64),
        (types.is_timestamp, lambda t: types.is_timestamp(t) or (types.is_date(t) and wanted.tz is None)),
        (types.is_string, lambda t: types.is_large_string(t) or _is_binary(t) or t == pa.string_view()),
        (types.is_binary, lambda t: _is_binary(t)),
    ]
    return any(holds(wanted) and accepts(found) for holds, accepts in rules)


def _is_binary(data_type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(data_type)
        or types.is_large_binary(data_type)
        or types.is_fixed_size_binary(data_type)
        or data_type == pa.binary_view()
    )


def _widens_decimal(wanted: pa.DataType, found: pa.DataType) -> bool:
    if not pa.types.is_decimal(found):
        return False
    grown = wanted.scale - found.scale
    return bool(grown >= 0 and wanted.precision - found.precision >= grown)


def _find(layout: TableLayout, binder: _Binder, field: Field, candidates: _Candidates) -> pa.Field | None:
    if not layout.is_row_tracking(field):
        return binder.find(field, candidates, field.name)
    # Materialized columns are found by name in any mapping mode.
    name = layout.physical_name(field)
    matches = candidates.by_name.get(name, ())
    if len(matches) > 1:
        raise CorruptDataFileError(f"{binder.file_name} holds the column {name} more than once")
    return matches[0] if matches else None


def bind_columns(
    layout: TableLayout,
    fields: Sequence[Field],
    file_schema: pa.Schema,
    file_name: str,
    encoded: Collection[str] = (),
) -> Binding:
    """Bind the data columns `fields` to a file of the Arrow schema `file_schema`.

    Columns in `encoded` are scanned as dictionary arrays where the file is opened so.

    Raises `CorruptDataFileError` if the file does not fit the schema of the table.
    """
    ensure_known(fields)
    binder = _Binder(layout.mapping_mode, file_name)
    candidates = _Candidates(file_schema)
    stored = [field for field in fields if field.type != _VOID]
    if stored and layout.mapping_mode == "id" and not candidates.by_field_id:
        raise CorruptDataFileError(f"{file_name} has no field ids, although the table maps columns by id")
    scan_fields: list[pa.Field] = []
    sources: list[str | None] = []
    exact, variants = set(), set()
    with reading(file_name):  # names in a footer may not be UTF-8
        for field in fields:
            source = None
            if field.type != _VOID:
                source = _find(layout, binder, field, candidates)
            if source is None:
                sources.append(None)
                continue
            if field.name in encoded and source.type == ENCODED_TEXT:
                scan_type = source.type
            else:
                scan_type = binder.type(field.type, source.type, field.name)
            scan_fields.append(pa.field(source.name, scan_type))
            sources.append(source.name)
            if variant.holds_variant(field.type):
                variants.add(field.name)
            # NULL in a row tracking column stands for the value from the log, so no filter may use it.
            elif scan_type == source.type and not layout.is_row_tracking(field):
                exact.add(field.name)
    binding = Binding(pa.schema(scan_fields), tuple(sources), frozenset(exact), frozenset(variants))
    if _may_be_damage(layout, fields, candidates.fields, binding):
        ensure_sound_footer(layout.store, file_name)
    return binding


def _may_be_damage(
    layout: TableLayout, fields: Sequence[Field], candidates: Sequence[pa.Field], binding: Binding
) -> bool:
    """Whether a damaged name or type in the footer could lead to this binding."""
    understood = binding.exact | binding.variants
    lacks = False
    for field, source in zip(fields, binding.sources, strict=True):
        if source is None:
            lacks |= field.type != _VOID
        elif field.name not in understood and not layout.is_row_tracking(field):
            return True
    known = {layout.physical_name(field).casefold() for field in layout.schema.fields} | {CHANGE_TYPE}
    return lacks and any(each.name.casefold() not in known for each in candidates)
