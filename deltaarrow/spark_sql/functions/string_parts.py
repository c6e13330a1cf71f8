"""Functions that find, split, join and measure substrings; positions count code points."""

from collections.abc import Callable

from deltaarrow.schema import ArrayType, MapType
from deltaarrow.spark_sql.functions.function import (
    Function,
    as_integer,
    as_text,
    literal_integer,
    literal_text,
)
from deltaarrow.spark_sql.functions.operators import add, compare
from deltaarrow.spark_sql.functions.patterns import is_plain_separator
from deltaarrow.spark_sql.functions.string import concatenate, like, lower, substring
from deltaarrow.spark_sql.tree.forms import given, let, limited
from deltaarrow.spark_sql.tree.nodes import UNSTORED, Constant, Node, call, refused
from deltaarrow.spark_sql.tree.row_errors import raising
from deltaarrow.spark_sql.types.casts import cast
from deltaarrow.spark_sql.types.char_comparison import padded_pair
from deltaarrow.spark_sql.types.coercion import exactly
from deltaarrow.spark_sql.types.type_rules import BINARY, BOOLEAN, INTEGER, STRING

__all__ = ["FUNCTIONS", "is_ilike", "trimmed"]

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
