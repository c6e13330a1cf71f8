"""Functions that format numbers and other values as strings, and that mask strings."""

import re

from deltaarrow.spark_sql.functions.function import Function, as_text, literal_integer, literal_text
from deltaarrow.spark_sql.tree.forms import given, let, limited
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call, refused
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import as_number
from deltaarrow.spark_sql.types.decimals import units
from deltaarrow.spark_sql.types.type_rules import (
    BOOLEAN,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    LONG,
    STRING,
    VOID,
    as_decimal,
    type_name,
)

__all__ = ["FUNCTIONS"]

_PIECE = re.compile(
    r"%(?P<flags>[-0,]{0,3})(?P<width>[1-9]\d{0,2})?(?:\.(?P<places>\d{1,2}))?(?P<kind>[sdxfbn%])|[^%]+",
    re.DOTALL,
)
_MOST_PLACES = 15
_LARGE = "1e16::DOUBLE"
_EXACT = "9007199254740992::DOUBLE"
_TWO_UNITS = "[\\x{{10000}}-\\x{{10ffff}}]"
"""Characters that Java counts twice."""


def _format_string(pattern: Node, *values: Node) -> Node:
    """``format_string``, which formats as Java's ``Formatter`` does."""
    text = literal_text(pattern, "the format of format_string")
    waiting, parts, place = list(values), list[Node](), 0
    while place < len(text):
        found = _PIECE.match(text, place)
        if found is None or (found["kind"] not in (None, "n", "%") and not waiting):
            raise refused(f"the format {text!r} with {len(values)} values")
        place = found.end()
        if found["kind"] in (None, "n", "%"):
            parts.append(Constant({"n": "\n", "%": "%"}.get(str(found["kind"]), found[0]), STRING))
        else:
            parts.append(_padded(found, _formatted(found, waiting.pop(0))))
    listed = " || ".join(f"{{{place}}}" for place in range(len(parts))) or "''"
    return call(f"{UNSTORED}format_string", tuple(parts), STRING, f"({listed})")


def _formatted(piece: "re.Match[str]", value: Node) -> Node:
    """A value as a piece of a format asks for it, before it is padded."""
    kind, flags, data_type = piece["kind"], piece["flags"], value.type
    if (piece["places"] and kind != "f") or (flags not in ("", "-") and kind != "d"):
        raise refused(f"{piece[0]} in a format")
    if kind == "s" and (data_type in (STRING, VOID, BOOLEAN, FLOAT, DOUBLE) or as_decimal(data_type)):
        return cast(value, STRING)
    if kind == "b" and data_type in (BOOLEAN, VOID):
        return call("format", (value,), STRING, "CASE WHEN {0} THEN 'true' ELSE 'false' END")
    if kind == "d" and data_type in (*INTEGRAL, VOID):
        return _whole(piece, cast(value, LONG))
    if kind == "x" and data_type in INTEGRAL:
        beyond = 1 << (8 << INTEGRAL.index(data_type))
        bits = f"CASE WHEN {{0}} < 0 THEN CAST({{0}} AS HUGEINT) + {beyond} ELSE {{0}} END"
        return call("format", (value,), STRING, f"lower(hex(CAST({bits} AS UBIGINT)))")
    if kind == "f" and data_type in (FLOAT, DOUBLE):
        return _fixed(value, int(piece["places"] or 6))
    raise refused(f"{piece[0]} for {type_name(data_type)} in a format")


def _whole(piece: "re.Match[str]", value: Node) -> Node:
    digits = "abs(CAST({0} AS HUGEINT))"
    shown = f"format('{{{{:,}}}}', {digits})" if "," in piece["flags"] else f"CAST({digits} AS VARCHAR)"
    if "0" in piece["flags"]:
        if "-" in piece["flags"] or not piece["width"]:
            raise refused(f"{piece[0]} in a format")
        width = f"({piece['width']} - CASE WHEN {{0}} < 0 THEN 1 ELSE 0 END)"
        shown = let(f"CASE WHEN length(t) >= {width} THEN t ELSE lpad(t, {width}, '0') END", t=shown)
    return call("format", (value,), STRING, given(f"CASE WHEN {{0}} < 0 THEN '-' ELSE '' END || {shown}"))


def _fixed(value: Node, places: int) -> Node:
    """A number with so many places: the digits that Java prints, rounded half up."""
    if places > _MOST_PLACES:
        raise refused(f"a format with {places} places")
    digits = f"CAST(CAST(CAST(abs({{0}}) AS VARCHAR) AS DECIMAL(38,{places})) AS VARCHAR)"
    sign = "CASE WHEN signbit({0}) THEN '-' ELSE '' END"
    sql = (
        "CASE WHEN isnan({0}) THEN 'NaN' WHEN isinf({0}) THEN CASE WHEN {0} > 0 THEN '' ELSE '-' END ||"
        f" 'Infinity' WHEN abs({{0}}) >= {_LARGE} THEN error('unsupported: a format of so great a number')"
        f" ELSE {sign} || {digits} END"
    )
    return call("format", (value,), STRING, given(sql), fails=True)


def _padded(piece: "re.Match[str]", value: Node) -> Node:
    # Java cuts even the text of a NULL to the number of places.
    text = f"coalesce({{0}}, '{'null'[: int(piece['places'] or 4)]}')"
    if not piece["width"]:
        return call("format", (value,), STRING, text)
    pad = "rpad" if "-" in piece["flags"] else "lpad"
    filled = f"CASE WHEN length(t) >= {piece['width']} THEN t ELSE {pad}(t, {piece['width']}, ' ') END"
    sql = limited(filled, f"regexp_matches(t, '{_TWO_UNITS}')", "a width for such letters in a format")
    return call("format", (value,), STRING, let(sql, t=text), fails=True)


def _format_number(number: Node, places: Node) -> Node:
    """``format_number``: commas between thousands, and so many places, rounded half to even."""
    wanted = literal_integer(places, "the places of format_number")
    number = as_number(number, "format_number")
    if wanted < 0:
        return Constant(None, STRING)
    if wanted > _MOST_PLACES:
        raise refused(f"format_number with {wanted} places")
    if number.type in (FLOAT, DOUBLE):
        number, sql = cast(number, DOUBLE), _floating_number(wanted)
    else:
        digits = as_decimal(number.type)
        if digits is None:
            raise refused(f"format_number of {type_name(number.type)}")
        sql = _decimal_number(*digits, wanted)
    return call(f"{UNSTORED}format_number", (number,), STRING, given(sql), fails=True)


def _grouped(whole: str, part: str, places: int) -> str:
    """SQL of a number as a text, given that of its whole part and that of the digits behind the point."""
    sign = "CASE WHEN signbit(CAST({0} AS DOUBLE)) THEN '-' ELSE '' END"
    behind = f" || '.' || {part}" if places else ""
    return f"{sign} || format('{{{{:,}}}}', {whole}){behind}"


def _floating_number(places: int) -> str:
    large = "error('unsupported: format_number of so great a number')"
    shown = _grouped("CAST(split_part(t, '.', 1) AS HUGEINT)", "split_part(t, '.', 2)", places)
    body = let(shown, t=f"printf('%.{places}f', abs({{0}}))")
    return f"CASE WHEN isnan({{0}}) THEN 'NaN' WHEN abs({{0}}) >= {_EXACT} THEN {large} ELSE {body} END"


def _decimal_number(precision: int, scale: int, places: int) -> str:
    """The number in units of its last place is divided."""
    rounded = "u"
    if places < scale:
        unit = f"CAST('{10 ** (scale - places)}' AS HUGEINT)"
        rest = f"u % {unit}"
        is_up = f"{rest} > {unit} - {rest} OR ({rest} = {unit} - {rest} AND (u // {unit}) % 2 = 1)"
        rounded = f"u // {unit} + CASE WHEN {is_up} THEN 1 ELSE 0 END"
    kept = min(scale, places)
    one = f"CAST('{10**kept}' AS HUGEINT)"
    part = f"'{'0' * places}'"
    if kept:
        part = f"rpad(lpad(CAST(q % {one} AS VARCHAR), {kept}, '0'), {places}, '0')"
    return let(_grouped(f"q // {one}", part, places), u=f"abs({units('{0}', precision, scale)})", q=rounded)


def _masked(
    text: Node,
    upper: Node | None = None,
    lower: Node | None = None,
    digit: Node | None = None,
    other: Node | None = None,
) -> Node:
    """``mask``: one character for each letter and digit, and for any other one if it is given."""
    signs = [
        default if each is None else _sign(each)
        for each, default in zip((upper, lower, digit, other), ("X", "x", "n", None), strict=True)
    ]
    kinds = ("[A-Z]", "[a-z]", "[0-9]")
    branches = " ".join(
        f"WHEN regexp_full_match(c, '{kind}') THEN {'c' if sign is None else f'{{{place}}}'}"
        for place, (kind, sign) in enumerate(zip(kinds, signs, strict=False), 1)
    )
    others = "c" if signs[3] is None else "{4}"
    masked = f"list_transform(string_split({{0}}, ''), lambda c: CASE {branches} ELSE {others} END)"
    plain = "regexp_full_match({0}, '[\\x00-\\x{{7e}}]*')"
    beyond = "error('unsupported: mask of letters outside ASCII')"
    sql = (
        f"CASE WHEN {{0}} = '' THEN '' WHEN NOT {plain} THEN {beyond} ELSE array_to_string({masked}, '') END"
    )
    nodes = (as_text(text), *(Constant(each or "", STRING) for each in signs))
    return call("mask", nodes, STRING, given(sql), fails=True)


def _sign(node: Node) -> str | None:
    if isinstance(node, Constant) and node.value is None:
        return None
    sign = literal_text(node, "a character of mask")
    if len(sign) != 1:
        raise refused(f"mask by {sign!r}, which is not one character,")
    return sign


FUNCTIONS = (
    Function(
        ("format_string", "printf"),
        "format, value, ...",
        (1, None),
        _format_string,
        "format must be a literal; conversions `%s`, `%d`, `%x`, `%f` and `%b`",
    ),
    Function(("format_number",), "number, decimals", (2, 2), _format_number, "decimals must be a literal"),
    Function(("mask",), "string[, upper, lower, digit, other]", (1, 5), _masked, "ASCII only"),
)
"""The functions of this module."""
