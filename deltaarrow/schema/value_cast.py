"""Casts of data to the column types of a table that `conform` alone refuses: exactly, or not at all.

============================ ==============================================================
from                         to
============================ ==============================================================
floating point               integers, decimals; a narrower one, to the nearest finite value
decimals                     integers, floating point, strings
integers, booleans, dates    strings
timestamps without a zone    dates
strings                      integers, decimals, floating point, booleans, dates, timestamps
============================ ==============================================================

A value that has no equal in the other type is an error: a fraction, too many digits, a time of day, a string
that Arrow does not parse. Values inside structs, lists and maps are cast too; fields are matched by name.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.columnar.nested_arrays import with_children
from deltaarrow.columnar.numpy_arrays import integers
from deltaarrow.errors import SchemaMismatchError

__all__ = ["cast_columns", "has_value_cast"]


def cast_columns(data: pa.RecordBatchReader, target: pa.Schema) -> pa.RecordBatchReader:
    """Return the rows with each column cast to the type of the table's column, where such a cast exists.

    Args:
        data: the rows; columns are matched by name, in any case.
        target: the Arrow schema of the table.

    Reading raises `SchemaMismatchError` for a value that the type of the column does not have.
    """
    wanted = {field.name.lower(): field.type for field in target}
    schema = data.schema
    casts: dict[int, pa.DataType] = {}
    for place, field in enumerate(schema):
        to = _cast_type(field.type, wanted.get(field.name.lower(), field.type))
        if to != field.type:
            casts[place] = to
            schema = schema.set(place, field.with_type(to))
    if not casts:
        return data
    return pa.RecordBatchReader.from_batches(schema, _cast_batches(data, schema, casts))


def has_value_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of an Arrow type may be cast to another one by `cast_columns`.

    >>> has_value_cast(pa.float64(), pa.int64()), has_value_cast(pa.timestamp("us", "UTC"), pa.date32())
    (True, False)
    """
    types = pa.types
    if _is_text(source):
        return bool(
            types.is_integer(target)
            or types.is_floating(target)
            or types.is_decimal(target)
            or types.is_boolean(target)
            or types.is_date(target)
            or types.is_timestamp(target)
        )
    if types.is_floating(source):
        narrows = types.is_floating(target) and target.bit_width < source.bit_width
        return bool(types.is_integer(target) or types.is_decimal(target) or narrows)
    if types.is_decimal(source):
        return bool(types.is_integer(target) or types.is_floating(target) or _is_text(target))
    if types.is_timestamp(source):
        return bool(source.tz is None and types.is_date(target))
    return bool(types.is_integer(source) or types.is_boolean(source) or types.is_date(source)) and _is_text(
        target
    )


def _cast_type(source: pa.DataType, target: pa.DataType) -> pa.DataType:
    """The type of the data after its casts, in the form of the data: its fields, lists and offsets stay."""
    types = pa.types
    if types.is_struct(source) and types.is_struct(target):
        wanted = {field.name.lower(): field.type for field in target}
        inner = (
            each.with_type(_cast_type(each.type, wanted.get(each.name.lower(), each.type))) for each in source
        )
        return pa.struct(inner)
    if types.is_map(source) and types.is_map(target):
        key, item = source.key_field, source.item_field
        return pa.map_(
            key.with_type(_cast_type(key.type, target.key_type)),
            item.with_type(_cast_type(item.type, target.item_type)),
        )
    if (types.is_list(source) or types.is_large_list(source)) and types.is_list(target):
        element = source.value_field.with_type(_cast_type(source.value_type, target.value_type))
        return pa.list_(element) if types.is_list(source) else pa.large_list(element)
    return target if has_value_cast(source, target) else source


def _is_text(arrow_type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(arrow_type) or types.is_large_string(arrow_type) or types.is_string_view(arrow_type)
    )


def _cast_batches(
    data: pa.RecordBatchReader, schema: pa.Schema, casts: dict[int, pa.DataType]
) -> Iterator[pa.RecordBatch]:
    for batch in data:
        columns = batch.columns
        for place, to in casts.items():
            columns[place] = _cast(columns[place], to, schema.names[place])
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(array: pa.Array, target: pa.DataType, name: str) -> pa.Array:
    """An array cast to a type of `_cast_type`; `name` is the path of its column."""
    if array.type == target:
        return array
    if pa.types.is_struct(target):
        pairs = zip(array.flatten(), target, strict=True)
        return with_children(
            array, [_cast(part, field.type, f"{name}.{field.name}") for part, field in pairs]
        )
    if not pa.types.is_nested(target):
        return _exact(array, target, name)
    # Without what lies outside of a slice or below NULL, which are no values of the data.
    array = array.take(integers(np.arange(len(array))))
    if pa.types.is_map(target):
        key = _cast(array.keys, target.key_type, f"{name}.key")
        return with_children(array, [key, _cast(array.items, target.item_type, f"{name}.value")])
    return with_children(array, [_cast(array.values, target.value_type, f"{name}.element")])


def _exact(array: pa.Array, target: pa.DataType, name: str) -> pa.Array:
    if pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type):
        array = array.cast(pa.string())
    if pa.types.is_string(array.type) and pa.types.is_integer(target):
        # Arrow takes hexadecimal digits too.
        _ensure(pc.match_substring_regex(array, r"^[+-]?[0-9]+$"), array, array.type, target, name)
    try:
        cast = array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SchemaMismatchError(
            f"column {name!r}: a value of {array.type} has no equal in {target}: {error}"
        ) from error
    if pa.types.is_floating(array.type) and pa.types.is_floating(target):
        _ensure(pc.equal(pc.is_finite(cast), pc.is_finite(array)), array, array.type, target, name)
    elif pa.types.is_floating(array.type) or pa.types.is_timestamp(array.type) or _rounds(array, target):
        # Arrow rounds these and cuts times of day off without an error.
        _ensure(pc.equal(cast.cast(array.type, safe=False), array), array, array.type, target, name)
    return cast


def _rounds(array: pa.Array, target: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(array.type) and pa.types.is_floating(target))


def _ensure(
    is_exact: pa.BooleanArray, array: pa.Array, source: pa.DataType, target: pa.DataType, name: str
) -> None:
    if not pc.all(is_exact, min_count=0).as_py():
        first = array.filter(pc.invert(is_exact))[0]
        raise SchemaMismatchError(
            f"column {name!r}: a value of {source} has no equal in {target}: {first.as_py()!r}"
        )
