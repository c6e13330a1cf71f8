"""Guarantees of a file from the log, as pyarrow expressions for its dataset fragment.

pyarrow assumes that such an expression is true for all rows and simplifies filters with it, so it may not
even open the file. It considers neither NULL nor NaN. Therefore each end of a range has ``or the value is
NULL``, unless the statistics count no NULL; floating-point columns have no guarantee, because bounds ignore
NaN; and no guarantee is an equality with a value in the file, because pyarrow would replace the data by it.
Partition columns do get equalities.
"""

from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.compute import sandbox_cursor
from deltaarrow.expressions import column_expression
from deltaarrow.partitions import parse_partition_value, partition_scalar
from deltaarrow.schema import FLOATING, Field, PrimitiveType, StructType, physical_name, to_arrow_type
from deltaarrow.statistics.bounds import FileStatisticsSql

__all__ = ["guarantee", "guarantees", "partition_expression"]


def guarantee(
    stats: str | None,
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
    columns: Collection[str] | None = None,
) -> pc.Expression:
    """Return the guarantee of one file; see `guarantees`.

    >>> from deltaarrow.schema import Field, Schema
    >>> text = '{"numRecords":2,"minValues":{"a":1},"maxValues":{"a":9},"nullCount":{"a":0}}'
    >>> guarantee(text, Schema([Field("a", "integer")]))
    <pyarrow.compute.Expression ((a >= 1) and (a <= 9))>
    """
    return guarantees(pa.array([stats], pa.string()), schema, mapping_mode, partition_columns, columns)[0]


def guarantees(
    stats: pa.Array | pa.ChunkedArray,
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
    columns: Collection[str] | None = None,
) -> list[pc.Expression]:
    """Return the guarantee of each file from its statistics, over logical names.

    Args:
        stats: the statistics of the files as JSON texts; NULL for a file without.
        schema: the logical schema of the table.
        mapping_mode: the column mapping mode.
        partition_columns: logical names; they have no statistics.
        columns: the logical names of the relevant top-level columns; None for all.

    Returns:
        One expression per file; TRUE if the statistics prove nothing.
    """
    leaves = [
        fields
        for field in schema.fields
        if field.name not in partition_columns and (columns is None or field.name in columns)
        for fields in _leaves((field,))
    ]
    statistics = FileStatisticsSql("stats")
    selected = [statistics.num_records()]
    for fields in leaves:
        path = tuple(physical_name(each, mapping_mode) for each in fields)
        lower, upper = statistics.lower_bound(path, fields[-1]), statistics.upper_bound(path, fields[-1])
        selected += [f"TRY({lower})", f"TRY({upper})", statistics.null_count(path)]
    if isinstance(stats, pa.Array):
        stats = pa.chunked_array([stats])
    with sandbox_cursor() as cursor:
        cursor.register("files", pa.table({"stats": stats}))
        names = ", ".join(f"{sql} AS c{number}" for number, sql in enumerate(selected))
        known = cursor.sql(f"SELECT {names} FROM files").to_arrow_table()
    counts = known.column(0)
    found: list[list[pc.Expression]] = [[] for _ in range(len(stats))]
    for number, fields in enumerate(leaves):
        lower, upper = (_typed(known.column(3 * number + offset), fields[-1]) for offset in (1, 2))
        nulls = known.column(3 * number + 3)
        for row in range(len(found)):
            known_of_column = _range(fields, lower[row], upper[row], nulls[row], counts[row])
            if known_of_column is not None:
                found[row].append(known_of_column)
    return [_all(parts) for parts in found]


def partition_expression(
    partition_values: Mapping[str, str | None],
    schema: StructType,
    partition_columns: Sequence[str],
    mapping_mode: str = "none",
) -> pc.Expression:
    """Return the partition values of one file as an expression over logical names.

    Args:
        partition_values: texts by physical name, as in the log.
        schema: the logical schema of the table.
        partition_columns: logical names.
        mapping_mode: the column mapping mode.

    Returns:
        Equality with the typed value for each column, ``is_null`` for NULL; TRUE without columns.

    Raises:
        CorruptLogError: a text is not a value of its column's type.

    >>> from deltaarrow.schema import Field, Schema
    >>> schema = Schema([Field("p", "integer"), Field("q", "date")])
    >>> partition_expression({"p": "5", "q": None}, schema, ["p", "q"])
    <pyarrow.compute.Expression ((p == 5) and is_null(q, {nan_is_null=false}))>
    """
    parts = []
    for name in partition_columns:
        field = schema.field(name)
        assert isinstance(field.type, PrimitiveType), "tables are partitioned by primitive columns"
        value = parse_partition_value(
            partition_values.get(physical_name(field, mapping_mode)), field.type, field.name
        )
        column = pc.field(field.name)
        parts.append(column.is_null() if value is None else column == partition_scalar(value, field.type))
    return _all(parts)


def _leaves(fields: tuple[Field, ...]) -> list[tuple[Field, ...]]:
    """Return the paths, as fields, to the columns with bounds at or below a field."""
    data_type = fields[-1].type
    if isinstance(data_type, StructType):
        return [leaf for each in data_type.fields for leaf in _leaves((*fields, each))]
    bounded = isinstance(data_type, PrimitiveType) and data_type not in FLOATING
    return [fields] if bounded and FileStatisticsSql("").lower_bound(("",), fields[-1]) is not None else []


def _typed(bounds: pa.ChunkedArray, field: Field) -> pa.ChunkedArray:
    """Cast bounds to the column's type; a widened bound beyond the range of the type becomes NULL."""
    try:
        return bounds.cast(to_arrow_type(field.type))
    except pa.ArrowInvalid:
        return bounds


def _range(
    fields: tuple[Field, ...], lower: pa.Scalar, upper: pa.Scalar, nulls: pa.Scalar, records: pa.Scalar
) -> pc.Expression | None:
    """Return the expression that a column is within its bounds, or all NULL; None if nothing is known."""
    column = column_expression(tuple(field.name for field in fields))
    count = nulls.as_py()
    if count and count == records.as_py():
        return column.is_null()
    ends = []
    if lower.is_valid:
        ends.append(column >= lower)
    if upper.is_valid:
        ends.append(column <= upper)
    # The NULL count of a struct field may not include rows whose struct is NULL.
    if count != 0 or len(fields) > 1:
        # pyarrow simplifies only the form with the comparison first.
        ends = [end | column.is_null() for end in ends]
    return _all(ends) if ends else None


def _all(parts: Sequence[pc.Expression]) -> pc.Expression:
    if not parts:
        return pc.scalar(True)
    found, *rest = parts
    for part in rest:
        found = found & part
    return found
