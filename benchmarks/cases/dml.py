"""DELETE, UPDATE and MERGE on ``lineitem``; every run has its own table of a log and links to files.

deltaarrow's table has deletion vectors, which ``deltalake`` cannot write: its table has the same files
and a log without the feature. A run opens the table and changes it. ``deltalake`` reads the result.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.case import OURS, READY, Case, Dataset, Engine, Scale, short
from benchmarks.data_lineitem import MERGED, VECTORS, write_lineitem_table
from benchmarks.queries import read_query

__all__ = [
    "Change",
    "both_engines",
    "cases",
    "changing_engine",
    "describe_rows",
    "lineitem_dataset",
    "linked_table",
    "merge_all",
    "selectivity_cases",
    "written_files",
]

_FILES = 15
_ROWS_PER_FILE = 400_000
"""For the tables that grow with the scale."""

_READ = {"2 columns s": "lineitem/two_columns", "6 columns s": "lineitem/six_columns"}
"""Queries by the heading of their time."""

Change = Callable[[Any, Any], object]
"""Changes an open table; the second argument is the rows to merge."""


def cases(scale: Scale) -> list[Case]:
    """Return the cases of single operations at a scale."""
    rows = scale.written_rows
    dataset = lineitem_dataset(rows, _FILES, rows // 60)
    name = f"rows_{short(rows)}_files_{_FILES}"
    found = [
        Case(f"{name}_{what}", dataset, both_engines(change), describe_rows, written_files)
        for what, change in {
            "delete_scattered_1_percent": partial(_delete, predicate=_scattered(1)),
            "update_scattered_1_percent": partial(_update, predicate=_scattered(1)),
            f"merge_{short(rows // 60)}_half_matching": merge_all,
            "delete_0_1_percent_in_one_file": partial(_delete, predicate=_in_one_file(rows)),
        }.items()
    ]
    for count in scale.merged_rows:
        files = max(_FILES, count * 10 // _ROWS_PER_FILE)
        streamed = changing_engine(_ours, VECTORS, partial(merge_all, memory_limit="1GB"), is_streamed=True)
        found.append(
            Case(
                f"merge_{short(count)}_into_{short(count * 10)}_memory_limit_1gb",
                lineitem_dataset(count * 10, files, count),
                {OURS: streamed},
                describe_rows,
                written_files,
            )
        )
    return found


def selectivity_cases(scale: Scale) -> list[Case]:
    """Return deletions of increasing shares of rows, by deletion vectors or by rewriting files."""
    rows = scale.written_rows
    dataset = lineitem_dataset(rows, _FILES, rows // 60)
    return [
        Case(
            f"rows_{short(rows)}_files_{_FILES}_delete_{percent:g}_percent".replace(".", "_"),
            dataset,
            {
                OURS: changing_engine(_ours, VECTORS, partial(_delete, predicate=_scattered(percent))),
                "deltaarrow, rewriting": changing_engine(
                    _ours, "", partial(_delete, predicate=_scattered(percent))
                ),
            },
            describe_rows,
            _written_and_read,
        )
        for percent in scale.deleted_percents
    ]


def lineitem_dataset(rows: int, files: int, source_rows: int) -> Dataset:
    """A table of so many rows and files, and the rows that are merged into it."""
    return Dataset(
        f"lineitem_table_{short(rows)}_files_{files}_merge_{short(source_rows)}",
        partial(write_lineitem_table, rows=rows, files=files, source_rows=source_rows),
    )


# --- what is done ----------------------------------------------------------------------------------


def _scattered(percent: float) -> str:
    """A condition on a share of the rows of every file; `l_partkey` is random."""
    return f"l_partkey % 100000 < {round(percent * 1000)}"


def _in_one_file(rows: int) -> str:
    """A condition on a thousandth of the table, in the middle of its eighth file."""
    first = (rows // _FILES * 7 + rows // _FILES // 2) // 4
    return f"l_orderkey BETWEEN {first} AND {first + max(1, rows // 4_000) - 1}"


def _delete(table: Any, _: Any, predicate: str) -> None:
    table.delete(predicate)


def _update(table: Any, _: Any, predicate: str) -> None:
    table.update({"l_quantity": "l_quantity + 1", "l_comment": "'updated'"}, predicate=predicate)


def merge_all(table: Any, source: Any, **options: Any) -> None:
    """Update the rows of the table that the source has, and insert the others."""
    (
        table.merge(
            source,
            "t.l_orderkey = s.l_orderkey AND t.l_linenumber = s.l_linenumber",
            source_alias="s",
            target_alias="t",
            **options,
        )
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )


# --- engines ---------------------------------------------------------------------------------------


def both_engines(change: Change) -> dict[str, Engine]:
    """Ours, on a table that may have deletion vectors, and deltalake on the same files."""
    return {
        OURS: changing_engine(_ours, VECTORS, change),
        "deltalake": changing_engine(_deltalake, "", change),
    }


def changing_engine(
    load: Callable[[], Any], log: str, change: Change, *, is_streamed: bool = False
) -> Engine:
    """The library that `load` imports, on tables with the log below folder `log`."""

    def run(data: Path, scratch: Path) -> Iterator[Any]:
        import pyarrow as pa

        library = load()
        held = None if is_streamed else pa.ipc.open_stream(pa.OSFile(str(data / MERGED))).read_all()
        for number in itertools.count():
            folder = linked_table(data, scratch / str(number), log)
            source = pa.ipc.open_stream(pa.OSFile(str(data / MERGED))) if held is None else held
            yield READY
            change(library.DeltaTable(folder), source)
            yield folder

    return run


def linked_table(data: Path, folder: Path, log: str) -> Path:
    """Create a table in `folder` from links; no engine writes to an existing file."""
    shutil.copytree(data / log / "_delta_log", folder / "_delta_log", copy_function=os.link)
    for file in (*data.glob("*.parquet"), *data.glob("*.bin")):
        os.link(file, folder / file.name)
    return folder


def _ours() -> Any:
    import duckdb  # noqa: F401  finds the rows
    import sqlglot  # noqa: F401  reads the conditions

    import deltaarrow
    from deltaarrow.operations import delete_rows, merge_rows, update_rows  # noqa: F401  at first use else

    return deltaarrow


def _deltalake() -> Any:
    import deltalake

    return deltalake


# --- answers ---------------------------------------------------------------------------------------


def describe_rows(folder: Path) -> dict[str, str]:
    """The number of rows, and a hash of them that does not depend on their order."""
    import duckdb
    from deltalake import DeltaTable

    con = duckdb.connect()
    con.register("rows", DeltaTable(folder).scan())
    names = ", ".join(f'"{name}"' for name in DeltaTable(folder).schema().to_arrow().names)
    rows, hashes = con.sql(f"SELECT count(*), sum(hash({names})) FROM rows").fetchall()[0]
    return {"rows": str(rows), "hashes": str(hashes)}


def written_files(folder: Path) -> Mapping[str, float]:
    """The sizes of written files: all files of the table that are not links."""
    found = [file.stat() for file in folder.rglob("*") if file.is_file()]
    sizes = [each.st_size for each in found if each.st_nlink == 1]
    return {"written MB": sum(sizes) / 1e6, "files": len(sizes)}


def _written_and_read(folder: Path) -> Mapping[str, float]:
    """The same, and the times of later queries over two and six columns on the open table."""
    import statistics
    import time

    import duckdb

    from deltaarrow import DeltaTable, register

    con = duckdb.connect()
    register(con, "lineitem", DeltaTable(folder))
    found = dict(written_files(folder))
    for heading, name in _READ.items():
        query = read_query(name)
        seconds = []
        for _ in range(4):
            start = time.perf_counter()
            con.sql(query).fetchall()
            seconds.append(time.perf_counter() - start)
        found[heading] = statistics.median(seconds[1:])
    return found
