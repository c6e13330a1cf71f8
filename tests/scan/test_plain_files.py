"""Small local files are read without datasets where that gives the same rows, and only there."""

import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.scan.plain_files import PlainFile

SCHEMA = pa.schema({"id": pa.int64(), "name": pa.string()})


@pytest.mark.parametrize(
    ("stored", "is_plain"),
    [
        (pa.table({"id": [1, 2], "name": ["a", None]}), True),
        (pa.table({"name": ["a", None], "other": [1, 2], "id": [1, 2]}), True),
        (pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", None]}), False),
        (pa.table({"id": [1, 2], "name": pa.array(["a", None], pa.large_string())}), False),
        (pa.table({"id": [1, 2]}), False),
        (pa.table({"id": [1, 2], "name": ["a", None], "id.x": [3, 4]}), False),
    ],
)
def test_columns_are_read_as_they_are_or_left_to_datasets(tmp_path, stored, is_plain):
    path = str(tmp_path / "file.parquet")
    pq.write_table(stored, path, row_group_size=1)
    file = PlainFile.open(path)
    assert file.can_read(SCHEMA) is is_plain
    if is_plain:
        found = pa.Table.from_batches(file.batches(SCHEMA, 10), SCHEMA)
        assert found.equals(pads.dataset(path, SCHEMA).to_table())
        assert [batch.num_rows for batch in file.subset([1]).batches(SCHEMA, 10)] == [1]


def test_nested_columns_are_left_to_datasets(tmp_path):
    path = str(tmp_path / "file.parquet")
    table = pa.table({"list": [[1]], "id": [1]})
    pq.write_table(table, path)
    file = PlainFile.open(path)
    assert (file.can_read(table.schema), file.can_read(table.select(["id"]).schema)) == (False, True)


def test_tables_have_the_schema_and_the_rows_of_a_dataset(tmp_path):
    name = pa.field("name", pa.string(), metadata={"comment": "of whom"})
    rows = pa.table({"id": [1, 2, 3], "name": ["a", None, "c"], "p": ["x", "y", "x"]})
    schema = pa.schema([pa.field("id", pa.int64(), False), name, pa.field("p", pa.string())])
    write_deltalake(tmp_path, rows.cast(schema), partition_by=["p"])
    table = DeltaTable(tmp_path)
    for columns in (None, ["name", "id"], ["p"], ["id", "id"], []):
        found = table.to_pyarrow_table(columns=columns)
        wanted = table.to_pyarrow_dataset().to_table(columns=columns)
        assert found.schema.equals(wanted.schema, check_metadata=True)
        assert found.equals(wanted)
        projected = table.to_pyarrow_dataset().scanner(columns=columns)._scan([]).projected_schema
        assert found.schema.equals(projected, check_metadata=True)


@pytest.mark.parametrize("damage", ["missing", "cut", "no parquet"])
def test_broken_files_are_named(tmp_path, damage):
    write_deltalake(tmp_path, pa.table({"id": range(100)}))
    table = DeltaTable(tmp_path)
    (file,) = tmp_path.glob("*.parquet")
    content = file.read_bytes()
    file.unlink()
    if damage != "missing":
        file.write_bytes(content[:-9] if damage == "cut" else b"text" * 100)
    with pytest.raises(CorruptDataFileError, match=file.name):
        table.to_pyarrow_table()
