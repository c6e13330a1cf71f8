"""A memory limit that an operation exceeds: the error names the limit, the table is unchanged."""

import os

import numpy as np
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import MemoryLimitError

ROWS = 400_000
TABLE = pa.table(
    {
        "id": np.random.default_rng(1).permutation(ROWS),
        "text": np.char.add(np.arange(ROWS).astype("U"), " is the number of a row"),
    }
)
STATEMENTS = {
    "delete": lambda table, limit: table.delete("text like '%7%' and id % 3 = 1", memory_limit=limit),
    "update": lambda table, limit: table.update({"text": "concat(text, text)"}, memory_limit=limit),
    "merge": lambda table, limit: (
        table.merge(TABLE, "t.id = s.id", "s", "t", memory_limit=limit)
        .when_matched_update({"text": "concat(s.text, t.text)"})
        .when_not_matched_insert_all()
        .execute()
    ),
}


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize(
    "configuration", [{"delta.enableDeletionVectors": "true"}, {}], ids=["vectors", "rewriting"]
)
def test_too_little_memory_is_named_and_leaves_nothing(tmp_path, statement, configuration):
    da.write_deltalake(tmp_path, TABLE, configuration=configuration)
    before = [(folder, sorted(files)) for folder, _, files in os.walk(tmp_path)]
    for limit in ("1MB", "6MB"):
        with pytest.raises(MemoryLimitError, match=f"memory_limit='{limit}' is too little") as caught:
            STATEMENTS[statement](da.DeltaTable(tmp_path), limit)
        assert isinstance(caught.value, MemoryError)
    assert [(folder, sorted(files)) for folder, _, files in os.walk(tmp_path)] == before
    STATEMENTS[statement](da.DeltaTable(tmp_path), None)
    assert da.DeltaTable(tmp_path).version() == 1


def test_a_merge_spills_no_more_than_it_may(tmp_path):
    da.write_deltalake(tmp_path, TABLE)
    small = da.DeltaTable(tmp_path).merge(
        TABLE.slice(0, 3), "t.id = s.id", "s", "t", max_temp_directory_size=1_000_000
    )
    assert small.when_matched_update({"text": "'new'"}).execute()["num_target_rows_updated"] == 3
    limits = {"memory_limit": "20MB", "max_temp_directory_size": 1000}
    large = da.DeltaTable(tmp_path).merge(TABLE, "t.id = s.id", "s", "t", **limits)
    with pytest.raises(MemoryLimitError, match="too little"):
        large.when_matched_update({"text": "concat(s.text, t.text)"}).execute()
