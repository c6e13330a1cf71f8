"""Conversion of users' filters to conditions on rows and predicates on files.

A filter is SQL text with Spark's semantics, tuples with ``deltalake``'s semantics, or a pyarrow expression
with pyarrow's semantics.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

import deltaarrow.expressions as expressions
import deltaarrow.scan as scan
import deltaarrow.spark_sql as spark_sql
from deltaarrow.errors import InvalidPredicateError, UnsupportedFeatureError
from deltaarrow.log.version_arguments import type_name
from deltaarrow.schema import Schema, char_length
from deltaarrow.snapshot import Snapshot
from deltaarrow.table.partition_pruning import predicate_on_files

if TYPE_CHECKING:
    import pyarrow.compute as pc
    import pyarrow.dataset as pads

    from deltaarrow.expressions import Filters, Predicate

__all__ = [
    "ensure_read_options",
    "file_predicate",
    "partition_predicate",
    "row_condition",
    "table_conditions",
    "warn_of_filters",
]


def row_condition(
    filters: "str | Filters",
    schema: Schema,
    partition_columns: Sequence[str] = (),
    dialect: str = "spark",
) -> "scan.RowCondition":
    """Return SQL text in `dialect`, or tuples, as a condition on rows of a schema.

    Raises `InvalidPredicateError` for a filter that cannot be parsed or names an unknown column, and
    `TypeError` for a filter of another type.
    """
    if isinstance(filters, str):
        return spark_sql.parse_condition(spark_sql.spark_text(filters, dialect), schema)
    if not isinstance(filters, list | tuple):
        raise TypeError(
            f"a condition is SQL text or a list of (column, operator, value) tuples, not {type_name(filters)}"
        )
    bound = expressions.bind(expressions.from_filters(filters, partition_columns, schema), schema)
    lengths = {each.name: length for each in schema.fields if (length := char_length(each)) is not None}
    return scan.TreeCondition(_padded(bound, lengths) if lengths else bound)


def _padded(node: "Predicate", lengths: Mapping[str, int]) -> "Predicate":
    """Tuples as a predicate, with strings padded that are compared with CHAR(n) columns."""
    match node:
        case expressions.And(operands):
            return expressions.And(tuple(_padded(each, lengths) for each in operands))
        case expressions.Or(operands):
            return expressions.Or(tuple(_padded(each, lengths) for each in operands))
        case expressions.Not(operand):
            return expressions.Not(_padded(operand, lengths))
        case expressions.Compare(_, expressions.Column((name,)), expressions.Literal(str(value)) as literal):
            padded = value.rstrip(" ").ljust(lengths[name]) if name in lengths else value
            return replace(node, right=replace(literal, value=padded))
        case expressions.IsIn(expressions.Column((name,)), values) if name in lengths:
            texts = (each.rstrip(" ").ljust(lengths[name]) for each in values if isinstance(each, str))
            return replace(node, values=tuple(texts))
    return node


def partition_predicate(snapshot: Snapshot, filters: "Filters") -> "Predicate":
    """Return tuples on partition columns as a predicate; values may be strings."""
    partitions = snapshot.partition_columns
    predicate = row_condition(filters, snapshot.schema, partitions).predicate
    if other := sorted({path[0] for path in expressions.columns_of(predicate)} - set(partitions)):
        raise InvalidPredicateError(
            f"{', '.join(other)}: not a partition column"
            f" (partition columns: {', '.join(partitions) or 'none'});"
            " filter other columns with `filters` or `file_pruning_predicate`"
        )
    return predicate


def file_predicate(
    snapshot: Snapshot,
    partitions: "Filters | None",
    files: "str | Filters | None",
    dialect: str = "spark",
) -> "Predicate | None":
    """Return the predicate for choosing files: both conditions, on any columns."""
    predicates = [
        predicate_on_files(
            snapshot, row_condition(each, snapshot.schema, snapshot.partition_columns, dialect)
        )
        for each in (partitions, files)
        if each is not None
    ]
    return expressions.And(tuple(predicates)) if predicates else None


def ensure_read_options(options: "pads.ParquetReadOptions | None") -> None:
    """Raise `UnsupportedFeatureError` for options that would change what a dataset returns."""
    if options is not None and options.coerce_int96_timestamp_unit not in ("us", "ms", "ns"):
        raise UnsupportedFeatureError(
            f"timestamps are read as microseconds, not as {options.coerce_int96_timestamp_unit!r}; cast the"
            " result",
            feature="parquet_read_options",
        )


def table_conditions(
    snapshot: Snapshot,
    partitions: "Filters | None",
    filters: "str | Filters | pc.Expression | None",
    dialect: str = "spark",
) -> "tuple[scan.RowCondition, ...]":
    """Return the conditions on rows: tuples on partition columns, and a filter in any notation.

    Raises the exceptions of `row_condition`.
    """
    found: list[scan.RowCondition] = []
    if partitions is not None:
        found.append(scan.TreeCondition(partition_predicate(snapshot, partitions)))
    if isinstance(filters, str | list | tuple):
        schema = scan.scan_schema(snapshot)
        found.append(row_condition(filters, schema, snapshot.partition_columns, dialect))
    elif _is_expression(filters):
        found.append(scan.ArrowCondition(filters))
    elif filters is not None:
        raise TypeError(
            "filters are SQL text, a list of (column, operator, value) tuples or a pyarrow expression,"
            f" not {type_name(filters)}"
        )
    return tuple(found)


def warn_of_filters(
    name: str, filters: object, pruning: object = None, *, instead: str = "file_pruning_predicate"
) -> None:
    """Warn the caller of a method of an argument that ``deltalake`` deprecates, if it is given.

    Raises `ValueError` if `pruning`, the argument to use, is given too.
    """
    if filters is None:
        return
    if pruning is not None:
        raise ValueError(f"`{name}` is deprecated: give `{instead}` alone, with both conditions in it")
    warnings.warn(f"`{name}` is deprecated; use `{instead}`", DeprecationWarning, stacklevel=3)


def _is_expression(given: object) -> "TypeGuard[pc.Expression]":
    """Whether an object is an expression of pyarrow, which is imported only then."""
    if given is None:
        return False
    import pyarrow.compute as pc

    return isinstance(given, pc.Expression)
