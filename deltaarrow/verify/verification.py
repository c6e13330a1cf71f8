"""Verification of a snapshot: every check in turn, from the log to the rows."""

from deltaarrow.display.redaction import redacted
from deltaarrow.scan import file_tasks, table_layout
from deltaarrow.snapshot import Snapshot
from deltaarrow.verify.add_actions import examine_num_records, examine_partition_values, examine_row_ids
from deltaarrow.verify.log import examine_checkpoints, examine_checksum, examine_commit_infos, examine_hint
from deltaarrow.verify.report import Check, Examination, VerifyReport
from deltaarrow.verify.statistics import examine_statistics
from deltaarrow.verify.stored_files import examine_data_files, examine_deletion_vectors

__all__ = ["verify_snapshot"]

_COLUMNS = ("path", "size", "partition_values", "stats", "deletion_vector", "base_row_id")

_OF_FILES = (Check.DATA_FILE, Check.DELETION_VECTOR)
"""After a finding of these checks a file has no rows to examine."""


def verify_snapshot(snapshot: Snapshot, *, deep: bool = False) -> VerifyReport:
    """Check a snapshot and report the faults; nothing is changed.

    This lists the whole table and reads the footer of every data file; with `deep` it also reads every
    checkpoint and every row. `deltaarrow.verify.Check` lists the checks.
    """
    snapshot = snapshot.replayed()
    found = Examination()
    examine_hint(found, snapshot)
    examine_commit_infos(found, snapshot)
    examine_checkpoints(found, snapshot, deep=deep)
    files = snapshot.files(columns=_COLUMNS)
    examine_checksum(found, snapshot, files)
    tasks, layout = file_tasks(files), table_layout(snapshot).as_stored
    rows = examine_data_files(found, snapshot.store, tasks)
    examine_deletion_vectors(found, snapshot.store, tasks, rows)
    examine_partition_values(found, layout, tasks)
    examine_num_records(found, tasks, rows)
    examine_row_ids(found, snapshot, tasks, files.column("base_row_id").to_pylist(), rows)
    if deep:
        broken = {finding.where for finding in found.findings if finding.check in _OF_FILES}
        examine_statistics(found, layout, [task for task in tasks if task.path not in broken])
    return found.report(redacted(snapshot.store.uri), snapshot.version, deep=deep)
