"""Snapshots by every strategy."""

from dbt.tests.adapter.simple_snapshot.new_record_check_mode import (
    BaseSnapshotNewRecordCheckMode as TestSnapshotNewRecordCheckMode,
)
from dbt.tests.adapter.simple_snapshot.new_record_dbt_valid_to_current import (
    BaseSnapshotNewRecordDbtValidToCurrent as TestSnapshotNewRecordDbtValidToCurrent,
)
from dbt.tests.adapter.simple_snapshot.new_record_timestamp_mode import (
    BaseSnapshotNewRecordTimestampMode as TestSnapshotNewRecordTimestampMode,
)
from dbt.tests.adapter.simple_snapshot.test_ephemeral_snapshot_hard_deletes import (
    BaseSnapshotEphemeralHardDeletes as TestSnapshotEphemeralHardDeletes,
    BaseSnapshotNewColumnSpecificCheckCols as TestSnapshotNewColumnSpecificCheckCols,
    BaseSnapshotNewColumnTimestampStrategy as TestSnapshotNewColumnTimestampStrategy,
    BaseSnapshotNewColumnWithDeletes as TestSnapshotNewColumnWithDeletes,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import (
    BaseSimpleSnapshot as TestSimpleSnapshot,
    BaseSnapshotCheck as TestSnapshotCheck,
)
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames as TestSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject as TestSnapshotColumnNamesFromDbtProject,
    BaseSnapshotDbtValidToCurrent as TestSnapshotDbtValidToCurrent,
    BaseSnapshotInvalidColumnNames as TestSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey as TestSnapshotMultiUniqueKey,
)
