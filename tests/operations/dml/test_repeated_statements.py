"""Memory of a process after many statements: nothing grows with their number."""

import gc
import tracemalloc

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake

CALLS = 20
BYTES_A_CALL = 8_000


@pytest.mark.parametrize(
    "configuration",
    [pytest.param({}, marks=pytest.mark.slow), {"delta.enableDeletionVectors": "true"}],
    ids=str,
)
def test_deletions_keep_no_objects_and_next_to_no_memory(tmp_path, configuration):
    write_deltalake(tmp_path, pa.table({"id": range(200)}), configuration=configuration)

    def delete(ids: range) -> None:
        for number in ids:
            DeltaTable(tmp_path).delete(f"id = {number}")

    delete(range(10))
    gc.collect()
    objects, arrow = len(gc.get_objects()), pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        delete(range(10, 10 + CALLS))
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < CALLS * BYTES_A_CALL
    assert len(gc.get_objects()) - objects < CALLS
    # The cache lets go of what a table has left when it is used next.
    assert pa.total_allocated_bytes() <= arrow + BYTES_A_CALL
