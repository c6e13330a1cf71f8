"""The work for a table grows with the number of its columns, and not with the square of it."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable, write_deltalake
from tests.support.rows import READERS

PACKAGE = str(Path(deltaarrow.__file__).parent)
FEW, MANY = 60, 240


def steps(run: Callable[[], object]) -> int:
    """Return how many lines of the package a call executes in this thread, counting each round of a loop."""
    found = 0

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal found
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        found += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        run()
    finally:
        sys.settrace(before)
    return found


def rows(columns: int, first: int = 0) -> pa.Table:
    numbers = pa.array(range(first, first + 4))
    texts = pa.array([str(each) for each in range(first, first + 4)])
    return pa.table({f"c{each}": texts if each % 2 else numbers for each in range(columns)})


def merge(path: Path, columns: int) -> None:
    source = rows(columns, 2)
    merging = DeltaTable(path).merge(source, "s.c0 = t.c0", source_alias="s", target_alias="t")
    merging.when_matched_update_all().when_not_matched_insert_all().execute()


def evolve(path: Path, columns: int) -> None:
    more = rows(columns, 8).append_column("more", pa.array(range(4)))
    write_deltalake(path, more, mode="append", schema_mode="merge")


def sql(text: str) -> Callable[[Path, int], object]:
    return lambda path, columns: deltaarrow.connect().sql(text.format(f"delta.`{path}`")).fetchall()


DOORS: dict[str, Callable[[Path, int], object]] = {
    **{f"read by {name}": lambda path, _, read=read: read(path) for name, read in READERS.items()},
    "read one column": lambda path, _: DeltaTable(path).to_pyarrow_table(columns=["c1"]),
    "scan one column": lambda path, _: deltaarrow.scan_delta(path).select("c1").collect(),
    "filter": lambda path, _: DeltaTable(path).to_pyarrow_table(filters="c0 > 1"),
    "append": lambda path, columns: write_deltalake(path, rows(columns, 4), mode="append"),
    "evolve": evolve,
    "delete": lambda path, _: DeltaTable(path).delete("c0 = 1"),
    "update": lambda path, _: DeltaTable(path).update({"c2": "c2 + 1"}, predicate="c0 = 1"),
    "merge": merge,
    "select": sql("SELECT * FROM {}"),
    "compact": lambda path, _: DeltaTable(path).optimize.compact(),
    "checkpoint": lambda path, _: DeltaTable(path).create_checkpoint(),
    "statistics": lambda path, _: DeltaTable(path).get_add_actions(flatten=True),
}


@pytest.mark.parametrize("door", DOORS)
def test_the_work_grows_with_the_number_of_columns(tmp_path: Path, door: str) -> None:
    counts = []
    for columns in (8, FEW, MANY):  # the first imports and prepares what is used once
        path = tmp_path / str(columns)
        write_deltalake(path, rows(columns))
        write_deltalake(path, rows(columns, 4), mode="append")
        counts.append(steps(lambda path=path, columns=columns: DOORS[door](path, columns)))
    # The work for four times as many columns is at most four times as much; the square would be 16.
    assert counts[2] <= 5 * counts[1]
