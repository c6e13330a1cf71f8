"""String functions; lengths and positions count code points, as in Spark."""

from deltaarrow.schema import ArrayType, PrimitiveType
from deltaarrow.spark_sql.functions.function import (
    Function,
    as_integer,
    as_text,
    literal_integer,
    literal_text,
    same_type,
)
from deltaarrow.spark_sql.functions.patterns import like_pattern, regular_expression
from deltaarrow.spark_sql.tree.forms import given, limited
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import BINARY, BOOLEAN, INTEGER, LONG, STRING, VOID, type_name

__all__ = ["FUNCTIONS", "concatenate", "like", "lower", "matches", "substring"]

_MAX_PADDED = 100_000
_CASED = (
    "[\\x00-\\x{{7e}}\\x{{a0}}-\\x{{b4}}\\x{{b6}}-\\x{{de}}\\x{{e0}}-\\x{{fe}}"
    "\\x{{400}}-\\x{{45f}}\\x{{3000}}-\\x{{9fff}}\\x{{ac00}}-\\x{{d7a3}}]*"
)
"""Texts of these characters have the same upper and lower case in DuckDB and Java."""

_ESCAPES = "(?s)(?:\\\\[\\\\%_]|[^\\\\])*"
_WRONG_ESCAPE = raising(
    "INVALID_FORMAT.ESC_IN_THE_MIDDLE",
    "in the LIKE pattern ' || {1} || ', a backslash stands before something other than a wildcard",
)


def concatenate(*operands: Node) -> Node:
    """``||`` and ``concat``: NULL if any operand is; values of other types are cast to text."""
    if any(isinstance(node.type, ArrayType) for node in operands):
        if not all(isinstance(node.type, ArrayType) for node in operands):
            raise refused("concat of arrays with other values")
        nodes, common = same_type(operands)
        listed = " || ".join(f"{{{place}}}" for place in range(len(nodes)))
        return call("concat", nodes, common, given(listed, len(nodes)))
    if operands and all(node.type == BINARY for node in operands):
        return call("concat", operands, BINARY, " || ".join(f"{{{i}}}" for i in range(len(operands))))
    if any(not isinstance(node.type, PrimitiveType) for node in operands):
        raise refused("concat of nested values")
    nodes = tuple(cast(node, STRING) for node in operands)
    return call("concat", nodes, STRING, "(" + " || ".join(f"{{{i}}}" for i in range(len(nodes))) + ")")


def like(operand: Node, pattern: Node, escape: str = "\\") -> Node:
    """``LIKE``; a pattern that is no literal is checked on each row."""
    if isinstance(pattern, Constant) and isinstance(pattern.value, str):
        text = Constant(like_pattern(pattern.value, escape), STRING)
        return call("like", (as_text(operand), text), BOOLEAN, "({0} LIKE {1} ESCAPE '\\')")
    if escape != "\\":
        raise refused("ESCAPE behind a LIKE pattern that is not a text literal")
    checked = f"regexp_full_match({{1}}, '{_ESCAPES}')"
    matched = "{0} LIKE {1} ESCAPE '\\'"
    sql = f"CASE WHEN {checked} THEN {matched} WHEN {{1}} IS NOT NULL THEN {_WRONG_ESCAPE} END"
    return call("like", (as_text(operand), as_text(pattern)), BOOLEAN, sql, fails=True)


def matches(operand: Node, pattern: Node) -> Node:
    """``RLIKE`` with a literal pattern: whether it matches anywhere."""
    text = literal_text(pattern, "a regular expression")
    nodes = (as_text(operand), Constant(regular_expression(text), STRING))
    if not text.endswith("$"):
        return call("rlike", nodes, BOOLEAN, "regexp_matches({0}, {1})")
    sql = (
        "CASE WHEN contains({0}, chr(13)) THEN error('unsupported: a carriage return with $ in RLIKE')"
        " ELSE regexp_matches({0}, {1}) END"
    )
    return call("rlike", nodes, BOOLEAN, sql, fails=True)


def _joined(separator: Node, *operands: Node) -> Node:
    if any(isinstance(each.type, ArrayType) for each in operands):
        raise refused("concat_ws of arrays")
    nodes = (as_text(separator), *map(as_text, operands))
    if len(nodes) == 1:
        return call("concat_ws", nodes, STRING, "CASE WHEN {0} IS NOT NULL THEN '' END")
    return call("concat_ws", nodes, STRING, f"concat_ws({_places(nodes)})")


def _case(name: str, operand: Node) -> Node:
    beyond = f"error('unsupported: {name} of letters outside Latin-1, Cyrillic and CJK')"
    sql = (
        f"CASE WHEN {{0}} IS NULL THEN NULL WHEN regexp_full_match({{0}}, '{_CASED}')"
        f" THEN {name}({{0}}) ELSE {beyond} END"
    )
    return call(name, (as_text(operand),), STRING, sql, fails=True)


def lower(operand: Node) -> Node:
    """The text in small letters."""
    return _case("lower", operand)


def _upper(operand: Node) -> Node:
    return _case("upper", operand)


def _length(operand: Node) -> Node:
    if operand.type == BINARY:
        return call("length", (operand,), INTEGER, "CAST(octet_length({0}) AS INTEGER)")
    return call("length", (as_text(operand),), INTEGER, "CAST(length({0}) AS INTEGER)")


def substring(operand: Node, start: Node, length: Node | None = None) -> Node:
    """Characters from a position on, which counts from the end if it is negative."""
    text, first = _characters(operand, "substring"), as_integer(start)
    count = as_integer(length) if length is not None else Constant(2**31 - 1, INTEGER)
    known = [
        each.value for each in (first, count) if isinstance(each, Constant) and isinstance(each.value, int)
    ]
    if len(known) == 2 and known[0] >= 0:
        nodes = (text, Constant(max(known[0], 1), LONG), Constant(max(known[1], 0), LONG))
        return call("substring", nodes, STRING, "substring({0}, {1}, {2})")
    # Positions before the beginning count, as in Spark: substring('abc', -5, 3) is 'a'.
    begin = (
        "CASE WHEN {1} > 0 THEN CAST({1} AS BIGINT) - 1 WHEN {1} < 0 THEN CAST({1} AS BIGINT) + length({0})"
        " ELSE 0 END"
    )
    from_here = f"greatest(({begin}), 0)"
    sql = (
        f"CASE WHEN {{0}} IS NULL OR {{1}} IS NULL OR {{2}} IS NULL THEN NULL"
        f" ELSE substring({{0}}, {from_here} + 1, greatest(({begin}) + {{2}} - {from_here}, 0)) END"
    )
    return call("substring", (text, first, count), STRING, sql)


def _characters(operand: Node, name: str) -> Node:
    """A text to take characters from; Spark takes bytes from a binary."""
    if operand.type == BINARY:
        raise refused(f"{name} of binary")
    return as_text(operand)


def _left(operand: Node, length: Node) -> Node:
    return substring(operand, Constant(1, INTEGER), length)


def _right(operand: Node, length: Node) -> Node:
    sql = "CASE WHEN {1} <= 0 AND {0} IS NOT NULL THEN '' ELSE right({0}, {1}) END"
    return call("right", (as_text(operand), as_integer(length)), STRING, sql)


def _padded(name: str, operand: Node, length: Node, padding: Node | None) -> Node:
    filling = literal_text(padding, f"the padding of {name}") if padding is not None else " "
    operand = _characters(operand, name)
    # DuckDB fills with nothing by an error.
    padded = f"{name}({{0}}, greatest({{1}}, 0), {{2}})" if filling else "left({0}, greatest({1}, 0))"
    if isinstance(length, Constant) and isinstance(length.value, int) and length.value <= _MAX_PADDED:
        known = Constant(max(length.value, 0), INTEGER)
        return call(name, (operand, known, Constant(filling, STRING)), STRING, padded)
    nodes = (operand, as_integer(length), Constant(filling, STRING))
    sql = given(limited(padded, f"{{1}} > {100 * _MAX_PADDED}", f"{name} to so long a text"), 2)
    return call(f"{UNSTORED}{name} to a length that is not a literal", nodes, STRING, sql, fails=True)


def _left_padded(operand: Node, length: Node, padding: Node | None = None) -> Node:
    return _padded("lpad", operand, length, padding)


def _right_padded(operand: Node, length: Node, padding: Node | None = None) -> Node:
    return _padded("rpad", operand, length, padding)


def _trimmed(operand: Node) -> Node:
    return call("trim", (as_text(operand),), STRING, "trim({0}, ' ')")


def _left_trimmed(operand: Node, text: Node | None = None) -> Node:
    return _stripped("ltrim", operand, text)


def _right_trimmed(operand: Node, text: Node | None = None) -> Node:
    return _stripped("rtrim", operand, text)


def _stripped(name: str, operand: Node, text: Node | None) -> Node:
    """The text without blanks at one end; of two operands, the first lists the characters to remove."""
    if text is None:
        return call(name, (as_text(operand),), STRING, f"{name}({{0}}, ' ')")
    # DuckDB takes an empty list of characters for blanks.
    sql = f"CASE WHEN {{0}} = '' THEN {{1}} ELSE {name}({{1}}, {{0}}) END"
    return call(name, (as_text(operand), as_text(text)), STRING, given(sql, 2))


def _replaced(operand: Node, search: Node, replacement: Node | None = None) -> Node:
    nodes = (as_text(operand), as_text(search), as_text(replacement or Constant("", STRING)))
    return call("replace", nodes, STRING, "replace({0}, {1}, {2})")


def _place(operand: Node, part: Node) -> Node:
    return call("instr", (as_text(operand), as_text(part)), INTEGER, "CAST(instr({0}, {1}) AS INTEGER)")


def _starts_with(operand: Node, part: Node) -> Node:
    return call("startswith", (as_text(operand), as_text(part)), BOOLEAN, "starts_with({0}, {1})")


def _ends_with(operand: Node, part: Node) -> Node:
    return call("endswith", (as_text(operand), as_text(part)), BOOLEAN, "suffix({0}, {1})")


def _contains(operand: Node, part: Node) -> Node:
    return call("contains", (as_text(operand), as_text(part)), BOOLEAN, "contains({0}, {1})")


def _digest(name: str, operand: Node) -> Node:
    if operand.type not in (STRING, BINARY, VOID):
        raise refused(f"{name} of {type_name(operand.type)}")
    return call(name, (cast(operand, BINARY),), STRING, f"{name}({{0}})")


def _md5(operand: Node) -> Node:
    return _digest("md5", operand)


def _sha1(operand: Node) -> Node:
    return _digest("sha1", operand)


def _sha2(operand: Node, bits: Node) -> Node:
    if literal_integer(bits, "the size of sha2") not in (0, 256):
        raise refused("sha2 of other than 256 bits")
    return _digest("sha256", operand)


def _places(nodes: tuple[Node, ...]) -> str:
    return ", ".join(f"{{{place}}}" for place in range(len(nodes)))


FUNCTIONS = (
    Function(("concat",), "string, ...", (1, None), concatenate),
    Function(("concat_ws",), "separator, string, ...", (1, None), _joined),
    Function(("lower", "lcase"), "string", (1, 1), lower, "Latin-1, Cyrillic and CJK characters only"),
    Function(("upper", "ucase"), "string", (1, 1), _upper, "Latin-1, Cyrillic and CJK characters only"),
    Function(("length", "len", "char_length", "character_length"), "string or binary", (1, 1), _length),
    Function(("substring", "substr"), "string, start[, length]", (2, 3), substring),
    Function(("left",), "string, length", (2, 2), _left),
    Function(("right",), "string, length", (2, 2), _right),
    Function(("trim",), "string", (1, 1), _trimmed),
    Function(("ltrim",), "[characters, ]string", (1, 2), _left_trimmed),
    Function(("rtrim",), "[characters, ]string", (1, 2), _right_trimmed),
    Function(
        ("lpad",),
        "string, length[, padding]",
        (2, 3),
        _left_padded,
        "padding must be a literal; in stored expressions, length too",
    ),
    Function(
        ("rpad",),
        "string, length[, padding]",
        (2, 3),
        _right_padded,
        "padding must be a literal; in stored expressions, length too",
    ),
    Function(("replace",), "string, search[, replacement]", (2, 3), _replaced),
    Function(("instr",), "string, substring", (2, 2), _place),
    Function(("startswith",), "string, prefix", (2, 2), _starts_with),
    Function(("endswith",), "string, suffix", (2, 2), _ends_with),
    Function(("contains",), "string, substring", (2, 2), _contains),
    Function(("like",), "string, pattern", (2, 2), like),
    Function(
        ("rlike", "regexp", "regexp_like"),
        "string, pattern",
        (2, 2),
        matches,
        "pattern must be a literal that Java and RE2 interpret alike",
    ),
    Function(("md5",), "string or binary", (1, 1), _md5),
    Function(("sha", "sha1"), "string or binary", (1, 1), _sha1),
    Function(("sha2",), "string or binary, bits", (2, 2), _sha2, "256 bits only"),
)
"""The functions of this module."""
