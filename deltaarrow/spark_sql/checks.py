"""Functions that tell or replace what a value is: types, zeros, check sums of rows."""

from deltaarrow.schema import ArrayType, DataType, MapType, StructType
from deltaarrow.spark_sql.casts import cast
from deltaarrow.spark_sql.forms import given, let
from deltaarrow.spark_sql.function import Function, as_long
from deltaarrow.spark_sql.nodes import ColumnRef, Constant, Node, call, refused
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
        if each.type == VOID or (isinstance(each, Constant) and each.value is None):
            continue
        found = call("hashed", (each, found), LONG, _hashed(each))
    signed = "CAST(CASE WHEN h >= 2147483648 THEN CAST(h AS BIGINT) - 4294967296 ELSE h END AS INTEGER)"
    return call("hash", (found,), INTEGER, let(signed, h="{0}"))


def _hashed(operand: Node) -> str:
    """The hash of ``{0}`` with the seed ``{1}``, as a word."""
    if isinstance(operand, Constant):
        return _murmur(operand.type, "{0}", "{1}")
    if isinstance(operand, ColumnRef):
        return let(f"CASE WHEN {{0}} IS NULL THEN s ELSE {_murmur(operand.type, '{0}', 's')} END", s="{1}")
    return let(f"CASE WHEN n IS NULL THEN s ELSE {_murmur(operand.type, 'n', 's')} END", n="{0}", s="{1}")


def _rotated(word: str, bits: int) -> str:
    return f"(((({word}) * 4294967297::UBIGINT) >> {32 - bits}) & {_WORD})"


def _mixed(hashed: str, word: str) -> str:
    """Take a word of four bytes into a hash."""
    one = _rotated(f"(({word}) * 3432918353::UBIGINT) & {_WORD}", 15)
    two = f"(({one}) * 461845907::UBIGINT) & {_WORD}"
    return f"(({_rotated(f'xor({hashed}, {two})', 13)}) * 5::UBIGINT + 3864292196::UBIGINT) & {_WORD}"


def _finished(hashed: str, length: str) -> str:
    one = f"((xor(v, v >> 16) * 2246822507::UBIGINT) & {_WORD})"
    two = f"((xor({one}, {one} >> 13) * 3266489909::UBIGINT) & {_WORD})"
    return let(f"xor({two}, {two} >> 16)", v=f"xor({hashed}, {length})")


def _word(value: str) -> str:
    """The low bits of an integer as an unsigned word."""
    return f"CAST(CAST({value} AS BIGINT) & 4294967295 AS UBIGINT)"


def _murmur(data_type: DataType, value: str, seed: str) -> str:
    digits = decimal_of(data_type)
    if data_type in (BOOLEAN, *INTEGRAL[:3], DATE):
        number = f"({value} - DATE '1970-01-01')" if data_type == DATE else f"CAST({value} AS INTEGER)"
        return _finished(_mixed(seed, _word(number)), "4")
    if data_type in (LONG, *TIMESTAMPS) or (digits is not None and digits[0] <= 18):
        number = f"epoch_us({value})" if data_type in TIMESTAMPS else f"CAST({value} AS BIGINT)"
        if digits is not None:
            number = f"CAST({value} * CAST('{10 ** digits[1]}' AS DECIMAL({digits[1] + 1},0)) AS BIGINT)"
        return _finished(_mixed(_mixed(seed, _word(number)), _word(f"({number} >> 32)")), "8")
    if data_type not in (STRING, BINARY):
        raise refused(f"hash of {type_name(data_type)}")
    octets = f"encode({value})" if data_type == STRING else value
    four = " || ".join(f"substring(h, 8 * k + {place}, 2)" for place in (7, 5, 3, 1))
    word = f"CAST('0x' || {four} AS UBIGINT)"
    words = f"list_transform(range(0, len(h) // 8), lambda k: {word})"
    octet = "CAST('0x' || substring(h, 2 * k + 1, 2) AS BIGINT)"
    rest = f"list_transform(range(4 * (len(h) // 8), len(h) // 2), lambda k: {octet})"
    signed = "CAST(CASE WHEN b >= 128 THEN b + 4294967040 ELSE b END AS UBIGINT)"
    listed = f"list_concat({words}, list_transform({rest}, lambda b: {signed}))"
    folded = f"list_reduce({listed}, lambda x, w0: {_mixed('x', 'w0')}, {seed})"
    return let(_finished(folded, "CAST(len(h) // 2 AS UBIGINT)"), h=f"hex({octets})")


def _bucket(number: Node) -> Node:
    sql = "CASE WHEN {0} > 0 THEN 1 + ({0} - 1) // 32768 ELSE {0} // 32768 END"
    return call("bitmap_bucket_number", (as_long(number),), LONG, given(sql))


def _place(number: Node) -> Node:
    sql = "CASE WHEN {0} > 0 THEN ({0} - 1) % 32768 ELSE (-{0}) % 32768 END"
    return call("bitmap_bit_position", (as_long(number),), LONG, given(sql), fails=True)


FUNCTIONS = (
    Function(("typeof",), "value", (1, 1), _type_of),
    Function(("nullifzero",), "number", (1, 1), _null_if_zero),
    Function(("zeroifnull",), "number", (1, 1), _zero_if_null, "not of decimals"),
    Function(("hash",), "value, ...", (1, None), _hash, "of no floating or nested value"),
    Function(("bitmap_bucket_number",), "integer", (1, 1), _bucket),
    Function(("bitmap_bit_position",), "integer", (1, 1), _place),
)
"""The functions of this chapter."""
