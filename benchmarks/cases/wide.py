"""Tables of very many columns: reads into Arrow and Polars, and changes of rows, beside deltalake."""

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, short
from benchmarks.cases.dml import both_engines, describe_rows
from benchmarks.data_wide import write_wide_table
from benchmarks.queries import POLARS_DELTALAKE

__all__ = ["cases"]

_ROWS = 20
_MOST_READ, _MOST_SCANNED = 1.0, 0.3
"""Seconds allowed for reading 5,000 columns, and for finding one of them."""


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    columns, fewer = scale.columns, scale.columns // 5
    name = f"rows_{_ROWS}_columns_{short(columns)}"
    dataset = _dataset(columns)
    reads = {OURS: _reading("deltaarrow"), "deltalake": _reading("deltalake")}
    scans = {OURS: _scanning("deltaarrow"), POLARS_DELTALAKE: _scanning("polars")}
    return [
        Case(f"{name}_read", dataset, reads, _describe, targets=(Target(plus=_MOST_READ),)),
        Case(f"{name}_scan_one_column", dataset, scans, _describe, targets=(Target(plus=_MOST_SCANNED),)),
        _change(f"{name}_update", dataset, _update),
        # A merge of deltalake takes time with the square of the columns.
        _change(f"rows_{_ROWS}_columns_{short(fewer)}_merge", _dataset(fewer), _merge),
    ]


def _dataset(columns: int) -> Dataset:
    return Dataset(f"wide_{_ROWS}_{columns}", partial(write_wide_table, rows=_ROWS, columns=columns))


def _change(name: str, dataset: Dataset, change: Callable[..., None]) -> Case:
    engines = both_engines(change)
    return Case(name, dataset, engines, describe_rows, targets=(Target("deltalake", 1),))


# --- what is done ----------------------------------------------------------------------------------


def _reading(library: str) -> Engine:
    """All columns as a table of pyarrow, from a table that is opened anew."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        loaded = importlib.import_module(library)
        while True:
            yield READY
            yield loaded.DeltaTable(data).to_pyarrow_table()

    return run


def _scanning(library: str) -> Engine:
    """One column by Polars, from a table that is opened anew."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        loaded = importlib.import_module(library)
        while True:
            yield READY
            yield loaded.scan_delta(str(data)).select("c1").collect().to_arrow()

    return run


def _update(table: Any, _: Any) -> None:
    table.update({"c2": "c2 + 1"}, predicate="c0 = 4")


def _merge(table: Any, source: Any) -> None:
    merging = table.merge(source, "t.c0 = s.c0", source_alias="s", target_alias="t")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()


def _describe(table: Any) -> dict[str, str]:
    """The shape, and the first column without the dialect of its type."""
    return {"shape": str(table.shape), "first": str(table.column(0).to_pylist())}
