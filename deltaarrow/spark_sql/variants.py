"""Variants, made of JSON that the text of an expression holds."""

import pyarrow as pa

from deltaarrow.spark_sql.function import Function, literal_text
from deltaarrow.spark_sql.nodes import Constant, Node, call
from deltaarrow.spark_sql.types import VARIANT
from deltaarrow.variant import parse_json

__all__ = ["FUNCTIONS"]


def _parse_json(text: Node) -> Node:
    if isinstance(text, Constant) and text.value is None:
        return Constant(None, VARIANT)
    (found,) = parse_json(pa.array([literal_text(text, "JSON")])).to_pylist()
    members = ", ".join(f"{name} := unhex('{found[name].hex()}')" for name in ("metadata", "value"))
    return call("parse_json", (), VARIANT, f"struct_pack({members})")


FUNCTIONS = (Function(("parse_json",), "text", (1, 1), _parse_json, "a literal"),)
"""The functions of this chapter."""
