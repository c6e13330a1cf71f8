"""Lines of text about the MERGE, OPTIMIZE, REORG and VACUUM statements of a script."""

import itertools

from deltaarrow.pipeline.engine import MaintenanceReport, MergeReport
from deltaarrow.pipeline.run import StepReport

__all__ = ["lines_of"]


def lines_of(report: StepReport) -> list[str]:
    """Return the lines of a report; paths and names in them are as strangers wrote them."""
    return [*map(_of_merge, report.merges), *itertools.chain(*map(_of_maintenance, report.maintenance))]


def _of_maintenance(report: MaintenanceReport) -> list[str]:
    metrics, begin = report.metrics, f"{report.operation} {report.table}"
    if "numFilesRemoved" in metrics:
        done = f"{begin}: files rewritten: {metrics['numFilesRemoved']}, new: {metrics['numFilesAdded']}"
        return [done]
    if "numFilesToDelete" in metrics:
        return [*report.files, f"{begin}: files that would be deleted: {metrics['numFilesToDelete']}"]
    return [f"{begin}: files deleted: {metrics['numDeletedFiles']}"]


def _of_merge(merge: MergeReport) -> str:
    if merge.metrics is None:
        return "; ".join(
            f"nothing new since version {last} of {path}" for path, (_, last) in merge.changes.items()
        )
    taken = "".join(f"versions {first} to {last} of {path} " for path, (first, last) in merge.changes.items())
    changed = ", ".join(
        f"{merge.metrics[f'num_target_rows_{what}']} {what}" for what in ("inserted", "updated", "deleted")
    )
    return f"{taken}into {merge.table}: {merge.metrics['num_source_rows']} rows, {changed}"
