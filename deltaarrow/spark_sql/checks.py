"""Functions that tell or replace what a value is: types, zeros, check sums of rows."""

from deltaarrow.schema import ArrayType, DataType, MapType, StructType
from deltaarrow.spark_sql.casts import cast
from deltaarrow.spark_sql.forms import given, let
from deltaarrow.spark_sql.function import Function
from deltaarrow.spark_sql.nodes import Constant, Node, call, refused
from deltaarrow.spark_sql.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    INTEGRAL,
    LONG,
    STRING,
    TIMESTAMPS,
    VOID,
    decimal_of,
    is_numeric,
    sql_type,
    type_name,
)

__all__ = ["FUNCTIONS"]

_SEED = 42
_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
_WORD = "4294967295::UBIGINT"


def _type_of(operand: Node) -> Node:
    return Constant(_name(operand.type), STRING)


def _name(data_type: DataType) -> str:
    if isinstance(data_type, ArrayType):
        return f"array<{_name(data_type.element_type)}>"
    if isinstance(data_type, MapType):
        return f"map<{_name(data_type.key_type)},{_name(data_type.value_type)}>"
    if isinstance(data_type, StructType):
        return f"struct<{','.join(f'{each.name}:{_name(each.type)}' for each in data_type.fields)}>"
    return _NAMES.get(type_name(data_type), type_name(data_type))


def _null_if_zero(operand: Node) -> Node:
    if not is_numeric(operand.type):
        raise refused(f"nullifzero of {type_name(operand.type)}")
    return call("nullifzero", (operand,), operand.type, "CASE WHEN {0} = 0 THEN NULL ELSE {0} END")


def _zero_if_null(operand: Node) -> Node:
    if operand.type == VOID:
        return Constant(0, INTEGER)
    if operand.type not in (*INTEGRAL, FLOAT, DOUBLE):
        raise refused(f"zeroifnull of {type_name(operand.type)}")
    wider = operand if operand.type not in INTEGRAL[:2] and operand.type != FLOAT else cast(operand, INTEGER)
    if operand.type == FLOAT:
        wider = cast(operand, DOUBLE)
    return call("zeroifnull", (wider,), wider.type, f"coalesce({{0}}, CAST(0 AS {sql_type(wider.type)}))")


def _hash(*operands: Node) -> Node:
    """``hash``: Murmur3 of the values, each with the hash of those before as its seed."""
    found: Node = call("seed", (), LONG, f"{_SEED}::UBIGINT")
    for each in operands:
        if each.type == VOID:
            continue
        found = call("hashed", (each, found), LONG, _murmur(each.type))
    signed = "CAST(CASE WHEN {0} >= 2147483648 THEN CAST({0} AS BIGINT) - 4294967296 ELSE {0} END AS INTEGER)"
    return call("hash", (found,), INTEGER, signed)


def _rotated(value: str, bits: int, size: int = 32) -> str:
    return let(f"((w << {bits}) | (w >> {size - bits})) & {_WORD}", w=value)


def _mixed(hashed: str, word: str) -> str:
    """Take a word of four bytes into a hash."""
    one = _rotated(f"(({word}) * 3432918353::UBIGINT) & {_WORD}", 15)
    two = f"(({one}) * 461845907::UBIGINT) & {_WORD}"
    return f"(({_rotated(f'xor({hashed}, {two})', 13)}) * 5::UBIGINT + 3864292196::UBIGINT) & {_WORD}"


def _finished(hashed: str, length: str) -> str:
    sql = "xor(v, v >> 16)"
    steps = [
        f"(xor(v, v >> 16) * 2246822507::UBIGINT) & {_WORD}",
        f"(xor(v, v >> 13) * 3266489909::UBIGINT) & {_WORD}",
    ]
    for step in reversed(steps):
        sql = let(sql, v=step)
    return let(sql, v=f"xor({hashed}, {length})")


def _word(value: str) -> str:
    """The bits of an integer as an unsigned word."""
    return f"CAST(CASE WHEN {value} < 0 THEN {value}::BIGINT + 4294967296 ELSE {value} END AS UBIGINT)"


def _murmur(data_type: DataType) -> str:
    digits = decimal_of(data_type)
    if data_type in (BOOLEAN, *INTEGRAL[:3], DATE):
        number = {
            BOOLEAN: "CAST({0} AS INTEGER)",
            DATE: "CAST({0} - DATE '1970-01-01' AS INTEGER)",
        }.get(data_type, "CAST({0} AS INTEGER)")
        body = _finished(_mixed("s", _word("n")), "4")
        hashed = let(body, n=number, s="CAST({1} AS UBIGINT)")
    elif data_type in (LONG, *TIMESTAMPS) or (digits is not None and digits[0] <= 18):
        number = "epoch_us({0})" if data_type in TIMESTAMPS else "CAST({0} AS BIGINT)"
        if digits is not None:
            number = f"CAST({{0}} * CAST('{10 ** digits[1]}' AS DECIMAL({digits[1] + 1},0)) AS BIGINT)"
        low = "CAST(((n % 4294967296) + 4294967296) % 4294967296 AS UBIGINT)"
        high = _word("((n - ((n % 4294967296) + 4294967296) % 4294967296) // 4294967296)")
        body = _finished(_mixed(_mixed("s", low), high), "8")
        hashed = let(body, n=f"CAST({number} AS HUGEINT)", s="CAST({1} AS UBIGINT)")
    elif data_type in (STRING, BINARY):
        octets = "encode({0})" if data_type == STRING else "{0}"
        four = " || ".join(f"substring(h, 8 * k + {place}, 2)" for place in (7, 5, 3, 1))
        word = f"CAST('0x' || {four} AS UBIGINT)"
        words = f"list_transform(range(0, len(h) // 8), lambda k: {word})"
        octet = "CAST('0x' || substring(h, 2 * k + 1, 2) AS BIGINT)"
        rest = f"list_transform(range(4 * (len(h) // 8), len(h) // 2), lambda k: {octet})"
        signed = "CAST(CASE WHEN b >= 128 THEN b + 4294967040 ELSE b END AS UBIGINT)"
        listed = f"list_concat({words}, list_transform({rest}, lambda b: {signed}))"
        folded = f"list_reduce({listed}, lambda x, w0: {_mixed('x', 'w0')}, s)"
        hashed = let(
            _finished(folded, "CAST(len(h) // 2 AS UBIGINT)"),
            h=f"hex({octets})",
            s="CAST({1} AS UBIGINT)",
        )
    else:
        raise refused(f"hash of {type_name(data_type)}")
    return f"CASE WHEN {{0}} IS NULL THEN CAST({{1}} AS UBIGINT) ELSE {hashed} END"


def _bucket(number: Node) -> Node:
    if number.type not in INTEGRAL:
        raise refused(f"bitmap_bucket_number of {type_name(number.type)}")
    sql = "CASE WHEN {0} > 0 THEN 1 + ({0} - 1) // 32768 ELSE {0} // 32768 END"
    return call("bitmap_bucket_number", (cast(number, LONG),), LONG, given(sql))


def _place(number: Node) -> Node:
    if number.type not in INTEGRAL:
        raise refused(f"bitmap_bit_position of {type_name(number.type)}")
    sql = "CASE WHEN {0} > 0 THEN ({0} - 1) % 32768 ELSE (-{0}) % 32768 END"
    return call("bitmap_bit_position", (cast(number, LONG),), LONG, given(sql), fails=True)


FUNCTIONS = (
    Function(("typeof",), "value", (1, 1), _type_of),
    Function(("nullifzero",), "number", (1, 1), _null_if_zero),
    Function(("zeroifnull",), "number", (1, 1), _zero_if_null, "not of decimals"),
    Function(("hash",), "value, ...", (1, None), _hash, "of no floating or nested value"),
    Function(("bitmap_bucket_number",), "integer", (1, 1), _bucket),
    Function(("bitmap_bit_position",), "integer", (1, 1), _place),
)
"""The functions of this chapter."""
