"""``hash`` and ``xxhash64``: Murmur3 and XXH64 of values, each with the hash of those before as its seed.

A NULL leaves the seed as it is. Hashes are computed as unsigned words, in an integer type that holds the
product of two of them.
"""

from dataclasses import dataclass
from typing import Protocol

from deltaarrow.schema import ArrayType, DataType, IntervalType, StructType
from deltaarrow.spark_sql.functions.function import Function
from deltaarrow.spark_sql.tree.forms import let
from deltaarrow.spark_sql.tree.nodes import OWN_NAME, ColumnRef, Constant, Node, call, refused
from deltaarrow.spark_sql.types.nested import member
from deltaarrow.spark_sql.types.type_rules import (
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
    type_name,
)

__all__ = ["FUNCTIONS"]

_SEED = 42
_SHORT_DECIMAL = 18


class _Hasher(Protocol):
    """SQL of the hash of a number of four or of eight bytes, or of bytes, with a seed."""

    @property
    def word(self) -> str:
        """The type of hashes."""
        ...

    def of_four(self, number: str, seed: str) -> str: ...

    def of_eight(self, number: str, seed: str) -> str: ...

    def of_bytes(self, octets: str, seed: str) -> str: ...


@dataclass(frozen=True)
class _Murmur:
    """Murmur3 with hashes of 32 bits, which takes bytes behind the last four as numbers of their own."""

    word: str = "UBIGINT"

    def of_four(self, number: str, seed: str) -> str:
        return self._finished(self._mixed(seed, _low(number, 32, self.word)), "4")

    def of_eight(self, number: str, seed: str) -> str:
        first = self._mixed(seed, _low(number, 32, self.word))
        return self._finished(self._mixed(first, _low(f"({number} >> 32)", 32, self.word)), "8")

    def of_bytes(self, octets: str, seed: str) -> str:
        words = f"list_transform(range(0, len(h) // 8), lambda k: {_little('h', '8 * k', 4, self.word)})"
        octet = "CAST('0x' || substring(h, 2 * k + 1, 2) AS BIGINT)"
        rest = f"list_transform(range(4 * (len(h) // 8), len(h) // 2), lambda k: {octet})"
        signed = "CAST(CASE WHEN b >= 128 THEN b + 4294967040 ELSE b END AS UBIGINT)"
        listed = f"list_concat({words}, list_transform({rest}, lambda b: {signed}))"
        folded = f"list_reduce({listed}, lambda x, w0: {self._mixed('x', 'w0')}, {seed})"
        return let(self._finished(folded, "CAST(len(h) // 2 AS UBIGINT)"), h=f"hex({octets})")

    def _mixed(self, hashed: str, word: str) -> str:
        one = self._rotated(f"(({word}) * 3432918353::UBIGINT) & {_WORD}", 15)
        two = f"(({one}) * 461845907::UBIGINT) & {_WORD}"
        return (
            f"(({self._rotated(f'xor({hashed}, {two})', 13)}) * 5::UBIGINT + 3864292196::UBIGINT) & {_WORD}"
        )

    def _finished(self, hashed: str, length: str) -> str:
        one = f"((xor(v, v >> 16) * 2246822507::UBIGINT) & {_WORD})"
        two = f"((xor({one}, {one} >> 13) * 3266489909::UBIGINT) & {_WORD})"
        return let(f"xor({two}, {two} >> 16)", v=f"xor({hashed}, {length})")

    def _rotated(self, word: str, bits: int) -> str:
        return f"(((({word}) * 4294967297::UBIGINT) >> {32 - bits}) & {_WORD})"


_WORD = "4294967295::UBIGINT"


@dataclass(frozen=True)
class _XxHash:
    """XXH64, which takes bytes in stripes of four numbers, then in eights, a four, and ones."""

    word: str = "UHUGEINT"

    def of_four(self, number: str, seed: str) -> str:
        mixed = self._with_four(_sum(seed, _P5, "4"), _low(number, 32, self.word))
        return self._finished(mixed)

    def of_eight(self, number: str, seed: str) -> str:
        return self._finished(self._with_eight(_sum(seed, _P5, "8"), _low(number, 64, self.word)))

    def of_bytes(self, octets: str, seed: str) -> str:
        eight = _little("h", "16 * k", 8, self.word)
        eights = f"list_transform(range(0, c // 8), lambda k: {eight})"
        start = f"CASE WHEN c >= 32 THEN {self._striped(seed)} ELSE {_sum(seed, _P5)} END"
        rest = "ws[4 * (c // 32) + 1:]"
        counted = _sum("s0", "CAST(c AS UHUGEINT)")
        mixed = f"list_reduce({rest}, lambda x, w: {self._with_eight('x', 'w')}, {counted})"
        four = self._with_four("s1", _little("h", "16 * (c // 8)", 4, self.word))
        mixed = let(f"CASE WHEN c % 8 >= 4 THEN {four} ELSE s1 END", s1=mixed)
        octet = f"CAST('0x' || substring(h, 2 * k + 1, 2) AS {self.word})"
        ones = f"list_transform(range(4 * (c // 4), c), lambda k: {octet})"
        one = _product(_rotated(f"xor(x, {_product('b', _P5)})", 11), _P1)
        mixed = f"list_reduce({ones}, lambda x, b: {one}, {mixed})"
        return let(self._finished(mixed), h=f"hex({octets})", c="len(h) // 2", ws=eights, s0=start)

    def _striped(self, seed: str) -> str:
        starts = (_sum(seed, _P1, _P2), _sum(seed, _P2), seed, _sum(seed, _MINUS_P1))
        lanes = []
        for place, start in enumerate(starts):
            lane = f"list_filter(ws[1:4 * (c // 32)], lambda w, i: (i - 1) % 4 = {place})"
            lanes.append(f"list_reduce({lane}, lambda x, w: {_round('x', 'w')}, {start})")
        joined = _sum(*(_rotated(f"vs[{k}]", bits) for k, bits in ((1, 1), (2, 7), (3, 12), (4, 18))))
        merged = _sum(_product(f"xor(x, {_round('0::UHUGEINT', 'v')})", _P1), _P4)
        return let(f"list_reduce(vs, lambda x, v: {merged}, {joined})", vs=f"[{', '.join(lanes)}]")

    def _with_four(self, hashed: str, word: str) -> str:
        return _sum(_product(_rotated(f"xor({hashed}, {_product(word, _P1)})", 23), _P2), _P3)

    def _with_eight(self, hashed: str, word: str) -> str:
        return _sum(_product(_rotated(f"xor({hashed}, {_round('0::UHUGEINT', word)})", 27), _P1), _P4)

    def _finished(self, hashed: str) -> str:
        one = let(_product("xor(v, v >> 33)", _P2), v=hashed)
        two = let(_product("xor(v, v >> 29)", _P3), v=one)
        return let("xor(v, v >> 32)", v=two)


_P1, _P2, _P3, _P4, _P5 = (
    f"{number}::UHUGEINT"
    for number in (
        11400714785074694791,
        14029467366897019727,
        1609587929392839161,
        9650029242287828579,
        2870177450012600261,
    )
)
_MINUS_P1 = f"{2**64 - 11400714785074694791}::UHUGEINT"
_MODULUS = "18446744073709551616::UHUGEINT"


def _product(one: str, other: str) -> str:
    return f"((({one}) * {other}) % {_MODULUS})"


def _sum(*parts: str) -> str:
    return f"(({' + '.join(parts)}) % {_MODULUS})"


def _rotated(word: str, bits: int) -> str:
    high, low = f"{1 << bits}::UHUGEINT", f"{1 << (64 - bits)}::UHUGEINT"
    return let(f"((w1 * {high}) % {_MODULUS} + w1 // {low})", w1=word)


def _round(value: str, word: str) -> str:
    return _product(_rotated(f"({value} + {_product(word, _P2)}) % {_MODULUS}", 31), _P1)


def _low(number: str, bits: int, word: str) -> str:
    """The low bits of a whole number as an unsigned word."""
    if bits == 64:
        return f"CAST((CAST({number} AS HUGEINT) + 18446744073709551616) % 18446744073709551616 AS {word})"
    return f"CAST(CAST({number} AS BIGINT) & 4294967295 AS {word})"


def _little(digits: str, start: str, size: int, word: str) -> str:
    """The number of some bytes, the lowest first, out of their hexadecimal digits."""
    octets = (f"substring({digits}, {start} + {2 * place + 1}, 2)" for place in reversed(range(size)))
    return f"CAST('0x' || {' || '.join(octets)} AS {word})"


def _hash(*operands: Node) -> Node:
    found = _folded(_Murmur(), operands)
    signed = "CAST(CASE WHEN h >= 2147483648 THEN CAST(h AS BIGINT) - 4294967296 ELSE h END AS INTEGER)"
    return call("hash", (found,), INTEGER, let(signed, h="{0}"))


def _xxhash64(*operands: Node) -> Node:
    found = _folded(_XxHash(), operands)
    least = "9223372036854775808::UHUGEINT"
    signed = f"CASE WHEN h >= {least} THEN CAST(h - {least} AS BIGINT) - 9223372036854775807 - 1 ELSE h END"
    return call("xxhash64", (found,), LONG, let(f"CAST({signed} AS BIGINT)", h="{0}"))


def _folded(hasher: _Hasher, operands: tuple[Node, ...]) -> Node:
    """The hash of all values; its node has the type of a long, and its SQL that of a word."""
    found: Node = call("seed", (), LONG, f"{_SEED}::{hasher.word}")
    for each in operands:
        if each.type == VOID or (isinstance(each, Constant) and each.value is None):
            continue
        found = call("hashed", (each, found), LONG, _of_operand(hasher, each))
    return found


def _of_operand(hasher: _Hasher, operand: Node) -> str:
    """The hash of ``{0}`` with the seed ``{1}``."""
    if isinstance(operand, Constant):
        return _of(hasher, operand.type, "{0}", "{1}", 0)
    if isinstance(operand, ColumnRef):
        return let(
            f"CASE WHEN {{0}} IS NULL THEN s ELSE {_of(hasher, operand.type, '{0}', 's', 0)} END", s="{1}"
        )
    sql = f"CASE WHEN n IS NULL THEN s ELSE {_of(hasher, operand.type, 'n', 's', 0)} END"
    return let(sql, n="{0}", s="{1}")


def _of(hasher: _Hasher, data_type: DataType, value: str, seed: str, depth: int) -> str:
    """The hash of a value that is not NULL."""
    digits = decimal_of(data_type)
    if data_type in (BOOLEAN, *INTEGRAL[:3]):
        return hasher.of_four(f"CAST({value} AS INTEGER)", seed)
    if data_type == DATE:
        return hasher.of_four(f"({value} - DATE '1970-01-01')", seed)
    if data_type == FLOAT:
        return hasher.of_four(_bits(value, "FLOAT", "UINTEGER"), seed)
    if data_type == DOUBLE:
        return hasher.of_eight(_signed(_bits(value, "DOUBLE", "UBIGINT")), seed)
    if data_type == LONG or isinstance(data_type, IntervalType):
        return hasher.of_eight(f"CAST({value} AS BIGINT)", seed)
    if data_type in TIMESTAMPS:
        return hasher.of_eight(f"epoch_us({value})", seed)
    if digits is not None and digits[0] <= _SHORT_DECIMAL:
        unit = f"CAST('{10 ** digits[1]}' AS DECIMAL({digits[1] + 1},0))"
        return hasher.of_eight(f"CAST({value} * {unit} AS BIGINT)", seed)
    if data_type in (STRING, BINARY):
        return hasher.of_bytes(f"encode({value})" if data_type == STRING else value, seed)
    if isinstance(data_type, ArrayType):
        item, before = f"{OWN_NAME}h{depth}", f"{OWN_NAME}s{depth}"
        one = _of(hasher, data_type.element_type, item, before, depth + 1)
        step = f"CASE WHEN {item} IS NULL THEN {before} ELSE {one} END"
        return f"list_reduce({value}, lambda {before}, {item}: {step}, {seed})"
    if isinstance(data_type, StructType):
        return _of_fields(hasher, data_type, value, seed, depth)
    raise refused(f"hash of {type_name(data_type)}")


def _of_fields(hasher: _Hasher, data_type: StructType, value: str, seed: str, depth: int) -> str:
    whole, before = f"{OWN_NAME}h{depth}", f"{OWN_NAME}s{depth}"
    struct = call("struct", (), data_type, whole)
    found = seed
    for each in data_type.fields:
        part = getattr(member(struct, each), "sql", "").format(whole)
        one = _of(hasher, each.type, part, before, depth + 1)
        found = let(f"CASE WHEN {part} IS NULL THEN {before} ELSE {one} END", **{before: found})
    return let(found, **{whole: value})


def _bits(value: str, kind: str, unsigned: str) -> str:
    """The bits of a floating number as a whole number; zeros are one, and so are all that are no numbers."""
    plain = f"CASE WHEN {value} = 0 THEN 0 WHEN isnan({value}) THEN 'nan' ELSE {value} END"
    return f"CAST(CAST(CAST({plain} AS {kind}) AS BIT) AS {unsigned})"


def _signed(number: str) -> str:
    least = "9223372036854775808"
    wrapped = f"CASE WHEN u >= {least} THEN CAST(u AS HUGEINT) - 18446744073709551616 ELSE u END"
    return let(f"CAST({wrapped} AS BIGINT)", u=number)


_NOTE = "not for maps and decimals of more than 18 digits"
FUNCTIONS = (
    Function(("hash",), "value, ...", (1, None), _hash, _NOTE),
    Function(("xxhash64",), "value, ...", (1, None), _xxhash64, _NOTE),
)
"""The functions of this module."""
