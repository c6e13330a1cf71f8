"""The clustering columns of a table: chapter "Clustered Table" of the protocol.

The domain ``delta.clustering`` stores them as paths of physical names; the rules are delta-spark's. Writes
leave rows in the order in which they come; `deltaarrow.operations.optimize` clusters them.
"""

from collections.abc import Mapping, Sequence

import orjson

from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN
from deltaarrow.errors import CorruptLogError, InvalidTablePropertyError, SchemaMismatchError
from deltaarrow.features import is_supported
from deltaarrow.schema import DataType, Schema, StructType, physical_name, render_path, resolve_path
from deltaarrow.schema.metadata_keys import NUM_INDEXED_COLUMNS
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import parse_column_names, statistics_columns

__all__ = [
    "clustering_columns",
    "ensure_clustering_kept",
    "parse_clustering_columns",
    "physical_clustering_columns",
    "render_clustering",
    "resolve_clustering_columns",
]

_MOST = 4
_EVERY_COLUMN = {NUM_INDEXED_COLUMNS: "-1"}


def parse_clustering_columns(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the paths of columns in Spark's notation; a name with a space needs no backticks.

    >>> parse_clustering_columns(["a", "s.`x.y`", "a b"])
    [('a',), ('s', 'x.y'), ('a b',)]
    """
    found = []
    for column in columns:
        try:
            (path,) = parse_column_names(column)
        except (InvalidTablePropertyError, ValueError):
            path = (column,)
        found.append(path)
    return found


def resolve_clustering_columns(
    schema: Schema,
    columns: Sequence[Sequence[str]],
    partition_columns: Sequence[str],
    configuration: Mapping[str, str],
    mapping_mode: str,
) -> list[tuple[str, ...]]:
    """Return the paths of clustering columns, in the schema's spelling.

    Raises:
        SchemaMismatchError: the table is partitioned, more than four columns are given, or a column does not
            exist, is given twice, has a type without order or has no statistics.
    """
    if columns and partition_columns:
        raise SchemaMismatchError(
            "a table has partition columns or clustering columns, not both"
            f" (partition columns: {', '.join(partition_columns)})"
            " (Spark: DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED)"
        )
    if len(columns) > _MOST:
        raise SchemaMismatchError(f"a table has up to {_MOST} clustering columns, not {len(columns)}")
    found: list[tuple[str, ...]] = []
    indexed = {each.path for each in statistics_columns(schema, (), configuration, mapping_mode)}
    leaves = {each.path: each for each in statistics_columns(schema, (), _EVERY_COLUMN, mapping_mode)}
    for each in columns:
        fields = resolve_path(schema, each)
        path = tuple(field.name for field in fields)
        column = render_path(path)
        if path in found:
            raise SchemaMismatchError(
                f"clustering column {column!r} is given twice (Spark: DELTA_DUPLICATE_COLUMNS_FOUND)"
            )
        physical = tuple(physical_name(field, mapping_mode) for field in fields)
        if physical not in leaves or not leaves[physical].has_bounds:
            raise SchemaMismatchError(
                f"column {column!r} cannot cluster a table: files have no bounds for its type,"
                f" {fields[-1].type} (Spark: DELTA_CLUSTERING_COLUMNS_DATATYPE_NOT_SUPPORTED)"
            )
        if physical not in indexed:
            raise SchemaMismatchError(
                f"column {column!r} cannot cluster a table: it has no statistics; change"
                " delta.dataSkippingNumIndexedCols or delta.dataSkippingStatsColumns to collect them (Spark:"
                " DELTA_CLUSTERING_COLUMN_MISSING_STATS)"
            )
        found.append(path)
    return found


def render_clustering(schema: Schema, paths: Sequence[Sequence[str]], mapping_mode: str) -> str:
    """Return the text of the domain, with physical names.

    >>> from deltaarrow.schema import Field
    >>> render_clustering(Schema([Field("a", "long")]), [("a",)], "none")
    '{"clusteringColumns":[["a"]],"domainName":"delta.clustering"}'
    """
    physical = [
        [physical_name(field, mapping_mode) for field in resolve_path(schema, path)] for path in paths
    ]
    return orjson.dumps({"clusteringColumns": physical, "domainName": CLUSTERING_DOMAIN}).decode()


def clustering_columns(snapshot: Snapshot) -> list[tuple[str, ...]]:
    """Return the paths of the clustering columns, in logical names.

    Raises:
        CorruptLogError: the domain names no columns, or a column that the table does not have.
    """
    if not is_supported(snapshot.protocol, "clustering"):
        return []
    found = []
    for physical in physical_clustering_columns(snapshot):
        path = _logical_path(snapshot.schema, physical, snapshot.mapping_mode)
        if path is None:
            raise CorruptLogError(
                f"version {snapshot.version} has a domain delta.clustering that names the column"
                f" {'.'.join(map(str, physical))}, which the table does not have; set the clustering columns"
                " again in the engine that wrote it"
            )
        found.append(path)
    return found


def physical_clustering_columns(snapshot: Snapshot) -> list[tuple[str, ...]]:
    """Return the paths of the clustering columns, in physical names.

    Raises:
        CorruptLogError: the domain names no columns.
    """
    domain = snapshot.domains.get(CLUSTERING_DOMAIN)
    if domain is None:
        return []
    try:
        columns = orjson.loads(domain.configuration).get("clusteringColumns", [])
        # The protocol's example has a list of names; Spark writes a list of paths.
        return [(column,) if isinstance(column, str) else tuple(column) for column in columns]
    except (ValueError, AttributeError, TypeError) as error:
        raise CorruptLogError(
            f"version {snapshot.version} has a domain delta.clustering that names no columns"
        ) from error


def ensure_clustering_kept(
    snapshot: Snapshot,
    schema: Schema,
    partition_columns: Sequence[str],
    configuration: Mapping[str, str],
    mapping_mode: str,
) -> None:
    """Raise `SchemaMismatchError` if a new schema does not allow the present clustering columns."""
    columns = []
    for physical in physical_clustering_columns(snapshot):
        path = _logical_path(schema, physical, mapping_mode)
        if path is None:
            named = _logical_path(snapshot.schema, physical, snapshot.mapping_mode) or physical
            raise SchemaMismatchError(
                f"{render_path(named)!r} is a clustering column and cannot be dropped; choose other"
                " clustering columns first, with table.alter.cluster_by (Spark:"
                " DELTA_UNSUPPORTED_DROP_CLUSTERING_COLUMN)"
            )
        columns.append(path)
    try:
        resolve_clustering_columns(schema, columns, partition_columns, configuration, mapping_mode)
    except SchemaMismatchError as error:
        raise SchemaMismatchError(
            f"the new schema does not fit the clustering columns of the table: {error}"
        ) from error


def _logical_path(schema: Schema, physical: Sequence[str], mapping_mode: str) -> tuple[str, ...] | None:
    """Return the logical path for a physical path, or None if the schema has no such column."""
    level: DataType = schema
    names = []
    for name in physical:
        fields = level.fields if isinstance(level, StructType) else []
        field = next((f for f in fields if physical_name(f, mapping_mode) == name), None)
        if field is None:
            return None
        names.append(field.name)
        level = field.type
    return tuple(names)
