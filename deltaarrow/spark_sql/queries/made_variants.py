"""Variants that a query computes, as opposed to variants in the columns of tables.

DuckDB has a type of its own for the variants of tables. Those that an expression makes are structs of bytes
(`deltaarrow.spark_sql.functions.variant_kernels`), which nothing turns into that type. So their columns are
marked: an expression reads such a column as it is.
"""

from collections.abc import Sequence
from dataclasses import replace

from deltaarrow.schema import Field, JsonObject
from deltaarrow.spark_sql.rendering.native_sql import given_sql
from deltaarrow.spark_sql.tree.nodes import ColumnRef, Node, refused
from deltaarrow.spark_sql.types.nested import leaf_types
from deltaarrow.spark_sql.types.type_rules import VARIANT

__all__ = ["ensure_alike", "is_made", "marked", "unmarked"]

_MADE = "variants of an expression"


def marked(field: Field, node: Node) -> Field:
    """The field of a value of a query, marked if the value has variants that are made."""
    if isinstance(node, ColumnRef) or VARIANT not in leaf_types(field.type):
        return field
    metadata = JsonObject({**field.metadata, _MADE: True})
    return replace(field, metadata=metadata)


def unmarked(field: Field) -> Field:
    """The field as the result of the query has it."""
    kept = {name: value for name, value in field.metadata.items() if name != _MADE}
    return replace(field, metadata=JsonObject(kept))


def is_made(fields: Sequence[Field]) -> bool:
    """Whether a column, given with the struct fields along its path, is marked.

    Raises `UnsupportedFeatureError` for one with values beside its variants that have another form in DuckDB.
    """
    marks = [each for each in fields if _MADE in each.metadata]
    if marks and given_sql("", fields[-1].type):
        raise refused(f"a part of `{marks[0].name}`, times beside variants that a subquery makes,")
    return bool(marks)


def ensure_alike(sides: Sequence[Sequence[Field]], word: str) -> None:
    """Refuse a set operation of variants that are made with variants of tables."""
    for fields in zip(*sides, strict=True):
        if len({_MADE in each.metadata for each in fields}) > 1:
            raise refused(f"{word} of variants that expressions make with those of a table")
