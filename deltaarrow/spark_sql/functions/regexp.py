"""Regular expression functions. The pattern must be a literal that Java and RE2 interpret alike.

A match at the end of a text is found only in texts that do not end with a line end, because Java's ``$`` also
matches before one. An expression that matches the empty text is refused where both would go on differently.
"""

import re

from deltaarrow.schema import ArrayType
from deltaarrow.spark_sql.functions.function import Function, as_text, literal_integer, literal_text
from deltaarrow.spark_sql.functions.patterns import is_plain_separator, regular_expression
from deltaarrow.spark_sql.tree.forms import given
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, refused
from deltaarrow.spark_sql.types.type_rules import INTEGER, STRING

__all__ = ["FUNCTIONS", "split"]

_END_OF_LINE = "[\\n\\r\\x{{85}}\\x{{2028}}\\x{{2029}}]\\z"
_GROUP = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|(\((?!\?))|(\(\?:)|(\))([*+{]?)", re.DOTALL)
_REPLACED = re.compile(r"\$(\d)|\\(.)|([^$\\]+)", re.DOTALL)


class _Pattern:
    """A regular expression: that of RE2, and what has to be known of it."""

    def __init__(self, node: Node, *, may_be_empty: bool) -> None:
        self.text = literal_text(node, "a regular expression")
        self.is_anchored = self.text.endswith("$")
        inner = self.text[:-1] if self.is_anchored else self.text
        self.sql = regular_expression(inner) + ("\\z" if self.is_anchored else "")
        self.groups, self.repeats_group = _groups(self.text)
        if not may_be_empty and re.match(_of_python(self.text), "") is not None:
            raise refused(f"the regular expression {self.text!r}, which matches an empty text,")

    @property
    def node(self) -> Node:
        return Constant(self.sql, STRING)

    def group(self, number: int) -> int:
        """Check the number of a group."""
        if not 0 <= number <= self.groups:
            raise refused(f"group {number} of the regular expression {self.text!r}")
        if number and self.repeats_group:
            raise refused(f"a group of the regular expression {self.text!r}, which repeats groups,")
        return number

    def checked(self, sql: str, count: int) -> tuple[str, bool]:
        """SQL that is computed where no operand is NULL and ``$`` means the end; whether it may fail."""
        if not self.is_anchored:
            return given(sql, count), False
        beyond = "error('unsupported: a line end at the end of a text, and $ in a regular expression')"
        return given(
            f"CASE WHEN regexp_matches({{0}}, '{_END_OF_LINE}') THEN {beyond} ELSE {sql} END", count
        ), True


def _groups(text: str) -> tuple[int, bool]:
    """The number of groups, and whether one is repeated, or lies within something that is."""
    count = 0
    opened: list[tuple[bool, int]] = []
    repeats = False
    for found in _GROUP.finditer(text):
        if found[1] or found[2]:
            opened.append((bool(found[1]), count))
            count += bool(found[1])
        elif found[3] and opened:
            _, before = opened.pop()
            repeats |= bool(found[4]) and count > before
    return count, repeats


def _of_python(text: str) -> str:
    return text.replace("\\z", "\\Z")


def _replaced(operand: Node, pattern: Node, replacement: Node, start: Node | None = None) -> Node:
    if start is not None and literal_integer(start, "the start of regexp_replace") != 1:
        raise refused("regexp_replace from another place than the first")
    found = _Pattern(pattern, may_be_empty=False)
    text = literal_text(replacement, "the replacement of regexp_replace")
    parts, place = [], 0
    while place < len(text):
        piece = _REPLACED.match(text, place)
        if piece is None:
            raise refused(f"the replacement {text!r}")
        place = piece.end()
        if piece[1]:
            number = found.group(int(piece[1]))
            while (
                place < len(text) and text[place].isdigit() and number * 10 + int(text[place]) <= found.groups
            ):
                number = found.group(number * 10 + int(text[place]))
                place += 1
            if number > 9:
                raise refused(f"group {number} in a replacement")
            parts.append(f"\\{number}")
        else:
            parts.append(piece[2] or piece[3])
    if any(part == "\\" for part in parts):
        raise refused("a backslash in a replacement")
    nodes = (as_text(operand), found.node, Constant("".join(parts), STRING))
    sql, fails = found.checked("regexp_replace({0}, {1}, {2}, 'g')", 1)
    return call("regexp_replace", nodes, STRING, sql, fails=fails)


def _extracted(operand: Node, pattern: Node, group: Node | None = None) -> Node:
    found = _Pattern(pattern, may_be_empty=True)
    number = found.group(1 if group is None else literal_integer(group, "the group of regexp_extract"))
    sql, fails = found.checked(f"coalesce(regexp_extract({{0}}, {{1}}, {number}), '')", 1)
    return call("regexp_extract", (as_text(operand), found.node), STRING, sql, fails=fails)


def _all_extracted(operand: Node, pattern: Node, group: Node | None = None) -> Node:
    found = _Pattern(pattern, may_be_empty=False)
    number = found.group(1 if group is None else literal_integer(group, "the group of regexp_extract_all"))
    listed = f"list_transform(regexp_extract_all({{0}}, {{1}}, {number}), lambda x: coalesce(x, ''))"
    sql, fails = found.checked(listed, 1)
    return call("regexp_extract_all", (as_text(operand), found.node), ArrayType(STRING), sql, fails=fails)


def _counted(operand: Node, pattern: Node) -> Node:
    found = _Pattern(pattern, may_be_empty=False)
    sql, fails = found.checked("CAST(len(regexp_extract_all({0}, {1}, 0)) AS INTEGER)", 1)
    return call("regexp_count", (as_text(operand), found.node), INTEGER, sql, fails=fails)


def _first(operand: Node, pattern: Node) -> Node:
    found = _Pattern(pattern, may_be_empty=True)
    matched = "nullif(regexp_extract({0}, {1}, 0), '')"
    sql, fails = found.checked(matched, 1)
    return call("regexp_substr", (as_text(operand), found.node), STRING, sql, fails=fails)


def _place(operand: Node, pattern: Node) -> Node:
    found = _Pattern(pattern, may_be_empty=False)
    if found.text.startswith("^"):
        raise refused("regexp_instr of a regular expression that begins with ^")
    before = Constant(f"(?s:\\A(.*?))(?:{found.sql})", STRING)
    place = "CASE WHEN regexp_matches({0}, {1}) THEN length(regexp_extract({0}, {2}, 1)) + 1 ELSE 0 END"
    sql, fails = found.checked(f"CAST({place} AS INTEGER)", 1)
    return call("regexp_instr", (as_text(operand), found.node, before), INTEGER, sql, fails=fails)


def split(operand: Node, separator: Node, limit: Node | None = None) -> Node:
    """``split`` by a regular expression; `limit` is the greatest number of parts, if it is positive."""
    text = literal_text(separator, "the separator of split")
    most = 0 if limit is None else literal_integer(limit, "the limit of split")
    data_type = ArrayType(STRING, contains_null=False)
    if is_plain_separator(text) or not text:
        nodes = (as_text(operand), Constant(text, STRING))
        sql = "string_split({0}, {1})"
        if most > 0:
            if not text:
                raise refused("split by an empty text with a limit")
            rest = f"[array_to_string(p[{most}:], {{1}})]"
            cut = f"CASE WHEN len(p) > {most} THEN list_concat(p[1:{most - 1}], {rest}) ELSE p END"
            sql = given(f"list_transform([{sql}], lambda p: {cut})[1]")
        return call("split", nodes, data_type, sql)
    if most > 0:
        raise refused("split by a regular expression with a limit")
    found = _Pattern(separator, may_be_empty=False)
    if found.is_anchored or text.startswith("^"):
        raise refused(f"split by the regular expression {text!r}")
    return call("split", (as_text(operand), found.node), data_type, given("string_split_regex({0}, {1})"))


FUNCTIONS = (
    Function(
        ("regexp_replace",),
        "string, pattern, replacement",
        (3, 4),
        _replaced,
        "pattern and replacement must be literals",
    ),
    Function(
        ("regexp_extract",),
        "string, pattern[, group]",
        (2, 3),
        _extracted,
        "pattern and group must be literals",
    ),
    Function(
        ("regexp_extract_all",),
        "string, pattern[, group]",
        (2, 3),
        _all_extracted,
        "pattern and group must be literals",
    ),
    Function(("regexp_count",), "string, pattern", (2, 2), _counted, "pattern must be a literal"),
    Function(("regexp_substr",), "string, pattern", (2, 2), _first, "pattern must be a literal"),
    Function(("regexp_instr",), "string, pattern", (2, 2), _place, "pattern must be a literal"),
    Function(("split",), "string, pattern[, limit]", (2, 3), split, "pattern and limit must be literals"),
)
"""The functions of this module."""
