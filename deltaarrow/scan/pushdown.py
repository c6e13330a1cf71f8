"""Predicate pushdown to pyarrow: the conjuncts that it may evaluate inside a data file.

Pushdown is only an optimization, so a conjunct is pushed only if the result cannot change:

* it consists of comparisons, IN and IS [NOT] NULL, joined by AND and OR. Negations are not pushed,
  because pyarrow prunes row groups by bounds that ignore NaN;
* its columns have the same type in file and table, because a cast could hide a row;
* on floating-point columns, it is an ordering or an equality that no NaN satisfies.

A conjunct on partition columns only is evaluated on the partition values, once per file.
"""

from collections.abc import Container, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from deltaarrow.expressions import (
    And,
    Column,
    Compare,
    IsIn,
    IsNull,
    Literal,
    Not,
    Or,
    Predicate,
    columns_of,
    conjuncts,
    to_arrow,
)
from deltaarrow.scan.column_binding import Binding
from deltaarrow.scan.tasks import FileTask, TableLayout
from deltaarrow.schema import FLOATING, Field, PrimitiveType, to_arrow_type

__all__ = ["PartitionFilter", "Pushed", "pushed_filter"]


def _is_safe(node: Predicate, floats: frozenset[str]) -> bool:
    match node:
        case And(operands) | Or(operands):
            return all(_is_safe(operand, floats) for operand in operands)
        case Compare(op, Column(path), Literal()):
            return op != "!=" or path[0] not in floats
        case IsIn(Column(path), _):
            return path[0] not in floats
        case IsNull(Column()) | Not(IsNull(Column())):
            return True
        case _:
            return False


class Pushed(NamedTuple):
    """The part of a predicate that pyarrow evaluates."""

    expression: Any | None
    """A `pyarrow.compute.Expression`; None if nothing is pushed."""

    decided: frozenset[Predicate]
    """The conjuncts of the predicate that pyarrow evaluates completely."""


def pushed_filter(
    predicate: Predicate | None, fields: Sequence[Field], binding: Binding, padded: Container[str] = ()
) -> Pushed:
    """Return the filter for scanning a file, over the names in the file; `padded` columns are not in it."""
    if predicate is None:
        return Pushed(None, frozenset())
    sources = {
        f.name: source
        for f, source in zip(fields, binding.sources, strict=True)
        if source is not None
        and f.name in binding.exact
        and f.name not in padded
        and isinstance(f.type, PrimitiveType)
    }
    pushed, decided = None, set[Predicate]()
    for part in conjuncts(predicate):
        expression = _pushed_part(part, fields, sources)
        if expression is not None:
            decided.add(part)
            pushed = expression if pushed is None else pushed & expression
    return Pushed(pushed, frozenset(decided))


def _pushed_part(part: Predicate, fields: Sequence[Field], sources: Mapping[str, str]) -> Any | None:
    columns = columns_of(part)
    if not _may_be_pushed(part, fields) or any(len(p) > 1 or p[0] not in sources for p in columns):
        return None
    import pyarrow.compute as pc

    types = {f.name: to_arrow_type(f.type) for f in fields}
    expression = to_arrow(part, lambda path: pc.field(sources[path[0]]))
    schema = pa.schema([(sources[p[0]], types[p[0]]) for p in columns])
    return expression if _binds(expression, schema) else None


def _may_be_pushed(part: Predicate, fields: Sequence[Field]) -> bool:
    floats = frozenset(f.name for f in fields if f.type in FLOATING)
    return bool(columns_of(part)) and _is_safe(part, floats)


class PartitionFilter:
    """The conjuncts of a predicate that the partition values of a file decide for all of its rows."""

    def __init__(self, predicate: Predicate | None, layout: TableLayout) -> None:
        self._layout = layout
        fields = [field for field in layout.partition_fields if field.type not in FLOATING]
        self._schema = pa.schema([(field.name, to_arrow_type(field.type)) for field in fields])
        parts = [] if predicate is None else conjuncts(predicate)
        self._parts = tuple(part for part in parts if self._decides(part))
        self.decided = frozenset(self._parts)
        """The conjuncts that all rows of `left` files satisfy."""
        self._fields = [field for field in fields if any((field.name,) in columns_of(p) for p in self._parts)]
        self.rest = And(tuple(part for part in parts if all(part is not own for own in self._parts)))
        """The conjuncts to evaluate on the rows of `left` files."""

    def _decides(self, part: Predicate) -> bool:
        columns = columns_of(part)
        known = {(name,) for name in self._schema.names}
        return columns <= known and _may_be_pushed(part, ()) and _binds(to_arrow(part), self._schema)

    def left(self, tasks: Sequence[FileTask]) -> Sequence[FileTask]:
        """Return the files whose partition values match."""
        if not self._parts:
            return tasks
        import pyarrow.dataset as pads

        columns = [
            pa.array([self._layout.partition_value(task, field) for task in tasks], to_arrow_type(field.type))
            for field in self._fields
        ]
        values = pa.record_batch(columns, [field.name for field in self._fields])
        matching = pads.Scanner.from_batches(
            [values], schema=values.schema, columns={"matches": to_arrow(And(self._parts))}, use_threads=False
        ).to_table()
        verdicts = matching.column("matches").to_pylist()
        return [task for task, verdict in zip(tasks, verdicts, strict=True) if verdict]


def _binds(expression: Any, schema: pa.Schema) -> bool:
    """Whether pyarrow has a kernel for the types; if not, evaluating the full filter raises the error."""
    import pyarrow.dataset as pads

    try:
        pads.Scanner.from_batches([], schema=schema, filter=expression)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return False
    return True
