"""Casts to and from variants: plain values by their kind, arrays and objects part by part.

What cannot be cast raises as Spark does, or is NULL where a cast is tried. A variant that is null is NULL in
every type.
"""

from functools import partial

from deltaarrow.compute import quote_literal
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import ArrayType, DataType, Field, MapType, PrimitiveType, StructType, types_within
from deltaarrow.spark_sql.functions.try_functions import try_cast
from deltaarrow.spark_sql.rendering.native_sql import taken
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.kernel_calls import (
    ELEMENTS,
    FIELDS,
    JSON,
    KIND,
    LEAF,
    MAKE,
    PART,
    VARIANT_TEXT,
)
from deltaarrow.spark_sql.tree.nodes import OWN_NAME, UNSTORED, Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.nested import nesting, struct_of, with_elements, with_entries, with_members
from deltaarrow.spark_sql.types.type_rules import (
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
    VARIANT,
    VOID,
    decimal_of,
    decimal_type,
    sql_type,
    type_name,
)

__all__ = ["as_variant", "made_variant", "no_cast", "part_at", "variant_as"]

_VALUE = f"{OWN_NAME}variant"
_INVALID = raising("INVALID_VARIANT_CAST", "a value in a variant cannot be cast to {type}")
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

_SECONDS = decimal_type(32, 12)
_SECONDS_SQL = (
    f"CASE WHEN length(split_part({_VALUE}.text, '.', 2)) > 12 THEN {_UNSURE.format(type='TIMESTAMP')}"
    f" ELSE CAST({_VALUE}.text AS DECIMAL(32,12)) END"
)
"""A decimal as seconds."""


def variant_as(variant: Node, target: DataType, *, tries: bool) -> Node:
    """The value of a variant in another type; what cannot be cast raises, or is NULL if `tries`."""
    if target == VARIANT:
        return variant
    if isinstance(target, PrimitiveType):
        return _plain_as(variant, target, tries=tries)
    name = f"{OWN_NAME}nested{nesting(target)}"
    whole = call("whole variant", (), VARIANT, name)
    if isinstance(target, ArrayType):
        kind, made = "array", _array_as(whole, target, tries=tries)
    elif isinstance(target, MapType):
        kind, made = "object", _map_as(whole, target, tries=tries)
    else:
        assert isinstance(target, StructType)
        kind, made = "object", _struct_as(whole, target, tries=tries)
    other = "NULL" if tries else _INVALID.format(type=kind)
    sql = f"CASE {KIND}({name}) WHEN '{kind}' THEN {{1}} WHEN 'null' THEN NULL ELSE {other} END"
    given = f"CASE WHEN {name} IS NOT NULL THEN {sql} END"
    return call("variant_cast", (variant, made), target, let(given, **{name: "{0}"}), fails=True)


def _array_as(whole: Node, target: ArrayType, *, tries: bool) -> Node:
    listed = f"list_transform({ELEMENTS}({{0}}), lambda e: e.value)"
    elements = call(f"{UNSTORED}a cast from variant to array", (whole,), ArrayType(VARIANT), listed)
    return with_elements(elements, target, partial(variant_as, tries=tries))


def _map_as(whole: Node, target: MapType, *, tries: bool) -> Node:
    if target.key_type != STRING:
        raise no_cast("variant", target)
    made = f"map_from_entries({FIELDS}({{0}}))"
    entries = call(f"{UNSTORED}a cast from variant to map", (whole,), MapType(STRING, VARIANT), made)

    def convert(part: Node, wanted: DataType) -> Node:
        return part if part.type == STRING else variant_as(part, wanted, tries=tries)

    return with_entries(entries, target, convert)


def _struct_as(whole: Node, target: StructType, *, tries: bool) -> Node:
    """A struct of the fields by their names; those that the object lacks are NULL."""
    parts = [variant_as(part_at(whole, _step(each.name)), each.type, tries=tries) for each in target.fields]
    return struct_of(parts, target)


def part_at(variant: Node, path: str) -> Node:
    """The part of a variant at a path, as a variant."""
    nodes = (variant, Constant(path, STRING))
    return call("variant_get", nodes, VARIANT, f"{PART}({{0}}, {{1}})")


def _step(name: str) -> str:
    """The path to a field of an object."""
    if "'" in name:
        raise refused(f"a cast from variant to a struct with the field {name!r}")
    return f"$['{name}']"


def as_variant(operand: Node) -> Node:
    """A plain value, or an array of such, as a variant."""
    if operand.type == VARIANT or operand.type == VOID:
        return cast(operand, VARIANT)
    if any(isinstance(each, MapType | StructType) for each in types_within(operand.type)):
        raise no_cast(type_name(operand.type), VARIANT)
    return made_variant(operand)


def made_variant(operand: Node) -> Node:
    """A value of any type as a variant."""
    within = [*types_within(operand.type)]
    if VARIANT in within or any(isinstance(each, MapType) for each in within):
        return _composed(operand)
    return _converted(operand)


def _composed(operand: Node) -> Node:
    """A variant that is composed of those of the parts, as DuckDB makes no object of a map."""
    if isinstance(operand.type, ArrayType):
        parts = with_elements(operand, ArrayType(VARIANT), _part_of_variant)
        sql = f"{MAKE}(CAST(NULL AS VARCHAR[]), {{0}})"
    elif isinstance(operand.type, MapType):
        if operand.type.key_type != STRING:
            raise no_cast(type_name(operand.type), VARIANT)
        parts = with_entries(operand, MapType(STRING, VARIANT), _part_of_variant)
        sql = f"{MAKE}(map_keys({{0}}), map_values({{0}}))"
    elif isinstance(operand.type, StructType):
        names = [escaped(quote_literal(each.name)) for each in operand.type.fields]
        fields = StructType([Field(each.name, VARIANT) for each in operand.type.fields])
        parts = with_members(operand, operand.type.fields, fields, _part_of_variant)
        members = ", ".join(f"struct_extract(s, {name})" for name in names)
        made = f"{MAKE}([{', '.join(names)}], [{members}])"
        sql = let(f"CASE WHEN s IS NOT NULL THEN {made} END", s="{0}")
    else:
        return operand if operand.type == VARIANT else _converted(operand)
    return call(f"{UNSTORED}a cast to variant", (parts,), VARIANT, sql)


def _part_of_variant(part: Node, wanted: DataType) -> Node:
    return _composed(part) if wanted == VARIANT else part


def _converted(operand: Node) -> Node:
    """A value without maps and variants as a variant, by DuckDB: its fields in the order of their names."""
    octets = f"CAST(variant_to_parquet_variant(CAST({{0}} AS VARIANT)) AS {sql_type(VARIANT)})"
    # In DuckDB's function NULL and a variant that is null are one.
    sql = f"CASE WHEN {{0}} IS NOT NULL THEN {octets} END"
    return call(f"{UNSTORED}a cast to variant", (_arranged(operand, operand.type),), VARIANT, sql)


def no_cast(given: str, wanted: DataType) -> SchemaMismatchError:
    """The error for a cast that Spark does not have either."""
    return SchemaMismatchError(
        f"[DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION] there is no cast from {given} to {type_name(wanted)}"
    )


def _arranged(operand: Node, data_type: DataType) -> Node:
    """The value in DuckDB's own types, with the fields of structs in the order of their names."""
    if isinstance(data_type, ArrayType):
        return with_elements(operand, data_type, _arranged)
    if isinstance(data_type, StructType):
        fields = sorted(data_type.fields, key=lambda each: each.name.encode())
        return with_members(operand, fields, StructType(fields), _arranged)
    return taken(operand, data_type)


def _plain_as(variant: Node, target: PrimitiveType, *, tries: bool) -> Node:
    if target == VOID:
        raise no_cast("variant", target)
    branches = {kind: _leaf_as(kind, target) for kind in _LEAVES}
    if target == TIMESTAMP:
        branches["decimal"] = cast(call("variant leaf", (), _SECONDS, _SECONDS_SQL), target)
    if target == STRING:
        # The text repeats a key for each object that has it.
        name = f"{UNSTORED}a cast from object or array to string"
        branches["nested"] = call(name, (variant,), STRING, f"{JSON}({{0}})")
    nodes = [each for each in branches.values() if each is not None]
    places = {kind: nodes.index(each) + 1 for kind, each in branches.items() if each is not None}
    whens = [f"WHEN '{kind}' THEN {{{place}}}" for kind, place in places.items()]
    if target != TIMESTAMP:
        whens.append(f"WHEN 'decimal' THEN {_decimal_as(target)}")
    name = sql_type(target)
    whens.append(f"WHEN 'other' THEN {_UNSURE.format(type=name)}::{name}")
    found = f"CASE {_VALUE}.kind {' '.join(whens)} END"
    if not tries:
        missing = f"r IS NULL AND {_VALUE} IS NOT NULL"
        found = let(f"CASE WHEN {missing} THEN {_INVALID.format(type=name)}::{name} ELSE r END", r=found)
    sql = let(found, **{_VALUE: f"{LEAF}({{0}})"})
    return call(
        VARIANT_TEXT if target == STRING else "variant_cast", (variant, *nodes), target, sql, fails=True
    )


def _leaf_as(kind: str, target: DataType) -> Node | None:
    """A value of one kind in the target's type, NULL where it does not fit; None for kinds without a cast."""
    data_type, sql = _LEAVES[kind]
    leaf = call("variant leaf", (), data_type, sql.format(_VALUE))
    # What cannot be tried raises as unsupported, such as bytes that are no text.
    for convert in (try_cast, cast):
        try:
            return convert(leaf, target)
        except UnsupportedFeatureError:
            continue
    return None


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
    return f"CAST(NULL AS {name})"
