"""Removal of deletion vectors from a table, with tombstones that protect the vector files.

Chapters "Deletion Vectors" and "Add File and Remove File" of the protocol. Older versions still need the
files of deletion vectors. A writer that does not know the feature does not see that tombstones name them, and
its VACUUM would delete them too early. So a last commit gives each of these files a tombstone of its own.
"""

import pyarrow as pa
import pyarrow.compute as pc

from deltaarrow.actions import RemoveFile
from deltaarrow.columnar.numpy_arrays import scalar_of
from deltaarrow.features import properties
from deltaarrow.operations.alter.metadata_changes import unset_properties
from deltaarrow.operations.drop_feature.step import Step, Work
from deltaarrow.operations.optimize import OptimizePlan, Rewriting, Selection, plan_purge, purge_parameters
from deltaarrow.operations.vacuum.listing_names import listed_names, vector_names
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import encode_path

__all__ = ["STEPS"]

_PROPERTY = properties.ENABLE_DELETION_VECTORS


def _is_enabled(snapshot: Snapshot) -> bool:
    return _PROPERTY.parse(snapshot.configuration)


def _disable(snapshot: Snapshot, work: Work) -> None:
    work.alter(snapshot, unset_properties(snapshot, [_PROPERTY.name]))


def _has_vectors(snapshot: Snapshot) -> bool:
    vectors = snapshot.files(columns=["deletion_vector"]).column("deletion_vector")
    return bool(vectors.null_count < len(vectors))


def _plan_purge(snapshot: Snapshot) -> OptimizePlan:
    return plan_purge(snapshot, Selection(), every_vector=True)


def _purge(snapshot: Snapshot, work: Work) -> None:
    parameters, plan = purge_parameters(Selection()), _plan_purge(snapshot)
    Rewriting(snapshot, plan, "REORG", parameters, work.options, work.clock).run(work.progress)


def _keep_vector_files(snapshot: Snapshot, work: Work) -> None:
    now = work.clock()
    transaction = work.begin(snapshot, "Deletion Vector Tombstones")
    transaction.stage(
        [
            RemoveFile(path=encode_path(name), deletion_timestamp=now, data_change=False)
            for name in _vector_files(snapshot, now)
        ]
    )
    transaction.commit()


def _vector_files(snapshot: Snapshot, now: int) -> list[str]:
    """Return the vector files in the table's folder that tombstones within the retention name."""
    tombstones = snapshot.tombstones()
    retention = properties.DELETED_FILE_RETENTION.parse(snapshot.configuration)
    since = scalar_of(now - int(retention.total_seconds() * 1000), pa.int64())
    times = pc.fill_null(tombstones.column("deletion_timestamp"), scalar_of(0, pa.int64()))
    young = tombstones.filter(pc.greater_equal(times, since)).column("deletion_vector").combine_chunks()
    named = listed_names(snapshot.store, vector_names(young)).drop_null().unique().to_pylist()
    kept = set(tombstones.column("path").to_pylist())
    return sorted(name for name in named if name not in kept)


STEPS = (
    Step("UNSET TBLPROPERTIES", _is_enabled, _disable),
    Step("REORG", _has_vectors, _purge, _plan_purge),
    Step(
        "Deletion Vector Tombstones",
        lambda snapshot: True,
        _keep_vector_files,
        is_trace=False,
        in_history=False,
    ),
)
"""As in Spark, the last commit is made even if it names no file."""
