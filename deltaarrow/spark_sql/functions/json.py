"""Functions that read and write JSON strings. Tables cannot store expressions with them.

Spark's parser takes more than JSON: single quotes, texts behind the value, and other numbers. A text that it
may read in such a way raises as unsupported; a text that cannot be JSON at all is NULL.
"""

import re
from collections.abc import Callable, Mapping

from deltaarrow.compute import quote_literal
from deltaarrow.schema import ArrayType, DataType, MapType, StructType
from deltaarrow.spark_sql.functions.function import Function, literal_text
from deltaarrow.spark_sql.functions.variant import variant_text
from deltaarrow.spark_sql.tree.forms import given, java_text, let
from deltaarrow.spark_sql.tree.kernel_calls import JSON
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.types.coercion import exactly
from deltaarrow.spark_sql.types.column_ddl import parse_schema
from deltaarrow.spark_sql.types.inferred_types import schema_of_json
from deltaarrow.spark_sql.types.time_zones import session_time_zone
from deltaarrow.spark_sql.types.type_rules import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    decimal_of,
    sql_type,
    type_name,
)

__all__ = [
    "FUNCTIONS",
    "NOT_JSON",
    "ODD",
    "UNSURE",
    "json_member",
    "over_document",
    "shown_json",
    "timestamp_text",
]


_STEP = re.compile(r"\.([A-Za-z0-9_ -]+)|\['([A-Za-z0-9_ .-]+)'\]|\[(\d{1,6})\]")

NOT_JSON = "NOT regexp_matches({0}, '^[ \\t\\r\\n]*(?:[{{\\[\"''0-9NI+/#-]|true|false|null)')"

ODD = "NOT json_valid({0}) OR regexp_matches({0}, ',[ \\t\\r\\n]*[\\]}}]|(?i:nan|inf)|/[/*]')"

UNSURE = "error('unsupported: such a JSON text')"


def _checked(sql: str) -> str:
    """SQL over a JSON text ``{0}`` that is certain to be one."""
    return over_document(
        f"CASE WHEN {{0}} IS NULL OR {NOT_JSON} THEN NULL WHEN {ODD} THEN {UNSURE} ELSE {sql} END"
    )


def _of_document(name: str, operand: Node, data_type: DataType, sql: str) -> Node:
    """A function of the JSON document ``doc`` that a text is."""
    return call(f"{UNSTORED}{name}", (exactly(operand, STRING),), data_type, _checked(sql), fails=True)


def over_document(sql: str) -> str:
    """SQL in which ``doc`` stands for the text; NULL for one that would make DuckDB raise."""
    return let(sql, doc="CASE WHEN json_valid({0}) THEN {0} END")


def shown_json(path: str) -> str:
    """The value at a path as Spark shows it."""
    double = java_text("CAST(v AS DOUBLE)", "DOUBLE")
    number = f"CASE WHEN regexp_matches(v, '[.eE]') THEN {double} ELSE {UNSURE} END"
    nested = f"CASE WHEN regexp_matches(v, '\\\\|[0-9][.eE]|-0|[0-9]{{{{18}}}}') THEN {UNSURE} ELSE v END"
    whole = "CASE WHEN v = '-0' THEN '0' ELSE v END"
    sql = (
        f"CASE t WHEN 'NULL' THEN NULL WHEN 'VARCHAR' THEN json_extract_string(doc, {path})"
        f" WHEN 'BOOLEAN' THEN v WHEN 'BIGINT' THEN {whole} WHEN 'UBIGINT' THEN {whole}"
        f" WHEN 'DOUBLE' THEN {number} WHEN 'OBJECT' THEN {nested} WHEN 'ARRAY' THEN {nested} END"
    )
    return let(sql, t=f"json_type(doc, {path})", v=f"CAST(json_extract(doc, {path}) AS VARCHAR)")


def _part(operand: Node, path: Node) -> Node:
    text = literal_text(path, "the path of get_json_object")
    place, steps, arrays = 1, "$", []
    while text.startswith("$") and place < len(text):
        found = _STEP.match(text, place)
        if found is None:
            raise refused(f"the path {text!r} in JSON")
        if found[3] is None:
            # Spark looks into every element of an array for a name.
            arrays.append(f"json_type(doc, {escaped(quote_literal(steps))}) = 'ARRAY'")
            steps += f'."{found[1] or found[2]}"'
        else:
            steps += f"[{int(found[3])}]"
        place = found.end()
    if not text.startswith("$"):
        raise refused(f"the path {text!r} in JSON")
    shown = shown_json(escaped(quote_literal(steps)))
    if arrays:
        shown = f"CASE WHEN {' OR '.join(arrays)} THEN {UNSURE} ELSE {shown} END"
    return _of_document("get_json_object", operand, STRING, shown)


def json_member(operand: Node, name: str) -> Node:
    """The value under a name of the object that a text is, as ``json_tuple`` shows it."""
    path = escaped(quote_literal(f'$."{name}"'))
    if '"' in name or "\\" in name:
        raise refused(f"the name {name!r} in json_tuple")
    shown = f"CASE WHEN json_type(doc) = 'OBJECT' THEN {shown_json(path)} END"
    return _of_document("json_tuple", operand, STRING, shown)


def _array_length(operand: Node) -> Node:
    sql = "CASE WHEN json_type(doc) = 'ARRAY' THEN CAST(json_array_length(doc) AS INTEGER) END"
    return _of_document("json_array_length", operand, INTEGER, sql)


def _keys(operand: Node) -> Node:
    sql = "CASE WHEN json_type(doc) = 'OBJECT' THEN json_keys(doc) END"
    return _of_document("json_object_keys", operand, ArrayType(STRING), sql)


def _written(operand: Node) -> Node:
    if operand.type == VARIANT:
        return variant_text(operand)
    if not isinstance(operand.type, ArrayType | MapType | StructType):
        raise refused(f"to_json of {type_name(operand.type)}")
    return call(f"{UNSTORED}to_json", (operand,), STRING, given(_json("{0}", operand.type, 0)), fails=True)


def _json(sql: str, data_type: DataType, depth: int) -> str:
    """SQL of the JSON of a value, NULL for NULL."""
    name = f"j{depth}"
    if isinstance(data_type, ArrayType):
        element = _json(name, data_type.element_type, depth + 1)
        listed = f"list_transform({sql}, lambda {name}: coalesce({element}, 'null'))"
        return (
            f"CASE WHEN {sql} IS NOT NULL THEN '[' || coalesce(array_to_string({listed}, ','), '') || ']' END"
        )
    if isinstance(data_type, MapType):
        key = _json(f"{name}.key", data_type.key_type, depth + 1)
        if data_type.key_type in INTEGRAL:
            key = f"('\"' || {key} || '\"')"
        elif data_type.key_type != STRING:
            raise refused(f"to_json of {type_name(data_type)}")
        value = f"coalesce({_json(f'{name}.value', data_type.value_type, depth + 1)}, 'null')"
        listed = f"list_transform(map_entries({sql}), lambda {name}: {key} || ':' || {value})"
        made = _braces(f"coalesce(array_to_string({listed}, ','), '')")
        return f"CASE WHEN {sql} IS NOT NULL THEN {made} END"
    if isinstance(data_type, StructType):
        members = [
            f"({escaped(quote_literal(_quoted_name(each.name)))} || ':' ||"
            f" {_json(f'struct_extract({name}, {escaped(quote_literal(each.name))})', each.type, depth + 1)})"
            for each in data_type.fields
        ]
        made = _braces(f"concat_ws(',', {', '.join(members)})" if members else "''")
        return let(f"CASE WHEN {name} IS NOT NULL THEN {made} END", **{name: sql})
    write = _SIMPLE.get(data_type)
    digits = decimal_of(data_type)
    if digits is not None and digits[1] <= 6:
        whole = f"DECIMAL({min(digits[0] + 1, 38)},{digits[1]})"
        return f"CAST(CAST({sql} AS {whole}) AS VARCHAR)"
    if write is None:
        raise refused(f"to_json of {type_name(data_type)}")
    return write(sql)


def _braces(sql: str) -> str:
    return f"('{{{{' || {sql} || '}}}}')"


def _quoted_name(name: str) -> str:
    if not name.isprintable() or '"' in name or "\\" in name:
        raise refused(f"to_json of a field named {name!r}")
    return f'"{name}"'


def _quoted(sql: str) -> str:
    text = "q"
    for character, shown in (
        *(("'\\'", "'\\\\'"), ("'\"'", "'\\\"'"), ("chr(10)", "'\\n'"), ("chr(13)", "'\\r'")),
        *(("chr(9)", "'\\t'"), ("chr(8)", "'\\b'"), ("chr(12)", "'\\f'")),
    ):
        text = f"replace({text}, {character}, {shown})"
    odd = "error('unsupported: to_json of a control character')"
    sure = f"CASE WHEN regexp_matches(q, '[\\x01-\\x07\\x0b\\x0e-\\x1f]') THEN {odd} ELSE {text} END"
    return f"""('"' || {let(sure, q=sql)} || '"')"""


def _floating(kind: str) -> Callable[[str], str]:
    return lambda sql: let(
        """CASE WHEN isfinite(y) THEN z WHEN y IS NOT NULL THEN '"' || z || '"' END""",
        y=sql,
        z=java_text("y", kind),
    )


def timestamp_text(sql: str) -> str:
    """The local time of a timestamp and its offset, with seconds only if that has some."""
    zone = session_time_zone()
    if zone.is_utc:
        return f"strftime({sql}, '%Y-%m-%dT%H:%M:%S.%gZ')"
    sign = "CASE WHEN l < p THEN '-' ELSE '+' END"
    clock = "CASE WHEN second(o) = 0 THEN strftime(o, '%H:%M') ELSE strftime(o, '%H:%M:%S') END"
    offset = f"CASE WHEN l = p THEN 'Z' ELSE {sign} || {clock} END"
    text = f"strftime(l, '%Y-%m-%dT%H:%M:%S.%g') || {offset}"
    distance = "make_timestamp(abs(epoch_us(l) - epoch_us(p)))"
    return let(text, p=sql, l=zone.local_time("p"), o=distance)


_SIMPLE: Mapping[DataType, Callable[[str], str]] = {
    **dict.fromkeys(INTEGRAL, lambda sql: f"CAST({sql} AS VARCHAR)"),
    BOOLEAN: lambda sql: f"CAST({sql} AS VARCHAR)",
    FLOAT: _floating("FLOAT"),
    DOUBLE: _floating("DOUBLE"),
    STRING: _quoted,
    VARIANT: lambda sql: f"{JSON}({sql})",
    VOID: lambda sql: "NULL::VARCHAR",
    BINARY: lambda sql: f"""('"' || to_base64({sql}) || '"')""",
    DATE: lambda sql: f"""('"' || CAST({sql} AS VARCHAR) || '"')""",
    TIMESTAMP: lambda sql: f"""('"' || {timestamp_text(sql)} || '"')""",
    TIMESTAMP_NTZ: lambda sql: f"""strftime({sql}, '"%Y-%m-%dT%H:%M:%S.%g"')""",
}

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
        return f"CASE {odd} WHEN {kind} IN {_NUMBERS} THEN {_floating_number(data_type, text)} END"
    if decimal_of(data_type) is not None:
        fitting = f"coalesce(TRY_CAST({text} AS {sql_type(data_type)}), {UNSURE})"
        return f"CASE WHEN {kind} = 'VARCHAR' THEN {UNSURE} WHEN {kind} IN {_NUMBERS} THEN {fitting} END"
    if data_type in (DATE, TIMESTAMP):
        sure = f"{kind} = 'VARCHAR' AND {_is_time(data_type, text)}"
        return f"CASE WHEN {sure} THEN {_time(data_type, text)} WHEN {kind} <> 'NULL' THEN {UNSURE} END"
    raise refused(f"from_json to {type_name(data_type)}")


def _floating_number(data_type: DataType, text: str) -> str:
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
    Function(
        ("get_json_object",), "string, path", (2, 2), _part, "path must be a literal of names and indexes"
    ),
    Function(("json_array_length",), "string", (1, 1), _array_length),
    Function(("json_object_keys",), "string", (1, 1), _keys),
    Function(("to_json",), "struct, array or map", (1, 1), _written),
    Function(("from_json",), "string, schema", (2, 2), _read, "schema must be a literal"),
    Function(("schema_of_json",), "string", (1, 1), _inferred, "the argument must be a literal"),
)
"""The functions of this module."""
