"""``from_json``: values of any type parsed from JSON strings. Tables cannot store expressions with it.

A value of another type than the schema asks for is NULL: as a field of a struct it alone, as an element of an
array or a value of a map all of that array or map.
"""

from deltaarrow.compute import quote_literal
from deltaarrow.schema import ArrayType, DataType, MapType, StructType
from deltaarrow.spark_sql.functions.function import Function, literal_text
from deltaarrow.spark_sql.functions.json import NOT_JSON, ODD, UNSURE, over_document, shown_json
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.types.coercion import exactly
from deltaarrow.spark_sql.types.column_ddl import parse_schema
from deltaarrow.spark_sql.types.inferred_types import schema_of_json
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMP,
    decimal_of,
    sql_type,
    type_name,
)

__all__ = ["FUNCTIONS"]

_WHOLE = "('BIGINT', 'UBIGINT')"
_NUMBERS = "('DOUBLE', 'BIGINT', 'UBIGINT')"
_LARGE_FLOAT = "3.4e38::DOUBLE"
_DAY = "[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}"
_CLOCK = "(?:T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\\.[0-9]{{1,6}})?Z?)?"
_TWICE = "len(json_keys(doc)) <> len(list_distinct(json_keys(doc)))"
_ROOTS = {StructType: "OBJECT", MapType: "OBJECT", ArrayType: "ARRAY"}


def _read(operand: Node, schema: Node) -> Node:
    data_type = _schema(literal_text(schema, "the schema of from_json"))
    kind = escaped(sql_type(data_type))
    nothing = f"CAST(NULL AS {kind})"
    if isinstance(data_type, StructType):
        nothing = f"CAST(row({', '.join(['NULL'] * len(data_type.fields))}) AS {kind})"
    blank = "regexp_full_match({0}, '[ \\t\\r\\n]*')"
    made = _value(data_type, "$")
    if isinstance(data_type, StructType):
        made = f"CASE WHEN json_type(doc) = 'NULL' THEN {nothing} ELSE {made} END"
    root = _ROOTS[type(data_type)]
    sql = (
        f"CASE WHEN {{0}} IS NULL OR {blank} THEN NULL WHEN {NOT_JSON} THEN {nothing} WHEN {ODD} OR"
        f" json_type(doc) NOT IN ('{root}', 'NULL') THEN {UNSURE} ELSE {made} END"
    )
    return call(
        f"{UNSTORED}from_json", (exactly(operand, STRING),), data_type, over_document(sql), fails=True
    )


def _schema(text: str) -> DataType:
    found = parse_schema(text, ArrayType, MapType, StructType)
    if found is None:
        raise refused(f"from_json to {text!r}")
    _ensure_readable(found)
    return found


def _ensure_readable(data_type: DataType) -> None:
    if isinstance(data_type, ArrayType):
        _ensure_readable(data_type.element_type)
    elif isinstance(data_type, MapType):
        if data_type.key_type != STRING:
            raise refused(f"from_json to {type_name(data_type)}")
        _ensure_readable(data_type.value_type)
    elif isinstance(data_type, StructType):
        names = [each.name.lower() for each in data_type.fields]
        if not names or len(set(names)) < len(names) or any('"' in name or "\\" in name for name in names):
            raise refused(f"from_json to {type_name(data_type)}")
        for each in data_type.fields:
            _ensure_readable(each.type)


def _value(data_type: DataType, path: str) -> str:
    """SQL of the value at a path of ``doc``, NULL for one of another type."""
    place = escaped(quote_literal(path))
    if isinstance(data_type, ArrayType | MapType | StructType):
        return let(_nested(data_type), doc=f"json_extract(doc, {place})")
    if data_type == STRING:
        return shown_json(place)
    return _leaf(data_type, f"json_extract_string(doc, {place})", f"json_type(doc, {place})")


def _leaf(data_type: DataType, text: str, kind: str) -> str:
    """SQL of a value, given that of its text and that of its type in JSON."""
    if data_type == BOOLEAN:
        return f"CASE WHEN {kind} = 'BOOLEAN' THEN CAST({text} AS BOOLEAN) END"
    if data_type in INTEGRAL:
        return f"CASE WHEN {kind} IN {_WHOLE} THEN TRY_CAST({text} AS {sql_type(data_type)}) END"
    if data_type in (FLOAT, DOUBLE):
        odd = f"WHEN {kind} = 'VARCHAR' AND regexp_matches({text}, '(?i)inf|nan') THEN {UNSURE}"
        return f"CASE {odd} WHEN {kind} IN {_NUMBERS} THEN {_floating(data_type, text)} END"
    if decimal_of(data_type) is not None:
        fitting = f"coalesce(TRY_CAST({text} AS {sql_type(data_type)}), {UNSURE})"
        return f"CASE WHEN {kind} = 'VARCHAR' THEN {UNSURE} WHEN {kind} IN {_NUMBERS} THEN {fitting} END"
    if data_type in (DATE, TIMESTAMP):
        sure = f"{kind} = 'VARCHAR' AND {_is_time(data_type, text)}"
        return f"CASE WHEN {sure} THEN {_time(data_type, text)} WHEN {kind} <> 'NULL' THEN {UNSURE} END"
    raise refused(f"from_json to {type_name(data_type)}")


def _floating(data_type: DataType, text: str) -> str:
    number = f"CAST({text} AS DOUBLE)"
    if data_type == DOUBLE:
        return number
    return f"CASE WHEN abs({number}) >= {_LARGE_FLOAT} THEN {UNSURE} ELSE CAST({number} AS FLOAT) END"


def _time(data_type: DataType, text: str) -> str:
    return f"TRY_CAST(rtrim({text}, 'Z') AS {sql_type(data_type)})"


def _is_time(data_type: DataType, text: str) -> str:
    """Whether a text is a time in the form that Spark writes."""
    clock = "" if data_type == DATE else _CLOCK
    return f"regexp_full_match({text}, '{_DAY}{clock}') AND year({_time(data_type, text)}) > 0"


def _nested(data_type: ArrayType | MapType | StructType) -> str:
    """SQL of the whole ``doc`` as an array, a map or a struct."""
    kind = escaped(sql_type(data_type))
    if isinstance(data_type, StructType):
        members = ", ".join(_value(each.type, f'$."{each.name}"') for each in data_type.fields)
        made = f"CASE WHEN {_TWICE} THEN {UNSURE} ELSE CAST(row({members}) AS {kind}) END"
        return f"CASE WHEN json_type(doc) = 'OBJECT' THEN {made} END"
    if isinstance(data_type, ArrayType):
        made = _listed("json_extract(doc, '$[*]')", data_type.element_type)
        return f"CASE WHEN json_type(doc) = 'ARRAY' THEN CAST({made} AS {kind}) END"
    pointer = "'/' || replace(replace(k, '~', '~0'), '/', '~1')"
    values = f"list_transform(json_keys(doc), lambda k: json_extract(doc, {pointer}))"
    held = _listed(values, data_type.value_type)
    made = let(f"CASE WHEN vs IS NOT NULL THEN CAST(MAP(json_keys(doc), vs) AS {kind}) END", vs=held)
    return f"CASE WHEN json_type(doc) = 'OBJECT' THEN CASE WHEN {_TWICE} THEN {UNSURE} ELSE {made} END END"


def _listed(documents: str, data_type: DataType) -> str:
    """SQL of a list of JSON values as values of a type; NULL if one is of another type."""
    given = "len(list_filter(docs, lambda e: json_type(e) <> 'NULL'))"
    made = f"list_transform(docs, lambda doc: {_value(data_type, '$')})"
    return let(f"CASE WHEN list_count(xs) = {given} THEN xs END", docs=documents, xs=made)


def _inferred(document: Node) -> Node:
    text = literal_text(document, "the document of schema_of_json")
    try:
        return Constant(schema_of_json(text), STRING)
    except ValueError as error:
        raise refused(f"schema_of_json of a text that is not plain JSON ({error})") from error


FUNCTIONS = (
    Function(("from_json",), "string, schema", (2, 2), _read, "schema must be a literal"),
    Function(("schema_of_json",), "string", (1, 1), _inferred, "the argument must be a literal"),
)
"""The functions of this module."""
