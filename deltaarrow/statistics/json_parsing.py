"""Parsing of JSON statistics to a table of typed structs.

Implements *Per-file Statistics* of PROTOCOL.md, in the form of ``stats_parsed`` in checkpoints. The values
are those that writers wrote, which are not always bounds; `deltaarrow.statistics.bounds` makes safe bounds.
"""

import json
from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

from deltaarrow.compute import quote_literal, sandbox_cursor
from deltaarrow.partitions import duckdb_type
from deltaarrow.schema import PrimitiveType, StructType, to_arrow_type
from deltaarrow.schema.metadata_keys import NUM_INDEXED_COLUMNS
from deltaarrow.statistics.column_selection import StatisticsColumn, readable_columns, statistics_columns

__all__ = ["parse_statistics", "statistics_schema"]

_ALL_COLUMNS = {NUM_INDEXED_COLUMNS: "-1"}


def statistics_schema(
    schema: StructType, mapping_mode: str = "none", partition_columns: Collection[str] = ()
) -> pa.Schema:
    """Return the Arrow schema of the statistics that files of a table can have.

    Returns:
        ``numRecords``, ``tightBounds`` and the structs ``minValues``, ``maxValues`` and ``nullCount``, which
        have the structure of the data with physical names; a struct without columns is left out.

    >>> from deltaarrow.schema import Field, Schema
    >>> print(statistics_schema(Schema([Field("a", "long"), Field("b", "boolean")])))
    numRecords: int64
    tightBounds: bool
    minValues: struct<a: int64>
      child 0, a: int64
    maxValues: struct<a: int64>
      child 0, a: int64
    nullCount: struct<a: int64, b: int64>
      child 0, a: int64
      child 1, b: int64
    """
    columns = _columns(schema, mapping_mode, partition_columns)
    bounds = [(each.path, to_arrow_type(each.type)) for each in columns if each.has_bounds]
    members = [("numRecords", pa.int64()), ("tightBounds", pa.bool_())]
    if bounds:
        members += [("minValues", _struct(bounds)), ("maxValues", _struct(bounds))]
    if columns:
        members.append(("nullCount", _struct([(each.path, pa.int64()) for each in columns])))
    return pa.schema(members)


def parse_statistics(
    stats: pa.Array | pa.ChunkedArray,
    schema: StructType,
    mapping_mode: str = "none",
    partition_columns: Collection[str] = (),
) -> pa.Table:
    """Parse the statistics of files to typed columns, all files at once.

    Args:
        stats: JSON texts; NULL and broken JSON give rows of NULL.
        schema: the logical schema of the table.
        mapping_mode: the column mapping mode.
        partition_columns: logical names; they have no statistics.

    Returns:
        A table of `statistics_schema`. A value that is absent or does not fit its column's type is NULL. The
        legacy ``nullCounts`` is read as ``nullCount``.

    >>> from deltaarrow.schema import Field, Schema
    >>> text = '{"numRecords":1,"minValues":{"a":1},"maxValues":{"a":1},"nullCount":{"a":0}}'
    >>> parse_statistics(pa.array([text]), Schema([Field("a", "long")])).column("maxValues").to_pylist()
    [{'a': 1}]
    """
    target = statistics_schema(schema, mapping_mode, partition_columns)
    columns = _columns(schema, mapping_mode, partition_columns)
    structure: dict[str, Any] = {"numRecords": "BIGINT", "tightBounds": "BOOLEAN"}
    for each in columns:
        if each.has_bounds:
            assert isinstance(each.type, PrimitiveType)
            for name in ("minValues", "maxValues"):
                _put(structure, (name, *each.path), duckdb_type(each.type))
        for name in ("nullCount", "nullCounts"):
            _put(structure, (name, *each.path), "BIGINT")
    if isinstance(stats, pa.Array):
        stats = pa.chunked_array([stats])
    selected = ", ".join(
        'coalesce(s."nullCount", s."nullCounts") AS "nullCount"' if name == "nullCount" else f's."{name}"'
        for name in target.names
    )
    with sandbox_cursor() as cursor:
        cursor.register("files", pa.table({"stats": stats}))
        parsed = f"TRY(from_json(stats, {quote_literal(json.dumps(structure))}))"
        found = cursor.sql(f"SELECT {selected} FROM (SELECT {parsed} AS s FROM files)").to_arrow_table()
    return found.cast(target)


def _columns(
    schema: StructType, mapping_mode: str, partition_columns: Collection[str]
) -> Sequence[StatisticsColumn]:
    return readable_columns(statistics_columns(schema, partition_columns, _ALL_COLUMNS, mapping_mode))


def _struct(leaves: Sequence[tuple[tuple[str, ...], pa.DataType]]) -> pa.StructType:
    """Return the nested struct type of leaf paths, with fields in the order of first occurrence."""
    below: dict[str, list[tuple[tuple[str, ...], pa.DataType]]] = {}
    for (name, *rest), leaf in leaves:
        below.setdefault(name, []).append((tuple(rest), leaf))
    return pa.struct(
        [(name, inner[0][1] if not inner[0][0] else _struct(inner)) for name, inner in below.items()]
    )


def _put(tree: dict[str, Any], path: tuple[str, ...], value: str) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value
