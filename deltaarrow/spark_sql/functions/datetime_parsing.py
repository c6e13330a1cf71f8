"""Dates and timestamps parsed from strings by a pattern: ``to_date(string, 'dd/MM/yyyy')``.

A pattern has to be a literal of letters whose meaning is certain: years of four or two digits, months by
number or English name, days, hours with or without AM and PM, minutes, seconds and fractions.
"""

import re
from dataclasses import dataclass

from deltaarrow.compute import quote_literal
from deltaarrow.spark_sql.functions.datetime import date_format, to_date, to_timestamp
from deltaarrow.spark_sql.functions.function import (
    Function,
    as_long,
    as_timestamp,
    literal_text,
    timestamp_at,
)
from deltaarrow.spark_sql.tree.forms import given, let, raised_as
from deltaarrow.spark_sql.tree.nodes import Call, Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.coercion import exactly
from deltaarrow.spark_sql.types.type_rules import (
    DATE,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    VOID,
    type_name,
)

__all__ = ["FUNCTIONS"]

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September", "October"),
    *("November", "December"),
)
_SHORT_MONTHS = tuple(each[:3] for each in _MONTHS)
_RUN = re.compile(r"'(?P<text>[^']*)'|(?P<run>([A-Za-z])\3*)|(?P<other>[^A-Za-z'#\[\]{}])")
_TWO, _FEW = "[0-9]{2}", "[0-9]{1,9}"
_PARTS = {
    "yyyy": ("y", "[0-9]{4}"),
    "yy": ("y", _TWO),
    "MMMM": ("mo", "|".join(_MONTHS)),
    "MMM": ("mo", "|".join(_SHORT_MONTHS)),
    "MM": ("mo", _TWO),
    "M": ("mo", _FEW),
    "dd": ("d", _TWO),
    "d": ("d", _FEW),
    "HH": ("h", _TWO),
    "H": ("h", _FEW),
    "hh": ("h", _TWO),
    "h": ("h", _FEW),
    "mm": ("mi", _TWO),
    "m": ("mi", _FEW),
    "ss": ("s", _TWO),
    "s": ("s", _FEW),
    "a": ("half", "AM|PM"),
}
_NO_TIME = raising("CANNOT_PARSE_TIMESTAMP", "the text ' || {0} || ' cannot be read as a time by the pattern")


@dataclass(frozen=True)
class _Pattern:
    """What a pattern means: an expression with a group for each part, and how each part was written."""

    expression: str
    runs: dict[str, str]

    def sql(self, *, tries: bool) -> str:
        """The timestamp that the text ``{0}`` means; an error, or NULL if `tries`."""
        names = ", ".join(quote_literal(name) for name in self.runs)
        expression = escaped(quote_literal(f"(?i){self.expression}"))
        day = f"make_date({self._year()}, {self._month()}, {self._number('d', 1)})"
        moment = (
            f"make_timestamp(epoch_us(CAST({day if tries else raised_as(_NO_TIME, day)}"
            f" AS TIMESTAMP)) + ({self._hour()} * 3600 + {self._number('mi', 0)} * 60 +"
            f" {self._number('s', 0)})::BIGINT * 1000000 + {self._fraction()})"
        )
        if tries:
            moment = f"TRY({moment})"
        limits = (f"{self._number(name, 0)} > {most}" for name, most in (("mi", 59), ("s", 59)))
        wrong = " OR ".join((*limits, f"{self._hour()} NOT BETWEEN 0 AND 23", f"{self._number('h', 1)} > 23"))
        if "a" in self.runs.values():
            wrong += f" OR {self._number('h', 1)} NOT BETWEEN 1 AND 12"
        else_ = "NULL" if tries else _NO_TIME
        year = f"{self._year()} = 0 THEN error('unsupported: a time outside the years 1 to 9999')"
        checked = f"CASE WHEN {wrong} THEN {else_} WHEN {year} ELSE {moment} END"
        found = let(checked, g=f"regexp_extract({{0}}, {expression}, [{names}])")
        return given(f"CASE WHEN regexp_full_match({{0}}, {expression}) THEN {found} ELSE {else_} END")

    def _number(self, name: str, default: int) -> str:
        return f"CAST(g.{name} AS INTEGER)" if name in self.runs else str(default)

    def _year(self) -> str:
        year = self._number("y", 1970)
        return f"(2000 + {year})" if self.runs.get("y") == "yy" else year

    def _month(self) -> str:
        if self.runs.get("mo") in ("MMM", "MMMM"):
            listed = ", ".join(f"'{each.lower()}'" for each in _SHORT_MONTHS)
            return f"CAST(list_position([{listed}], lower(left(g.mo, 3))) AS INTEGER)"
        return self._number("mo", 1)

    def _hour(self) -> str:
        hour = self._number("h", 0)
        if "half" not in self.runs:
            return hour
        return f"({hour} % 12 + CASE WHEN upper(g.half) = 'PM' THEN 12 ELSE 0 END)"

    def _fraction(self) -> str:
        return "CAST(rpad(g.part, 6, '0') AS BIGINT)" if "part" in self.runs else "0"


def _pattern(text: str) -> _Pattern:
    expression, place, before = "", 0, ""
    runs: dict[str, str] = {}
    while place < len(text):
        found = _RUN.match(text, place)
        run = found["run"] if found else None
        if found is None or (run and run not in _PARTS and set(run) != {"S"}) or len(run or "") > 6:
            raise refused(f"the pattern {text!r} for reading times")
        if run:
            name, digits = ("part", f"[0-9]{{1,{len(run)}}}") if run[0] == "S" else _PARTS[run]
            is_open = before and (_PARTS.get(before, ("", _FEW))[1] == _FEW)
            if name in runs or is_open:
                raise refused(f"the pattern {text!r} for reading times")
            runs[name] = run
            expression += f"(?P<{name}>{digits})"
        else:
            plain = found["text"] if found["text"] is not None else found["other"]
            expression += "".join(_quoted(each) for each in (plain or "'"))
        before = run or ""
        place = found.end()
    if not runs or ("half" in runs) != (runs.get("h") in ("h", "hh")) or not text.isascii():
        raise refused(f"the pattern {text!r} for reading times")
    if ("d" in runs and "mo" not in runs) or ("mo" in runs and "y" not in runs):
        raise refused(f"the pattern {text!r}, which leaves out a part of the date,")
    return _Pattern(expression, runs)


def _quoted(character: str) -> str:
    return character if character.isalnum() or character == " " else f"\\{character}"


def _read(name: str, operand: Node, pattern: Node, *, tries: bool = False) -> Call:
    """The local time that a text means by a pattern."""
    found = _pattern(literal_text(pattern, f"the pattern of {name}"))
    return call(name, (exactly(operand, STRING),), TIMESTAMP_NTZ, found.sql(tries=tries), fails=True)


def _date(operand: Node, pattern: Node | None = None) -> Node:
    if pattern is None or operand.type in (DATE, *TIMESTAMPS):
        return to_date(operand)
    return cast(timestamp_at(_read("to_date", operand, pattern)), DATE)


def _timestamp(operand: Node, pattern: Node | None = None) -> Node:
    if operand.type not in (DATE, STRING, VOID, *TIMESTAMPS):
        raise refused(f"a timestamp made of {type_name(operand.type)}")
    if pattern is None or operand.type in (DATE, *TIMESTAMPS):
        return to_timestamp(operand)
    return timestamp_at(_read("to_timestamp", operand, pattern))


def _timestamp_ntz(operand: Node, pattern: Node | None = None) -> Node:
    if pattern is not None and operand.type not in (DATE, *TIMESTAMPS):
        return _read("to_timestamp_ntz", operand, pattern)
    if operand.type not in (DATE, STRING, VOID, *TIMESTAMPS):
        raise refused(f"a timestamp made of {type_name(operand.type)}")
    return cast(operand, TIMESTAMP_NTZ)


def _try_date(operand: Node, pattern: Node) -> Node:
    return cast(timestamp_at(_read("try_to_date", operand, pattern, tries=True)), DATE)


def _try_timestamp(operand: Node, pattern: Node) -> Node:
    return timestamp_at(_read("try_to_timestamp", operand, pattern, tries=True))


def _unix(operand: Node, pattern: Node | None = None) -> Node:
    """``unix_timestamp``: seconds since 1970; a text is read by the pattern."""
    moment: Node
    if operand.type == STRING:
        moment = timestamp_at(_read("unix_timestamp", operand, pattern or _DEFAULT))
    else:
        moment = as_timestamp(operand)
    # Unlike a cast, this rounds towards 1970.
    return call("unix_timestamp", (moment,), LONG, "epoch_us({0}) // 1000000")


_DEFAULT = Constant("yyyy-MM-dd HH:mm:ss", STRING)


def _from_unix(seconds: Node, pattern: Node | None = None) -> Node:
    moment = cast(as_long(seconds), TIMESTAMP)
    return date_format(moment, "yyyy-MM-dd HH:mm:ss" if pattern is None else pattern)


FUNCTIONS = (
    Function(("to_date",), "value[, pattern]", (1, 2), _date, "pattern must be a literal"),
    Function(
        ("to_timestamp", "to_timestamp_ltz"),
        "value[, pattern]",
        (1, 2),
        _timestamp,
        "pattern must be a literal",
    ),
    Function(("to_timestamp_ntz",), "value[, pattern]", (1, 2), _timestamp_ntz, "pattern must be a literal"),
    Function(("try_to_date",), "string, pattern", (2, 2), _try_date, "pattern must be a literal"),
    Function(("try_to_timestamp",), "string, pattern", (2, 2), _try_timestamp, "pattern must be a literal"),
    Function(
        ("unix_timestamp", "to_unix_timestamp"),
        "value[, pattern]",
        (1, 2),
        _unix,
        "pattern must be a literal",
    ),
    Function(("from_unixtime",), "seconds[, pattern]", (1, 2), _from_unix, "pattern must be a literal"),
)
"""The functions of this module."""
