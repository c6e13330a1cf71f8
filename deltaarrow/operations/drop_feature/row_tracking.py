"""Removal of row tracking from a table: row tracking is suspended, and files lose their row ids.

Chapter "Row Tracking" of the protocol. While row tracking is suspended, commits assign no ids.
"""

import pyarrow.compute as pc

from deltaarrow.features import properties
from deltaarrow.operations.alter.metadata_changes import set_properties
from deltaarrow.operations.drop_feature.step import Step, Work
from deltaarrow.operations.rows.row_id_assignment import (
    ROW_TRACKING_UNBACKFILL,
    has_row_ids,
    unbackfill_row_ids,
)
from deltaarrow.snapshot import Snapshot

__all__ = ["STEPS"]

_ENABLED, _SUSPENDED = properties.ENABLE_ROW_TRACKING, properties.ROW_TRACKING_SUSPENDED


def _assigns_ids(snapshot: Snapshot) -> bool:
    configuration = snapshot.configuration
    return _ENABLED.parse(configuration) or not _SUSPENDED.parse(configuration)


def _suspend(snapshot: Snapshot, work: Work) -> None:
    work.alter(snapshot, set_properties(snapshot, {_ENABLED.name: "false", _SUSPENDED.name: "true"}))


def _has_ids(snapshot: Snapshot) -> bool:
    files = snapshot.files(columns=["base_row_id", "default_row_commit_version"])
    return pc.any(has_row_ids(files)).as_py() is True


def _take_ids(snapshot: Snapshot, work: Work) -> None:
    unbackfill_row_ids(snapshot, lambda newest: work.begin(newest, ROW_TRACKING_UNBACKFILL))


STEPS = (
    Step("SET TBLPROPERTIES", _assigns_ids, _suspend),
    Step(ROW_TRACKING_UNBACKFILL, _has_ids, _take_ids),
)
