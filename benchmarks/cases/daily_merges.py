"""A query by DuckDB over a table that was merged into on many days, beside the same rows newly written."""

from functools import partial

from benchmarks.case import OURS, Case, Dataset, Scale, Target, short
from benchmarks.data_daily_merges import AUTOMATIC, FRESH, MERGED, OPTIMIZED, write_daily_merges
from benchmarks.queries import read_query, texts_of_rows, view_in_duckdb

__all__ = ["cases"]

_DAYS = 60
_NEW = "deltaarrow, newly written"
_LIMITS = {MERGED: 2.0, OPTIMIZED: 1.1, AUTOMATIC: 1.3}
_SHAPES = {
    MERGED: "as_they_are",
    OPTIMIZED: "after_optimize",
    AUTOMATIC: "with_auto_compaction",
}


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    rows = scale.written_rows
    days = _DAYS if rows >= 6_000_000 else 3
    name = f"rows_{short(rows)}_merges_{days}"
    dataset = Dataset(name, partial(write_daily_merges, rows=rows, days=days))
    query = read_query("lineitem/group_by")
    return [
        Case(
            f"{name}_{_SHAPES[folder]}_group_by_in_duckdb",
            dataset,
            {
                OURS: view_in_duckdb(query, {"lineitem": folder}),
                _NEW: view_in_duckdb(query, {"lineitem": FRESH}),
            },
            texts_of_rows,
            targets=(Target(_NEW, limit),) if rows >= 6_000_000 else (),
        )
        for folder, limit in _LIMITS.items()
    ]
