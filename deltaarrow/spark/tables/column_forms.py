"""Candidate SQL texts of an expression, built from those of its parts.

What PySpark shows of an expression leaves some things open: whether ``1.5`` is a double or a decimal, and to
which side of a merge ``id`` belongs. So each part has several texts, the likely one first, and an expression
has those of all combinations. `deltaarrow.spark.tables.column_sql` asks Spark which of them means the same.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence

from deltaarrow.sql.create_text import text_literal
from deltaarrow.sql.rows.spark import quoted

__all__ = ["Qualify", "attribute", "call", "casted", "chosen", "combined", "extracted", "lambda_of"]

Qualify = Callable[[str], Sequence[str]]
"""The texts of a column by its name, the likely one first."""

_MOST = 48
"""The texts of one expression; each costs a question to Spark."""

_BETWEEN = {
    **{sign: sign for sign in ("=", "<", ">", "<=", ">=", "<=>", "+", "-", "*", "/", "%", "&", "|", "^")},
    "==": "=",
    **{sign: sign.upper() for sign in ("!=", "and", "or", "||", "like", "rlike", "ilike", "div")},
}
_BEFORE = {"!": "NOT ", "not": "NOT ", "negative": "-", "~": "~", "positive": "+"}
_AFTER = {"isnull": "IS NULL", "isnotnull": "IS NOT NULL"}
_FUNCTION = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def combined(parts: Iterable[Sequence[str]], join: Callable[[Sequence[str]], str]) -> list[str]:
    """Return the texts of all combinations of the texts of some parts.

    >>> combined([["a"], ["1.5D", "1.5BD"]], " > ".join)
    ['a > 1.5D', 'a > 1.5BD']
    """
    return [join(each) for each in itertools.islice(itertools.product(*parts), _MOST)]


def call(name: str, arguments: Sequence[Sequence[str]], *, is_distinct: bool = False) -> list[str]:
    """Return the texts of a call of a function or an operator; none for what is neither.

    >>> call("and", [["a"], ["b"]]), call("in", [["a"], ["1"], ["2"]]), call("upper", [["a"]])
    (['(a AND b)'], ['(a IN (1, 2))'], ['upper(a)'])
    """
    key, count = name.lower(), len(arguments)
    if key == "when":
        return _case(arguments)
    if key in _BETWEEN and count >= 2:
        # An operator of more operands than two associates to the left.
        return combined(
            arguments, lambda texts: _chained(texts, _BETWEEN[key]) if count > 2 else _infix(texts, key)
        )
    if key in _BEFORE and count == 1:
        return combined(arguments, lambda texts: f"({_BEFORE[key]}({texts[0]}))")
    if key in _AFTER and count == 1:
        return combined(arguments, lambda texts: f"({texts[0]} {_AFTER[key]})")
    if key == "in" and count >= 2:
        return combined(arguments, lambda texts: f"({texts[0]} IN ({', '.join(texts[1:])}))")
    if _FUNCTION.fullmatch(name) is None:
        return []
    kind = "DISTINCT " if is_distinct else ""
    return combined(arguments, lambda texts: f"{name}({kind}{', '.join(texts)})")


def _infix(texts: Sequence[str], key: str) -> str:
    return f"({texts[0]} {_BETWEEN[key]} {texts[1]})"


def _chained(texts: Sequence[str], sign: str) -> str:
    found = texts[0]
    for text in texts[1:]:
        found = f"({found} {sign} {text})"
    return found


def _case(arguments: Sequence[Sequence[str]]) -> list[str]:
    """The texts of a CASE of conditions and values in turn, with a last value for ELSE."""

    def joined(texts: Sequence[str]) -> str:
        pairs = zip(texts[::2], texts[1::2], strict=False)
        branches = [f"WHEN {condition} THEN {value}" for condition, value in pairs]
        if len(texts) % 2:
            branches.append(f"ELSE {texts[-1]}")
        return f"(CASE {' '.join(branches)} END)"

    return combined(arguments, joined)


def casted(texts: Sequence[str], type_name: str, *, tries: bool = False) -> list[str]:
    """Return the texts of a cast.

    >>> casted(["a"], "DECIMAL(10,2)")
    ['CAST(a AS DECIMAL(10,2))']
    """
    word = "TRY_CAST" if tries else "CAST"
    return [f"{word}({each} AS {type_name})" for each in texts]


_NAME = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)


def extracted(texts: Sequence[str], parts: Sequence[str]) -> list[str]:
    """Return the texts of a field of a struct, a value of a map or an element of an array.

    >>> extracted(["s"], ["'f g'"]), extracted(["a"], ["0"])
    (['s.`f g`', "s['f g']"], ['a[0]'])
    """

    def joined(pair: Sequence[str]) -> list[str]:
        whole, part = pair
        found = [f"{whole}[{part}]"]
        if (name := _NAME.fullmatch(part)) is not None and "\\" not in name[1]:
            found.insert(0, f"{whole}.{quoted(name[1])}")
        return found

    return list(itertools.chain.from_iterable(map(joined, itertools.product(texts, parts))))[:_MOST]


def lambda_of(names: Sequence[str], bodies: Sequence[str]) -> list[str]:
    """Return the texts of a lambda function.

    >>> lambda_of(["x", "y"], ["(x + y)"])
    ['(x, y) -> (x + y)']
    """
    listed = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return [f"{listed} -> {each}" for each in bodies]


def attribute(parts: Sequence[str], qualify: Qualify) -> list[str]:
    """Return the texts of a column, or of a field of one, by the parts of its name.

    >>> attribute(["a b"], lambda name: [name])
    ['`a b`']
    """
    return list(qualify(".".join(map(quoted, parts))))


def chosen(text: str, data_type: str) -> str:
    """Return a literal of a type that is written as text, such as a date.

    >>> chosen("2026-01-31", "DATE")
    "DATE '2026-01-31'"
    """
    return f"{data_type} {text_literal(text)}"
