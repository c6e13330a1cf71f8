"""Encoding functions between strings, binary and numbers: hexadecimal, base64, URL encoding and checksums."""

import string

from deltaarrow.spark_sql.functions.conditional import case
from deltaarrow.spark_sql.functions.function import Function, as_integer, as_long, as_text, literal_text
from deltaarrow.spark_sql.functions.operators import compare
from deltaarrow.spark_sql.tree.forms import given, let
from deltaarrow.spark_sql.tree.nodes import Node, call, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.char_comparison import padded_pair
from deltaarrow.spark_sql.types.coercion import exactly
from deltaarrow.spark_sql.types.type_rules import (
    BINARY,
    BOOLEAN,
    INTEGER,
    LONG,
    STRING,
    VOID,
    is_numeric,
    type_name,
)

__all__ = [
    "FUNCTIONS",
    "NOT_BINARY",
    "NOT_ENCODED",
    "base64_text",
    "hexadecimal",
    "to_binary",
    "url_decoded",
]

_UTF_8 = frozenset({"utf-8", "utf8"})
_BLANKS = "chr(32) || chr(9) || chr(10) || chr(13)"


def hexadecimal(operand: Node) -> Node:
    """``hex``."""
    if is_numeric(operand.type):
        return call("hex", (as_long(operand),), STRING, "hex({0})")
    node = operand if operand.type == BINARY else cast(as_text(operand), BINARY)
    return call("hex", (node,), STRING, "hex({0})")


def _from_hex(operand: Node) -> Node:
    sql = "CASE WHEN regexp_full_match({0}, '[0-9a-fA-F]*') THEN unhex({0}) END"
    return call("unhex", (as_text(operand),), BINARY, sql)


def base64_text(operand: Node) -> Node:
    """``base64``."""
    node = operand if operand.type == BINARY else cast(exactly(operand, STRING), BINARY)
    return call("base64", (node,), STRING, "to_base64({0})")


def _from_base64(operand: Node) -> Node:
    """Java skips what is no digit; only blanks are taken for certain."""
    bare = f"rtrim(translate({{0}}, {_BLANKS}, ''), '=')"
    filled = "b || CASE length(b) % 4 WHEN 2 THEN '==' WHEN 3 THEN '=' ELSE '' END"
    sql = let(
        "CASE WHEN NOT regexp_full_match(b, '[A-Za-z0-9+/]*')"
        " THEN error('unsupported: unbase64 of such a text')"
        f" WHEN length(b) % 4 = 1 THEN error('the text is not base64') ELSE from_base64({filled}) END",
        b=bare,
    )
    return call("unbase64", (as_text(operand),), BINARY, given(sql), fails=True)


def _encoded(operand: Node, name: Node) -> Node:
    _ensure_utf_8(name, "encode")
    return cast(as_text(operand), BINARY)


def _decoded(operand: Node, name: Node, *more: Node) -> Node:
    """``decode(binary, character_set)``, or the result behind the value that equals the operand."""
    if more:
        listed = (name, *more)
        pairs = list(zip(listed[::2], listed[1::2], strict=False))
        conditions = tuple(compare(*padded_pair(operand, each), "IS NOT DISTINCT FROM") for each, _ in pairs)
        default = listed[-1] if len(listed) % 2 else None
        return case(conditions, tuple(result for _, result in pairs), default)
    _ensure_utf_8(name, "decode")
    if operand.type not in (BINARY, STRING, VOID):
        raise refused(f"decode of {type_name(operand.type)}")
    return cast(operand, STRING)


def _ensure_utf_8(name: Node, function: str) -> None:
    text = literal_text(name, f"the character set of {function}")
    if text.lower() not in _UTF_8:
        raise refused(f"{function} in {text}")


def _first_code(operand: Node) -> Node:
    return call("ascii", (as_text(operand),), INTEGER, "CAST(ascii({0}) AS INTEGER)")


def _character(operand: Node) -> Node:
    sql = "CASE WHEN {0} < 0 THEN '' ELSE chr(CAST({0} % 256 AS INTEGER)) END"
    return call("chr", (as_long(operand),), STRING, sql)


def _converted(number: Node, base: Node, target: Node) -> Node:
    """``conv``: the digits of a number to another base, as words of 64 bits; a base below 0 means a sign."""
    nodes = (as_text(number), as_integer(base), as_integer(target))
    place = f"CASE WHEN c = '' THEN -1 ELSE (instr('{_DIGITS}', c) - 1) % {len(_DIGITS) // 2} END"
    places = f"list_transform(string_split(bare, ''), lambda c: {place})"
    # Digits count up to the first character that is none.
    more = (
        f"CASE WHEN s.v > {_MOST_WORD} THEN s.v ELSE s.v * CAST({{1}} AS UHUGEINT) + CAST(d AS UHUGEINT) END"
    )
    step = (
        f"CASE WHEN s.more AND d BETWEEN 0 AND {{1}} - 1 THEN struct_pack(v := {more}, more := TRUE)"
        " ELSE struct_pack(v := s.v, more := FALSE) END"
    )
    first = "struct_pack(v := 0::UHUGEINT, more := TRUE)"
    size = f"(list_reduce({places}, lambda s, d: {step}, {first})).v"
    word = (
        f"CASE WHEN {{2}} > 0 AND minus THEN CASE WHEN n >= {_LEAST_LONG} THEN {_MOST_WORD}"
        f" ELSE ({_WORDS} - n) % {_WORDS} END"
        f" WHEN {{2}} < 0 AND n >= {_LEAST_LONG} THEN {_WORDS} - n ELSE n END"
    )
    sign = f"CASE WHEN {{2}} < 0 AND (minus OR n >= {_LEAST_LONG}) THEN '-' ELSE '' END"
    high = "CASE WHEN w >= b THEN to_base(CAST(w // b AS BIGINT), abs({2})) ELSE '' END"
    shown = f"{sign} || {high} || to_base(CAST(w % b AS BIGINT), abs({{2}}))"
    made = let(shown, w=word, b="CAST(abs({2}) AS UHUGEINT)")
    overflow = raising("ARITHMETIC_OVERFLOW", "overflow in conv")
    checked = let(f"CASE WHEN n > {_MOST_WORD} THEN {overflow} ELSE {made} END", n=size)
    sql = let(
        f"CASE WHEN t <> '' AND {{1}} BETWEEN 2 AND 36 AND abs({{2}}) BETWEEN 2 AND 36 THEN {checked} END",
        t="trim({0}, ' ')",
        minus="left(t, 1) = '-'",
        bare="CASE WHEN minus THEN substring(t, 2) ELSE t END",
    )
    return call("conv", nodes, STRING, given(sql, 3), fails=True)


_DIGITS = string.digits + string.ascii_uppercase + string.digits + string.ascii_lowercase
_WORDS, _MOST_WORD, _LEAST_LONG = (f"{number}::UHUGEINT" for number in (1 << 64, (1 << 64) - 1, 1 << 63))


def to_binary(operand: Node, form: Node | None = None) -> Node:
    """``to_binary``: the bytes that a text means."""
    name = "hex" if form is None else literal_text(form, "the format of to_binary").lower()
    text = as_text(operand)
    if name in _UTF_8:
        return cast(text, BINARY)
    if name == "base64":
        return _from_base64(text)
    if name != "hex":
        raise refused(f"to_binary in {name}")
    sql = f"CASE WHEN regexp_full_match({{0}}, '[0-9a-fA-F]*') THEN unhex({{0}}) ELSE {NOT_BINARY} END"
    return call("to_binary", (text,), BINARY, given(sql), fails=True)


NOT_BINARY = raising(
    "CONVERSION_INVALID_INPUT", "the text ' || {0} || ' is not hexadecimal; try_to_binary gives NULL"
)
"""What ``to_binary`` raises."""


def _url_encoded(operand: Node) -> Node:
    """As an HTML form: a blank is a plus, an asterisk stays, a tilde does not."""
    sql = "replace(replace(replace(url_encode({0}), '%20', '+'), '%2A', '*'), '~', '%7E')"
    return call("url_encode", (as_text(operand),), STRING, sql)


NOT_ENCODED = raising("CANNOT_DECODE_URL", "the text ' || {0} || ' is not encoded as in a URL")
"""What ``url_decode`` raises."""


def url_decoded(operand: Node) -> Node:
    """``url_decode``."""
    decoded = "url_decode(replace({0}, '+', ' '))"
    sql = (
        "CASE WHEN NOT regexp_full_match({0}, '(?:[^%]|%[0-9a-fA-F]{{2}})*') THEN"
        f" {NOT_ENCODED}"
        " WHEN regexp_full_match({0}, '(?:[^%]|%[0-7][0-9a-fA-F])*') THEN "
        f"{decoded} ELSE error('unsupported: url_decode of letters outside ASCII') END"
    )
    return call("url_decode", (as_text(operand),), STRING, given(sql), fails=True)


def _check_sum(operand: Node) -> Node:
    """``crc32``: the check sum of ZIP files, byte by byte from a table."""
    node = operand if operand.type == BINARY else cast(exactly(operand, STRING), BINARY)
    table = f"[{', '.join(map(str, _CHECK_SUMS))}]"
    digits = "hex({0})"
    octet = "CAST('0x' || substring(h, 2 * k - 1, 2) AS INTEGER)"
    octets = f"list_transform(range(1, len(h) // 2 + 1), lambda k: {octet})"
    step = "xor(s >> 8, t[1 + CAST(xor(s & 255, o) AS INTEGER)])"
    folded = f"xor(list_reduce({octets}, lambda s, o: {step}, 4294967295::BIGINT), 4294967295::BIGINT)"
    sql = let(folded, h=digits, t=f"CAST({table} AS BIGINT[])")
    return call("crc32", (node,), LONG, given(sql))


def _table() -> list[int]:
    found = []
    for octet in range(256):
        rest = octet
        for _ in range(8):
            rest = (rest >> 1) ^ 0xEDB88320 if rest & 1 else rest >> 1
        found.append(rest)
    return found


_CHECK_SUMS = _table()


def _sound(operand: Node) -> Node:
    """``soundex``: the first letter and three digits for the sounds of the consonants behind it."""
    code = f"CASE WHEN x BETWEEN 'A' AND 'Z' THEN substring({_SOUNDS}, ascii(x) - 64, 1) ELSE '0' END"
    step = (
        "CASE WHEN c = '7' THEN s WHEN c = '0' THEN struct_pack(w := s.w, p := '0')"
        " WHEN c = s.p THEN s ELSE struct_pack(w := s.w || c, p := c) END"
    )
    codes = f"list_transform(string_split(substring(u, 2), ''), lambda x: {code})"
    first = f"struct_pack(w := left(u, 1), p := substring({_SOUNDS}, ascii(u) - 64, 1))"
    word = f"(list_reduce({codes}, lambda s, c: {step}, {first})).w"
    sql = let(
        f"CASE WHEN left(u, 1) BETWEEN 'A' AND 'Z' THEN left({word} || '000', 4) ELSE {{0}} END",
        u="upper({0})",
    )
    checked = f"CASE WHEN regexp_full_match({{0}}, '[\\x00-\\x{{{{7e}}}}]*') THEN {sql}"
    checked += " ELSE error('unsupported: soundex of letters outside ASCII') END"
    return call("soundex", (exactly(operand, STRING),), STRING, given(checked), fails=True)


_SOUNDS = "'01230127022455012623017202'"
"""The digit of each letter; that of H and W, which do not even part equal sounds, is 7."""


def _is_utf_8(operand: Node) -> Node:
    if operand.type != BINARY:
        return call("is_valid_utf8", (as_text(operand),), BOOLEAN, "{0} IS NOT NULL OR NULL")
    return call("is_valid_utf8", (operand,), BOOLEAN, given(let("TRY(decode(b)) IS NOT NULL", b="{0}")))


FUNCTIONS = (
    Function(("hex",), "integer, string or binary", (1, 1), hexadecimal),
    Function(("unhex",), "string", (1, 1), _from_hex),
    Function(("base64",), "string or binary", (1, 1), base64_text),
    Function(("unbase64",), "string", (1, 1), _from_base64),
    Function(("encode",), "string, charset", (2, 2), _encoded, "UTF-8 only"),
    Function(
        ("decode",), "binary, charset, or value, search, result, ...", (2, None), _decoded, "UTF-8 only"
    ),
    Function(("ascii",), "string", (1, 1), _first_code),
    Function(("chr",), "integer", (1, 1), _character),
    Function(("conv",), "number, base, target", (3, 3), _converted),
    Function(("to_binary",), "string[, format]", (1, 2), to_binary, "format must be a literal"),
    Function(("url_encode",), "string", (1, 1), _url_encoded),
    Function(("url_decode",), "string", (1, 1), url_decoded, "ASCII only"),
    Function(("crc32",), "string or binary", (1, 1), _check_sum),
    Function(("soundex",), "string", (1, 1), _sound, "ASCII only"),
    Function(("is_valid_utf8",), "string or binary", (1, 1), _is_utf_8),
)
"""The functions of this module."""
