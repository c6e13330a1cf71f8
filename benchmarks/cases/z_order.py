"""Z-order of ``lineitem`` by two columns: of a plain table, of one with many features, and beyond memory.

Every run has its own table of a log and links to files. What is read and written is the same for both
libraries, and so is the number of new files, about.
"""

import os
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, short
from benchmarks.cases.dml import both_engines, describe_rows, lineitem_dataset, written_files
from benchmarks.data_lineitem import VECTORS, write_lineitem_tables
from benchmarks.data_z_order import FEATURES, write_lineitem_with_features

__all__ = ["cases"]

_FILES = 200
_COLUMNS = ["l_partkey", "l_shipdate"]
_TARGET_SIZE = 32 << 20
_PLAIN = "deltalake, plain table"


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    rows = scale.written_rows
    files = min(_FILES, max(2, rows // 10_000))
    name = f"rows_{short(rows)}_files_{files}"
    is_whole = rows >= 6_000_000
    features = Dataset(f"{name}_features", partial(write_lineitem_with_features, rows=rows, files=files))
    many = rows * 10 // 3
    large = Dataset(
        f"rows_{short(many)}_files_{files}",
        partial(write_lineitem_tables, rows=many, files=files, deleted_percent=0),
    )
    return [
        Case(
            f"{name}_z_order",
            lineitem_dataset(rows, files, rows // 60),
            both_engines(_z_order),
            describe_rows,
            written_files,
            targets=(Target("deltalake", 0.6),) if is_whole else (),
        ),
        Case(
            f"{name}_vectors_mapping_variant_z_order",
            features,
            {OURS: _ours(FEATURES), _PLAIN: _deltalake(VECTORS)},
            _live_rows,
            written_files,
            targets=(Target(_PLAIN, 0.6),) if is_whole else (),
            yardsticks=frozenset({_PLAIN}),
        ),
        Case(
            f"{large.name}_z_order_memory_limit_512mb",
            large,
            {OURS: _ours(VECTORS, memory_limit="512MB")},
            _live_rows,
            written_files,
            targets=(Target(plus=900e6, of="peak"),) if is_whole else (),
        ),
    ]


def _z_order(table: Any, _: Any = None, **arguments: Any) -> None:
    table.optimize.z_order(_COLUMNS, target_size=_TARGET_SIZE, **arguments)


def _ours(which: str, **arguments: Any) -> Engine:
    def load() -> Any:
        import duckdb  # noqa: F401  the package loads it at its first query

        from deltaarrow import DeltaTable

        return DeltaTable

    return _engine(load, which, arguments)


def _deltalake(which: str) -> Engine:
    def load() -> Any:
        from deltalake import DeltaTable

        return DeltaTable

    return _engine(load, which, {})


def _engine(load: Any, which: str, arguments: dict[str, Any]) -> Engine:
    """A library, on one of the tables of a dataset."""

    def run(data: Path, scratch: Path) -> Iterator[Any]:
        table = load()
        yield
        number = 0
        while True:
            number += 1
            folder = scratch / str(number)
            shutil.copytree(data / which, folder, copy_function=os.link)
            yield READY
            _z_order(table(folder), **arguments)
            yield folder

    return run


def _live_rows(folder: Path) -> dict[str, str]:
    """The number of rows."""
    from deltaarrow import DeltaTable

    return {"rows": str(DeltaTable(folder).count())}
