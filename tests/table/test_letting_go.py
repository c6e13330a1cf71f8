"""A table's log data are freed with the table, without waiting for the garbage collector."""

import gc

import polars as pl
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, register, scan_delta, write_deltalake
from deltaarrow.live_files import LiveFiles
from deltaarrow.log.state import LogState

ROWS = pa.table({"id": range(100), "p": [number % 3 for number in range(100)]})


def merge(table):
    on = "s.id = t.id"
    table.merge(ROWS.slice(5, 3), on, "s", "t").when_matched_delete().execute()


def query(table):
    import duckdb

    with duckdb.connect() as connection:
        register(connection, "rows", table)
        connection.sql("FROM rows WHERE p = 1 AND id > 3").fetchall()


USES = {
    "files": lambda table: [table.file_uris(file_pruning_predicate=[("p", "=", p)]) for p in (1, 2)],
    "files by statistics": lambda table: [
        table.file_uris(file_pruning_predicate=f"id > {number}") for number in (3, 4)
    ],
    "actions": lambda table: table.get_add_actions(flatten=True),
    "rows": lambda table: table.to_pyarrow_table(filters="id > 3"),
    "dataset": lambda table: table.to_pyarrow_dataset().to_table(),
    "duckdb": query,
    "polars": lambda table: scan_delta(table).filter(pl.col("id") > 3).collect(),
    "append": lambda table: write_deltalake(table, ROWS, mode="append"),
    "delete": lambda table: table.delete("id = 3"),
    "delete of a partition": lambda table: table.delete("p = 1"),
    "update": lambda table: table.update(updates={"id": "id + 1"}, predicate="id = 4"),
    "merge": merge,
    "checkpoint": lambda table: table.create_checkpoint(),
    "history": lambda table: table.history(),
    "verify": lambda table: table.verify(),
}


def held():
    """How many there are of the objects since `gc.freeze`."""
    return sum(isinstance(each, LogState | LiveFiles) for each in gc.get_objects())


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize("use", USES)
def test_a_table_that_is_let_go_of_is_freed_at_once(tmp_path, use, checkpoint):
    write_deltalake(tmp_path, ROWS, partition_by=["p"])
    if checkpoint:
        DeltaTable(tmp_path).create_checkpoint()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        table = DeltaTable(tmp_path)
        USES[use](table)
        assert held() > 0
        del table
        assert held() == 0
    finally:
        gc.enable()
