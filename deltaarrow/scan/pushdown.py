"""Which parts of a predicate pyarrow may evaluate inside a data file.

Pushing is an optimisation only, so a conjunct goes down when nothing at all can go wrong:

* it consists of comparisons, IN and IS [NOT] NULL, joined by AND and OR: a negation is left out,
  because pyarrow prunes row groups by bounds in which a NaN does not count;
* its columns have, in the file, the very type of the table: a cast could hide a row;
* on floating point columns it is an ordering or an equality, which no NaN satisfies.
"""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

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
from deltaarrow.scan.binding import Binding
from deltaarrow.schema import Field, PrimitiveType, to_arrow_type

__all__ = ["pushed_filter"]

_FLOATS = (PrimitiveType("float"), PrimitiveType("double"))


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


def pushed_filter(predicate: Predicate | None, fields: Sequence[Field], binding: Binding) -> Any:
    """Return the pyarrow expression, over the names of the file, to scan with; None for none."""
    if predicate is None:
        return None
    sources = {
        f.name: source
        for f, source in zip(fields, binding.sources, strict=True)
        if source is not None and f.name in binding.exact and isinstance(f.type, PrimitiveType)
    }
    floats = frozenset(f.name for f in fields if f.type in _FLOATS)
    types = {f.name: to_arrow_type(f.type) for f in fields}
    pushed = None
    for part in conjuncts(predicate):
        columns = columns_of(part)
        if (
            not columns
            or not _is_safe(part, floats)
            or any(len(p) > 1 or p[0] not in sources for p in columns)
        ):
            continue
        expression = to_arrow(part, lambda path: pc.field(sources[path[0]]))
        if not _binds(expression, pa.schema([(sources[p[0]], types[p[0]]) for p in columns])):
            continue
        pushed = expression if pushed is None else pushed & expression
    return pushed


def _binds(expression: Any, schema: pa.Schema) -> bool:
    """Whether pyarrow finds a kernel for the types; the full filter reports it where it does not."""
    import pyarrow.dataset as pads

    try:
        pads.Scanner.from_batches([], schema=schema, filter=expression)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return False
    return True
