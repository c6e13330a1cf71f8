"""The typed tree of a SQL expression: its columns, its operations and its Delta type.

Every implicit cast of Spark is a node here, so a node's SQL depends only on its operands. A `Call`
carries its SQL as a format string over them. Text of the user's expression occurs only in a `Constant` or
a `ColumnRef`, which are quoted when rendered.

The name of a call begins with `UNSTORED` if its value may differ from Spark's in the last digit, or may grow
without a bound: such calls are for users' texts, and refused in expressions that tables store. It begins with
`VOLATILE` if each computation gives another value.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.schema import DataType

__all__ = [
    "NOW",
    "OWN_NAME",
    "UNSTORED",
    "VOLATILE",
    "Call",
    "ColumnRef",
    "Constant",
    "Expression",
    "Node",
    "Path",
    "call",
    "escaped",
    "is_volatile",
    "mismatched",
    "refused",
    "valued",
    "walk",
]

Path: TypeAlias = tuple[str, ...]
"""The names that lead to a column, as the schema spells them."""


@dataclass(frozen=True, slots=True)
class ColumnRef:
    """A column of the table, or a field of a struct; `characters` is the n of a CHAR(n) column, else 0."""

    path: Path
    type: DataType
    can_fail: bool = False
    characters: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal value: a Python value of the type, None for NULL.

    `folded` says that a cast was applied already. Spark takes the digits of a literal for its precision only
    if it was not cast.
    """

    value: object
    type: DataType
    folded: bool = False
    can_fail: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        """What tells constants apart: NaN is one value, and the zeros are two."""
        value = repr(self.value) if isinstance(self.value, float) else self.value
        return (value, self.type, self.folded, self.can_fail)


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator over its operands, as a format string of DuckDB SQL.

    `can_fail` says whether some row may make it raise; then it is evaluated only where Spark evaluates it.
    In the SQL `NOW` stands for the time of the query. `place` is where the call begins in a user's text, if
    that is known; calls are equal wherever they stand.
    """

    name: str
    operands: tuple["Node", ...]
    type: DataType
    sql: str
    can_fail: bool
    place: int | None = field(default=None, compare=False)


Node: TypeAlias = ColumnRef | Constant | Call

NOW = "{now}"
UNSTORED = "~"
VOLATILE = "volatile "
OWN_NAME = "let__"
"""Begins the variables in the SQL of a `Call`; rendering refuses columns whose names begin so."""

_HEAD = re.compile(r"\blambda (\w+)(?:, (\w+))?:")
_SHARED = re.compile(rf"lambda_\w+|{OWN_NAME}\w+")
"""Variables that the SQL of operands has too."""
_WORD = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|[A-Za-z_]\w*|.", re.DOTALL)
_BEHIND = re.compile(r" :=|\(")


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed SQL expression: its text and its tree."""

    text: str
    root: Node

    @property
    def type(self) -> DataType:
        """The Delta type of the values, by Spark's rules."""
        return self.root.type

    @property
    def columns(self) -> tuple[Path, ...]:
        """The columns that the expression reads, in order of first appearance."""
        return tuple(dict.fromkeys(node.path for node in walk(self.root) if isinstance(node, ColumnRef)))

    @property
    def is_deterministic(self) -> bool:
        """Whether the same row has the same value at any time."""
        return not any(isinstance(node, Call) and NOW in node.sql for node in walk(self.root))


def call(
    name: str, operands: tuple[Node, ...], data_type: DataType, sql: str, *, fails: bool = False
) -> Call:
    """A `Call` that can fail if `fails` is set or if an operand can fail."""
    can_fail = fails or any(each.can_fail for each in operands)
    return Call(name, operands, data_type, _with_own_names(sql) if "lambda " in sql else sql, can_fail)


@functools.lru_cache(maxsize=10_000)
def _with_own_names(sql: str) -> str:
    """The SQL with variables of lambdas that no column is called."""
    names = {name for heads in _HEAD.findall(sql) for name in heads if name and not _SHARED.fullmatch(name)}
    parts: list[str] = []
    before = ""
    for found in _WORD.finditer(sql):
        word = found[0]
        is_member = before == "." or _BEHIND.match(sql, found.end()) is not None
        parts.append(OWN_NAME + word if word in names and not is_member else word)
        before = word
    return "".join(parts)


def escaped(sql: str) -> str:
    """SQL escaped for use inside the format string of a `Call`."""
    return sql.replace("{", "{{").replace("}", "}}")


def walk(node: Node) -> Iterator[Node]:
    """The node and all nodes below it, in text order."""
    yield node
    if isinstance(node, Call):
        for operand in node.operands:
            yield from walk(operand)


def is_volatile(node: Node) -> bool:
    """Whether a node, or one below it, gives another value whenever it is computed."""
    return any(isinstance(each, Call) and each.name.startswith(VOLATILE) for each in walk(node))


def valued(node: Node) -> Iterator[ColumnRef]:
    """The columns below a node of which the values are read, not only whether they are NULL."""
    if isinstance(node, ColumnRef):
        yield node
    elif isinstance(node, Call) and not (node.name == "is null" and isinstance(node.operands[0], ColumnRef)):
        for operand in node.operands:
            yield from valued(operand)


def refused(what: str, at: int | None = None, error_class: str | None = None) -> UnsupportedFeatureError:
    """The error for an expression that uses something that is not on the list.

    Args:
        what: is not supported.
        at: the index of its first character in the text, if known; the message counts from 1.
        error_class: Spark's, where Spark does not take it either.
    """
    where = "" if at is None else f" (at character {at + 1})"
    named = "" if error_class is None else f"[{error_class}] "
    error = UnsupportedFeatureError(
        f"{named}{what} is not supported in a SQL expression{where}", feature=what
    )
    error.place = None if at is None else ("", at)
    return error


def mismatched(kind: str, what: str) -> UnsupportedFeatureError:
    """The error for operands of types that Spark does not take either, of one of its kinds of mismatches."""
    return refused(what, error_class=f"DATATYPE_MISMATCH.{kind}")
