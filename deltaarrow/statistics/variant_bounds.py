"""Bounds of parts of variants from statistics, *Statistics for Variant Columns* of PROTOCOL.md.

The bounds of a variant column are two variants as Z85 text: objects from normalized paths to values. The
minimum ``{"$['a']['b']": 7}`` says that no value at ``$.a.b`` is less than 7 and that all values there have
one type. The writer of each file decides which paths have bounds, and whether both. This module decodes them
to columns of the type that a predicate reads the values as; SQL compares them.

A bound is valid for values read as another type only if the conversion keeps their order:

==========================  ============================================================================
values in the file          read as
==========================  ============================================================================
integers, decimals          integers and decimals, with bounds moved outwards to a number of that type;
                            double
float, double               double; a float also float
string                      string
date                        date
timestamp, with zone or     the same
without, in microseconds
==========================  ============================================================================

Other conversions, and bounds that cannot be decoded, prove nothing.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

import orjson
import pyarrow as pa

from deltaarrow.deletion_vectors import decode_z85
from deltaarrow.errors import CorruptDataFileError, InvalidPredicateError, SchemaMismatchError
from deltaarrow.expressions import VariantGet
from deltaarrow.schema import PrimitiveType, to_arrow_type
from deltaarrow.variant import Primitive, parse_path, split, visit

__all__ = ["decode_variant_bounds", "normalized_path"]

_Value = tuple[Primitive, Any] | None
_LONG = range(-(2**63), 2**63)
_WIDE = Context(prec=76)
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "'": "\\'", "\\": "\\\\"}
_INTEGERS = ("byte", "short", "integer", "long")
_EXACT = {
    *(Primitive.INT8, Primitive.INT16, Primitive.INT32, Primitive.INT64),
    *(Primitive.DECIMAL4, Primitive.DECIMAL8, Primitive.DECIMAL16),
}
_FLOATING = {Primitive.FLOAT, Primitive.DOUBLE}
_SAME = {
    "float": Primitive.FLOAT,
    "string": Primitive.STRING,
    "date": Primitive.DATE,
    "timestamp": Primitive.TIMESTAMP,
    "timestamp_ntz": Primitive.TIMESTAMP_NTZ,
}


def normalized_path(path: str) -> str:
    """Return the normalized form of a JSON path (RFC 9535), which statistics use.

    Raises:
        InvalidPredicateError: the text is not a path.

    >>> normalized_path("$.a[0].b"), normalized_path("$")
    ("$['a'][0]['b']", '$')
    """
    try:
        steps = parse_path(path)
    except SchemaMismatchError as error:
        raise InvalidPredicateError(str(error)) from error
    return "$" + "".join(
        f"[{step}]" if isinstance(step, int) else f"['{''.join(map(_escaped, step))}']" for step in steps
    )


def decode_variant_bounds(
    stats: pa.Array | pa.ChunkedArray,
    parts: Collection[VariantGet],
    physical: Callable[[VariantGet], tuple[str, ...] | None],
) -> Mapping[VariantGet, tuple[pa.Array, pa.Array]]:
    """Return the minima and maxima of parts of variants, for each file.

    Args:
        stats: the statistics of the files as JSON texts.
        parts: the parts, with the types that they are read as.
        physical: returns the physical path of the variant that contains a part; None if it has none.

    Returns:
        Two columns for each part that can have bounds, in a type that compares with the part's type; NULL for
        a file without the bound.
    """
    found: dict[VariantGet, tuple[list[Any], list[Any]]] = {}
    wanted: dict[tuple[str, ...], list[tuple[str, VariantGet]]] = {}
    for part in parts:
        names = physical(part)
        if names is not None and _bound_type(part.type) is not None:
            found[part] = [], []
            wanted.setdefault(names, []).append((normalized_path(part.json_path), part))
    for text in stats.to_pylist():
        statistics = _parsed(text)
        for names, keys in wanted.items():
            for place, name in enumerate(("minValues", "maxValues")):
                values = _decoded(_member(statistics, (name, *names)))
                for key, part in keys:
                    found[part][place].append(_bound(values.get(key), part.type, upper=place == 1))
    return {
        part: (_column(lower, part.type), _column(upper, part.type)) for part, (lower, upper) in found.items()
    }


def _escaped(character: str) -> str:
    return _ESCAPES.get(character) or (f"\\u{ord(character):04x}" if character < " " else character)


def _parsed(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return None


def _member(tree: Any, names: Sequence[str]) -> Any:
    for name in names:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _decoded(text: Any) -> dict[str, _Value]:
    """Decode a variant object to its values by path; empty if the text is not such an object."""
    if not isinstance(text, str):
        return {}
    try:
        # Padding bytes may follow the value.
        found: Any = visit(*split(decode_z85(text)), _leaf, list[Any], dict[str, Any])
    except (CorruptDataFileError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _leaf(kind: Primitive, content: Any) -> Any:
    return kind, content


def _bound_type(data_type: PrimitiveType) -> pa.DataType | None:
    """Return the Arrow type of the bounds; None for types without a known order."""
    if data_type.decimal:
        return pa.decimal128(38, data_type.decimal[1])
    if data_type.type in _INTEGERS:
        return pa.int64()
    return to_arrow_type(data_type) if data_type.type in (*_SAME, "double") else None


def _bound(value: _Value, data_type: PrimitiveType, *, upper: bool) -> Any:
    """Convert a bound to one of the values read as `data_type`; None if the conversion proves nothing."""
    if not isinstance(value, tuple):
        return None
    kind, content = value
    if data_type.decimal or data_type.type in _INTEGERS:
        if kind not in _EXACT:
            return None
        scale = data_type.decimal[1] if data_type.decimal else 0
        return _moved(Decimal(content), scale, upper=upper, whole=not data_type.decimal)
    if data_type.type == "double" and kind in _EXACT | _FLOATING:
        return float(content)
    return content if _SAME.get(data_type.type) == kind else None


def _moved(number: Decimal, scale: int, *, upper: bool, whole: bool) -> int | Decimal | None:
    """Return the nearest number of a scale that is not less (upper) or not greater; None if out of range."""
    try:
        moved = number.quantize(
            Decimal(1).scaleb(-scale), ROUND_CEILING if upper else ROUND_FLOOR, context=_WIDE
        )
    except InvalidOperation:
        return None
    if whole:
        return int(moved) if int(moved) in _LONG else None
    return moved if len(moved.as_tuple().digits) <= 38 else None


def _column(values: list[Any], data_type: PrimitiveType) -> pa.Array:
    return pa.array(values, _bound_type(data_type))
