"""Row tracking columns: the source of their values, and the tables that have them."""

import pickle

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import deltaarrow as da
from deltaarrow.engines import DeltaDataset
from deltaarrow.errors import CorruptLogError, SchemaMismatchError
from deltaarrow.scan.batches import BatchReader
from deltaarrow.scan.plan import plan_scan
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.engines import open_snapshot
from tests.support.row_tracking import COMMIT_VERSIONS, PROPERTIES, ROW_IDS, TRACKED, tracked_table
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("rowTracking")


def found(dataset, columns=("id", ROW_ID, ROW_COMMIT_VERSION), where=None):
    """The rows by id, under short names."""
    table = dataset.to_table(columns=list(columns), filter=where)
    names = [name.removeprefix("_metadata.") for name in table.column_names]
    return sorted(table.rename_columns(names).to_pylist(), key=repr)


def expected(*columns, rows=TRACKED):
    return sorted(({name: row[name] for name in columns} for row in rows), key=repr)


ALL = ("id", "row_id", "row_commit_version")


def one_file(path, rows, fields=None, mode=None, **arguments):
    """A table of one file, with row tracking."""
    schema = pa.schema([("id", pa.int64())]) if fields is None else fields
    table = TableBuilder(path).features("columnMapping", writer_only=["rowTracking", "domainMetadata"])
    configuration = PROPERTIES | ({} if mode is None else {"delta.columnMapping.mode": mode})
    table.metadata(schema, (), configuration)
    arguments = {"baseRowId": 10, "defaultRowCommitVersion": 4, "stats": False} | arguments
    table.commit([table.add_file(rows, **arguments)])
    return DeltaDataset(open_snapshot(path))


# --- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("stats", [True, False])
@pytest.mark.parametrize("batch_size", [1, 3, 131_072])
@pytest.mark.parametrize("columns", [ALL, ("row_id",), ("row_commit_version",), ("p", "row_id"), ("id",)])
def test_values_come_from_the_file_or_else_the_log(tmp_path, stats, batch_size, columns):
    tracked_table(tmp_path, stats)
    names = tuple(f"_metadata.{name}" if name.startswith("row_") else name for name in columns)
    plan = plan_scan(open_snapshot(tmp_path), columns=names)
    batches = list(BatchReader(plan.layout, names, batch_size=batch_size).read(plan.tasks))
    table = pa.Table.from_batches(batches).rename_columns(columns)
    assert sorted(table.to_pylist(), key=repr) == expected(*columns)
    assert all(f.type == pa.int64() for f in table.schema if f.name.startswith("row_"))


@pytest.mark.parametrize(
    ("where", "keep"),
    [
        (pc.field(ROW_ID) == 201, lambda row: row["row_id"] == 201),
        (pc.field(ROW_ID) <= 101, lambda row: row["row_id"] <= 101),
        (pc.field(ROW_COMMIT_VERSION) >= 2, lambda row: row["row_commit_version"] >= 2),
        (pc.field(ROW_ID).is_null(), lambda row: False),
        (pc.field("id") >= 4, lambda row: row["id"] >= 4),
        (pc.field("id") == 22, lambda row: row["id"] == 22),
        ((pc.field("id") > 3) & (pc.field(ROW_ID) > 104), lambda row: row["id"] > 3 and row["row_id"] > 104),
    ],
)
@pytest.mark.parametrize("columns", [ALL, ("row_commit_version",)])
def test_filters(tmp_path, where, keep, columns):
    tracked_table(tmp_path)
    names = [f"_metadata.{name}" if name.startswith("row_") else name for name in columns]
    rows = [row for row in TRACKED if keep(row)]
    dataset = DeltaDataset(open_snapshot(tmp_path))
    assert found(dataset, names, where) == expected(*columns, rows=rows)
    assert dataset.count_rows(where) == len(rows)


def test_expressions_and_tables(tmp_path):
    tracked_table(tmp_path)
    table = da.DeltaTable(tmp_path)
    rows = table.to_pyarrow_table(columns=[ROW_ID], filters=pc.field(ROW_COMMIT_VERSION) == 3)
    assert sorted(rows[ROW_ID].to_pylist()) == [300, 301, 302]
    rows = table.to_pyarrow_table(filters=[(ROW_ID, "in", [201, 302]), ("id", "<", 20)])
    assert rows.to_pydict() == {"id": [11], "p": ["b"]}
    doubled = DeltaDataset(open_snapshot(tmp_path)).to_table(columns={"twice": pc.field(ROW_ID) * 2})
    assert sorted(doubled["twice"].to_pylist()) == sorted(2 * row["row_id"] for row in TRACKED)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_materialised_columns_have_no_other_name_under_column_mapping(tmp_path, mode):
    key = "delta.columnMapping."
    fields = {
        "type": "struct",
        "fields": [
            {
                "name": "id",
                "type": "long",
                "nullable": True,
                "metadata": {f"{key}id": 1, f"{key}physicalName": "c-1"},
            }
        ],
    }
    schema = pa.schema(
        [
            pa.field("c-1", pa.int64(), metadata={"PARQUET:field_id": "1"}),
            pa.field(ROW_IDS, pa.int64()),
            pa.field(ROW_IDS.upper(), pa.int64()),
        ]
    )
    dataset = one_file(tmp_path, pa.table([[1, 2], [None, 3], [5, 5]], schema=schema), fields, mode)
    assert found(dataset, ("id", ROW_ID)) == [{"id": 1, "row_id": 10}, {"id": 2, "row_id": 3}]
    assert found(dataset, (ROW_COMMIT_VERSION,)) == [{"row_commit_version": 4}] * 2


def test_bounds_of_materialised_columns_hide_no_row(tmp_path):
    rows = pa.table({"id": [1, 2], ROW_IDS: [None, 3], COMMIT_VERSIONS: pa.array([None, 1], pa.int64())})
    for number, stats in enumerate([True, False]):
        dataset = one_file(tmp_path / str(number), rows, stats=stats)
        assert found(dataset, ("id",), pc.field(ROW_ID) == 10) == [{"id": 1}]
        assert found(dataset, ("id",), pc.field(ROW_COMMIT_VERSION) == 4) == [{"id": 1}]
        assert found(dataset, ("id",), pc.field(ROW_COMMIT_VERSION) == 1) == [{"id": 2}]


# --- requests --------------------------------------------------------------------------------------


def test_the_schema_has_them_on_request_only(tmp_path):
    tracked_table(tmp_path)
    snapshot = open_snapshot(tmp_path)
    dataset = DeltaDataset(snapshot)
    assert dataset.schema.names == ["id", "p"]
    assert dataset.to_table().column_names == ["id", "p"]
    wide = pickle.loads(pickle.dumps(DeltaDataset(snapshot, with_row_ids=True).filter(pc.field("id") > 1)))
    assert wide.to_table().column_names == ["id", "p", ROW_ID, ROW_COMMIT_VERSION]
    plan = pickle.loads(pickle.dumps(plan_scan(snapshot, columns=[ROW_ID])))
    assert [task.base_row_id for task in plan.tasks] == [100, 200, 300]
    assert [task.default_row_commit_version for task in plan.tasks] == [None] * 3


def test_fragments(tmp_path):
    tracked_table(tmp_path)
    wide = DeltaDataset(open_snapshot(tmp_path), with_row_ids=True)
    ids = [fragment.to_table(columns=[ROW_ID])[ROW_ID].to_pylist() for fragment in wide.get_fragments()]
    assert sorted(ids) == [[7, 201, 2], [101, 103, 104, 105], [300, 301, 302]]
    assert all(fragment.guarantee is not None for fragment in wide.get_fragments())
    narrow = next(DeltaDataset(open_snapshot(tmp_path)).get_fragments())
    with pytest.raises(SchemaMismatchError, match="no column"):
        narrow.to_table(columns=[ROW_ID])


@pytest.mark.parametrize("state", ["none", "supported", "without the feature"])
def test_tables_without_row_tracking_refuse(tmp_path, state):
    table = TableBuilder(tmp_path)
    table.features(writer_only=["rowTracking"] if state == "supported" else [])
    properties = PROPERTIES if state == "without the feature" else None
    table.metadata(pa.schema([("id", pa.int64())]), (), properties)
    table.commit([table.add_file(pa.table({"id": [1]}), baseRowId=0, defaultRowCommitVersion=0)])
    dataset = DeltaDataset(open_snapshot(tmp_path))
    for ask in (
        lambda: dataset.to_table(columns=[ROW_ID]),
        lambda: dataset.to_table(filter=pc.field(ROW_COMMIT_VERSION) > 1),
        lambda: DeltaDataset(open_snapshot(tmp_path), with_row_ids=True),
    ):
        with pytest.raises(SchemaMismatchError, match="rowTracking"):
            ask()


@pytest.mark.parametrize("field", ["baseRowId", "defaultRowCommitVersion"])
def test_a_file_without_its_record_is_named(tmp_path, field):
    table = tracked_table(tmp_path)
    bare = table.add_file(pa.table({"id": [99]}), {"p": "b"}, name="bare.parquet", baseRowId=400)
    del bare["add"]["baseRowId"]
    bare["add"] |= {"baseRowId": 400, "defaultRowCommitVersion": 4}
    del bare["add"][field]
    table.commit([bare])
    dataset = DeltaDataset(open_snapshot(tmp_path))
    column, other = (ROW_ID, ROW_COMMIT_VERSION) if field == "baseRowId" else (ROW_COMMIT_VERSION, ROW_ID)
    with pytest.raises(CorruptLogError, match=rf"bare\.parquet has no {field}"):
        dataset.to_table(columns=[column])
    assert dataset.to_table(columns=[other]).num_rows == len(TRACKED) + 1
    assert dataset.to_table().num_rows == len(TRACKED) + 1


@pytest.mark.parametrize("name", sorted(set(PROPERTIES) - {"delta.enableRowTracking"}))
def test_materialised_columns_without_a_name_are_refused(tmp_path, name):
    table = TableBuilder(tmp_path).features(writer_only=["rowTracking"])
    kept = {key: value for key, value in PROPERTIES.items() if key != name}
    table.metadata(pa.schema([("id", pa.int64())]), (), kept)
    table.commit([table.add_file(pa.table({"id": [1]}), baseRowId=0, defaultRowCommitVersion=0)])
    with pytest.raises(CorruptLogError, match=name):
        DeltaDataset(open_snapshot(tmp_path)).to_table(columns=[ROW_ID])


def test_a_column_of_that_name_is_the_tables_own(tmp_path):
    fields = pa.schema([(ROW_ID, pa.string())])
    dataset = one_file(tmp_path, pa.table({ROW_ID: ["mine"]}), fields)
    assert dataset.to_table(columns=[ROW_ID])[ROW_ID].to_pylist() == ["mine"]
    with pytest.raises(SchemaMismatchError, match="of its own"):
        DeltaDataset(open_snapshot(tmp_path), with_row_ids=True)
