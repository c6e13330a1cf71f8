"""Forms of DuckDB SQL that functions share: names for values that are used often, and attempts.

They are parts of the format string of a `Call`: ``{0}`` stands for its first operand.
"""

import re
from collections.abc import Mapping

from deltaarrow.spark_sql.tree.nodes import Call, Node, call, refused

__all__ = [
    "attempted",
    "given",
    "guarded",
    "java_text",
    "let",
    "limited",
    "raised_as",
    "staged",
    "without_errors",
]

_GUARD = re.compile(r"CASE WHEN \{0\} IS NULL(?: OR \{\d+\} IS NULL)* THEN NULL ELSE ")
_ERROR = re.compile(r"error\((?:[^()']|'[^']*'|\([^()']*\))*\)")
_LEAST_DOUBLES = {"5e-324": "4.9e-324", "1e-323": "9.9e-324"}
_LEAST_FLOATS = {
    "1e-45": "1.4e-45",
    "3e-45": "2.8e-45",
    "4e-45": "4.2e-45",
    "6e-45": "5.6e-45",
    "8e-45": "8.4e-45",
    "1e-44": "9.8e-45",
}
_PLACE = re.compile(r"(?<!\{)\{(\d+)\}(?!\})")


def let(body: str, **values: str) -> str:
    """SQL of `body`, in which each name stands for a value that is computed once.

    >>> let("x || x", x="upper({0})")
    'list_transform([upper({0})], lambda x: x || x)[1]'
    """
    for name, value in reversed(values.items()):
        body = f"list_transform([{value}], lambda {name}: {body})[1]"
    return body


def staged(body: str, *stages: Mapping[str, str]) -> str:
    """SQL of `body`, in which ``o.name`` stands for a value that a stage computes once.

    A stage sees the values of the stages before it. DuckDB binds one lambda in another in exponential time,
    and one behind another in linear time, so many values need stages instead of `let`.

    >>> staged("o.y", {"x": "7"}, {"y": "-o.x"})
    '[struct_pack(x := 7)].list_transform(lambda o: struct_pack(y := -o.x)).list_transform(lambda o: o.y)[1]'
    """
    sql = ""
    known: list[str] = []
    for number, stage in enumerate(stages):
        behind = " ".join((*(each for later in stages[number + 1 :] for each in later.values()), body))
        kept = {name: f"o.{name}" for name in known if re.search(rf"\bo\.{name}\b", behind)}
        members = ", ".join(f"{name} := {value}" for name, value in (kept | dict(stage)).items())
        packed = f"struct_pack({members})"
        sql += f".list_transform(lambda o: {packed})" if sql else f"[{packed}]"
        known += stage
    return f"{sql}.list_transform(lambda o: {body})[1]"


def given(sql: str, count: int = 1) -> str:
    """SQL that is NULL if one of the first operands is, and is computed only otherwise."""
    nulls = " OR ".join(f"{{{place}}} IS NULL" for place in range(count))
    return f"CASE WHEN {nulls} THEN NULL ELSE {sql} END"


def guarded(sql: str) -> int:
    """The number of operands that `given` guards SQL against.

    >>> guarded(given("{0} + {1}", 2))
    2
    """
    found = _GUARD.match(sql)
    return 0 if found is None else found[0].count(" IS NULL")


def limited(sql: str, condition: str, what: str) -> str:
    """SQL that raises `what` as unsupported where the condition is TRUE."""
    return f"CASE WHEN {condition} THEN error('unsupported: {what}') ELSE {sql} END"


def raised_as(error: str, sql: str) -> str:
    """SQL that raises this error where `sql` raises another one; `sql` must not be NULL.

    It computes values that are bound (`let`): an operand raises its own error, and may call ``error``, which
    DuckDB does not allow inside TRY.
    """
    return f"coalesce(TRY({sql}), {error})"


def java_text(value: str, kind: str) -> str:
    """SQL of a float or double as Java writes it, with the fewest digits that tell it from others.

    Java 17 sometimes writes one digit more.
    """
    plain = "n = 0 OR (abs(n) >= 0.001 AND abs(n) < 10000000)"
    digits = "CASE WHEN contains(m, '.') THEN m ELSE m || '.0' END"
    small = "split_part(t, 'e', 1)"
    large = "rtrim(replace(t, '.', ''), '0')"
    # Java writes the least numbers with two digits.
    least = _LEAST_FLOATS if kind == "FLOAT" else _LEAST_DOUBLES
    branches = " ".join(f"WHEN '{shortest}' THEN '{longer}'" for shortest, longer in least.items())
    shown = f"CASE CAST(abs(n) AS VARCHAR) {branches} ELSE CAST(abs(n) AS VARCHAR) END"
    tiny = "ltrim(replace(t, '.', ''), '0')"
    shifted = "CASE WHEN length(m) = 1 THEN m || '.0' ELSE left(m, 1) || '.' || substring(m, 2) END"
    scientific = (
        f"CASE WHEN contains(t, 'e') THEN {let(digits, m=small)} || 'E' || CAST(CAST(split_part(t, 'e', 2)"
        f" AS INTEGER) AS VARCHAR) WHEN abs(n) >= 1 THEN {let(shifted, m=large)} || 'E' ||"
        f" CAST(instr(t, '.') - 2 AS VARCHAR)"
        f" ELSE {let(shifted, m=tiny)} || 'E-4' END"
    )
    text = (
        "CASE WHEN n IS NULL THEN NULL WHEN isnan(n) THEN 'NaN' WHEN isinf(n) THEN CASE WHEN n > 0"
        f" THEN 'Infinity' ELSE '-Infinity' END WHEN {plain} THEN CAST(n AS VARCHAR)"
        f" ELSE CASE WHEN n < 0 THEN '-' ELSE '' END || {let(scientific, t=shown)} END"
    )
    return let(text, n=f"CAST({value} AS {kind})")


def without_errors(sql: str) -> str:
    """SQL that is NULL where it calls ``error``, which DuckDB does not allow inside TRY.

    Errors about what is not supported stay.
    """
    return _ERROR.sub(lambda found: found[0] if "'unsupported:" in found[0] else "NULL", sql)


def attempted(node: Node, name: str) -> Node:
    """A call that is NULL where it would raise; its operands still raise."""
    if not isinstance(node, Call) or not node.can_fail:
        return node
    sql = without_errors(node.sql)
    if "error(" in sql:
        raise refused(f"{name} of values for which Spark's result is not certain")
    parts = ", ".join(f"o{place} := {{{place}}}" for place in range(len(node.operands)))
    inner = _PLACE.sub(lambda found: f"o.o{found[1]}", sql)
    return call(name, node.operands, node.type, let(f"TRY({inner})", o=f"struct_pack({parts})"))
