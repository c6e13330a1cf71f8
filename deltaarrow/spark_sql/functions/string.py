"""String functions; lengths and positions count code points, as in Spark."""

from collections.abc import Callable

from deltaarrow.schema import ArrayType, MapType, PrimitiveType
from deltaarrow.spark_sql.functions.function import (
    Function,
    as_integer,
    as_text,
    literal_integer,
    literal_text,
    same_type,
)
from deltaarrow.spark_sql.functions.operators import add, compare
from deltaarrow.spark_sql.functions.patterns import is_plain_separator, like_pattern, regular_expression
from deltaarrow.spark_sql.tree.forms import given, let, limited
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.char_comparison import padded_pair
from deltaarrow.spark_sql.types.coercion import exactly
from deltaarrow.spark_sql.types.type_rules import BINARY, BOOLEAN, INTEGER, LONG, STRING, VOID, type_name

__all__ = ["FUNCTIONS", "concatenate", "is_ilike", "like", "lower", "matches", "substring", "trimmed"]


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


_MOST_REPEATED = 10_000

_MOST_CHARACTERS = 100_000_000

_ZERO = raising("INVALID_INDEX_OF_ZERO", "an index is 0, but the first part has index 1")


def _split_part(operand: Node, separator: Node, place: Node) -> Node:
    nodes = (as_text(operand), as_text(separator), as_integer(place))
    whole = "CASE WHEN abs({2}) = 1 THEN {0} ELSE '' END"
    part = f"CASE WHEN {{1}} = '' THEN {whole} ELSE split_part({{0}}, {{1}}, {{2}}) END"
    return call(
        "split_part", nodes, STRING, given(f"CASE WHEN {{2}} = 0 THEN {_ZERO} ELSE {part} END", 3), fails=True
    )


def _substring_index(operand: Node, separator: Node, count: Node) -> Node:
    text = literal_text(separator, "the separator of substring_index")
    if any(text.endswith(text[:length]) for length in range(1, len(text))):
        raise refused(f"substring_index by {text!r}, which may overlap itself,")
    nodes = (as_text(operand), Constant(text, STRING), as_integer(count))
    parts = "CASE WHEN {2} > 0 THEN p[1:{2}] ELSE p[greatest(len(p) + {2} + 1, 1):] END"
    joined = let(f"array_to_string({parts}, {{1}})", p="string_split({0}, {1})")
    lowest = "{2} = -2147483648 THEN error('a count beyond the range of substring_index')"
    sql = f"CASE WHEN {{2}} = 0 OR {{1}} = '' THEN '' WHEN {lowest} ELSE {joined} END"
    return call("substring_index", nodes, STRING, given(sql, 3), fails=True)


def _located(part: Node, operand: Node, start: Node | None = None) -> Node:
    nodes = (as_text(part), as_text(operand), as_integer(start or Constant(1, INTEGER)))
    behind = let(
        "CASE WHEN place = 0 THEN 0 ELSE place + {2} - 1 END", place="instr(substring({1}, {2}), {0})"
    )
    sql = (
        "CASE WHEN {2} IS NULL THEN 0 WHEN {0} IS NULL OR {1} IS NULL THEN NULL WHEN {2} < 1 THEN 0"
        f" WHEN {{0}} = '' THEN 1 ELSE {behind} END"
    )
    return call("locate", nodes, INTEGER, f"CAST({sql} AS INTEGER)")


def _place_in_set(part: Node, listed: Node) -> Node:
    nodes = (as_text(part), as_text(listed))
    place = "coalesce(list_position(string_split({1}, ','), {0}), 0)"
    sql = f"CASE WHEN contains({{0}}, ',') THEN 0 ELSE {place} END"
    return call("find_in_set", nodes, INTEGER, given(f"CAST({sql} AS INTEGER)", 2))


def _overlaid(operand: Node, other: Node, start: Node, length: Node | None = None) -> Node:
    text, part, place = (
        exactly(operand, STRING),
        exactly(other, STRING),
        as_integer(start),
    )
    own = call("length", (part,), INTEGER, "CAST(length({0}) AS INTEGER)")
    count = own if length is None else as_integer(length)
    if length is not None:
        count = call("if", (count, own), INTEGER, "CASE WHEN {0} < 0 THEN {1} ELSE {0} END")
    one = Constant(1, INTEGER)
    before = substring(text, one, add(place, one, "-"))
    return concatenate(before, part, substring(text, add(place, count, "+")))


def _chosen(place: Node, *values: Node) -> Node:
    if all(each.type == BINARY for each in values):
        raise refused("elt of binary")
    nodes = (as_integer(place), *map(as_text, values))
    branches = " ".join(f"WHEN {number} THEN {{{number}}}" for number in range(1, len(nodes)))
    missing = raising("INVALID_ARRAY_INDEX", "elt has no argument ' || {0} || '")
    sql = f"CASE {{0}} {branches} ELSE {missing} END"
    return call("elt", nodes, STRING, given(sql), fails=True)


def trimmed(name: str) -> Callable[..., Node]:
    """How a call of ``trim``, ``ltrim`` or ``rtrim`` with the characters to remove is bound."""

    def bind(characters: Node, operand: Node) -> Node:
        nodes = (as_text(characters), as_text(operand))
        # DuckDB takes an empty set of characters for blanks.
        sql = f"CASE WHEN {{0}} = '' THEN {{1}} ELSE {name}({{1}}, {{0}}) END"
        return call(name, nodes, STRING, given(sql, 2))

    return bind


def _both_trimmed(operand: Node, characters: Node | None = None) -> Node:
    return trimmed("trim")(characters or Constant(" ", STRING), operand)


def _repeated(operand: Node, count: Node) -> Node:
    nodes = (as_text(operand), as_integer(count))
    known = isinstance(count, Constant) and isinstance(count.value, int) and count.value <= _MOST_REPEATED
    if known:
        return call("repeat", nodes, STRING, given("repeat({0}, greatest({1}, 0))", 2))
    beyond = f"octet_length(encode({{0}})) * CAST({{1}} AS BIGINT) > {_MOST_CHARACTERS}"
    sql = given(limited("repeat({0}, greatest({1}, 0))", beyond, "repeat to so long a text"), 2)
    return call(f"{UNSTORED}repeat by a count that is not a literal", nodes, STRING, sql, fails=True)


def _blanks(count: Node) -> Node:
    return _repeated(Constant(" ", STRING), count)


def _reversed(operand: Node) -> Node:
    if isinstance(operand.type, ArrayType):
        return call("reverse", (operand,), operand.type, "list_reverse({0})")
    if operand.type == BINARY:
        raise refused("reverse of binary")
    sql = "array_to_string(list_reverse(string_split({0}, '')), '')"
    return call("reverse", (as_text(operand),), STRING, sql)


def _bytes(name: str, factor: int) -> Callable[[Node], Node]:
    def bind(operand: Node) -> Node:
        node = operand if operand.type == BINARY else cast(as_text(operand), BINARY)
        return call(name, (node,), INTEGER, f"CAST(octet_length({{0}}) * {factor} AS INTEGER)")

    return bind


def _translated(operand: Node, characters: Node, others: Node) -> Node:
    nodes = (as_text(operand), as_text(characters), as_text(others))
    return call("translate", nodes, STRING, "translate({0}, {1}, {2})")


def _initial(operand: Node) -> Node:
    """``initcap``: the first letter behind each blank is a capital, the others are small."""
    word = "upper(left(w, 1)) || lower(substring(w, 2))"
    from_text = f"list_transform(string_split({{0}}, ' '), lambda w: {word})"
    safe = "regexp_full_match({0}, '[\\x00-\\x{{7e}}]*')"
    sql = f"CASE WHEN {safe} THEN array_to_string({from_text}, ' ')"
    sql += " ELSE error('unsupported: initcap of letters outside ASCII') END"
    return call("initcap", (as_text(operand),), STRING, given(sql), fails=True)


def _distance(one: Node, other: Node, most: Node | None = None) -> Node:
    nodes = (as_text(one), as_text(other))
    plain = "octet_length(encode({0})) = length({0}) AND octet_length(encode({1})) = length({1})"
    sql = "levenshtein({0}, {1})"
    if most is not None:
        bound = literal_integer(most, "the threshold of levenshtein")
        if bound < 0:
            raise refused(f"levenshtein with the threshold {bound}")
        sql = let(f"CASE WHEN n > {bound} THEN -1 ELSE n END", n=sql)
    sql = f"CASE WHEN {plain} THEN CAST({sql} AS INTEGER)"
    sql += " ELSE error('unsupported: levenshtein of letters outside ASCII') END"
    return call("levenshtein", nodes, INTEGER, given(sql, 2), fails=True)


def _to_map(operand: Node, pair: Node | None = None, key: Node | None = None) -> Node:
    signs = [
        "," if pair is None else literal_text(pair, "the separator of str_to_map"),
        ":" if key is None else literal_text(key, "the separator of str_to_map"),
    ]
    for each in signs:
        if not is_plain_separator(each):
            raise refused(f"str_to_map by the regular expression {each!r}")
    nodes = (exactly(operand, STRING), *(Constant(each, STRING) for each in signs))
    place = "instr(e, {2})"
    whole = "struct_pack(k := e, v := NULL::VARCHAR)"
    both = f"struct_pack(k := left(e, {place} - 1), v := substring(e, {place} + length({{2}})))"
    entry = f"CASE WHEN {place} = 0 THEN {whole} ELSE {both} END"
    entries = f"list_transform(string_split({{0}}, {{1}}), lambda e: {entry})"
    return call("str_to_map", nodes, MapType(STRING, STRING), f"map_from_entries({entries})", fails=True)


def is_ilike(operand: Node, pattern: Node) -> Node:
    """``ILIKE`` with a literal pattern."""
    text = literal_text(pattern, "an ILIKE pattern")
    if not text.isascii():
        raise refused("ILIKE with letters outside ASCII")
    return like(lower(operand), Constant(text.lower(), STRING))


def _equal_null(one: Node, other: Node) -> Node:
    return compare(*padded_pair(one, other), "IS NOT DISTINCT FROM")


def _is_luhn(operand: Node) -> Node:
    digits = "list_reverse(string_split({0}, ''))"
    doubled = "CASE WHEN k % 2 = 0 THEN (d * 2) // 10 + (d * 2) % 10 ELSE d END"
    number = let(doubled, d="CAST(x AS INTEGER)")
    total = f"list_sum(list_transform({digits}, lambda x, k: {number}))"
    sql = f"CASE WHEN regexp_full_match({{0}}, '[0-9]+') THEN {total} % 10 = 0 ELSE FALSE END"
    return call("luhn_check", (as_text(operand),), BOOLEAN, given(sql))


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
    Function(("split_part",), "string, delimiter, part_number", (3, 3), _split_part),
    Function(
        ("substring_index",),
        "string, separator, count",
        (3, 3),
        _substring_index,
        "separator must be a literal",
    ),
    Function(("locate", "position"), "substring, string[, start]", (2, 3), _located),
    Function(("find_in_set",), "string, list", (2, 2), _place_in_set),
    Function(("overlay",), "string, replacement, start[, length]", (3, 4), _overlaid),
    Function(("elt",), "index, string, ...", (2, None), _chosen),
    Function(("btrim",), "string[, characters]", (1, 2), _both_trimmed),
    Function(
        ("repeat",), "string, count", (2, 2), _repeated, "in stored expressions, count must be a literal"
    ),
    Function(("space",), "count", (1, 1), _blanks, "in stored expressions, count must be a literal"),
    Function(("reverse",), "string or array", (1, 1), _reversed),
    Function(("octet_length",), "string or binary", (1, 1), _bytes("octet_length", 1)),
    Function(("bit_length",), "string or binary", (1, 1), _bytes("bit_length", 8)),
    Function(("translate",), "string, characters, replacements", (3, 3), _translated),
    Function(("initcap",), "string", (1, 1), _initial, "ASCII only"),
    Function(("levenshtein",), "string, string[, threshold]", (2, 3), _distance, "ASCII only"),
    Function(
        ("str_to_map",),
        "string[, pair_separator, key_separator]",
        (1, 3),
        _to_map,
        "separators must be literals without regular expression syntax",
    ),
    Function(("ilike",), "string, pattern", (2, 2), is_ilike, "pattern must be an ASCII literal"),
    Function(("equal_null",), "value, value", (2, 2), _equal_null),
    Function(("luhn_check",), "string", (1, 1), _is_luhn),
)
"""The functions of this module."""
