"""Try functions: NULL where the plain function raises an error. An error of an operand is still raised."""

from collections.abc import Callable
from dataclasses import replace

from deltaarrow.schema import DataType
from deltaarrow.spark_sql.functions.encodings import NOT_BINARY, NOT_ENCODED, to_binary, url_decoded
from deltaarrow.spark_sql.functions.function import Function
from deltaarrow.spark_sql.functions.number_patterns import MISMATCH, PATTERN, to_number
from deltaarrow.spark_sql.functions.operators import add, divide, remainder
from deltaarrow.spark_sql.functions.url import INVALID_URL, NOTE, url_part
from deltaarrow.spark_sql.tree.forms import attempted
from deltaarrow.spark_sql.tree.nodes import Call, Node, call, refused
from deltaarrow.spark_sql.types.casts import cast, time_grammar
from deltaarrow.spark_sql.types.time_zones import UTC, in_time_zone, session_time_zone
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    VOID,
    decimal_of,
    is_numeric,
    type_name,
)

__all__ = ["FUNCTIONS", "try_cast"]

_CONTROL = "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x{{7f}}]"
_ODD_NUMBERS = f"{_CONTROL}|[dDfF][ \\t\\r\\n]*$|0[xX]|[eE][+-]?[0-9]{{{{3,}}}}"
_ODD_TIMES = f"{_CONTROL}|^[ \\t\\r\\n]*(?:[+-]?[0-9]{{{{4}}}}|T?[0-9]{{{{1,2}}}}:)"


def try_cast(operand: Node, target: DataType) -> Node:
    """``TRY_CAST``; a text that Spark may read in a way of its own raises as unsupported."""
    found = cast(operand, target, "try_cast")
    if not isinstance(found, Call) or found.operands != (operand,) or operand.type == VOID:
        if isinstance(found, Call) and found.can_fail and found is not operand:
            raise refused(f"TRY_CAST from {type_name(operand.type)} to {type_name(target)}")
        return found
    is_zoned = operand.type == STRING and target == TIMESTAMP and not session_time_zone().is_utc
    tried = _tried_timestamp(operand) if is_zoned else attempted(found, found.name)
    known = ""
    if operand.type != STRING or target == BOOLEAN or target in INTEGRAL:
        odd = _CONTROL if operand.type == STRING else ""
    elif target in (FLOAT, DOUBLE) or decimal_of(target) is not None:
        odd = _ODD_NUMBERS
    elif target == DATE or target in TIMESTAMPS:
        odd, known = _ODD_TIMES, f" AND NOT regexp_full_match({{0}}, '{time_grammar(target)}')"
    else:
        odd = ""
    if not odd:
        return tried
    beyond = "error('unsupported: try_cast of such a text')"
    sql = f"CASE WHEN {{1}} IS NULL AND regexp_matches({{0}}, '{odd}'){known} THEN {beyond} ELSE {{1}} END"
    return call("try_cast", (operand, tried), target, sql, fails=True)


def _tried_timestamp(text: Node) -> Node:
    """The timestamp of a local time, or of a text with an offset of its own; NULL for another text."""
    local = cast(attempted(cast(text, TIMESTAMP_NTZ), "try_cast"), TIMESTAMP)
    with in_time_zone(UTC):
        with_offset = attempted(cast(text, TIMESTAMP), "try_cast")
    return call("try_cast", (local, with_offset), TIMESTAMP, "coalesce({0}, {1})")


def _tried(name: str, bind: Callable[[Node, Node], Node]) -> Callable[[Node, Node], Node]:
    def tried(left: Node, right: Node) -> Node:
        for each in (left, right):
            if not is_numeric(each.type) and each.type != VOID:
                raise refused(f"{name} of {type_name(each.type)}")
        found = bind(left, right)
        if isinstance(found, Call):
            found = replace(found, operands=_in_turn(*found.operands, divides=bind in (divide, remainder)))
        return attempted(found, name)

    return tried


def _in_turn(left: Node, right: Node, *, divides: bool) -> tuple[Node, Node]:
    """The operands, of which one that may fail is NULL where Spark does not compute it."""
    if divides and left.can_fail:
        sql = "CASE WHEN {1} IS NULL OR {1} = 0 THEN NULL ELSE {0} END"
        return call("if", (left, right), left.type, sql), right
    if not divides and right.can_fail:
        return left, call("if", (left, right), right.type, "CASE WHEN {0} IS NULL THEN NULL ELSE {1} END")
    return left, right


def _tolerant(bind: Callable[..., Node], error: str) -> Callable[..., Node]:
    """A call like another one that is NULL where that raises this error."""

    def tolerant(*operands: Node) -> Node:
        found = bind(*operands)
        return replace(found, sql=found.sql.replace(error, "NULL")) if isinstance(found, Call) else found

    return tolerant


FUNCTIONS = (
    Function(("try_add",), "number, number", (2, 2), _tried("try_add", lambda a, b: add(a, b, "+"))),
    Function(
        ("try_subtract",), "number, number", (2, 2), _tried("try_subtract", lambda a, b: add(a, b, "-"))
    ),
    Function(
        ("try_multiply",), "number, number", (2, 2), _tried("try_multiply", lambda a, b: add(a, b, "*"))
    ),
    Function(("try_divide",), "dividend, divisor", (2, 2), _tried("try_divide", divide)),
    Function(("try_mod",), "dividend, divisor", (2, 2), _tried("try_mod", remainder)),
    Function(("try_url_decode",), "string", (1, 1), _tolerant(url_decoded, NOT_ENCODED), "ASCII only"),
    Function(("try_parse_url",), "url, part[, key]", (2, 3), _tolerant(url_part, INVALID_URL), NOTE),
    Function(("try_to_number",), "string, format", (2, 2), _tolerant(to_number, MISMATCH), PATTERN),
    Function(
        ("try_to_binary",),
        "string[, format]",
        (1, 2),
        _tolerant(to_binary, NOT_BINARY),
        "format must be a literal",
    ),
)
"""The functions of this module."""
