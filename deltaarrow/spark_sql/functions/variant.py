"""Variant functions: values by path, casts to other types, and JSON parsing.

A stored expression makes variants of literal JSON texts alone. In conditions that choose files, the part
of a variant column has a name by which its statistics are found.
"""

from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.errors import DeltaError, SchemaMismatchError
from deltaarrow.schema import ArrayType, DataType, Field, PrimitiveType, StructType
from deltaarrow.spark_sql.functions.function import Function, literal_text
from deltaarrow.spark_sql.functions.variant_casts import made_variant, no_cast, part_at, variant_as
from deltaarrow.spark_sql.text.statement_words import Words
from deltaarrow.spark_sql.tree.forms import given, let
from deltaarrow.spark_sql.tree.kernel_calls import ELEMENTS, FIELDS, JSON, PARSE, SCHEMA
from deltaarrow.spark_sql.tree.nodes import UNSTORED, ColumnRef, Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.types.coercion import exactly
from deltaarrow.spark_sql.types.column_ddl import parse_type
from deltaarrow.spark_sql.types.type_rules import BOOLEAN, INTEGER, STRING, VARIANT, sql_type, type_name
from deltaarrow.variant import parse_json, parse_path

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = [
    "FUNCTIONS",
    "NO_SCHEMA",
    "path_text",
    "variant_part",
    "variant_parts",
    "variant_text",
    "variant_within",
]


def variant_within(variant: Node, path: str) -> Node:
    """The part of a variant at a path such as ``$.a[0]``, as a variant."""
    _ensure_variant(variant)
    parse_path(path)
    return part_at(variant, path)


def path_text(path: "exp.Expr") -> str:
    """The path of ``v:a[0]['b']`` in the notation of `variant_within`."""
    steps = ""
    for each in path.expressions[1:]:
        if each.key == "jsonpathkey" and isinstance(each.this, str) and "'" not in each.this:
            steps += f"['{each.this}']"
        elif each.key == "jsonpathsubscript" and isinstance(each.this, int) and each.this >= 0:
            steps += f"[{each.this}]"
        else:
            raise refused("such a path into a variant")
    return f"${steps}"


def variant_text(variant: Node) -> Node:
    """``to_json`` of a variant."""
    return call(f"{UNSTORED}to_json", (variant,), STRING, f"{JSON}({{0}})")


def variant_parts(variant: Node) -> Node:
    """The elements of an array or the fields of an object, with their places and keys, as an array."""
    fields = [Field("pos", INTEGER), Field("key", STRING), Field("value", VARIANT)]
    data_type = ArrayType(StructType(fields))
    parts = f"coalesce({ELEMENTS}({{0}}), {FIELDS}({{0}}))"
    made = "struct_pack(pos := k - 1, key := e.key, value := e.value)"
    sql = f"CAST(list_transform({parts}, lambda e, k: {made}) AS {escaped(sql_type(data_type))})"
    return call(f"{UNSTORED}variant_explode", (exactly(variant, VARIANT),), data_type, sql)


def variant_part(*operands: Node) -> Node:
    """``variant_get`` and ``try_variant_get`` of a column, a path and a type: the name of that part."""
    if len(operands) != 3:
        raise refused(f"variant_get with {len(operands)} arguments")
    column, path, wanted = operands
    data_type = _wanted(wanted)
    if not isinstance(data_type, PrimitiveType) or data_type == VARIANT:
        spelled = literal_text(wanted, "the type of variant_get")
        raise refused(f"variant_get of the type {spelled!r} in a condition that chooses files")
    if not isinstance(column, ColumnRef) or column.type != VARIANT:
        raise refused("variant_get of something other than a variant column")
    text = Constant(literal_text(path, "the path of variant_get"), STRING)
    return call(
        "variant_get", (column, text), data_type, "error('unsupported: variant_get on rows')", fails=True
    )


def _wanted(wanted: Node) -> DataType:
    """The type whose name is an argument of ``variant_get``."""
    spelled = literal_text(wanted, "the type of variant_get")
    words = Words(spelled)
    try:
        found, shown = parse_type(words)
        words.expect_end()
    except DeltaError as error:
        raise refused(f"variant_get of the type {spelled!r}") from error
    if "char(" in shown:
        raise refused(f"variant_get of the type {spelled!r}")
    return found


def _got(variant: Node, path: Node, wanted: Node | None = None, *, tries: bool = False) -> Node:
    part = variant_within(variant, literal_text(path, "the path of variant_get"))
    return part if wanted is None else variant_as(part, _wanted(wanted), tries=tries)


def _tried(variant: Node, path: Node, wanted: Node | None = None) -> Node:
    return _got(variant, path, wanted, tries=True)


def _is_null(variant: Node) -> Node:
    _ensure_variant(variant)
    sql = "coalesce(struct_extract({0}, 'value') = unhex('00'), FALSE)"
    return call("is_variant_null", (variant,), BOOLEAN, sql)


def _schema(variant: Node) -> Node:
    sql = given(f"coalesce({SCHEMA}([{{0}}]), {NO_SCHEMA})")
    return call(f"{UNSTORED}schema_of_variant", (exactly(variant, VARIANT),), STRING, sql, fails=True)


NO_SCHEMA = "error('unsupported: the schema of such a variant')"
"""What is raised for a variant with a value of a type that Spark does not have."""


def _object(operand: Node) -> Node:
    if isinstance(operand.type, PrimitiveType):
        raise no_cast(f"{type_name(operand.type)}, which is no struct, array or map,", VARIANT)
    return made_variant(operand)


def _ensure_variant(node: Node) -> None:
    if node.type != VARIANT:
        raise refused(f"a part of {type_name(node.type)}, which is no variant,")


def _parse_json(text: Node) -> Node:
    if not isinstance(text, Constant):
        return _parsed(text, tries=False)
    if text.value is None:
        return Constant(None, VARIANT)
    try:
        (found,) = parse_json(pa.array([literal_text(text, "JSON")])).to_pylist()
    except SchemaMismatchError:
        return _parsed(text, tries=False)  # It fails in the rows that compute it.
    members = ", ".join(f"{name} := unhex('{found[name].hex()}')" for name in ("metadata", "value"))
    return call("parse_json", (), VARIANT, f"struct_pack({members})")


def _try_parse_json(text: Node) -> Node:
    return _parsed(text, tries=True)


def _parsed(text: Node, *, tries: bool) -> Node:
    name = "try_parse_json" if tries else "parse_json"
    wrong = "NULL" if tries else "error('[MALFORMED_RECORD_IN_PARSING] the text is not JSON')"
    unsure = f"error('unsupported: {name} of a text with more behind the JSON')"
    sql = let(
        f"CASE WHEN v IS NULL THEN {wrong} WHEN octet_length(struct_extract(v, 'value')) = 0 THEN {unsure}"
        " ELSE v END",
        v=f"{PARSE}({{0}})",
    )
    return call(UNSTORED + name, (exactly(text, STRING),), VARIANT, given(sql), fails=True)


_NOTE = "path and type must be literals"
FUNCTIONS = (
    Function(
        ("parse_json",),
        "string",
        (1, 1),
        _parse_json,
        "in stored expressions, the argument must be a literal",
    ),
    Function(("try_parse_json",), "string", (1, 1), _try_parse_json, "not in stored expressions"),
    Function(("variant_get",), "variant, path[, type]", (2, 3), _got, _NOTE),
    Function(("try_variant_get",), "variant, path[, type]", (2, 3), _tried, _NOTE),
    Function(("schema_of_variant",), "variant", (1, 1), _schema, "not in stored expressions"),
    Function(("to_variant_object",), "array, map or struct", (1, 1), _object),
    Function(("is_variant_null",), "variant", (1, 1), _is_null),
)
"""The functions of this module."""
