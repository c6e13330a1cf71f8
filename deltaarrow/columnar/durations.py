"""Lengths of time as Arrow durations of microseconds, which Spark returns, instead of DuckDB's intervals."""

from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["with_durations"]

_DURATION = pa.duration("us")
_DAY = 86_400_000_000
_LAYOUT = np.dtype([("months", "<i4"), ("days", "<i4"), ("nanoseconds", "<i8")])


def with_durations(rows: Any) -> Any:
    """Return a table or a stream whose intervals of days and shorter units are durations; others as they are.

    >>> spans = pa.array([pa.MonthDayNano([0, 1, 2_000]), None])
    >>> with_durations(pa.table({"x": spans})).column("x").to_pylist()
    [datetime.timedelta(days=1, microseconds=2), None]
    """
    if not isinstance(rows, pa.Table | pa.RecordBatchReader):
        return rows
    if all(_type(each) == each for each in rows.schema.types):
        return rows
    schema = pa.schema([each.with_type(_type(each.type)) for each in rows.schema], rows.schema.metadata)
    if isinstance(rows, pa.Table):
        return pa.Table.from_batches([_batch(each, schema) for each in rows.to_batches()], schema)
    return pa.RecordBatchReader.from_batches(schema, (_batch(each, schema) for each in rows))


def _batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([_array(each) for each in batch.columns], schema=schema)


def _type(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_interval(data_type):
        return _DURATION
    if pa.types.is_map(data_type):
        key, item = data_type.key_field, data_type.item_field
        return pa.map_(key.with_type(_type(key.type)), item.with_type(_type(item.type)))
    if pa.types.is_list(data_type):
        return pa.list_(data_type.value_field.with_type(_type(data_type.value_type)))
    if pa.types.is_struct(data_type):
        return pa.struct([each.with_type(_type(each.type)) for each in data_type])
    return data_type


def _array(array: pa.Array) -> pa.Array:
    wanted = _type(array.type)
    if wanted == array.type:
        return array
    if pa.types.is_interval(array.type):
        validity, values = array.buffers()
        parts = np.frombuffer(values, _LAYOUT, len(array) + array.offset)
        made = pa.py_buffer(parts["days"].astype(np.int64) * _DAY + parts["nanoseconds"] // 1000)
        return pa.Array.from_buffers(_DURATION, len(array), [validity, made], offset=array.offset)
    if pa.types.is_struct(wanted):
        children = [_array(array.field(place)) for place in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(children, fields=list(wanted), mask=array.is_null())
    # The buffers of a list or a map are those of its offsets; its entries are one child.
    entries = _array(array.values)
    return pa.Array.from_buffers(
        wanted, len(array), array.buffers()[:2], offset=array.offset, children=[entries]
    )
