"""TABLESAMPLE of a relation in FROM.

``(n ROWS)`` keeps the first rows, as LIMIT does. ``(x PERCENT)`` and ``(BUCKET x OUT OF y)`` keep each row
with that probability. Spark's choice depends on the partitions of its scan, so the rows are others. With
REPEATABLE they are the same each time, as long as the relation has the same rows in the same order.
"""

from decimal import Decimal
from typing import TYPE_CHECKING

from deltaarrow.compute import quote_identifier
from deltaarrow.spark_sql.queries.blocks import Writer
from deltaarrow.spark_sql.queries.context import Context, Source, unique_keys
from deltaarrow.spark_sql.queries.name_resolution import SourceColumn
from deltaarrow.spark_sql.tree.nodes import ColumnRef, refused

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["sampled"]

_HASHES = 1 << 64
_NUMBERS = ("size", "percent", "bucket_numerator", "bucket_denominator", "seed")


def sampled(context: Context, writer: Writer, source: Source, sample: "exp.Expr") -> Source:
    """The relation with some of its rows.

    Raises `UnsupportedFeatureError` for samples that Spark refuses as well, and for numbers that are no
    literals.
    """
    unknown = {name for name, part in sample.args.items() if part is not None} - {*_NUMBERS}
    if unknown:
        raise refused(f"TABLESAMPLE with {min(unknown).upper()}")
    numbers = {name: _number(sample.args[name]) for name in _NUMBERS if sample.args.get(name) is not None}
    shown = [each for each in source.columns if not each.is_metadata]
    keys = unique_keys([each.name for each in shown])
    listed = ", ".join(
        f"{writer.native(each.node)} AS {quote_identifier(key)}"
        for each, key in zip(shown, keys, strict=True)
    )
    alias = context.alias()
    writer.own.add(alias)
    sql = f"(SELECT {listed} FROM {source.sql}{_kept(numbers)}) AS {quote_identifier(alias)}"
    columns = (
        SourceColumn(
            each.name, ColumnRef((alias, key), each.field.type), each.field, each.qualifier, each.is_hidden
        )
        for each, key in zip(shown, keys, strict=True)
    )
    return Source(sql, tuple(columns))


def _kept(numbers: dict[str, Decimal]) -> str:
    """The clause that chooses the rows."""
    if "size" in numbers:
        if numbers["size"] % 1:
            raise refused("TABLESAMPLE of a part of a row")
        return f" LIMIT {int(numbers['size'])}"
    if "percent" in numbers:
        share = numbers["percent"] / 100
    elif numbers.get("bucket_denominator"):
        share = numbers["bucket_numerator"] / numbers["bucket_denominator"]
    else:
        raise refused("TABLESAMPLE without ROWS, PERCENT or BUCKET")
    if share > 1:
        raise refused(f"TABLESAMPLE of more than all rows ({share:%})")
    if "seed" not in numbers:
        return f" WHERE random() < {float(share)!r}"
    # The rows are numbered as they come, whatever number of threads there is.
    return f" QUALIFY hash(row_number() OVER (), {int(numbers['seed'])}) < {int(share * _HASHES)}::HUGEINT"


def _number(node: "exp.Expr") -> Decimal:
    if node.key != "literal" or node.is_string:
        raise refused("TABLESAMPLE of something other than a number")
    return Decimal(node.this)
