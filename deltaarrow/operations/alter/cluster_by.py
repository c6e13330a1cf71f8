"""Change of the clustering columns of an existing table, like ``ALTER TABLE ... CLUSTER BY``."""

from collections.abc import Sequence

from deltaarrow.actions import DomainMetadata
from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import FEATURES, is_supported
from deltaarrow.operations.alter.metadata_changes import Alteration
from deltaarrow.operations.define.clustering_domain import (
    clustering_columns,
    parse_clustering_columns,
    render_clustering,
    resolve_clustering_columns,
)
from deltaarrow.schema import render_path
from deltaarrow.snapshot import Snapshot

__all__ = ["cluster_by"]

_FEATURE = "clustering"


def cluster_by(snapshot: Snapshot, columns: Sequence[str]) -> Alteration | None:
    """Plan to set the clustering columns; no columns means ``CLUSTER BY NONE``.

    Existing files stay unchanged until OPTIMIZE clusters them. As in Spark, there is nothing to plan (None)
    if `columns` is empty and the table was never clustered.

    Args:
        snapshot: the table.
        columns: in Spark's notation; a field of a struct is named with dots.

    Raises:
        SchemaMismatchError: the table has partition columns, and as for `resolve_clustering_columns`.
    """
    if snapshot.partition_columns:
        raise SchemaMismatchError(
            "[DELTA_ALTER_TABLE_CLUSTER_BY_ON_PARTITIONED_TABLE_NOT_ALLOWED] a table has partition columns or"
            f" clustering columns, not both (partition columns: {', '.join(snapshot.partition_columns)})"
        )
    is_clustered = is_supported(snapshot.protocol, _FEATURE)
    if not columns and not is_clustered:
        return None
    mode = snapshot.mapping_mode
    paths = resolve_clustering_columns(
        snapshot.schema,
        parse_clustering_columns(columns),
        snapshot.partition_columns,
        snapshot.configuration,
        mode,
    )
    text = render_clustering(snapshot.schema, paths, mode)
    return Alteration(
        operation="CLUSTER BY",
        parameters={
            "oldClusteringColumns": ",".join(map(render_path, clustering_columns(snapshot))),
            "newClusteringColumns": ",".join(columns),
        },
        metadata=None if is_clustered else snapshot.metadata,
        asked=() if is_clustered else (FEATURES[_FEATURE],),
        engine_domains=[DomainMetadata(domain=CLUSTERING_DOMAIN, configuration=text, removed=False)],
    )
