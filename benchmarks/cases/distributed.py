"""Operations whose tasks run on Spark's executors, against delta-spark and against one node.

Every engine has a process of its own: a session ``local[2]`` without delta-spark's jar in which deltaarrow
runs its tasks, the same session with the jar for delta-spark, and deltaarrow's threads without Spark. The
start of a session is not timed. Every run has its own table of a log and links to files.

The cases on a cluster have two executors in processes of their own instead, for both libraries.
"""

import itertools
import os
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, Target, no_figures, short
from benchmarks.cases.dml import describe_rows, lineitem_dataset, linked_table, merge_all, written_files
from benchmarks.data_lineitem import MERGED, VECTORS
from benchmarks.data_maintenance import write_folder_of_files
from benchmarks.spark_session import CLUSTER, LOCAL, spark_session

__all__ = ["ONE_NODE", "cases"]

ONE_NODE = "deltaarrow, one node"
"""The same operation by threads of a process without Spark."""

_SPARK = "delta-spark"
_FILES = 200
_COMPACTED_SIZE = 1 << 30
_Z_ORDERED_SIZE = 32 << 20
_ONE_PERCENT = "l_partkey % 100000 < 1000"
"""A condition on a hundredth of the rows of every file; `l_partkey` is random."""


@dataclass(frozen=True)
class _Operation:
    """The same operation for both libraries.

    Args:
        ours: changes an open table of deltaarrow.
        statement: the SQL of delta-spark; `{table}` is the table, `{source}` the file of rows to merge.
        target_size: the size of new files for OPTIMIZE of delta-spark, in bytes.
    """

    ours: Callable[[Any], object]
    statement: str
    target_size: int = _COMPACTED_SIZE


_ON_ROWS = {
    "compact": (
        _Operation(lambda table: table.optimize.compact(target_size=_COMPACTED_SIZE), "OPTIMIZE {table}"),
        1.2,
    ),
    "z_order": (
        _Operation(
            lambda table: table.optimize.z_order(["l_partkey", "l_shipdate"], target_size=_Z_ORDERED_SIZE),
            "OPTIMIZE {table} ZORDER BY (l_partkey, l_shipdate)",
            _Z_ORDERED_SIZE,
        ),
        1.2,
    ),
    "delete_1_percent": (
        _Operation(lambda table: table.delete(_ONE_PERCENT), f"DELETE FROM {{table}} WHERE {_ONE_PERCENT}"),
        0.5,
    ),
    "update_1_percent": (
        _Operation(
            lambda table: table.update(
                {"l_quantity": "l_quantity + 1", "l_comment": "'updated'"}, predicate=_ONE_PERCENT
            ),
            f"UPDATE {{table}} SET l_quantity = l_quantity + 1, l_comment = 'updated' WHERE {_ONE_PERCENT}",
        ),
        0.7,
    ),
}
"""Operations on ``lineitem``, and the greatest ratio to delta-spark."""

_MERGE = _Operation(
    lambda table: _merge_source(table),
    "MERGE INTO {table} AS t USING parquet.`{source}` AS s"
    " ON t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber"
    " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
)

_VACUUM = _Operation(lambda table: table.vacuum(dry_run=False, full=True), "VACUUM {table}")


def cases(scale: Scale) -> list[Case]:
    """Return the cases at a scale."""
    rows = scale.written_rows
    files = min(_FILES, max(2, rows // 10_000))
    is_whole = rows >= 6_000_000
    table = lineitem_dataset(rows, files, rows // 60)
    listed = scale.small_files * 100
    folder = Dataset(
        f"files_{short(listed)}_unneeded_10_percent", partial(write_folder_of_files, files=listed)
    )
    linked = partial(linked_table, log=VECTORS)
    named = f"rows_{short(rows)}_files_{files}"
    found = [
        (f"{named}_{name}", table, operation, linked, describe_rows, written_files, limit)
        for name, (operation, limit) in _ON_ROWS.items()
    ]
    merge = f"{named}_merge_{short(rows // 60)}_half_matching"
    found.append((merge, table, _MERGE, _linked_beside_source, describe_rows, written_files, 0.8))
    vacuum = f"{folder.name}_vacuum"
    found.append((vacuum, folder, _VACUUM, _linked_folder, _remaining_files, no_figures, 1.0))
    return [
        Case(
            f"{name}_on_{place}",
            dataset,
            _engines(operation, copy, master),
            answer,
            figures,
            targets=(Target(_SPARK, limit),) if is_whole else (),
        )
        for place, master in (("executors", LOCAL), ("cluster", CLUSTER))
        for name, dataset, operation, copy, answer, figures, limit in found
    ]


# --- engines ---------------------------------------------------------------------------------------


def _engines(operation: _Operation, copy: Callable[[Path, Path], Path], master: str) -> dict[str, Engine]:
    engines = {OURS: _ours(operation, copy, master), _SPARK: _delta_spark(operation, copy, master)}
    if master == LOCAL:
        engines[ONE_NODE] = _ours(operation, copy, None)
    return engines


def _ours(operation: _Operation, copy: Callable[[Path, Path], Path], master: str | None) -> Engine:
    def run(data: Path, scratch: Path) -> Iterator[Any]:
        import duckdb  # noqa: F401  the package loads it at its first query
        import sqlglot  # noqa: F401

        from deltaarrow import DeltaTable
        from deltaarrow.spark import on_executors

        spark = None if master is None else spark_session(has_delta=False, master=master)
        for number in itertools.count():
            folder = copy(data, scratch / str(number))
            yield READY
            # The block ends before the result is given away: a generator must not leave its executor set.
            with nullcontext() if spark is None else on_executors(spark):
                operation.ours(DeltaTable(folder))
            yield folder

    return run


def _delta_spark(operation: _Operation, copy: Callable[[Path, Path], Path], master: str) -> Engine:
    def run(data: Path, scratch: Path) -> Iterator[Any]:
        spark = spark_session(master=master)
        spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(operation.target_size))
        for number in itertools.count():
            folder = copy(data, scratch / str(number))
            yield READY
            names = {"table": f"delta.`{folder}`", "source": _source_of(folder)}
            spark.sql(operation.statement.format(**names)).collect()
            yield folder

    return run


def _linked_beside_source(data: Path, folder: Path) -> Path:
    """Create a table from links, and beside it a Parquet file of the rows to merge."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    linked_table(data, folder, VECTORS)
    with pa.ipc.open_stream(pa.OSFile(str(data / MERGED))) as rows:
        pq.write_table(rows.read_all(), _source_of(folder))
    return folder


def _merge_source(table: Any) -> Any:
    import pyarrow.parquet as pq

    return merge_all(table, pq.read_table(_source_of(Path(table.table_uri))))


def _source_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}_source.parquet")


def _linked_folder(data: Path, folder: Path) -> Path:
    """Create a table in `folder` whose files are links: deleting one leaves the dataset as it is."""
    shutil.copytree(data, folder, copy_function=os.link)
    return folder


# --- answers ---------------------------------------------------------------------------------------


def _remaining_files(folder: Path) -> dict[str, int]:
    """The number and a checksum of the data files that VACUUM left."""
    names = sorted(file.name for file in folder.rglob("*.parquet") if "_delta_log" not in file.parts)
    return {"files": len(names), "crc": zlib.crc32("\n".join(names).encode())}
