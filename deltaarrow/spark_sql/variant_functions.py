"""Functions on variants: their parts by path, their values in other types, and variants of JSON texts.

A stored expression may only have a variant of a literal JSON text. In conditions that choose files, the part
of a variant column has a name by which its statistics are found.
"""

from typing import TYPE_CHECKING

import pyarrow as pa

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import DataType, PrimitiveType
from deltaarrow.spark_sql.attempts import try_cast
from deltaarrow.spark_sql.coercion import exactly
from deltaarrow.spark_sql.forms import given, let
from deltaarrow.spark_sql.function import Function, literal_text
from deltaarrow.spark_sql.nodes import OWN_NAME, UNSTORED, ColumnRef, Constant, Node, call, refused
from deltaarrow.spark_sql.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    VARIANT,
    VOID,
    decimal_of,
    sql_type,
    type_name,
)
from deltaarrow.spark_sql.variant_kernels import JSON, LEAF, PARSE, PART
from deltaarrow.variant import parse_json, parse_path

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["FUNCTIONS", "path_text", "variant_as", "variant_part", "variant_text", "variant_within"]

_TYPE_NAMES = {
    **dict.fromkeys(("tinyint", "byte"), "byte"),
    **dict.fromkeys(("smallint", "short"), "short"),
    **dict.fromkeys(("int", "integer"), "integer"),
    **dict.fromkeys(("bigint", "long"), "long"),
    **dict.fromkeys(("float", "real"), "float"),
    **dict.fromkeys(("decimal", "dec", "numeric"), "decimal(10,0)"),
    **dict.fromkeys(("timestamp", "timestamp_ltz"), "timestamp"),
    **{name: name for name in ("double", "string", "boolean", "binary", "date", "timestamp_ntz", "variant")},
}
"""Spark SQL's names of the types to which a part of a variant is cast."""

_VALUE = f"{OWN_NAME}variant"
_INVALID = "error('[INVALID_VARIANT_CAST] a value in a variant cannot be cast to {type}')"
_UNSURE = "error('unsupported: a cast of such a value in a variant to {type}')"
_LEAVES: dict[str, tuple[DataType, str]] = {
    "boolean": (BOOLEAN, "({}.whole <> 0)"),
    "long": (LONG, "{}.whole"),
    "float": (FLOAT, "CAST({}.number AS FLOAT)"),
    "double": (DOUBLE, "{}.number"),
    "string": (STRING, "{}.text"),
    "binary": (BINARY, "{}.bytes"),
    "date": (DATE, "(DATE '1970-01-01' + CAST({}.whole AS INTEGER))"),
    "timestamp": (TIMESTAMP, "make_timestamp({}.whole)"),
    "timestamp_ntz": (TIMESTAMP_NTZ, "make_timestamp({}.whole)"),
}
"""The type and the SQL of a value in a variant, by its kind."""


def variant_within(variant: Node, path: str) -> Node:
    """The part of a variant at a path such as ``$.a[0]``, as a variant."""
    _ensure_variant(variant)
    parse_path(path)
    return call(f"{UNSTORED}variant_get", (variant, Constant(path, STRING)), VARIANT, f"{PART}({{0}}, {{1}})")


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


def variant_as(variant: Node, target: DataType, *, tries: bool) -> Node:
    """The value of a variant in another type; what cannot be cast raises, or is NULL if `tries`."""
    _ensure_variant(variant)
    if target == VARIANT:
        return variant
    if not isinstance(target, PrimitiveType) or target == VOID:
        raise refused(f"a cast from variant to {type_name(target)}")
    branches = {kind: _leaf_as(kind, target) for kind in _LEAVES}
    nodes = [each for each in branches.values() if each is not None]
    places = {kind: nodes.index(each) + 1 for kind, each in branches.items() if each is not None}
    whens = [f"WHEN '{kind}' THEN {{{place}}}" for kind, place in places.items()]
    whens.append(f"WHEN 'decimal' THEN {_decimal_as(target)}")
    if target == STRING:
        whens.append(f"WHEN 'nested' THEN {_VALUE}.text")
    unsure = [
        "other",
        *(kind for kind, each in branches.items() if each is None and _is_unsure(kind, target)),
    ]
    listed = ", ".join(f"'{kind}'" for kind in unsure)
    name = sql_type(target)
    found = (
        f"CASE WHEN {_VALUE}.kind IN ({listed}) THEN {_UNSURE.format(type=name)}::{name}"
        f" ELSE CASE {_VALUE}.kind {' '.join(whens)} END END"
    )
    if not tries:
        missing = f"r IS NULL AND {_VALUE} IS NOT NULL"
        found = let(f"CASE WHEN {missing} THEN {_INVALID.format(type=name)}::{name} ELSE r END", r=found)
    sql = let(found, **{_VALUE: f"{LEAF}({{0}})"})
    return call(f"{UNSTORED}variant_cast", (variant, *nodes), target, sql, fails=True)


def _leaf_as(kind: str, target: DataType) -> Node | None:
    """A value of one kind in the target's type, NULL where it does not fit; None for kinds without a cast."""
    data_type, sql = _LEAVES[kind]
    if _is_unsure(kind, target):
        return None
    leaf = call("variant leaf", (), data_type, sql.format(_VALUE))
    try:
        return try_cast(leaf, target)
    except UnsupportedFeatureError:
        return None


def _is_unsure(kind: str, target: DataType) -> bool:
    """Whether Spark casts numbers in a variant to times in a way of its own."""
    return kind == "other" or (target in TIMESTAMPS and kind in ("boolean", "long", "float", "double"))


def _decimal_as(target: DataType) -> str:
    """A decimal, which comes as its plain text."""
    text, name = f"{_VALUE}.text", sql_type(target)
    if target == STRING:
        return text
    if target == BOOLEAN:
        return f"({text} <> '0')"
    if target in INTEGRAL:
        return f"TRY_CAST(split_part({text}, '.', 1) AS {name})"
    if target in (FLOAT, DOUBLE) or decimal_of(target) is not None:
        return f"TRY_CAST({text} AS {name})"
    return f"{_UNSURE.format(type=name)}::{name}" if target in TIMESTAMPS else f"CAST(NULL AS {name})"


def variant_text(variant: Node) -> Node:
    """``to_json`` of a variant."""
    return call(f"{UNSTORED}to_json", (variant,), STRING, f"{JSON}({{0}})")


def variant_part(*operands: Node) -> Node:
    """``variant_get`` and ``try_variant_get`` of a column, a path and a type: the name of that part."""
    if len(operands) != 3:
        raise refused(f"variant_get with {len(operands)} arguments")
    column, path, wanted = operands
    data_type = _wanted(wanted)
    if data_type == VARIANT:
        raise refused("variant_get of the type 'variant'")
    if not isinstance(column, ColumnRef) or column.type != VARIANT:
        raise refused("variant_get of something other than a variant column")
    text = Constant(literal_text(path, "the path of variant_get"), STRING)
    return call(
        "variant_get", (column, text), data_type, "error('unsupported: variant_get on rows')", fails=True
    )


def _wanted(wanted: Node) -> PrimitiveType:
    """The type whose name is an argument of ``variant_get``."""
    spelled = literal_text(wanted, "the type of variant_get").strip().lower()
    name = _TYPE_NAMES.get(spelled, spelled)
    try:
        data_type = PrimitiveType(name)
    except UnsupportedFeatureError as error:
        raise refused(f"variant_get of the type {spelled!r}") from error
    if data_type.decimal is None and name not in _TYPE_NAMES.values():
        raise refused(f"variant_get of the type {spelled!r}")
    return data_type


def _got(variant: Node, path: Node, wanted: Node | None = None, *, tries: bool = False) -> Node:
    part = variant_within(variant, literal_text(path, "the path of variant_get"))
    return part if wanted is None else variant_as(part, _wanted(wanted), tries=tries)


def _tried(variant: Node, path: Node, wanted: Node | None = None) -> Node:
    return _got(variant, path, wanted, tries=True)


def _is_null(variant: Node) -> Node:
    _ensure_variant(variant)
    sql = "coalesce(struct_extract({0}, 'value') = unhex('00'), FALSE)"
    return call(f"{UNSTORED}is_variant_null", (variant,), BOOLEAN, sql)


def _ensure_variant(node: Node) -> None:
    if node.type != VARIANT:
        raise refused(f"a part of {type_name(node.type)}, which is no variant,")


def _parse_json(text: Node) -> Node:
    if not isinstance(text, Constant):
        return _parsed(text, tries=False)
    if text.value is None:
        return Constant(None, VARIANT)
    (found,) = parse_json(pa.array([literal_text(text, "JSON")])).to_pylist()
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


_NOTE = "a literal path and type"
FUNCTIONS = (
    Function(("parse_json",), "text", (1, 1), _parse_json, "where tables store it a literal"),
    Function(("try_parse_json",), "text", (1, 1), _try_parse_json, "not in what tables store"),
    Function(("variant_get",), "variant, path[, type]", (2, 3), _got, _NOTE),
    Function(("try_variant_get",), "variant, path[, type]", (2, 3), _tried, _NOTE),
    Function(("is_variant_null",), "variant", (1, 1), _is_null, "not in what tables store"),
)
"""The functions of this chapter."""
