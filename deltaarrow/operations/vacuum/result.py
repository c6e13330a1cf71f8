"""The result of a VACUUM: the deleted paths, and a table with the reason for every file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from deltaarrow.actions.arrow_tables import build_array
from deltaarrow.columnar.numpy_arrays import booleans
from deltaarrow.operations.vacuum.candidates import Decision, candidate_table
from deltaarrow.operations.vacuum.reasons import Reason

__all__ = ["REPORT", "VacuumOutcome"]

REPORT = pa.schema(
    [
        ("path", pa.string()),
        ("size", pa.int64()),
        ("modification_time", pa.timestamp("ms", "UTC")),
        ("is_deleted", pa.bool_()),
        ("reason", pa.string()),
        ("error", pa.string()),
    ]
)
"""A file, or an empty folder with a slash at the end, a row. What is not known of it is NULL."""


@dataclass(frozen=True)
class VacuumOutcome:
    """What became of files.

    Attributes:
        decision: the candidates.
        kept: files that stay for their name or place alone, where a report was asked for.
        folders: empty folders that go.
        failures: why some that were to go are still there, by name.
    """

    decision: Decision
    kept: Sequence[Decision] = ()
    folders: Sequence[str] = ()
    failures: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> list[str]:
        """The files that are deleted, or would be, sorted."""
        going: list[str] = self.decision.going().column("path").to_pylist()
        return sorted(path for path in going if path not in self.failures)

    def report(self) -> pa.Table:
        """Return a table of `REPORT`, sorted by path."""
        folders = [f"{folder}/" for folder in self.folders]
        unknown = [None] * len(folders)
        empty = Decision.begin(candidate_table(folders, unknown, unknown), Reason.EMPTY_FOLDER)
        parts = [_rows(part) for part in (self.decision, *self.kept, empty)]
        table = pa.concat_tables(parts).combine_chunks()
        if self.failures:
            paths = table.column("path").to_pylist()
            errors = [self.failures.get(path.removesuffix("/")) for path in paths]
            is_deleted = [
                goes and error is None
                for goes, error in zip(table.column("is_deleted").to_pylist(), errors, strict=True)
            ]
            table = table.set_column(3, REPORT.field(3), build_array(is_deleted, pa.bool_()))
            table = table.set_column(5, REPORT.field(5), build_array(errors, pa.string()))
        return table.sort_by("path")


def _rows(part: Decision) -> pa.Table:
    files = part.files
    columns = [
        files.column("path"),
        files.column("size"),
        files.column("modified_ms").cast(REPORT.field("modification_time").type),
        booleans(part.goes),
        part.reasons(),
        pa.nulls(len(files), pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=REPORT)
