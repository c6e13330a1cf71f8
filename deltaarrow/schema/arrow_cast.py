"""Conversion of Arrow data to a table's Arrow schema before it is written.

Columns are matched by name as in Spark, in any order and at every level of structs: by the exact name,
else by the only name that differs in case. Encodings (dictionaries, views, large offsets, run-end
encoding, any kind of list, any time zone) are converted to the table's plain types. No value changes:
a cast to another integer width, decimal scale or time unit must be exact. A column that is not
nullable must have no NULL; as in Spark, a NULL struct counts as NULL in each of its fields.
"""

from collections.abc import Iterator
from typing import TypeVar

import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.display.near_names import did_you_mean
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError, UnsupportedFeatureError

__all__ = [
    "conform",
    "cut_times",
    "ensure_conformable",
    "in_microseconds",
    "is_conformable",
    "missing_columns",
]

_Data = TypeVar("_Data", pa.RecordBatch, pa.Table, pa.RecordBatchReader)

# Batches are split into parts of at most this many rows and bytes, so that 32-bit offsets suffice.
_MAX_ROWS = 1 << 20
_MAX_BYTES = 1 << 29
_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 20}
_MAX_DECIMAL128 = 38
_CUTTING = "safe=False to pyarrow.timestamp('us')"
_REPLACES = "mode='overwrite' with schema_mode='overwrite' replaces the columns of the table"


def conform(data: _Data, target: pa.Schema) -> _Data:
    """Return the same rows in the table's Arrow schema.

    Args:
        data: a batch, a table, or a reader. A reader stays a stream and fails at the first batch that does
            not fit. Large batches of a table or reader are split.
        target: the Arrow schema of the table, from `Schema.to_arrow`. Columns that the data lacks become
            NULL.

    Raises:
        SchemaMismatchError: the data has columns that the table lacks (the message names all of them), a
            type that does not fit, or a value that the cast would change.
        ConstraintViolationError: a column that is not nullable is missing or holds NULL.
        UnsupportedFeatureError: Arrow cannot decode the run-end encoding of a type.

    >>> batch = pa.RecordBatch.from_pydict({"ID": pa.array([1, 2], pa.uint8())})
    >>> conform(batch, pa.schema([("id", pa.int64()), ("name", pa.string())])).to_pydict()
    {'id': [1, 2], 'name': [None, None]}
    """
    ensure_conformable(data.schema, target)
    if isinstance(data, pa.RecordBatch):
        return _conform_batch(data, target)
    if isinstance(data, pa.Table):
        return pa.Table.from_batches(_conform_batches(iter(data.to_batches()), target), target)
    return pa.RecordBatchReader.from_batches(target, _conform_batches(iter(data), target))


def ensure_conformable(source: pa.Schema, target: pa.Schema) -> None:
    """Raise if `conform` must fail for every batch of a schema.

    Raises:
        SchemaMismatchError: as for `conform`.
        ConstraintViolationError: a column that is not nullable is missing.
    """
    unknown: list[str] = []
    clashes: list[str] = []
    absent: list[str] = []
    _compare_fields(list(source), list(target), "", unknown, clashes, absent)
    if unknown:
        names = ", ".join(map(repr, unknown))
        near = did_you_mean(unknown[0], target.names) if len(unknown) == 1 else ""
        ways = f"schema_mode='merge' adds what is missing; {_REPLACES}"
        clashes.insert(0, f"the table has no column {names}{near} ({ways})")
    elif clashes:
        clashes[-1] += (
            f" (cast the data first; cast=True of write_deltalake casts values that fit; {_REPLACES})"
        )
    if clashes:
        raise SchemaMismatchError("the data does not fit the table: " + "; ".join(clashes))
    if absent:
        raise ConstraintViolationError(
            f"NOT NULL column {', '.join(map(repr, absent))} is missing in the data; add it, or make it"
            " nullable with table.alter.drop_column_not_null"
        )


def missing_columns(source: pa.Schema, target: pa.Schema) -> list[str]:
    """Return the columns of the table that the data lacks.

    Raises:
        SchemaMismatchError: several columns of the data match one column of the table.

    >>> missing_columns(pa.schema([("ID", pa.int64())]), pa.schema([("id", pa.int64()), ("n", pa.int64())]))
    ['n']
    """
    places = _match(source.names, target.names, "")
    return [name for place, name in zip(places, target.names, strict=True) if place is None]


def in_microseconds(source: pa.Schema) -> pa.Schema:
    """Return a schema with the timestamps in nanoseconds, at any depth, in microseconds.

    A column that holds such timestamps gets a plain type: no dictionary, and a list with 32-bit offsets.

    >>> in_microseconds(pa.schema([("at", pa.list_(pa.timestamp("ns")))])).field("at").type
    ListType(list<item: timestamp[us]>)
    """
    return pa.schema([each.with_type(_in_microseconds(each.type)) for each in source], source.metadata)


def _in_microseconds(arrow_type: pa.DataType) -> pa.DataType:
    types, plain = pa.types, _decoded_type(arrow_type)
    if types.is_timestamp(plain):
        return pa.timestamp("us", plain.tz) if plain.unit == "ns" else arrow_type
    inner = _inner_fields(plain)
    fields = [each.with_type(_in_microseconds(each.type)) for each in inner]
    if fields == inner:
        return arrow_type
    if types.is_struct(plain):
        return pa.struct(fields)
    return pa.map_(*fields) if types.is_map(plain) else pa.list_(*fields)


def _inner_fields(arrow_type: pa.DataType) -> list[pa.Field]:
    if pa.types.is_struct(arrow_type):
        return list(arrow_type.fields)
    if pa.types.is_map(arrow_type):
        return [arrow_type.key_field, arrow_type.item_field]
    return [arrow_type.value_field] if _is_list(arrow_type) else []


def cut_times(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    """Return the rows with `in_microseconds` of their schema, without the digits below microseconds.

    Args:
        batch: the rows.
        target: `in_microseconds` of the schema of the batch.

    >>> batch = pa.record_batch({"at": pa.array([1999, -1], pa.timestamp("ns"))})
    >>> cut_times(batch, in_microseconds(batch.schema))["at"].cast("int64").to_pylist()
    [1, -1]
    """
    columns = [
        column if column.type == field.type else _convert(column, field.type, field.name, cuts_times=True)
        for column, field in zip(batch.columns, target, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=target)


def is_conformable(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of one type can be stored as another, if each value fits.

    >>> is_conformable(pa.int64(), pa.int8()), is_conformable(pa.int64(), pa.string())
    (True, False)
    """
    problems: list[str] = []
    _compare(source, pa.field("", target), "", problems, problems, problems)
    return not problems


def _compare_fields(
    source: list[pa.Field],
    target: list[pa.Field],
    path: str,
    unknown: list[str],
    clashes: list[str],
    absent: list[str],
) -> None:
    try:
        places = _match([each.name for each in source], [each.name for each in target], path)
    except SchemaMismatchError as error:
        clashes.append(str(error))
        return
    matched = {*places}
    unknown += [_join(path, each.name) for place, each in enumerate(source) if place not in matched]
    for place, field in zip(places, target, strict=True):
        if place is not None:
            _compare(source[place].type, field, _join(path, field.name), unknown, clashes, absent)
        else:
            inner = _join(path, field.name)
            absent += _required(field.type, inner) if field.nullable else [inner]


def _compare(
    source: pa.DataType,
    target: pa.Field,
    path: str,
    unknown: list[str],
    clashes: list[str],
    absent: list[str],
) -> None:
    found, wanted = _decoded_type(source), target.type
    if pa.types.is_struct(found) and pa.types.is_struct(wanted):
        _compare_fields(found.fields, wanted.fields, path, unknown, clashes, absent)
    elif pa.types.is_map(found) and pa.types.is_map(wanted):
        _compare(found.key_type, wanted.key_field, f"{path}.key", unknown, clashes, absent)
        _compare(found.item_type, wanted.item_field, f"{path}.value", unknown, clashes, absent)
    elif _is_list(found) and pa.types.is_list(wanted):
        _compare(found.value_type, wanted.value_field, f"{path}.element", unknown, clashes, absent)
    elif source != wanted and not _is_castable(found, wanted):
        clashes.append(f"column {path!r} has Arrow type {source}, which does not fit {wanted}")


def _match(source: list[str], target: list[str], path: str) -> list[int | None]:
    """Return the index of the source column for each target name; None if there is none."""
    exact: dict[str, list[int]] = {}
    alike: dict[str, list[int]] = {}
    for place, name in enumerate(source):
        exact.setdefault(name, []).append(place)
        alike.setdefault(name.lower(), []).append(place)
    taken = set(target)
    places: list[int | None] = []
    for name in target:
        found = exact.get(name) or [each for each in alike.get(name.lower(), ()) if source[each] not in taken]
        if len(found) > 1:
            names = ", ".join(repr(source[each]) for each in found)
            raise SchemaMismatchError(
                f"column {_join(path, name)!r} is ambiguous in the data: {names}; rename or drop the others"
            )
        places.append(found[0] if found else None)
    return places


def _is_castable(source: pa.DataType, target: pa.DataType) -> bool:
    types = pa.types
    if source == target or types.is_null(source):
        return True
    if types.is_integer(source):
        return bool(types.is_integer(target) or types.is_floating(target) or types.is_decimal(target))
    if types.is_floating(source):
        return bool(types.is_floating(target))
    if types.is_decimal(source):
        return bool(types.is_decimal(target))
    if types.is_timestamp(source):
        return bool(types.is_timestamp(target)) and (source.tz is None) == (target.tz is None)
    if types.is_date(source):
        return bool(types.is_date(target) or (types.is_timestamp(target) and target.tz is None))
    if source in (pa.large_string(), pa.string_view()):
        return bool(types.is_string(target))
    if source in (pa.large_binary(), pa.binary_view()) or types.is_fixed_size_binary(source):
        return bool(types.is_binary(target))
    return False


def _conform_batches(batches: Iterator[pa.RecordBatch], target: pa.Schema) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        fitting = max(1, batch.num_rows * _MAX_BYTES // max(1, batch.nbytes))
        step = min(_MAX_ROWS, fitting)
        for start in range(0, batch.num_rows, step):
            for part in _halved(batch.slice(start, step)):
                yield _conform_batch(part, target)


def _halved(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield parts of a batch that are small enough, even if a few rows hold most of the bytes."""
    half = batch.num_rows // 2
    parts = (batch.slice(0, half), batch.slice(half))
    # Slices of view arrays share their buffers and count them fully, so slicing may not reduce nbytes.
    helps = half > 0 and sum(part.nbytes for part in parts) < 1.5 * batch.nbytes
    if batch.nbytes <= _MAX_BYTES or not helps:
        yield batch
        return
    for part in parts:
        yield from _halved(part)


def _conform_batch(batch: pa.RecordBatch, target: pa.Schema) -> pa.RecordBatch:
    places = _match(batch.schema.names, target.names, "")
    columns = []
    for place, field in zip(places, target, strict=True):
        if place is None:
            columns.append(_nulls(field.type, field.name, batch.num_rows))
            continue
        column = _convert(batch.column(place), field.type, field.name)
        _ensure_filled(column, field, field.name)
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=target)


def _convert(array: pa.Array, target: pa.DataType, path: str, cuts_times: bool = False) -> pa.Array:
    """Return the array in the target type; `_compare` has checked that the types are compatible.

    Times lose the digits that the target lacks if `cuts_times`; else such digits are an error.
    """
    if array.type.equals(target, check_metadata=True) and not pa.types.is_nested(target):
        return array
    array = _decode(array)
    if pa.types.is_null(array.type):
        return _nulls(target, path, len(array))
    if pa.types.is_struct(target):
        return _convert_struct(array, target, path, cuts_times)
    if pa.types.is_map(target):
        entries = pa.struct([pa.field("key", array.type.key_type), pa.field("value", array.type.item_type)])
        offsets, pairs = _unnest(array.cast(pa.list_(entries)), path)
        keys = _convert(pairs.field(0), target.key_type, f"{path}.key", cuts_times)
        items = _convert(pairs.field(1), target.item_type, f"{path}.value", cuts_times)
        _ensure_filled(keys, target.key_field, f"{path}.key")
        _ensure_filled(items, target.item_field, f"{path}.value")
        return pa.MapArray.from_arrays(offsets, keys, items, type=target, mask=array.is_null())
    if pa.types.is_list(target):
        offsets, values = _unnest(array, path)
        values = _convert(values, target.value_type, f"{path}.element", cuts_times)
        _ensure_filled(values, target.value_field, f"{path}.element")
        return pa.ListArray.from_arrays(offsets, values, type=target, mask=array.is_null())
    if cuts_times and pa.types.is_timestamp(target):
        return _cut(array, target)
    return _cast(array, target, path)


def _cut(array: pa.Array, target: pa.DataType) -> pa.Array:
    """Return times in a coarser unit: the last one that is not after each, as in Spark."""
    cut = array.cast(target, safe=False)
    # The cast rounds times before 1970 up.
    is_after = pc.greater(cut.cast(array.type, safe=False), array)
    numbers = pc.subtract(cut.cast(pa.int64()), is_after.cast(pa.int64()))
    return numbers.cast(target)


def _convert_struct(array: pa.StructArray, target: pa.StructType, path: str, cuts_times: bool) -> pa.Array:
    # Flattened children are NULL where the struct is, so hidden values cannot fail a cast.
    children = array.flatten()
    places = _match([each.name for each in array.type.fields], [each.name for each in target.fields], path)
    columns = []
    for place, field in zip(places, target.fields, strict=True):
        inner = _join(path, field.name)
        if place is None:
            column = _nulls(field.type, inner, len(array))
        else:
            column = _convert(children[place], field.type, inner, cuts_times)
        _ensure_filled(column, field, inner)
        columns.append(column)
    return pa.StructArray.from_arrays(columns, fields=target.fields, mask=array.is_null())


def _unnest(array: pa.Array, path: str) -> tuple[pa.Array, pa.Array]:
    """Return zero-based offsets and the values of the non-NULL lists, for every kind of list."""
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int64())
    ends = pc.cumulative_sum(lengths)
    offsets = pa.concat_arrays([pa.nulls(1, pa.int64()).fill_null(0), ends])
    narrow = _cast(offsets, pa.int32(), path)
    # Before pyarrow 26, lists with a mask take no offsets with a validity buffer, even if none is NULL.
    plain = pa.Array.from_buffers(narrow.type, len(narrow), [None, narrow.buffers()[1]], offset=narrow.offset)
    return plain, array.flatten()


def _cast(array: pa.Array, target: pa.DataType, path: str) -> pa.Array:
    types = pa.types
    try:
        if types.is_integer(array.type) and types.is_decimal(target):
            # The direct cast needs enough digits for every integer of the type, not just these values.
            digits = _INTEGER_DIGITS[array.type.bit_width] + target.scale
            wide = pa.decimal128 if digits <= _MAX_DECIMAL128 else pa.decimal256
            array = array.cast(wide(digits, target.scale))
        if array.type in (pa.large_string(), pa.large_binary()):
            # The cast uses raw offsets, which do not start at zero in a slice.
            array = pa.concat_arrays([array, array.slice(0, 0)])
        cast = array.cast(target)
    except pa.ArrowInvalid as error:
        hint = ""
        if types.is_timestamp(target) and types.is_timestamp(array.type) and array.type.unit == "ns":
            cutting = f"cast with {_CUTTING}, or write with allow_truncation=True"
            hint = f"; Delta has microseconds: to cut the rest off, {cutting}"
        raise SchemaMismatchError(f"column {path!r}: a value does not fit {target}: {error}{hint}") from error
    if types.is_floating(array.type) and target.bit_width < array.type.bit_width:
        # Arrow rounds floats silently.
        back = cast.cast(array.type)
        same = pc.or_(pc.equal(back, array), pc.and_(pc.is_nan(back), pc.is_nan(array)))
        if not pc.all(same).as_py():
            raise SchemaMismatchError(
                f"column {path!r}: a value of {array.type} would be rounded to {target};"
                " round or cast it before writing, or write with cast=True, which takes the nearest value"
            )
    return cast


def _decode(array: pa.Array) -> pa.Array:
    """Decode an extension type, dictionary or run-end encoding to the plain array."""
    while True:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif isinstance(array, pa.DictionaryArray):
            values = _decode(array.dictionary)
            plain = _VIEWS.get(values.type)
            array = (values.cast(plain) if plain else values).take(array.indices)
        elif isinstance(array, pa.RunEndEncodedArray):
            try:
                array = pc.run_end_decode(array)
            except pa.ArrowNotImplementedError as error:
                raise UnsupportedFeatureError(str(error), feature=str(array.type)) from error
        else:
            return array


_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def _decoded_type(arrow_type: pa.DataType) -> pa.DataType:
    while True:
        if isinstance(arrow_type, pa.BaseExtensionType):
            arrow_type = arrow_type.storage_type
        elif pa.types.is_dictionary(arrow_type) or pa.types.is_run_end_encoded(arrow_type):
            arrow_type = arrow_type.value_type
        else:
            return arrow_type


def _is_list(arrow_type: pa.DataType) -> bool:
    types = pa.types
    kinds = (types.is_list, types.is_large_list, types.is_fixed_size_list)
    views = (types.is_list_view, types.is_large_list_view)
    return any(is_kind(arrow_type) for is_kind in (*kinds, *views))


def _ensure_filled(array: pa.Array, field: pa.Field, path: str) -> None:
    if not field.nullable and array.null_count:
        raise _violation(path)


def _violation(path: str) -> ConstraintViolationError:
    return ConstraintViolationError(
        f"NOT NULL column {path!r} holds NULL in the data; fill the value, or make the column nullable with"
        " table.alter.drop_column_not_null (Spark: DELTA_NOT_NULL_CONSTRAINT_VIOLATED)"
    )


def _nulls(arrow_type: pa.DataType, path: str, length: int) -> pa.Array:
    required = _required(arrow_type, path)
    if length and required:
        raise _violation(required[0])
    return pa.nulls(length, arrow_type)


def _required(arrow_type: pa.DataType, path: str) -> list[str]:
    """Return the NOT NULL fields of a struct; in Spark, a NULL struct violates them."""
    if not pa.types.is_struct(arrow_type):
        return []
    found = []
    for each in arrow_type.fields:
        inner = _join(path, each.name)
        found += _required(each.type, inner) if each.nullable else [inner]
    return found


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
