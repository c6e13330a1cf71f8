"""The report on a table of many files, made from its log alone.

A run opens the table and renders the page. No other engine has a report.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Scale, Target, short
from benchmarks.data import write_log_of_checkpoint

__all__ = ["cases"]

_COMMITS = 20


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    adds = scale.planned_adds
    shape = f"adds_{short(adds)}_commits_{_COMMITS}_since_classic_checkpoint"
    dataset = Dataset(shape, partial(write_log_of_checkpoint, adds=adds, commits=_COMMITS))
    targets = (Target(plus=10, of="cold"),) if adds >= 1_000_000 else ()
    return [Case(f"{shape}_report", dataset, {OURS: _ours}, _summary, targets=targets)]


def _ours(data: Path, scratch: Path) -> Iterator[Any]:
    import duckdb  # noqa: F401  the package loads it at its first query

    from deltaarrow import DeltaTable

    yield
    while True:
        yield DeltaTable(data).report()


def _summary(page: str) -> dict[str, bool]:
    """Whether the page is whole."""
    return {"begins": page.startswith("<!doctype html>"), "ends": page.rstrip().endswith("</html>")}
