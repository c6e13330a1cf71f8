"""Writing to a table with a change data feed: whole files come and go, and the feed is told by them."""

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError

FEED = {"delta.enableChangeDataFeed": "true"}
MARKED = FEED | {"delta.enableDeletionVectors": "true"}


def days(*pairs: tuple[int, str]) -> pa.Table:
    return pa.table({"id": [number for number, _ in pairs], "day": [day for _, day in pairs]})


def changes(path, version: int) -> list[tuple[str, int]]:
    feed = DeltaTable(path).load_cdf(version, version).read_all()
    return sorted(zip(feed["_change_type"].to_pylist(), feed["id"].to_pylist(), strict=True))


@pytest.mark.parametrize("properties", [FEED, MARKED], ids=["copied", "marked"])
def test_whole_files_need_no_change_data_files(tmp_path, properties):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), partition_by="day", configuration=properties)
    write_deltalake(tmp_path, days((3, "b")), mode="append")
    write_deltalake(tmp_path, days((4, "b")), mode="overwrite", predicate="day = 'b'")
    write_deltalake(tmp_path, days((5, "a")), mode="overwrite", partition_overwrite_mode="dynamic")
    write_deltalake(tmp_path, days((6, "c")), mode="overwrite")
    assert [changes(tmp_path, version) for version in range(5)] == [
        [("insert", 1), ("insert", 2)],
        [("insert", 3)],
        [("delete", 2), ("delete", 3), ("insert", 4)],
        [("delete", 1), ("insert", 5)],
        [("delete", 4), ("delete", 5), ("insert", 6)],
    ]
    assert not (tmp_path / "_change_data").exists()


@pytest.mark.parametrize("properties", [FEED, MARKED], ids=["copied", "marked"])
def test_a_part_of_a_file_is_refused_by_name_and_leaves_nothing(tmp_path, properties):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=properties)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UnsupportedFeatureError, match="change data feed") as caught:
        write_deltalake(tmp_path, days((9, "b")), mode="overwrite", predicate="day = 'b'")
    assert caught.value.feature == "changeDataFeed"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_condition_on_data_may_replace_whole_files(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "a")), configuration=FEED)
    write_deltalake(tmp_path, days((3, "b")), mode="append")
    write_deltalake(tmp_path, days((9, "a")), mode="overwrite", predicate="day = 'a'")
    assert changes(tmp_path, 2) == [("delete", 1), ("delete", 2), ("insert", 9)]


def test_columns_of_change_data_are_reserved(tmp_path):
    data = pa.table({"id": [1], "_change_type": ["x"]})
    with pytest.raises(SchemaMismatchError, match="reserved for the change data feed"):
        write_deltalake(tmp_path / "new", data, configuration=FEED)
    with pytest.raises(SchemaMismatchError, match="reserved for the change data feed"):
        DeltaTable.create(tmp_path / "new", data.schema, configuration=FEED)
    assert not (tmp_path / "new").exists()
    write_deltalake(tmp_path, days((1, "a")), configuration=FEED)
    for mode, schema_mode in (("append", "merge"), ("overwrite", "overwrite")):
        with pytest.raises(SchemaMismatchError, match="reserved for the change data feed"):
            write_deltalake(tmp_path, data, mode=mode, schema_mode=schema_mode)
