"""Functions on variants: those of literal JSON text, and parts of variants, which choose files."""

import pyarrow as pa

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import PrimitiveType
from deltaarrow.spark_sql.function import Function, literal_text
from deltaarrow.spark_sql.nodes import ColumnRef, Constant, Node, call, refused
from deltaarrow.spark_sql.types import STRING, VARIANT
from deltaarrow.variant import parse_json

__all__ = ["FUNCTIONS", "variant_part"]

_TYPE_NAMES = {
    **dict.fromkeys(("tinyint", "byte"), "byte"),
    **dict.fromkeys(("smallint", "short"), "short"),
    **dict.fromkeys(("int", "integer"), "integer"),
    **dict.fromkeys(("bigint", "long"), "long"),
    **dict.fromkeys(("float", "real"), "float"),
    **dict.fromkeys(("decimal", "dec", "numeric"), "decimal(10,0)"),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), "timestamp"),
    **{name: name for name in ("double", "string", "boolean", "binary", "date", "timestamp_ntz")},
}
"""Spark SQL's names of the types to which a part of a variant is cast."""


def _parse_json(text: Node) -> Node:
    if isinstance(text, Constant) and text.value is None:
        return Constant(None, VARIANT)
    (found,) = parse_json(pa.array([literal_text(text, "JSON")])).to_pylist()
    members = ", ".join(f"{name} := unhex('{found[name].hex()}')" for name in ("metadata", "value"))
    return call("parse_json", (), VARIANT, f"struct_pack({members})")


def variant_part(*operands: Node) -> Node:
    """``variant_get`` and ``try_variant_get`` of a column, a path and a type: the name of that part."""
    if len(operands) != 3:
        raise refused(f"variant_get with {len(operands)} arguments")
    column, path, wanted = operands
    spelled = literal_text(wanted, "the type of variant_get").strip().lower()
    name = _TYPE_NAMES.get(spelled, spelled)
    try:
        data_type = PrimitiveType(name)
    except UnsupportedFeatureError as error:
        raise refused(f"variant_get of the type {spelled!r}") from error
    if not isinstance(column, ColumnRef) or column.type != VARIANT:
        raise refused("variant_get of something other than a variant column")
    if data_type.decimal is None and name not in _TYPE_NAMES.values():
        raise refused(f"variant_get of the type {spelled!r}")
    text = Constant(literal_text(path, "the path of variant_get"), STRING)
    return call(
        "variant_get", (column, text), data_type, "error('unsupported: variant_get on rows')", fails=True
    )


FUNCTIONS = (Function(("parse_json",), "text", (1, 1), _parse_json, "a literal"),)
"""The functions of this chapter."""
