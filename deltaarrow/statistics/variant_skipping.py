"""File skipping by the statistics of variants, which are decoded row by row before SQL can look at them.

Implements *Per-file Statistics* of PROTOCOL.md for variants; the rest is that of `skipping`.
"""

from collections.abc import Collection

import pyarrow as pa

from deltaarrow.arrays import integers
from deltaarrow.compute import sandbox_cursor
from deltaarrow.expressions import Predicate, VariantGet, variant_paths
from deltaarrow.schema import StructType, physical_name
from deltaarrow.statistics.skipping import skipping_sql, variant_fields
from deltaarrow.statistics.variants import decode_variant_bounds

__all__ = ["skip_by_variants"]


def skip_by_variants(
    files: pa.Table,
    predicate: Predicate,
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
) -> pa.Table:
    """The files that the statistics of variants do not rule out; SQL alone cannot decode those.

    Args:
        files: a table with the columns ``stats`` and ``partition_values``, among others.
        predicate: as for `skipping_sql`, like all that follow.
        schema: the logical schema of the table.
        mapping_mode: the column mapping mode.
        partition_columns: logical names.

    Raises:
        InvalidPredicateError: a path into a variant is ill-formed.
    """

    def physical(part: VariantGet) -> tuple[str, ...] | None:
        fields = variant_fields(schema, part)
        return None if fields is None else tuple(physical_name(each, mapping_mode) for each in fields)

    parts = variant_paths(predicate)
    if not parts or not files.num_rows:
        return files
    decoded = decode_variant_bounds(files.column("stats"), parts, physical)
    columns = {"place": integers(range(files.num_rows))}
    columns |= {name: files.column(name) for name in ("stats", "partition_values")}
    names: dict[VariantGet, tuple[str, str]] = {}
    for number, (part, bounds) in enumerate(decoded.items()):
        names[part] = (f"lower{number}", f"upper{number}")
        columns |= dict(zip(names[part], bounds, strict=True))
    condition = skipping_sql(
        predicate,
        schema,
        mapping_mode,
        partition_columns,
        partition_values="partition_values",
        variant_bounds=names,
    )
    if condition is None:
        return files
    with sandbox_cursor() as cursor:
        cursor.register("files", pa.table(columns))
        kept = cursor.sql(f"SELECT place FROM files WHERE {condition} ORDER BY place").to_arrow_table()
    return files.take(kept.column("place"))
