"""Reads into an Arrow table, against pyarrow's own dataset over the same files.

If rows are deleted, pyarrow is timed over files with these rows, which is less work than to leave
them out, and over files without them. A cold run creates the dataset, a warm one reads it again.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, Case, Dataset, Engine, Scale, Target, short
from benchmarks.data import day, write_orders_table, write_partitioned_table

__all__ = ["cases"]

_FILES = 8
_DELETED_PERCENT = 5
_SAME_FILES = "pyarrow, same files"
_LIVE_FILES = "pyarrow, files without the rows"
_WANTED_FILES = "pyarrow, wanted files"

Arguments = Callable[[], dict[str, Any]]
"""Makes the arguments of `to_table`; it imports pyarrow, and is called before anything is timed."""


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    shape = f"rows_{short(scale.rows)}_columns_8_files_{_FILES}"
    write = partial(write_orders_table, rows=scale.rows, files=_FILES)
    clean = Dataset(shape, write)
    masked = Dataset(
        f"{shape}_deleted_{_DELETED_PERCENT}_percent", partial(write, deleted_percent=_DELETED_PERCENT)
    )
    asked: dict[str, Arguments] = {
        "whole": dict,
        "columns_4": _columns,
        "one_row_in_ten": _one_in_ten,
        "id_range": partial(_ids, scale.rows // 3, scale.rows // 3 + scale.rows // 50),
    }
    return [
        *(_clean(clean, name, arguments) for name, arguments in asked.items()),
        *(_masked(masked, name, arguments) for name, arguments in asked.items()),
        *(_one_partition(files) for files in (scale.small_files, scale.small_files * 10)),
    ]


def _clean(dataset: Dataset, name: str, arguments: Arguments) -> Case:
    engines = {
        OURS: _ours(arguments),
        _SAME_FILES: _pyarrow("*.parquet", arguments),
        "deltalake": _deltalake(arguments),
    }
    targets = (Target(_SAME_FILES, 1.1),)
    return Case(f"{dataset.name}_{name}_to_arrow", dataset, engines, _describe_table, targets=targets)


def _masked(dataset: Dataset, name: str, arguments: Arguments) -> Case:
    engines = {
        OURS: _ours(arguments),
        _SAME_FILES: _pyarrow("*.parquet", arguments),
        _LIVE_FILES: _pyarrow("live/*.parquet", arguments),
    }
    return Case(
        f"{dataset.name}_{name}_to_arrow",
        dataset,
        engines,
        _describe_table,
        targets=(Target(_SAME_FILES, 1.2),),
        yardsticks=frozenset({_SAME_FILES}),
    )


def _one_partition(files: int) -> Case:
    """Two files out of many; pyarrow gets only these two."""
    name = f"rows_{short(files * 100)}_files_{short(files)}_partitions_{short(files // 2)}"
    dataset = Dataset(name, partial(write_partitioned_table, files=files))
    engines = {OURS: _ours(_one_day), _WANTED_FILES: _pyarrow(f"day={day(7)}/*.parquet", _columns_of_files)}
    targets = (Target(_WANTED_FILES, 1, plus=0.010),)
    return Case(f"{name}_one_partition_to_arrow", dataset, engines, _describe_table, targets=targets)


# --- what is asked ---------------------------------------------------------------------------------


def _columns() -> dict[str, Any]:
    return {"columns": ["id", "day", "cents", "comment"]}


def _columns_of_files() -> dict[str, Any]:
    return {"columns": ["id", "cents", "comment"]}


def _one_in_ten() -> dict[str, Any]:
    import pyarrow.compute as pc

    return {"filter": pc.field("quantity") <= 5}


def _ids(first: int, last: int) -> dict[str, Any]:
    import pyarrow.compute as pc

    return {"filter": (pc.field("id") >= first) & (pc.field("id") <= last)}


def _one_day() -> dict[str, Any]:
    import pyarrow.compute as pc

    return _columns_of_files() | {"filter": pc.field("day") == day(7)}


# --- engines ---------------------------------------------------------------------------------------


def _ours(asked: Arguments) -> Engine:
    def load() -> Any:
        import duckdb  # noqa: F401  answers which files to read

        from deltaarrow import DeltaDataset, DeltaTable  # noqa: F401

        return lambda data: DeltaTable(data).to_pyarrow_dataset()

    return _scans(load, asked)


def _pyarrow(pattern: str, asked: Arguments) -> Engine:
    def load() -> Any:
        import pyarrow.dataset as pads

        return lambda data: pads.dataset([str(file) for file in sorted(data.glob(pattern))])

    return _scans(load, asked)


def _deltalake(asked: Arguments) -> Engine:
    def load() -> Any:
        import pyarrow.dataset  # noqa: F401
        from deltalake import DeltaTable

        return lambda data: DeltaTable(data).to_pyarrow_dataset()

    return _scans(load, asked)


def _scans(load: Callable[[], Callable[[Path], Any]], asked: Arguments) -> Engine:
    """Repeated scans of the dataset that `load` opens."""

    def run(data: Path, _: Path) -> Iterator[Any]:
        open_dataset, arguments = load(), asked()
        yield
        dataset = open_dataset(data)
        while True:
            yield dataset.to_table(**arguments)

    return run


# --- answers ---------------------------------------------------------------------------------------


def _describe_table(table: Any) -> dict[str, str]:
    """A sum of hashes per column and over all columns, because rows come in any order."""
    import duckdb

    names = table.column_names
    con = duckdb.connect()
    con.register("rows", table)
    sums = ", ".join(f"sum(hash({columns}))" for columns in [*names, ", ".join(names)])
    found = con.sql(f"SELECT {sums} FROM rows").fetchall()[0]
    return {"rows": str(table.num_rows), **dict(zip([*names, "all"], map(str, found), strict=True))}
