"""Evaluation of SQL expressions over batches: one sandbox query for all expressions of a table.

DuckDB gets only the columns that the expressions read, with struct fields as separate columns and timestamps
in UTC without a zone. Of an array, a map, a struct or a variant it gets only which values are NULL, unless an
expression reads more.
"""

import datetime
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltaarrow.columnar.kernels import pc
from deltaarrow.compute import expression_limits, limited_cursor, quote_identifier
from deltaarrow.errors import ExpressionLimitError, SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import DataType, Field, PrimitiveType, Schema, as_nullable, to_arrow_type
from deltaarrow.spark_sql.binding.growth import grows, length_of, longest, parts
from deltaarrow.spark_sql.functions.kernel_providing import provide_kernels
from deltaarrow.spark_sql.rendering.duckdb_sql import to_sql
from deltaarrow.spark_sql.rendering.native_sql import given_sql
from deltaarrow.spark_sql.tree.nodes import ColumnRef, Expression, Node, Path, refused, valued, walk
from deltaarrow.spark_sql.tree.row_errors import row_error
from deltaarrow.spark_sql.types.nested import leaf_types
from deltaarrow.spark_sql.types.type_rules import VOID, type_name
from deltaarrow.variant import VARIANT_TYPE, to_json

if TYPE_CHECKING:
    import duckdb

__all__ = ["compute", "evaluate", "values_at"]

_DAY_US = 86_400_000_000
_FIRST_DAY = datetime.date(1, 1, 1).toordinal() - datetime.date(1970, 1, 1).toordinal()
_LAST_DAY = datetime.date(9999, 12, 31).toordinal() - datetime.date(1970, 1, 1).toordinal()


def evaluate(expression: Expression, batch: pa.RecordBatch, *, clock: Clock = system_clock) -> pa.Array:
    """The values of the expression on the rows of `batch`, in the Arrow form of the expression's type.

    Args:
        expression: from `parse_expression`.
        batch: rows of the table under logical names, in the table's Arrow types.
        clock: gives ``current_timestamp()``.

    Raises:
        ConstraintViolationError: a value overflows, is divided by zero or cannot be cast; Spark raises too.
        UnsupportedFeatureError: Spark's result for a value is not certain.

    >>> from deltaarrow.schema import Schema
    >>> from deltaarrow.spark_sql.binding.expression_binding import parse_expression
    >>> batch = pa.record_batch({"name": ["Ada", None, "Grace"]})
    >>> expression = parse_expression("substring(name, -2)", Schema.from_arrow(batch.schema))
    >>> evaluate(expression, batch).to_pylist()
    ['da', None, 'ce']
    """
    return compute([expression], [batch], clock=clock).column(0)


def compute(
    expressions: Sequence[Expression],
    batches: Sequence[pa.RecordBatch],
    *,
    clock: Clock = system_clock,
    names: Sequence[str] = (),
) -> pa.RecordBatch:
    """The values of several expressions over several batches, one column each; see `evaluate`.

    `names` are the names of constraints and columns, for the message of `ExpressionLimitError`.
    """
    import duckdb

    if not expressions:
        return pa.record_batch([], names=[])
    now_ms = clock()
    references = {
        node.path: node for each in expressions for node in walk(each.root) if isinstance(node, ColumnRef)
    }
    read = {node.path for each in expressions for node in valued(each.root)}
    places = {path: f"c{place}" for place, path in enumerate(references)}
    shown = [_shown(each, name) for each, name in itertools.zip_longest(expressions, names)]
    columns = pa.Table.from_batches([_columns(batch, references, read, places) for batch in batches])
    given = {path: _given_sql(node, places[path], node.path in read) for path, node in references.items()}
    types = [_computed_type(each.type) for each in expressions]
    listed = ", ".join(
        f"{to_sql(each, given, now_ms=now_ms)} AS {quote_identifier(f'r{place}')}"
        for place, each in enumerate(expressions)
    )
    try:
        with limited_cursor(f"the SQL expression {'; '.join(shown)}") as cursor:
            provide_kernels(cursor, listed)
            tables = [
                cursor.register("batch", rows) and cursor.sql(f"SELECT {listed} FROM batch").to_arrow_table()
                for rows in _bounded(
                    dict(zip(shown, expressions, strict=True)), columns, places, cursor, given, now_ms
                )
            ]
    except duckdb.Error as error:
        texts = [each.text for each in expressions]
        what = f"the SQL expression {'; '.join(texts)!r} cannot be evaluated"
        failure = row_error(error, what, texts[0] if len(texts) == 1 else None)
        if failure is None:
            raise
        raise failure from error
    found = pa.concat_tables(tables)
    arrays = [_array(found.column(place), types[place]) for place in range(len(expressions))]
    return pa.RecordBatch.from_arrays(arrays, names=[f"r{place}" for place in range(len(arrays))])


def _bounded(
    expressions: Mapping[str, Expression],
    columns: pa.Table,
    places: Mapping[Path, str],
    cursor: "duckdb.DuckDBPyConnection",
    given: Mapping[Path, str],
    now_ms: int,
) -> Iterator[pa.Table]:
    """Yield ranges of rows, each as long as may be computed in one query.

    Raises `ExpressionLimitError` for a row in which a text would get too long.
    """
    growing = {shown: each for shown, each in expressions.items() if grows(each.root)}
    if not growing:
        yield columns
        return
    most = expression_limits().value_bytes
    by_path = {path: columns.column(name) for path, name in places.items()}
    lengths = np.sum([longest(each.root, by_path, columns.num_rows) for each in growing.values()], axis=0)
    for rows, may_exceed in parts(lengths, most):
        part = columns.slice(rows.start, len(rows))
        for shown, each in growing.items() if may_exceed else ():
            cursor.register("batch", part)

            def value(node: Node, within: Expression = each) -> object:
                sql = to_sql(Expression(within.text, node), given, now_ms=now_ms)
                return cursor.sql(f"SELECT {sql} FROM batch").fetchall()[0][0]

            if length_of(each.root, value, most) > most:
                raise ExpressionLimitError(
                    f"the SQL expression {shown} makes a text of more than {most} bytes: raise"
                    " the limit with deltaarrow.compute.set_expression_limits(value_bytes=...), or drop the"
                    " expression"
                )
        yield part


def _shown(expression: Expression, name: str | None) -> str:
    return repr(expression.text) if name is None else f"{name} ({expression.text})"


def values_at(batch: pa.RecordBatch, paths: Sequence[Path], row: int) -> dict[str, object]:
    """Values of columns and struct fields in one row, by their names joined with dots; variants as JSON."""
    one = batch.slice(row, 1)
    leaves = {".".join(path): _leaf(one, path) for path in paths}
    return {
        name: (to_json(leaf) if leaf.type == VARIANT_TYPE else leaf)[0].as_py()
        for name, leaf in leaves.items()
    }


def _columns(
    batch: pa.RecordBatch,
    references: Mapping[Path, ColumnRef],
    read: Collection[Path],
    names: Mapping[Path, str],
) -> pa.RecordBatch:
    arrays = [_given(_leaf(batch, path), node, path in read) for path, node in references.items()]
    # A relation needs a column even if no expression reads one.
    arrays.append(pa.nulls(batch.num_rows, pa.bool_()))
    return pa.RecordBatch.from_arrays(arrays, names=[*names.values(), "none"])


def _leaf(batch: pa.RecordBatch, path: Path) -> pa.Array:
    place = batch.schema.get_field_index(path[0])
    if place < 0:
        raise SchemaMismatchError(f"the batch has no column {path[0]!r}, or several of that name")
    array = batch.column(place)
    for name in path[1:]:
        array = pc.struct_field(array, [array.type.get_field_index(name)])
    return array


def _given_sql(node: ColumnRef, name: str, is_read: bool) -> str:
    """The SQL that converts a column to the form that expressions use."""
    sql = quote_identifier(name)
    return given_sql(sql, node.type) if is_read and not isinstance(node.type, PrimitiveType) else sql


def _given(array: pa.Array, node: ColumnRef, is_read: bool) -> pa.Array:
    """A column in the form that DuckDB receives."""
    wanted = to_arrow_type(node.type)
    if array.type != wanted and not pa.types.is_nested(wanted):
        raise SchemaMismatchError(
            f"column {'.'.join(node.path)!r} comes as {array.type}, not as {wanted}; cast the data"
        )
    if pa.types.is_timestamp(wanted):
        naive = array.view(pa.timestamp("us"))
        _ensure_within_years(naive, node, _FIRST_DAY * _DAY_US, (_LAST_DAY + 1) * _DAY_US - 1)
        return naive
    if pa.types.is_date32(wanted):
        _ensure_within_years(array, node, _FIRST_DAY, _LAST_DAY)
    if pa.types.is_nested(wanted) and not is_read:
        return pc.if_else(array.is_valid(), True, pa.scalar(None, pa.bool_()))
    return array


def _ensure_within_years(array: pa.Array, node: ColumnRef, least: int, most: int) -> None:
    numbers = array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64())
    found = pc.min_max(numbers).as_py()
    if found["min"] is not None and (found["min"] < least or found["max"] > most):
        raise UnsupportedFeatureError(
            f"column {'.'.join(node.path)!r} holds a time outside the years 1 to 9999, for which SQL"
            " expressions are not computed",
            feature="expression",
        )


def _computed_type(data_type: DataType) -> pa.DataType:
    """The Arrow type of computed values; all struct fields are nullable until rows are checked."""
    if data_type != VOID and VOID in leaf_types(data_type):
        raise refused(f"a value of type {type_name(data_type)}")
    (field,) = as_nullable(Schema([Field("value", data_type)])).fields
    return to_arrow_type(field.type)


def _array(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.Array:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if pa.types.is_null(wanted):
        return pa.nulls(len(array))
    if pa.types.is_timestamp(wanted):
        return array.view(wanted)
    return array if array.type == wanted else array.cast(wanted)
