"""Many small appends, one after the other; every run writes to its own folder.

One case compares appends with row tracking and in-commit timestamps to the same appends without; version
checksums are written in both. ``deltalake`` reads the result back, or pyarrow if bare files were written,
one each time.
"""

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, short
from benchmarks.data import write_orders_file

__all__ = ["cases"]

_ROWS_EACH = 100


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    rows = scale.appends * _ROWS_EACH
    dataset = Dataset(f"orders_{short(rows)}", partial(write_orders_file, rows=rows))
    appends = f"appends_{short(scale.appends)}_of_rows_{_ROWS_EACH}"
    bare_files = {"pyarrow, bare files": _engine(_pyarrow_in_parts)}
    costs = {OURS: _engine(_ours_tracked), "deltaarrow, plain": _engine(_ours_plain)}
    return [
        Case(f"{appends}_row_tracking_and_in_commit_timestamps", dataset, costs, _describe_rows),
        *(
            Case(f"{appends}_{name}", dataset, _delta_engines(append) | bare_files, _describe_rows)
            for name, append in (("by_path", _append_by_path), ("open_table", _append_to_table))
        ),
    ]


# --- engines ---------------------------------------------------------------------------------------

Write = Callable[[Path, Any], object]
"""Writes an Arrow table into an empty folder."""


def _engine(load: Callable[[], Write]) -> Engine:
    """The engine whose libraries `load` imports."""

    def run(data: Path, scratch: Path) -> Iterator[Path]:
        import pyarrow as pa

        write = load()
        rows = pa.ipc.open_file(pa.memory_map(str(data / "orders.arrow"))).read_all()
        yield scratch
        for number in itertools.count():
            folder = scratch / str(number)
            folder.mkdir()
            write(folder, rows)
            yield folder

    return run


def _delta_engines(write: Callable[[Any, Path, Any], object]) -> dict[str, Engine]:
    """The two libraries with a `write_deltalake`; `write` gets their modules."""

    def ours() -> Write:
        import deltaarrow

        return partial(write, deltaarrow)

    def deltalake() -> Write:
        import deltalake

        return partial(write, deltalake)

    return {OURS: _engine(ours), "deltalake": _engine(deltalake)}


def _parts(rows: Any) -> list[Any]:
    return [rows.slice(start, _ROWS_EACH) for start in range(0, rows.num_rows, _ROWS_EACH)]


def _append_by_path(library: Any, folder: Path, rows: Any) -> None:
    for part in _parts(rows):
        library.write_deltalake(folder, part, mode="append")


def _append_to_table(library: Any, folder: Path, rows: Any) -> None:
    table = library.DeltaTable.create(folder, rows.schema)
    for part in _parts(rows):
        library.write_deltalake(table, part, mode="append")


_TRACKED = {"delta.enableRowTracking": "true", "delta.enableInCommitTimestamps": "true"}


def _ours_tracked() -> Write:
    return _ours_with(_TRACKED)


def _ours_plain() -> Write:
    return _ours_with({})


def _ours_with(configuration: dict[str, str]) -> Write:
    import deltaarrow

    def write(folder: Path, rows: Any) -> None:
        table = deltaarrow.DeltaTable.create(folder, rows.schema, configuration=configuration)
        for part in _parts(rows):
            deltaarrow.write_deltalake(table, part, mode="append")

    return write


def _pyarrow_in_parts() -> Write:
    import pyarrow.parquet as pq

    def write(folder: Path, rows: Any) -> None:
        for number, part in enumerate(_parts(rows)):
            pq.write_table(part, folder / f"{number}.parquet")

    return write


# --- answers ---------------------------------------------------------------------------------------


def _describe_rows(folder: Path) -> dict[str, int]:
    import pyarrow.compute as pc
    import pyarrow.dataset as pads

    if (folder / "_delta_log").is_dir():
        from deltalake import DeltaTable

        table = DeltaTable(folder).to_pyarrow_table()
    else:
        table = pads.dataset(folder, partitioning="hive").to_table()
    sums = {name: pc.sum(table.column(name)).as_py() for name in ("id", "customer", "quantity", "cents")}
    lengths = {name: pc.sum(pc.utf8_length(table.column(name))).as_py() for name in ("status", "comment")}
    return {"rows": table.num_rows, **sums, **lengths}
