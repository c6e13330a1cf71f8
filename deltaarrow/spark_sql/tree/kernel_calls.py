"""The names of functions on variants and decimals that the SQL of expressions calls."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "DECIMAL",
    "DECIMAL_CALL",
    "ELEMENTS",
    "FIELDS",
    "JSON",
    "KIND",
    "LEAF",
    "MAKE",
    "PARSE",
    "PART",
    "PREFIX",
    "RANDOM",
    "SCHEMA",
    "VARIANT_TEXT",
    "Digits",
    "Kernel",
    "decimal_call",
]


PREFIX = "deltaarrow_variant_"
RANDOM = "deltaarrow_random_"
"""Begins the names of functions of a row and a seed, ``rand`` and ``randn``."""

PART, LEAF, JSON, PARSE, KIND, ELEMENTS, FIELDS, SCHEMA, MAKE = (
    f"{PREFIX}{name}"
    for name in ("part", "leaf", "json", "parse", "kind", "elements", "fields", "schema", "make")
)
"""The names of the functions.

========  ===============================================================================================
PART      the part at a path, as a variant; NULL if there is none
LEAF      the value as a struct: ``kind`` tells its type and which of the other members holds it; NULL for a
          variant null, and only the kind for an object or an array
JSON      the JSON text
PARSE     the variant of a JSON text; NULL if it is none, and no bytes where Spark may read it all the same
KIND      ``object``, ``array``, ``null``, or ``plain`` for any other value
ELEMENTS  the elements of an array as a list of structs, whose ``value`` is a variant; NULL for another value
FIELDS    the fields of an object in the same way, with their ``key``
MAKE      the object of lists of keys and of variants, or without keys the array; NULL without variants
SCHEMA    the type that all variants of a list have together; NULL if Spark has none for one of them
========  ===============================================================================================
"""

VARIANT_TEXT = "variant_text"
"""The name of casts of variants to string: the operands behind the variant are the texts of its kinds."""


DECIMAL = "deltaarrow_decimal_"
DECIMAL_CALL = re.compile(rf"\b({DECIMAL}([a-z]+)_(\d+(?:_\d+){{5}}))\b")
"""The name of a function on two decimals, its operation and its digits.

The name spells the operation, and precision and scale of the operands and the result:
``deltaarrow_decimal_times_38_18_38_18_38_6``.
"""

Digits: TypeAlias = tuple[int, int]
"""Precision and scale of a decimal."""


class Kernel(NamedTuple):
    """A function that DuckDB calls with the Arrow arrays of its operands, and its types in DuckDB."""

    compute: "Callable[..., pa.Array]"
    operands: tuple[str, ...]
    result: str


def decimal_call(operation: str, left: Digits, right: Digits, result: Digits) -> str:
    """The name of the function for an operation on decimals of these digits."""
    return f"{DECIMAL}{operation}_{'_'.join(map(str, (*left, *right, *result)))}"
