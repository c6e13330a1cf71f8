"""Snapshots by every strategy."""

import pytest
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
    BaseSnapshotEphemeralHardDeletes,
    BaseSnapshotNewColumnSpecificCheckCols,
    BaseSnapshotNewColumnTimestampStrategy,
    BaseSnapshotNewColumnWithDeletes,
)
from dbt.tests.adapter.simple_snapshot.test_snapshot import (
    BaseSimpleSnapshot as TestSimpleSnapshot,
    BaseSnapshotCheck as TestSnapshotCheck,
)
from dbt.tests.adapter.simple_snapshot.test_various_configs import (
    BaseSnapshotColumnNames as TestSnapshotColumnNames,
    BaseSnapshotColumnNamesFromDbtProject as TestSnapshotColumnNamesFromDbtProject,
    BaseSnapshotInvalidColumnNames as TestSnapshotInvalidColumnNames,
    BaseSnapshotMultiUniqueKey as TestSnapshotMultiUniqueKey,
)


class OfDelta:
    """Delta gives rows that are there no default for a new column."""

    @pytest.fixture(scope="class")
    def source_alter_sql(self):
        return "alter table {database}.{schema}.src_customers add column dummy_column varchar(50)"


class TestSnapshotEphemeralHardDeletes(OfDelta, BaseSnapshotEphemeralHardDeletes):
    pass


class TestSnapshotNewColumnSpecificCheckCols(OfDelta, BaseSnapshotNewColumnSpecificCheckCols):
    pass


class TestSnapshotNewColumnTimestampStrategy(OfDelta, BaseSnapshotNewColumnTimestampStrategy):
    pass


class TestSnapshotNewColumnWithDeletes(OfDelta, BaseSnapshotNewColumnWithDeletes):
    pass
