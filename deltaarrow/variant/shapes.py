"""Choice of the parts of variants that get their own columns: Parquet's VariantShredding.md, for writers.

The first rows of a file decide, much as in Spark. A field gets a column if a tenth of the
variants have it and all its values, except nulls, are of one of these types:

====================================  ===========================================================
values                                typed_value
====================================  ===========================================================
objects                               a group of those fields that get a column in turn
int8 .. int64                         int64
decimals, with integers among them    decimal of 18 digits, or of 38 if needed
boolean, float, double, string,       the same
binary, date, timestamp with or
without time zone
====================================  ===========================================================

Everything else stays in ``value``: arrays, mixed types, values deeper than `MAX_DEPTH` or beyond
`MAX_COLUMNS`, types that Spark does not read, and fields whose names look like paths. Whatever is chosen, the
reassembled variants are the same: a later value that does not fit stays in ``value`` too.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.variant.containers import basic_types, read_containers
from deltaarrow.variant.decoding import decode
from deltaarrow.variant.dictionary import Dictionaries
from deltaarrow.variant.encoding_numbers import DECIMAL_DIGITS, VARIANT_NULL, Basic, Primitive
from deltaarrow.variant.ragged import Ints, Spans, is_valid, spans

__all__ = ["MAX_COLUMNS", "MAX_DEPTH", "SAMPLE_ROWS", "Shape", "infer_shape"]

MAX_COLUMNS = 300
"""The most columns of a file for the parts of one variant column; as in Spark."""

MAX_DEPTH = 8
"""The most objects around a value that are shredded."""

SAMPLE_ROWS = 4096
"""The number of variants from which a shape is inferred; as in Spark."""

_COMMON = 10
_INTEGERS = frozenset((Primitive.INT8, Primitive.INT16, Primitive.INT32, Primitive.INT64))
_TYPES: dict[frozenset[Primitive], pa.DataType] = {
    frozenset((Primitive.TRUE, Primitive.FALSE)): pa.bool_(),
    _INTEGERS: pa.int64(),
    frozenset((Primitive.FLOAT,)): pa.float32(),
    frozenset((Primitive.DOUBLE,)): pa.float64(),
    frozenset((Primitive.STRING,)): pa.string(),
    frozenset((Primitive.BINARY,)): pa.binary(),
    frozenset((Primitive.DATE,)): pa.date32(),
    frozenset((Primitive.TIMESTAMP,)): pa.timestamp("us", "UTC"),
    frozenset((Primitive.TIMESTAMP_NTZ,)): pa.timestamp("us"),
}


@dataclass(frozen=True)
class Shape:
    """How a value is shredded: into a column of an Arrow type, or into the fields of an object."""

    typed: pa.DataType | Mapping[str, "Shape"]

    @property
    def arrow_type(self) -> pa.StructType:
        """The group of ``value`` and ``typed_value``."""
        typed = self.typed
        if isinstance(typed, Mapping):
            typed = pa.struct(
                [pa.field(name, shape.arrow_type, nullable=False) for name, shape in typed.items()]
            )
        return pa.struct([("value", pa.binary()), ("typed_value", typed)])


def infer_shape(variants: pa.StructArray, columns: int = MAX_COLUMNS) -> Shape | None:
    """Infer how to shred a ``struct<metadata, value>`` column from its rows; None for not at all.

    Args:
        variants: some rows of the column.
        columns: the most columns allowed.

    Raises:
        CorruptDataFileError: a row is not a variant.

    >>> from deltaarrow.variant import variant_array
    >>> shape = infer_shape(variant_array([{"a": 1, "b": "x"}, {"a": 2, "b": True}]))
    >>> shape.arrow_type.field("typed_value").type
    StructType(struct<a: struct<value: binary, typed_value: int64> not null>)
    """
    metadata, value = (part.cast(pa.large_binary()) for part in variants.flatten())
    rows = np.flatnonzero(is_valid(variants))
    needed = max(1, -(-len(rows) // _COMMON))
    return _Inference(Dictionaries(metadata), needed, columns).shape(rows, spans(value).where(rows), 0)


class _Inference:
    def __init__(self, names: Dictionaries, needed: int, columns: int) -> None:
        self._names = names
        self._needed = needed
        self._columns = columns

    def shape(self, rows: Ints, values: Spans, depth: int) -> Shape | None:
        """The shape of values that belong to the variants of `rows`."""
        basic = basic_types(values)
        filled = np.flatnonzero((basic != Basic.PRIMITIVE) | (values.data[values.starts] != VARIANT_NULL[0]))
        rows, values, basic = rows[filled], values.where(filled), basic[filled]
        if not len(rows) or self._columns < 2:
            return None
        if (basic == Basic.OBJECT).all():
            return self._object(rows, values, depth) if depth < MAX_DEPTH else None
        if (basic >= Basic.OBJECT).any():
            return None
        primitive = values.data[values.starts[basic == Basic.PRIMITIVE]] >> 2
        kinds = {Primitive(each) for each in set(primitive.tolist()) if each <= max(Primitive)}
        if (basic == Basic.SHORT_STRING).any():
            kinds.add(Primitive.STRING)
        typed = next((found for family, found in _TYPES.items() if kinds <= family), None)
        if typed is None and kinds <= {*_INTEGERS, *DECIMAL_DIGITS}:
            typed = _decimal_type(values)
        if typed is None:
            return None
        self._columns -= 2
        return Shape(typed)

    def _object(self, rows: Ints, values: Spans, depth: int) -> Shape | None:
        elements = read_containers(values, Basic.OBJECT)
        rows = rows[elements.owners]
        ranks = self._names.ranks(rows, elements.ids)
        order = np.argsort(ranks, kind="stable")
        counts = np.bincount(ranks)
        bounds = np.append(0, np.cumsum(counts))
        common = np.flatnonzero(counts >= self._needed)
        # The most common fields first, while columns are left.
        fields: dict[int, tuple[str, Shape]] = {}
        self._columns -= 1
        for rank in common[np.argsort(-counts[common], kind="stable")].tolist():
            name = self._names.names[rank].as_py().decode()
            chosen = order[bounds[rank] : bounds[rank + 1]]
            if not _is_plain(name):
                continue
            shape = self.shape(rows[chosen], elements.values.where(chosen), depth + 1)
            if shape is not None:
                fields[rank] = name, shape
        return Shape(dict(fields[rank] for rank in sorted(fields))) if fields else None


def _is_plain(name: str) -> bool:
    """Whether Parquet libraries can tell this column from all others: they join names with dots."""
    return bool(name) and "." not in name and "\0" not in name


def _decimal_type(values: Spans) -> pa.DataType | None:
    """The decimal type that holds all decimals among the numbers."""
    whole = scale = 0
    for _, array in decode(values):
        if pa.types.is_decimal(array.type):
            scale = max(scale, array.type.scale)
            bounds = pc.min_max(array).as_py()
            largest = max(abs(bounds["min"]), abs(bounds["max"]))
            whole = max(whole, largest.adjusted() + 1 if largest >= 1 else 0)
    digits = max(whole + scale, 1)
    return next((pa.decimal128(most, scale) for most in (18, 38) if digits <= most), None)
