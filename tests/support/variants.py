"""Random variant values, and their shredding row by row, as the slow model for reading them."""

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from deltaarrow.variant import Moment, Primitive, build, encode

__all__ = ["Shape", "shapes", "shredded", "values"]

NAMES = ("a", "b", "é", "long name", "")
DAYS = st.dates() | st.integers(3_000_000, 2**31 - 1).map(lambda n: Moment(Primitive.DATE, n))
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**4), max_value=10**4),
    st.text(max_size=6) | st.text(min_size=60, max_size=70),
    st.binary(max_size=6),
    DAYS,
    st.datetimes(),
    st.datetimes(timezones=st.just(datetime.UTC)),
    st.times(),
    st.uuids(),
    st.integers(-(2**63), 2**63 - 1).map(lambda n: Moment(Primitive.TIMESTAMP_NANOS, n)),
)


def values(leaves: st.SearchStrategy[Any] = LEAVES) -> st.SearchStrategy[Any]:
    """What a variant can hold."""
    return st.recursive(
        leaves,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
        ),
        max_leaves=8,
    )


@dataclass(frozen=True)
class Shape:
    """How to shred: as a primitive of an Arrow type, as a list, as an object, or not at all (None)."""

    typed: "pa.DataType | Shape | Mapping[str, Shape] | None" = None

    @property
    def arrow_type(self) -> pa.StructType:
        """The Arrow type of the group of `value` and `typed_value`."""
        value = pa.field("value", pa.binary())
        if self.typed is None:
            return pa.struct([value])
        typed = self.typed
        if isinstance(typed, Shape):
            typed = pa.list_(pa.field("element", typed.arrow_type))
        elif isinstance(typed, Mapping):
            typed = pa.struct([(name, shape.arrow_type) for name, shape in typed.items()])
        return pa.struct([value, ("typed_value", typed)])

    def shred(self, value: Any, ids: Mapping[str, int]) -> dict[str, Any]:
        """The group of one value."""
        if isinstance(self.typed, Shape) and isinstance(value, list):
            return {"typed_value": [self.typed.shred(each, ids) for each in value]}
        if isinstance(self.typed, Mapping) and isinstance(value, dict):
            fields = {k: shape.shred(value[k], ids) if k in value else {} for k, shape in self.typed.items()}
            rest = {k: each for k, each in value.items() if k not in self.typed}
            return {"value": encode(rest, ids) if rest else None, "typed_value": fields}
        if isinstance(self.typed, pa.DataType) and _fits(value, self.typed):
            return {"typed_value": value.bytes if isinstance(value, uuid.UUID) else value}
        return {"value": encode(value, ids)}


_PYTHON = {
    pa.bool_(): bool,
    pa.int64(): int,
    pa.float64(): float,
    pa.string(): str,
    pa.binary(): bytes,
    pa.date32(): datetime.date,
    pa.time64("us"): datetime.time,
    pa.timestamp("us"): datetime.datetime,
    pa.timestamp("us", "UTC"): datetime.datetime,
    pa.binary(16): uuid.UUID,
    pa.decimal128(8, 4): Decimal,
    pa.decimal128(18, 4): Decimal,
    pa.decimal128(38, 4): Decimal,
}


def _fits(value: Any, typed: pa.DataType) -> bool:
    if type(value) is not _PYTHON[typed]:
        return False
    return not pa.types.is_timestamp(typed) or (value.tzinfo is None) == (typed.tz is None)


def shapes() -> st.SearchStrategy[Shape]:
    """Ways to shred."""
    leaves = st.none() | st.sampled_from(list(_PYTHON))
    return st.recursive(
        leaves.map(Shape),
        lambda inner: (
            inner.map(Shape)
            | st.dictionaries(st.sampled_from(NAMES), inner, min_size=1, max_size=3).map(Shape)
        ),
        max_leaves=5,
    )


def shredded(rows: list[Any], shape: Shape, missing: object = None) -> pa.StructArray:
    """A column of variants in the given shape; `missing` among the rows is a NULL."""
    groups = []
    for value in rows:
        if value is missing:
            groups.append(None)
            continue
        metadata = build(value).metadata
        ids = {name: i for i, name in enumerate(sorted(_names(value), key=str.encode))}
        groups.append({"metadata": metadata} | shape.shred(value, ids))
    return pa.array(groups, pa.struct([("metadata", pa.binary()), *shape.arrow_type]))


def _names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*map(_names, value.values()))
    return set().union(*map(_names, value)) if isinstance(value, list) else set()
