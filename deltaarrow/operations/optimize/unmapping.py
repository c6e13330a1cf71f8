"""Removal of column mapping: every file is rewritten with the logical names of the columns.

One commit, Spark's ``REMOVE COLUMN MAPPING``, takes the ids and physical names out of the schema and puts
the new files in the place of the old ones. Each file becomes one new file. As the protocol wants it, and
unlike Spark, the clustering columns are stored again by the new physical names. Chapter *Column Mapping*.
"""

from collections.abc import Mapping
from dataclasses import replace

from deltaarrow.actions import Action
from deltaarrow.actions.domain_names import CLUSTERING_DOMAIN
from deltaarrow.errors import SchemaMismatchError
from deltaarrow.features import ensure_columns_fit_properties, ensure_iceberg_compatible, properties
from deltaarrow.operations.define.clustering_domain import clustering_columns, render_clustering
from deltaarrow.operations.define.write_target import WriteTarget
from deltaarrow.operations.optimize.bins import FileFigures
from deltaarrow.operations.optimize.partition_selection import Selection, plan_files
from deltaarrow.operations.optimize.plan import OptimizePlan
from deltaarrow.operations.optimize.rewriting import Rewriting, RewritingOptions
from deltaarrow.runtime.clock import Clock, system_clock
from deltaarrow.schema import Schema, ensure_valid_for_write, without_column_ids
from deltaarrow.snapshot import Snapshot

__all__ = ["has_column_mapping", "mapping_removal", "switches_mapping_off"]

_MODE = properties.COLUMN_MAPPING_MODE


def has_column_mapping(snapshot: Snapshot) -> bool:
    """Whether the table uses column mapping, or its columns still have ids or physical names."""
    return snapshot.mapping_mode != "none" or without_column_ids(snapshot.schema) != snapshot.schema


def switches_mapping_off(snapshot: Snapshot, changes: Mapping[str, str | None]) -> bool:
    """Whether a change of properties ends column mapping; None stands for a property that is unset."""
    modes = [text for name, text in changes.items() if name.lower() == _MODE.name.lower()]
    return snapshot.mapping_mode != "none" and any(
        text is None or _MODE.parse({_MODE.name: text}) == "none" for text in modes
    )


def _without_mapping(configuration: Mapping[str, str], *, keep_mode: bool) -> dict[str, str]:
    """Return the properties without column mapping; with `keep_mode` they say that the mode is ``none``."""
    gone = (_MODE.name, properties.COLUMN_MAPPING_MAX_COLUMN_ID.name)
    kept = {name: text for name, text in configuration.items() if name not in gone}
    return {**kept, _MODE.name: "none"} if keep_mode else kept


def mapping_removal(
    snapshot: Snapshot,
    options: RewritingOptions,
    clock: Clock = system_clock,
    *,
    keep_mode: bool = False,
) -> Rewriting:
    """Return the rewriting that removes column mapping from a table; `run` carries it out.

    Raises:
        SchemaMismatchError: the name of a column cannot be used in data files, or the table is to be read as
            Iceberg, which needs column mapping.
    """
    target = _target(snapshot, keep_mode)
    planned = plan_files(snapshot, Selection())
    figures = FileFigures.of(planned)
    bins = [figures.bin([place]) for place in range(planned.files.num_rows)]
    return Rewriting(
        snapshot,
        OptimizePlan(planned, tuple(bins), planned.files.num_rows),
        "REMOVE COLUMN MAPPING",
        {},
        replace(options, min_commit_interval=None),
        clock,
        target=target,
    )


def _target(snapshot: Snapshot, keep_mode: bool) -> WriteTarget:
    schema = without_column_ids(snapshot.schema)
    configuration = _without_mapping(snapshot.configuration, keep_mode=keep_mode)
    columns = snapshot.partition_columns
    try:
        ensure_valid_for_write(schema, columns, "none")
    except SchemaMismatchError as error:
        raise SchemaMismatchError(
            f"column mapping of {snapshot.store.uri} cannot be removed: {error} (Spark:"
            " DELTA_INVALID_COLUMN_NAMES_WHEN_REMOVING_COLUMN_MAPPING)"
        ) from error
    ensure_columns_fit_properties(schema, columns, configuration, "none")
    ensure_iceberg_compatible(schema, columns, configuration)
    metadata = replace(snapshot.metadata, schema_string=schema.to_json(), configuration=configuration)
    return WriteTarget(snapshot.protocol, metadata, [metadata, *_clustering(snapshot, schema)])


def _clustering(snapshot: Snapshot, schema: Schema) -> list[Action]:
    columns = clustering_columns(snapshot)
    if not columns:
        return []
    text = render_clustering(schema, columns, "none")
    present = snapshot.domains[CLUSTERING_DOMAIN]
    return [] if text == present.configuration else [replace(present, configuration=text)]
