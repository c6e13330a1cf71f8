"""Incremental checkpoints: carried-over rows equal those of a query, which is the fallback."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow.log.checkpoint_writing.content as checkpoint_content
import deltaarrow.log.checkpoint_writing.incremental as incremental_checkpoint
from deltaarrow import DeltaTable, PostCommitHookProperties, write_deltalake
from deltaarrow.log import list_segment, replay, write_checkpoint
from deltaarrow.storage import open_store
from tests.support.tables import TableBuilder

NO_HOOK = PostCommitHookProperties(create_checkpoint=False)
DATA = pa.table(
    {
        "id": pa.array([1, None, 3], pa.int64()),
        "name": ["a", "é", None],
        "number": [0.5, 1e300, -2.0],
        "day": pa.array([0, 20_000, None], pa.date32()),
        "inner": [{"a": 1}, None, {"a": 3}],
    }
)


@pytest.fixture
def carried(monkeypatch):
    """Every call's answer: whether rows were carried over."""
    answers = []

    def noted(*arguments):
        found = incremental_checkpoint.incremental_adds(*arguments)
        answers.append(found is not None)
        return found

    monkeypatch.setattr(checkpoint_content, "incremental_adds", noted)
    return answers


def append(path, times=1, data=DATA, **options):
    for _ in range(times):
        write_deltalake(path, data, mode="append", post_commithook_properties=NO_HOOK, **options)


def contents(path, monkeypatch=None):
    """The rows of files of a checkpoint that is written now."""
    store = open_store(path)
    if monkeypatch is not None:
        monkeypatch.setattr(checkpoint_content, "incremental_adds", lambda *_: None)
    sidecars = {file.name for file in store.list_from("_delta_log/_sidecars")}
    name = write_checkpoint(replay(store, list_segment(store)))
    if not name.endswith(".checkpoint.parquet"):
        (name,) = {file.name for file in store.list_from("_delta_log/_sidecars")} - sidecars
    table = pq.read_table(path / name)
    return table.schema, sorted(table.column("add").drop_null().to_pylist(), key=lambda row: row["path"])


@pytest.mark.parametrize(
    "configuration",
    [
        {},
        {"delta.columnMapping.mode": "name"},
        {"delta.enableDeletionVectors": "true"},
        {"delta.checkpointPolicy": "v2"},
        {"delta.checkpoint.writeStatsAsStruct": "false"},
        {"delta.checkpoint.writeStatsAsJson": "false"},
        {"delta.dataSkippingNumIndexedCols": "1"},
    ],
    ids=str,
)
def test_the_rows_are_those_of_the_query(tmp_path, carried, monkeypatch, configuration):
    append(tmp_path, 3, configuration=configuration)
    contents(tmp_path)
    append(tmp_path, 4)
    found = contents(tmp_path)
    assert carried == [True, True]
    assert len(found[1]) == 7
    append(tmp_path, 1)
    DeltaTable(tmp_path).create_checkpoint()
    assert contents(tmp_path) == contents(tmp_path, monkeypatch)
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 24
    assert DeltaTable(tmp_path).verify(deep=True).ok


def test_files_that_were_removed_take_a_query(tmp_path, carried):
    append(tmp_path, 2)
    contents(tmp_path)
    write_deltalake(tmp_path, DATA, mode="overwrite", post_commithook_properties=NO_HOOK)
    assert len(contents(tmp_path)[1]) == 1
    append(tmp_path)
    assert len(contents(tmp_path)[1]) == 2
    assert carried == [True, False, False]


def test_a_file_that_is_added_again_is_there_once(tmp_path, carried):
    table = TableBuilder(tmp_path).protocol(1, 2)
    table.metadata(pa.schema([("id", pa.int64())]))
    add = table.add_file(pa.table({"id": [1]}))
    table.commit([add])
    contents(tmp_path)
    table.commit([table.add_file(pa.table({"id": [2]})), add])
    assert len(contents(tmp_path)[1]) == 2
    assert carried == [True, False]


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (DATA, {"partition_by": ["id"]}),
        (pa.table({"price": pa.array([1, 2]).cast(pa.decimal128(25, 2))}), {}),
        (pa.table({"at": pa.array([1, 2], pa.timestamp("us", "UTC"))}), {}),
    ],
    ids=["partitions", "decimals", "timestamps"],
)
def test_what_is_not_plain_takes_a_query(tmp_path, carried, data, options):
    append(tmp_path, 2, data, **options)
    contents(tmp_path)
    append(tmp_path, 1, data)
    assert len(contents(tmp_path)[1]) == 3 * (3 if options else 1)
    assert carried == [False, False]


def test_other_members_than_those_of_the_older_checkpoint_take_a_query(tmp_path, carried):
    append(tmp_path, 2)
    contents(tmp_path)
    append(tmp_path, 1, DATA.append_column("more", DATA["id"]), schema_mode="merge")
    schema, rows = contents(tmp_path)
    assert len(rows) == 3
    assert "more" in str(schema)
    assert carried == [True, False]


def test_an_empty_deletion_vector_is_none(tmp_path, carried):
    """As where a writer leaves a struct without members instead of no struct."""
    features = {"delta.enableDeletionVectors": "true"}
    append(tmp_path, 2, configuration=features)
    contents(tmp_path)
    (checkpoint,) = tmp_path.glob("_delta_log/*.checkpoint.parquet")
    rows = pq.read_table(checkpoint)
    field, place = rows.schema.field("add"), rows.schema.get_field_index("add")
    adds = [add and add | {"deletionVector": {}} for add in rows.column("add").to_pylist()]
    pq.write_table(rows.set_column(place, field, pa.array(adds, field.type)), checkpoint, store_schema=False)
    commit = tmp_path / "_delta_log" / f"{0:020d}.json"
    (again,) = (line for line in commit.read_text().splitlines() if line.startswith('{"add"'))
    (tmp_path / "_delta_log" / f"{2:020d}.json").write_text('{"commitInfo":{"timestamp":0}}\n' + again)
    assert len(contents(tmp_path)[1]) == 2
    assert carried == [True, False]
    assert DeltaTable(tmp_path).count() == 2 * DATA.num_rows
