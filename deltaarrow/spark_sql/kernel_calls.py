"""The names of functions on variants that the SQL of expressions calls."""

from deltaarrow.spark_sql.nodes import Call, Node

__all__ = [
    "ELEMENTS",
    "FIELDS",
    "JSON",
    "KIND",
    "LEAF",
    "MAKE",
    "PARSE",
    "PART",
    "PREFIX",
    "SCHEMA",
    "VARIANT_TEXT",
    "calls_kernel",
]

PREFIX = "deltaarrow_variant_"
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


def calls_kernel(node: Node) -> bool:
    """Whether a node itself calls one of the functions."""
    return isinstance(node, Call) and PREFIX in node.sql
