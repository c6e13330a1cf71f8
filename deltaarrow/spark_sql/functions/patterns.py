"""Patterns of ``LIKE`` and ``RLIKE`` that mean the same in DuckDB and in Spark.

Spark reads a regular expression as Java's, DuckDB as RE2's. Notation that both read alike passes, and known
differences are rewritten: the line ends that ``.`` does not match and that may follow ``$``.
Everything else (look-around, back references, possessive quantifiers, flags, Unicode classes) is refused.
"""

import re

from deltaarrow.errors import SchemaMismatchError
from deltaarrow.spark_sql.tree.nodes import refused

__all__ = ["is_plain_separator", "like_pattern", "like_prefix", "regular_expression"]

_MAX_REPEAT = 1000
_LIKE_TOKEN = re.compile(r"\\[\\%_]|[^\\]", re.DOTALL)
_PUNCTUATION = re.escape("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_TOKEN = re.compile(
    rf"""(?P<class>\[\^?(?:\\[dDwWs{_PUNCTUATION}tn]|[^\\\[\]&^-]|(?<=[^\[^])-(?=[^\]\\]))+\])
    |(?P<any>\.)
    |(?P<open>\((?:\?:)?(?![?*+{{]))
    |(?P<close>\))
    |(?P<or>\|)
    |(?P<start>\^)
    |(?P<end>\$)
    |(?P<repeat>(?:[*+?]|\{{(?P<least>\d{{1,4}})(?:,(?P<most>\d{{0,4}}))?\}})(?![*+]))
    |(?P<space>\\s)
    |(?P<other>\\S)
    |(?P<escape>\\[dDwWtn{_PUNCTUATION}])
    |(?P<plain>[^\\\[\](){{}}*+?|^$.\r])""",
    re.VERBOSE | re.DOTALL,
)
_LINE_ENDS = "\\n\\r\\x{85}\\x{2028}\\x{2029}"


def like_pattern(text: str, escape: str = "\\") -> str:
    r"""The pattern of a ``LIKE`` with backslashes; `escape` may only stand before a wildcard or itself.

    >>> print(like_pattern("50!%_!!", "!"))
    50\%_!
    """
    if len(escape) != 1:
        raise SchemaMismatchError(f"[INVALID_ESC] {escape!r} after ESCAPE is not one character")
    if escape in "%_":
        raise refused(f"ESCAPE {escape!r}")
    sign = re.escape(escape)
    tokens = re.findall(rf"{sign}[%_{sign}]|[^{sign}]", text, re.DOTALL)
    if "".join(tokens) != text:
        kind = "ESC_AT_THE_END" if text.endswith(escape) else "ESC_IN_THE_MIDDLE"
        raise SchemaMismatchError(
            f"[INVALID_FORMAT.{kind}] in the LIKE pattern {text!r}, {escape!r} stands before something other"
            " than % and _: write it twice"
        )
    if escape == "\\":
        return text
    known = {"\\": "\\\\", f"{escape}%": "\\%", f"{escape}_": "\\_", escape * 2: escape}
    return "".join(known.get(each, each) for each in tokens)


def like_prefix(pattern: str) -> tuple[str, bool, bool]:
    r"""The text before the first wildcard; whether it is the whole pattern; whether only ``%`` follows.

    >>> like_prefix(r"50\%\_%"), like_prefix("ab"), like_prefix("a_b")
    (('50%_', False, True), ('ab', True, False), ('a', False, False))
    """
    prefix = ""
    tokens = _LIKE_TOKEN.findall(pattern)
    for place, token in enumerate(tokens):
        if token in ("%", "_"):
            return prefix, False, token == "%" and place == len(tokens) - 1
        prefix += token[-1]
    return prefix, True, False


def is_plain_separator(text: str) -> bool:
    """Whether a regular expression matches just its own characters."""
    return bool(text) and not re.search(r"[\\\[\](){}*+?|^$.]", text)


def regular_expression(text: str) -> str:
    r"""The RE2 expression that matches what `text` matches in Java.

    >>> print(regular_expression("^[a-z]+.b"))
    ^[a-z]+[^\n\r\x{85}\x{2028}\x{2029}]b
    """
    parts: list[str] = []
    place = depth = 0
    before = ""
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise refused(f"the regular expression {text!r}")
        kind = found.lastgroup or ""
        kind = "repeat" if kind in ("least", "most") else kind
        depth += {"open": 1, "close": -1}.get(kind, 0)
        if (
            depth < 0
            or (kind == "start" and place > 0)
            or (kind == "end" and found.end() < len(text))
            or (kind == "repeat" and not _may_repeat(before, found))
        ):
            raise refused(f"the regular expression {text!r}")
        parts.append(_class(found[0]) if kind == "class" else _RE2.get(kind, found[0]))
        before = "lazy" if kind == "repeat" and before == "repeat" else kind
        place = found.end()
    if depth:
        raise refused(f"the regular expression {text!r}")
    return "".join(parts)


def _may_repeat(before: str, found: "re.Match[str]") -> bool:
    if before == "repeat":
        return found[0] == "?"
    if before in ("", "open", "or", "start", "end", "lazy"):
        return False
    limits = [int(each) for each in (found["least"], found["most"]) if each]
    return all(each <= _MAX_REPEAT for each in limits) and limits == sorted(limits)


def _class(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _SPACE if found[1] == "s" else found[0], text, flags=re.DOTALL)


_SPACE = " \\t\\n\\x0b\\f\\r"
_RE2 = {
    "any": f"[^{_LINE_ENDS}]",
    "end": f"(?:\\r\\n|[{_LINE_ENDS}])?\\z",
    "space": f"[{_SPACE}]",
    "other": f"[^{_SPACE}]",
}
