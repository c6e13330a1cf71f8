import datetime
import pickle

import deltalake
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptLogError, InvalidPredicateError, TableNotFoundError, VersionExistsError
from tests.support.tables import TableBuilder

ROWS = pa.table({"id": pa.array([1, 2, 3, None]), "x": [1.5, 2.5, None, 0.5], "p": ["a", "a", None, "b/c"]})


@pytest.fixture
def path(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by=["p"], name="orders")
    return tmp_path


def test_add_actions_are_those_of_deltalake(path):
    for flatten in (True, False):
        theirs = pa.table(deltalake.DeltaTable(path).get_add_actions(flatten=flatten))
        ours = DeltaTable(path).get_add_actions(flatten=flatten)
        assert set(ours.column_names) == set(theirs.column_names)
        if flatten:
            key = [("min.id", "ascending"), ("num_records", "ascending")]
            columns = [c for c in ours.column_names if c != "path"]
            assert (
                ours.sort_by(key).select(columns).to_pylist()
                == theirs.sort_by(key).select(columns).to_pylist()
            )


def test_add_actions_have_logical_names_where_columns_are_mapped(tmp_path):
    def mapped(name, data_type, number):
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}

    inner = {"type": "struct", "fields": [mapped("x", "long", 3)]}
    schema = {
        "type": "struct",
        "fields": [mapped("id", "long", 1), mapped("s", inner, 2), mapped("p", "string", 4)],
    }
    table = TableBuilder(tmp_path).protocol(2, 5)
    table.metadata(schema, ["p"], {"delta.columnMapping.mode": "name"})
    stats = {"numRecords": 2, "minValues": {"col-1": 5, "col-2": {"col-3": 7}}, "nullCount": {"col-1": 1}}
    table.commit([table.add_file(2, {"col-4": "a"}, stats=stats)])
    (row,) = DeltaTable(tmp_path).get_add_actions().to_pylist()
    assert row["min"] == {"id": 5, "s": {"x": 7}}
    assert row["null_count"]["id"] == 1
    assert row["partition"] == {"p": "a"}


def test_partition_values_of_files_have_the_types_of_the_columns(tmp_path):
    day = datetime.date(2024, 2, 29)
    rows = pa.table({"day": [day, None], "n": pa.array([7, 8], pa.int16()), "id": [1, 2]})
    write_deltalake(tmp_path, rows, partition_by=["day", "n"])
    table = DeltaTable(tmp_path)
    found = table.get_add_actions()["partition"]
    assert found.type == pa.struct([("day", pa.date32()), ("n", pa.int16())])
    assert sorted(found.to_pylist(), key=str) == [{"day": None, "n": 8}, {"day": day, "n": 7}]
    flat = table.get_add_actions(flatten=True)
    assert flat.schema.field("partition.day").type == pa.date32()
    assert sorted(table.partitions(), key=str)[0] == {"day": "2024-02-29", "n": "7"}


def test_parameters_in_history_are_texts_as_in_spark(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1]}))
    write_deltalake(tmp_path, pa.table({"id": [2]}), mode="overwrite")
    table = DeltaTable(tmp_path)
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    ended, started = table.history(2)
    assert ended["operationParameters"] == {"status": "COMPLETED"}
    assert started["operationParameters"]["retentionCheckEnabled"] == "false"
    assert started["operationParameters"]["defaultRetentionMillis"] == "604800000"


def test_partitions_and_files_may_be_filtered(path):
    table = DeltaTable(path)
    assert sorted(table.partitions(), key=str) == [{"p": "a"}, {"p": "b/c"}, {"p": None}]
    assert table.partitions(file_pruning_predicate=[("p", "=", "b/c")]) == [{"p": "b/c"}]
    (uri,) = table.file_uris(file_pruning_predicate=[("p", "=", "b/c")])
    assert uri.startswith(str(path)) and "p=b%2Fc" in uri
    assert len(table.file_uris()) == 3
    assert len(table.file_uris(file_pruning_predicate="id >= 2 AND p = 'a'")) == 1
    assert len(table.file_uris(file_pruning_predicate=[("id", ">", 100)])) <= 1  # a file of NULLs may stay
    with pytest.raises(InvalidPredicateError, match="idd"):
        table.file_uris(file_pruning_predicate=[("idd", "=", 1)])


def test_tables_may_be_filtered_by_tuples_and_expressions(path):
    table = DeltaTable(path)
    assert table.to_pyarrow_table(filters=[("p", "=", "a")])["id"].to_pylist() == [1, 2]
    assert table.to_pyarrow_table(filters=[("id", ">", 1), ("p", "in", ["a"])])["id"].to_pylist() == [2]
    either = [[("id", "=", 1)], [("id", "=", 3)]]
    assert sorted(table.to_pyarrow_table(filters=either)["id"].to_pylist()) == [1, 3]
    assert table.to_pandas(columns=["id"], filters=[("id", "=", 3)])["id"].tolist() == [3]


def test_metadata_and_protocol_are_those_of_deltalake(path):
    ours, theirs = DeltaTable(path), deltalake.DeltaTable(path)
    assert tuple(ours.protocol()) == tuple(theirs.protocol())
    for name in ("id", "name", "description", "partition_columns", "created_time", "configuration"):
        assert getattr(ours.metadata(), name) == getattr(theirs.metadata(), name)
    assert ours.schema().to_json() == theirs.schema().to_json()


def test_detail_has_the_names_of_spark(path):
    detail = DeltaTable(path).detail()
    assert detail["format"] == "delta"
    assert detail["numFiles"] == 3
    assert detail["sizeInBytes"] == sum(f.stat().st_size for f in path.rglob("*.parquet"))
    assert (detail["minReaderVersion"], detail["minWriterVersion"]) == (1, 2)
    assert detail["partitionColumns"] == ["p"]
    assert detail["location"] == str(path)


@pytest.mark.feature("clustering")
def test_clustering_columns_have_logical_names(tmp_path):
    def mapped(name, data_type, number):
        metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
        return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}

    inner = {"type": "struct", "fields": [mapped("x", "long", 3)]}
    schema = {"type": "struct", "fields": [mapped("id", "long", 1), mapped("s", inner, 2)]}
    table = TableBuilder(tmp_path).protocol(2, 7, None, ["columnMapping", "clustering", "domainMetadata"])
    table.metadata(schema, configuration={"delta.columnMapping.mode": "name"})
    text = '{"clusteringColumns": [["col-2", "col-3"], ["col-1"]]}'
    table.commit([table.domain("delta.clustering", text)])
    assert DeltaTable(tmp_path).detail()["clusteringColumns"] == ["s.x", "id"]
    table.commit([table.domain("delta.clustering", text.replace("col-3", "x"))])
    with pytest.raises(CorruptLogError, match=r"col-2\.x, which the table does not have"):
        DeltaTable(tmp_path).detail()


def test_count_is_from_the_log(path):
    for file in path.rglob("*.parquet"):
        file.unlink()
    assert DeltaTable(path).count() == 4


def test_a_folder_without_a_table_is_not_one(tmp_path):
    assert not DeltaTable.is_deltatable(tmp_path)
    with pytest.raises(TableNotFoundError, match=str(tmp_path)):
        DeltaTable(tmp_path)


def test_tables_show_themselves_shortly(path):
    table = DeltaTable(path)
    assert repr(table) == f"DeltaTable('{path}', version=0)"
    html = table._repr_html_()
    assert "orders" in html and str(path) in html
    assert html == table.snapshot._repr_html_()
    plan = table.to_pyarrow_dataset().plan(columns=["id"])
    assert repr(plan).startswith("ScanPlan(files=3, bytes=")
    assert "<td>3</td>" in plan._repr_html_()
    assert all(len(repr(each)) < 200 for each in (table.snapshot, plan, table.to_pyarrow_dataset()))


def test_names_in_notebooks_are_escaped(tmp_path):
    DeltaTable.create(tmp_path, pa.schema([("<b>x</b>", pa.int64())]))
    html = DeltaTable(tmp_path)._repr_html_()
    assert "<b>x</b>" not in html and "&lt;b&gt;" in html


def test_tables_pickle_and_keep_their_version(path):
    write_deltalake(path, ROWS, mode="append")
    old = pickle.loads(pickle.dumps(DeltaTable(path, version=0)))
    assert (old.version(), old.count()) == (0, 4)


def test_a_log_with_a_gap_is_a_delta_log(tmp_path):
    for _ in range(3):
        write_deltalake(tmp_path, ROWS, mode="append")
    (tmp_path / f"_delta_log/{1:020}.json").unlink()
    assert DeltaTable.is_deltatable(tmp_path)
    with pytest.raises(CorruptLogError):
        DeltaTable(tmp_path)
    with pytest.raises(VersionExistsError):
        DeltaTable.create(tmp_path, ROWS.schema)
