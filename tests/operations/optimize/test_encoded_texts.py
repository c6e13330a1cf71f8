"""Texts with few distinct values are compacted as dictionary arrays, however other files hold them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import ColumnProperties, DeltaTable, WriterProperties, write_deltalake
from deltaarrow.scan import columns_of_few_texts, plan_scan
from tests.support.examples import examples

ROWS = 2000


def few(values, rows=ROWS):
    return pa.array([values[place % len(values)] for place in range(rows)], pa.string())


def encoded_columns(table):
    plan = plan_scan(table.snapshot)
    return columns_of_few_texts(plan.layout, plan.tasks[0])


def compacted(path, **options):
    """The only file of a table after compaction, with its statistics."""
    table = DeltaTable(path)
    before = sorted(map(str, table.to_pyarrow_table().to_pylist()))
    table.optimize.compact(**options)
    assert sorted(map(str, DeltaTable(path).to_pyarrow_table().to_pylist())) == before
    (file,) = DeltaTable(path).get_add_actions().to_pylist()
    return file


def test_columns_of_few_texts_are_found(tmp_path):
    rows = pa.table(
        {
            "few": few(["a", "b", None]),
            "many": pa.array([f"text {number}" for number in range(ROWS)]),
            "number": pa.array(range(ROWS)),
            "part": few(["p"]),
            "null": pa.nulls(ROWS, pa.string()),
        }
    )
    write_deltalake(tmp_path, rows, partition_by=["part"])
    assert encoded_columns(DeltaTable(tmp_path)) == {"few", "null"}


def test_bounds_are_those_of_live_rows(tmp_path):
    properties = {"delta.enableDeletionVectors": "true"}
    write_deltalake(tmp_path, pa.table({"t": few(["a", "b", "z"])}), configuration=properties)
    write_deltalake(tmp_path, pa.table({"t": few(["b", "c"])}), mode="append")
    DeltaTable(tmp_path).delete("t IN ('a', 'z')")
    assert encoded_columns(DeltaTable(tmp_path)) == {"t"}
    file = compacted(tmp_path)
    assert (file["min"]["t"], file["max"]["t"], file["null_count"]["t"]) == ("b", "c", 0)


def test_long_texts_have_bounds(tmp_path):
    long = ["a" * 5000, "b" * 5000, None]
    for _ in range(2):
        write_deltalake(tmp_path, pa.table({"t": few(long, rows=20_000)}), mode="append")
    assert encoded_columns(DeltaTable(tmp_path)) == {"t"}
    file = compacted(tmp_path)
    assert file["min"]["t"] == "a" * 32
    assert file["max"]["t"].startswith("b" * 31)
    assert file["null_count"]["t"] == 2 * (20_000 // 3)


def test_one_row_group_has_one_dictionary(tmp_path):
    for letters in ("ab", "bc", "cd"):
        write_deltalake(tmp_path, pa.table({"t": few([*letters])}), mode="append")
    compacted(tmp_path)
    (path,) = DeltaTable(tmp_path).file_uris()
    chunk = pq.read_metadata(path).row_group(0).column(0)
    assert chunk.has_dictionary_page
    assert chunk.total_uncompressed_size < 3 * ROWS, "no value is written without the dictionary"


@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(lambda column: column.cast(pa.binary()), id="bytes"),
        pytest.param(lambda column: column.cast(pa.large_string()), id="large"),
        pytest.param(lambda column: column.dictionary_encode(), id="categories"),
        pytest.param(
            lambda column: column.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())), id="int8"
        ),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_files_may_hold_texts_in_other_forms(tmp_path, stored, place):
    for letters in ("ab", "bc"):
        write_deltalake(tmp_path, pa.table({"t": few([*letters, None]), "n": few(["x"])}), mode="append")
    table = DeltaTable(tmp_path)
    path = sorted(table.file_uris())[place]
    rows = pq.read_table(path)
    pq.write_table(rows.set_column(0, "t", stored(rows.column("t").combine_chunks())), path)
    assert "n" in encoded_columns(DeltaTable(tmp_path))
    file = compacted(tmp_path)
    assert (file["min"]["t"], file["max"]["t"]) == ("a", "c")


def test_columns_may_be_absent_or_new(tmp_path):
    write_deltalake(tmp_path, pa.table({"n": few(["x"]), "t": few(["a"])}))
    write_deltalake(tmp_path, pa.table({"n": few(["y"])}), mode="append")
    write_deltalake(
        tmp_path, pa.table({"n": few(["z"]), "u": few(["b"])}), mode="append", schema_mode="merge"
    )
    file = compacted(tmp_path)
    assert file["null_count"] == {"n": 0, "t": 2 * ROWS, "u": 2 * ROWS}


def test_writers_may_ask_for_no_dictionary(tmp_path):
    for letters in ("ab", "bc"):
        write_deltalake(tmp_path, pa.table({"t": few([*letters])}), mode="append")
    plain = WriterProperties(column_properties={"t": ColumnProperties(dictionary_enabled=False)})
    compacted(tmp_path, writer_properties=plain)
    (path,) = DeltaTable(tmp_path).file_uris()
    assert not pq.read_metadata(path).row_group(0).column(0).has_dictionary_page


@settings(max_examples=examples(4), deadline=None)
@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1, max_size=4), min_size=2, max_size=4
    ),
    st.sampled_from(["none", "name"]),
)
def test_rows_and_statistics_are_those_of_a_new_table(tmp_path_factory, files, mode):
    path = tmp_path_factory.mktemp("table")
    properties = {} if mode == "none" else {"delta.columnMapping.mode": mode}
    write_deltalake(path / "new", pa.table({"t": pa.concat_arrays([few(v, 100) for v in files])}))
    for values in files:
        write_deltalake(
            path / "old", pa.table({"t": few(values, 100)}), mode="append", configuration=properties
        )
    compacted(path / "old")
    old, new = (DeltaTable(path / name).get_add_actions().to_pylist()[0] for name in ("old", "new"))
    assert {name: old[name] for name in ("num_records", "min", "max", "null_count")} == {
        name: new[name] for name in ("num_records", "min", "max", "null_count")
    }


@pytest.mark.parametrize("memory_limit", [None, "2MB"])
def test_sorted_files_have_the_texts_and_bounds_of_their_rows(tmp_path, memory_limit):
    """Each old file has a dictionary of its own, and each new one values of all of them."""
    for values in (["a", "b", None], ["b", "z"], [None, "m", "a", "y"]):
        rows = pa.table({"t": few(values, 40_000), "x": pa.array([n * 7919 % 40_000 for n in range(40_000)])})
        write_deltalake(tmp_path, rows, mode="append")
    table = DeltaTable(tmp_path)
    before = sorted(map(str, table.to_pyarrow_table().to_pylist()))
    assert encoded_columns(table) == {"t"}
    table.optimize.z_order(["x"], target_size=100_000, memory_limit=memory_limit)
    files = DeltaTable(tmp_path).get_add_actions().to_pylist()
    assert len(files) > 1
    assert sorted(map(str, DeltaTable(tmp_path).to_pyarrow_table().to_pylist())) == before
    for file in files:
        texts = pq.read_table(tmp_path / file["path"])["t"].to_pylist()
        given = [text for text in texts if text is not None]
        found = (file["min"]["t"], file["max"]["t"], file["null_count"]["t"])
        assert found == (min(given), max(given), texts.count(None))
