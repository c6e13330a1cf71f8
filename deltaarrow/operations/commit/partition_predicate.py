"""A predicate for the partitions of given files."""

from collections.abc import Iterable, Mapping, Sequence

from deltaarrow.expressions import (
    And,
    Column,
    Constant,
    IsIn,
    IsNull,
    Literal,
    Or,
    Predicate,
    bind,
    in_total_order,
    ordered,
)
from deltaarrow.partitions import parse_partition_value
from deltaarrow.scan.char_padding import padded_value, paddings_of
from deltaarrow.schema import Field, PrimitiveType, Schema, physical_name
from deltaarrow.snapshot import Snapshot

__all__ = ["partitions_predicate"]


def partitions_predicate(snapshot: Snapshot, partitions: Iterable[Mapping[str, str | None]]) -> Predicate:
    """Return the predicate that is TRUE exactly in partitions, given by the values of their files."""
    fields = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    names = [physical_name(field, snapshot.mapping_mode) for field in fields]
    keys = dict.fromkeys(tuple(each.get(name) for name in names) for each in partitions)
    if not keys:
        return Constant(False)
    if len(fields) == 1:
        return _is_one_of(fields[0], [text for (text,) in keys], snapshot.schema)
    return Or(
        tuple(
            And(
                tuple(
                    _is_one_of(field, [text], snapshot.schema)
                    for field, text in zip(fields, key, strict=True)
                )
            )
            for key in keys
        )
    )


def _is_one_of(field: Field, texts: Sequence[str | None], schema: Schema) -> Predicate:
    name, data_type = field.name, field.type
    if not isinstance(data_type, PrimitiveType):
        raise TypeError(f"the partition column {name!r} has type {data_type!r}, not a primitive type")
    column, paddings = Column((name,)), paddings_of(field)
    parsed = [padded_value(parse_partition_value(text, data_type, name), paddings) for text in texts]
    values = tuple(value for value in parsed if value is not None)
    parts: list[Predicate] = []
    if len(values) == 1:
        parts.append(ordered("=", column, Literal(values[0])))
    elif values:
        parts.append(in_total_order(IsIn(column, values), schema))
    if len(values) < len(parsed):
        parts.append(IsNull(column))
    return bind(parts[0] if len(parts) == 1 else Or(tuple(parts)), schema)
