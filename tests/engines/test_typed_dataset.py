"""Datasets with Arrow types that the caller chooses: the rows and filters are those of the table."""

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError

DATA = pa.table(
    {
        "id": [1, 2, 3, 4],
        "name": ["a", "b", None, "a"],
        "raw": [b"x", None, b"y", b"z"],
        "tags": [["t", None], [], None, ["u"]],
        "part": ["p", "q", "p", "q"],
    }
)
ENCODED = pa.dictionary(pa.int32(), pa.string())


@pytest.fixture
def table(tmp_path):
    write_deltalake(
        tmp_path, DATA, partition_by=["part"], configuration={"delta.enableDeletionVectors": "true"}
    )
    table = DeltaTable(tmp_path)
    table.delete("id = 4")
    return table


def _sorted(rows):
    return rows.select(["id", "name", "raw", "tags", "part"]).sort_by("id").to_pylist()


def test_large_types_hold_the_rows_that_are_left(table):
    dataset = table.to_pyarrow_dataset(as_large_types=True)
    assert dataset.schema.equals(table.schema().to_arrow(as_large_types=True))
    found = dataset.to_table()
    assert found.schema.equals(dataset.schema)
    assert found.schema.field("tags").type == pa.large_list(pa.field("element", pa.large_string()))
    assert _sorted(found) == DATA.slice(0, 3).to_pylist()
    assert dataset.count_rows() == 3
    assert dataset.head(1).schema.equals(dataset.schema)
    assert _sorted(pickle.loads(pickle.dumps(dataset)).to_table()) == _sorted(found)


def test_filters_and_expressions_have_the_chosen_types(table):
    dataset = table.to_pyarrow_dataset(as_large_types=True)
    for value in (pa.scalar("a"), pa.scalar("a", pa.large_string())):
        found = dataset.to_table(["name"], filter=pc.field("name") == value)
        assert found.equals(pa.table({"name": pa.array(["a"], pa.large_string())}))
    assert dataset.filter(pc.field("part") == "p").to_table(["raw"]).schema.field("raw").type == (
        pa.large_binary()
    )
    found = dataset.to_table({"n": pc.field("name"), "m": pc.field("id") + 1}, filter=pc.field("id") == 2)
    assert found.equals(pa.table({"n": pa.array(["b"], pa.large_string()), "m": [3]}))


def test_a_schema_chooses_columns_and_types(table):
    schema = pa.schema([("name", pa.large_string()), ("id", pa.int64()), ("part", ENCODED)])
    dataset = table.to_pyarrow_dataset(schema=schema)
    found = dataset.to_table(filter=pc.field("raw") == b"x")
    assert found.schema.equals(schema)
    assert found.to_pylist() == [{"name": "a", "id": 1, "part": "p"}]


def test_a_schema_with_other_columns_or_delta_types_is_refused(table):
    for other in (pa.schema([("id", pa.string())]), pa.schema([("nothing", pa.int64())])):
        with pytest.raises(SchemaMismatchError, match=other.names[0]):
            table.to_pyarrow_dataset(schema=other)


def test_dictionary_columns_are_dictionaries(table):
    options = pads.ParquetReadOptions(dictionary_columns={"name"})
    found = table.to_pyarrow_dataset(parquet_read_options=options).to_table(filter=pc.field("name") == "a")
    assert found.schema.field("name").type == ENCODED
    assert found.schema.field("part").type == pa.string()
    assert found["name"].to_pylist() == ["a"]


def test_a_union_takes_the_rows_into_memory(table):
    dataset = table.to_pyarrow_dataset(as_large_types=True)
    union = pads.dataset([dataset, pads.dataset(dataset.to_table())])
    assert sorted(union.to_table()["id"].to_pylist()) == [1, 1, 2, 2, 3, 3]
    with pytest.raises(UnsupportedFeatureError, match="cast what a fragment returns"):
        dataset.get_fragments()
