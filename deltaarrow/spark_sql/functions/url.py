"""``parse_url``: the parts of a URL, split as by Java's ``URI``.

An authority that names no host, such as one with an underscore, is an authority all the same. Texts that Java
may take apart in another way raise as unsupported: letters outside ASCII, and URLs such as ``mailto:x@y``.
"""

import re

from deltaarrow.spark_sql.functions.function import Function, as_text, literal_text
from deltaarrow.spark_sql.tree.forms import given, let
from deltaarrow.spark_sql.tree.nodes import Constant, Node, call, escaped, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.type_rules import STRING

__all__ = ["FUNCTIONS", "INVALID_URL", "NOTE", "url_part"]

_ESCAPED = "%[0-9a-fA-F]{2}"
_NAMES = r"A-Za-z0-9_!.~''()*,;:$&+=\-"
_LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_LAST_LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_BYTE = "(?:[0-9]|[1-9][0-9]|1[0-9][0-9]|2[0-4][0-9]|25[0-5])"
_HOST = rf"(?:{_LABEL}|(?:{_LABEL}\.)+{_LAST_LABEL}|{_BYTE}(?:\.{_BYTE}){{3}})"
_SERVER = rf"(?P<user>(?:[{_NAMES}]|{_ESCAPED})*@)?(?P<host>{_HOST})(?::[0-9]{{0,9}})?"
_FRAME = (
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*:)?"
    rf"(?P<authority>//(?:[{_NAMES}@]|{_ESCAPED})*)?"
    rf"(?P<path>(?:[{_NAMES}@/]|{_ESCAPED})*)"
    rf"(?P<query>\?(?:[{_NAMES}@/?]|{_ESCAPED})*)?"
    rf"(?P<ref>#(?:[{_NAMES}@/?]|{_ESCAPED})*)?"
)
_UNSURE = "|".join(
    (
        r"[A-Za-z][A-Za-z0-9+.-]*:(?:[^/].*)?",  # something else than slashes behind a scheme
        r"[^A-Za-z/?#][^/?#]*:.*",  # a scheme that begins with no letter
        r"(?:[^/?#]*:)?//(?:[?#].*)?",  # nothing behind two slashes
        r"[^/?#]*//[^/?#]*\.(?:[:/?#].*)?",  # a host with a dot at its end
    )
)
"""Texts that are taken apart in ways of their own, if they are URLs at all."""

_ILLEGAL = r"[\x00-\x20\x22<>\\^`{|}]|%(?:[^0-9a-fA-F]|[0-9a-fA-F][^0-9a-fA-F]|[0-9a-fA-F]?$)"
_PLAIN_KEY = re.compile(r"[\w-]+", re.ASCII)
_PARTS = {
    "PROTOCOL": "nullif(rtrim(g.scheme, ':'), '')",
    "AUTHORITY": "nullif(substring(g.authority, 3), '')",
    "PATH": "g.path",
    "QUERY": "CASE WHEN g.query <> '' THEN substring(g.query, 2) END",
    "REF": "CASE WHEN g.ref <> '' THEN substring(g.ref, 2) END",
    "FILE": "g.path || g.query",
}
_PARTS_OF_SERVER = {"HOST": "s.host", "USERINFO": 'CASE WHEN s."user" <> \'\' THEN left(s."user", -1) END'}

INVALID_URL = raising("INVALID_URL", "the text ' || {0} || ' is no URL; try_parse_url gives NULL")
"""What ``parse_url`` raises."""


def url_part(url: Node, part: Node, key: Node | None = None) -> Node:
    """``parse_url``: a part of a URL, or the value of a key in its query."""
    if any(isinstance(each, Constant) and each.value is None for each in (part, key)):
        return Constant(None, STRING)
    name = literal_text(part, "the part in parse_url")
    if name not in _PARTS and name not in _PARTS_OF_SERVER:
        return Constant(None, STRING)
    sql = _PARTS.get(name) or _of_server(_PARTS_OF_SERVER[name])
    if key is not None:
        sql = _value(literal_text(key, "the key in parse_url")) if name == "QUERY" else "NULL"
    parts = f"regexp_extract({{0}}, '^{escaped(_FRAME)}$', ['scheme', 'authority', 'path', 'query', 'ref'])"
    checked = (
        f"CASE WHEN regexp_full_match({{0}}, '{escaped(_UNSURE)}') THEN {_UNSUPPORTED}"
        f" WHEN regexp_full_match({{0}}, '{escaped(_FRAME)}') THEN {let(sql, g=parts)}"
        f" WHEN regexp_matches({{0}}, '{escaped(_ILLEGAL)}') THEN {INVALID_URL} ELSE {_UNSUPPORTED} END"
    )
    return call("parse_url", (as_text(url),), STRING, given(checked), fails=True)


_UNSUPPORTED = "error('unsupported: parse_url of such a text')"


def _of_server(sql: str) -> str:
    """SQL of a part of the authority, NULL if that names no host."""
    server = escaped(_SERVER)
    parts = f"regexp_extract(a, '^{server}$', ['user', 'host'])"
    return let(
        f"CASE WHEN regexp_full_match(a, '{server}') THEN {let(sql, s=parts)} END",
        a="substring(g.authority, 3)",
    )


def _value(key: str) -> str:
    """SQL of the first value of a key in the query."""
    if not _PLAIN_KEY.fullmatch(key):
        raise refused(f"parse_url of the key {key!r}, which is a regular expression,")
    pattern = f"[?&]{key}=([^&]*)"
    return f"CASE WHEN regexp_matches(g.query, '{pattern}') THEN regexp_extract(g.query, '{pattern}', 1) END"


NOTE = "ASCII only; part and key must be literals"
FUNCTIONS = (Function(("parse_url",), "url, part[, key]", (2, 3), url_part, NOTE),)
"""The functions of this module."""
