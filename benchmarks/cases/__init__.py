"""The suites of cases, by the name that the command line knows."""

from collections.abc import Callable, Mapping

from benchmarks.case import Case, Scale
from benchmarks.cases import append, checkpoint, scan, snapshot_load

__all__ = ["SUITES"]

SUITES: Mapping[str, Callable[[Scale], list[Case]]] = {
    "snapshot_load": snapshot_load.cases,
    "scan": scan.cases,
    "append": append.cases,
    "checkpoint": checkpoint.cases,
}
