"""``to_char`` and ``to_number``: numbers formatted and parsed by a pattern such as ``S$9,999.99``, and back.

A pattern has an optional sign (``S``, ``MI`` or, at its end, ``PR``), an optional ``$``, digits in groups
between commas, and digits behind a point. A group that begins with 0 is filled with zeros, any other one with
blanks.
"""

import re
from dataclasses import dataclass

from deltaarrow.spark_sql.functions.datetime import date_format
from deltaarrow.spark_sql.functions.encodings import base64_text, hexadecimal
from deltaarrow.spark_sql.functions.function import Function, as_text, literal_text
from deltaarrow.spark_sql.tree.forms import given, let
from deltaarrow.spark_sql.tree.nodes import Node, call, escaped, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.type_rules import (
    BINARY,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGRAL,
    STRING,
    TIMESTAMPS,
    decimal_of,
    decimal_type,
    sql_type,
    type_name,
)

__all__ = ["FUNCTIONS", "MISMATCH", "PATTERN", "to_number"]

_PATTERN = re.compile(
    r"(?P<lead>S|MI)?(?P<currency>\$)?(?P<whole>[09]+(?:,[09]+)*)?(?:\.(?P<places>[09]+))?(?P<trail>S|MI|PR)?"
)
_DECIMALS = {FLOAT: (14, 7), DOUBLE: (30, 15), STRING: (38, 18)}
"""The decimals to which Spark casts other operands of ``to_char``."""

MISMATCH = raising("INVALID_FORMAT.MISMATCH_INPUT", "the text ' || {0} || ' does not fit the pattern")
"""What ``to_number`` raises."""


@dataclass(frozen=True)
class _Pattern:
    """A pattern of numbers: the signs around it, its groups of digits, and the number of its places."""

    lead: str
    currency: str
    groups: tuple[str, ...]
    places: int
    trail: str

    @classmethod
    def of(cls, node: Node, function: str) -> "_Pattern":
        """Read an argument that must be a literal."""
        text = literal_text(node, f"the format of {function}")
        plain = text.upper().replace("G", ",").replace("D", ".")
        found = _PATTERN.fullmatch(plain)
        if found is None or not re.search("[09]", plain) or (found["lead"] and found["trail"]):
            raise refused(f"the format {text!r} of numbers")
        groups = tuple(found["whole"].split(",")) if found["whole"] else ()
        lead, currency, trail = (found[each] or "" for each in ("lead", "currency", "trail"))
        return cls(lead, currency, groups, len(found["places"] or ""), trail)

    @property
    def width(self) -> int:
        """The number of digits before the point."""
        return sum(map(len, self.groups))


def _to_char(operand: Node, form: Node) -> Node:
    """``to_char`` of a number, a time or bytes."""
    if operand.type == DATE or operand.type in TIMESTAMPS:
        return date_format(operand, form)
    if operand.type == BINARY:
        return _of_bytes(operand, literal_text(form, "the format of to_char").lower())
    if operand.type not in INTEGRAL and decimal_of(operand.type) is None:
        if operand.type not in _DECIMALS:
            raise refused(f"to_char of {type_name(operand.type)}")
        operand = cast(operand, decimal_type(*_DECIMALS[operand.type]))
    pattern = _Pattern.of(form, "to_char")
    scale = (decimal_of(operand.type) or (0, 0))[1]
    sql = let(
        _signed(pattern),
        t=f"CAST(abs(CAST({{0}} AS DECIMAL(38,{scale}))) AS VARCHAR)",
        w="ltrim(split_part(t, '.', 1), '0')",
        f="rtrim(split_part(t, '.', 2), '0')",
        digits=_digits(pattern),
    )
    return call("to_char", (operand,), STRING, given(sql))


def _of_bytes(operand: Node, name: str) -> Node:
    if name == "hex":
        return hexadecimal(operand)
    if name == "base64":
        return base64_text(operand)
    if name != "utf-8":
        raise refused(f"to_char of binary in {name!r}")
    return cast(operand, STRING)


def _digits(pattern: _Pattern) -> str:
    """SQL of the digits of ``w``, before the point, and ``f``, behind it; signs if they do not fit."""
    signs, shown = " ".join("#" * len(each) for each in pattern.groups), _whole(pattern)
    if pattern.places:
        signs += f".{'#' * pattern.places}"
        shown += ["'.'", f"rpad(f, {pattern.places}, '0')"]
    beyond = f"length(w) > {pattern.width} OR length(f) > {pattern.places}"
    return f"CASE WHEN {beyond} THEN '{signs}' ELSE {' || '.join(shown)} END"


def _whole(pattern: _Pattern) -> list[str]:
    """SQL of each character before the point."""
    found, behind, is_filled = list[str](), pattern.width, False
    for number, group in enumerate(pattern.groups):
        if number:
            found.append("','" if is_filled else f"CASE WHEN length(w) > {behind} THEN ',' ELSE ' ' END")
        is_filled = is_filled or group.startswith("0")
        for _ in group:
            is_last = behind == 1 and pattern.places > 0
            blank = "'0'" if group.startswith("0") else _zero(pattern) if is_last else "' '"
            digit = f"substring(w, length(w) - {behind - 1}, 1)"
            found.append(f"CASE WHEN length(w) >= {behind} THEN {digit} ELSE {blank} END")
            behind -= 1
    return found


def _zero(pattern: _Pattern) -> str:
    """SQL of the zero before the point of a number below 1, which is a blank behind a sign."""
    if pattern.currency or not (pattern.lead or pattern.trail == "PR"):
        return "'0'"
    return "' '" if pattern.lead == "S" else "CASE WHEN {0} < 0 THEN ' ' ELSE '0' END"


def _signed(pattern: _Pattern) -> str:
    """SQL of ``digits`` with the sign; their blanks come before a sign at the beginning."""
    plus = "+" if "S" in (pattern.lead, pattern.trail) else " "
    sign = f"CASE WHEN {{0}} < 0 THEN '-' ELSE '{plus}' END"
    text = "'$' || digits" if pattern.currency else "digits"
    if pattern.trail == "PR":
        inside = _behind("'<'", pattern)
        return f"CASE WHEN {{0}} < 0 THEN {inside} || '>' ELSE {text} || '  ' END"
    if pattern.lead:
        return _behind(sign, pattern)
    return f"{text} || {sign}" if pattern.trail else text


def _behind(sign: str, pattern: _Pattern) -> str:
    if pattern.currency:
        return f"{sign} || '$' || digits"
    return f"repeat(' ', length(digits) - length(ltrim(digits))) || {sign} || ltrim(digits)"


def to_number(operand: Node, form: Node) -> Node:
    """``to_number``: the number that a text by a pattern is."""
    pattern = _Pattern.of(form, "to_number")
    result = decimal_type(pattern.width + pattern.places, pattern.places)
    shape = escaped(_shape(pattern))
    sign = "CASE WHEN regexp_matches({0}, '[<-]') THEN '-' ELSE '' END"
    number = f"CAST({sign} || regexp_replace({{0}}, '[^0-9.]', '', 'g') AS {sql_type(result)})"
    sql = (
        "CASE WHEN regexp_matches({0}, '[^ -~]') THEN"
        " error('unsupported: to_number of letters outside ASCII')"
        f" WHEN regexp_full_match({{0}}, '{shape}') AND regexp_matches({{0}}, '[0-9]') THEN {number}"
        f" ELSE {MISMATCH} END"
    )
    return call("to_number", (as_text(operand),), result, given(sql), fails=True)


_DIGIT = "(?: *[0-9])"
"""A digit; blanks may stand before and behind digits, but before no sign."""


def _shape(pattern: _Pattern) -> str:
    """The regular expression of texts by a pattern: groups of nines may be shorter, or missing."""
    whole = ""
    for number, group in enumerate(pattern.groups):
        least = len(group) if group.startswith("0") else 0
        before = f"(?:{whole},)" if number else ""
        is_required = number and pattern.groups[0].startswith("0")
        whole = f"{before}{'?' if before and not is_required else ''}{_DIGIT}{{{least},{len(group)}}} *"
    digits = whole + (f"(?:\\.{_DIGIT}{{0,{pattern.places}}} *)?" if pattern.places else "")
    body = ("\\$" if pattern.currency else "") + digits
    signs = {"S": "[+-]?", "MI": "-?"}
    if pattern.trail == "PR":
        return f"<{body}>|{body}"
    return signs.get(pattern.lead, "") + body + signs.get(pattern.trail, "")


PATTERN = "format must be a literal"
FUNCTIONS = (
    Function(("to_char", "to_varchar"), "value, format", (2, 2), _to_char, PATTERN),
    Function(("to_number",), "string, format", (2, 2), to_number, PATTERN),
)
"""The functions of this module."""
