"""Contents of checkpoints, by the properties of the table."""

import itertools
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import CorruptLogError, DeltaProtocolError
from deltaarrow.log import list_segment, replay, write_checkpoint
from deltaarrow.log.checkpoint_writing.row_stream import CheckpointSizes
from deltaarrow.log.file_sources import list_files, list_tombstones
from deltaarrow.log.limits import DEFAULT_LIMITS, LogLimits
from deltaarrow.storage import open_store
from tests.support.examples import examples
from tests.support.tables import EPOCH_MS, TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC")), ("p", pa.int32())])
V2 = {"delta.checkpointPolicy": "v2"}
DAY_MS = 24 * 3600 * 1000


def table_of(path, configuration=(), features=("v2Checkpoint",)) -> TableBuilder:
    table = TableBuilder(path).features(*features)
    return table.metadata(SCHEMA, ["p"], dict(configuration))


def write(table, limits=DEFAULT_LIMITS, **options) -> str:
    store = open_store(table.path)
    options = {"clock": lambda: EPOCH_MS} | options
    return write_checkpoint(replay(store, list_segment(store), limits=limits), **options)


def everything(path, limits=DEFAULT_LIMITS):
    store = open_store(path)
    state = replay(store, list_segment(store), limits=limits)
    files = list_files(state).drop_columns(["data_change"]).to_pylist(maps_as_pydicts="strict")
    stones = list_tombstones(state).drop_columns(["data_change", "stats", "tags"])
    return (
        state.protocol,
        state.metadata,
        state.transactions,
        state.domains,
        sorted(files, key=str),
        sorted(stones.to_pylist(maps_as_pydicts="strict"), key=str),
    )


def adds(file):
    return [row for row in pq.read_table(file).column("add").to_pylist() if row is not None]


def stats(low, high, at="2024-01-02T03:04:05.123Z"):
    bounds = {"minValues": {"id": low, "at": at}, "maxValues": {"id": high, "at": at}}
    return {"numRecords": 2, **bounds, "nullCount": {"id": 0, "at": 1}}


# --- statistics and partition values -------------------------------------------------------------------


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("as_struct", [True, False])
def test_statistics_are_there_as_the_properties_say(tmp_path, as_json, as_struct):
    table = table_of(
        tmp_path,
        {
            "delta.checkpoint.writeStatsAsJson": str(as_json).lower(),
            "delta.checkpoint.writeStatsAsStruct": str(as_struct).lower(),
        },
    )
    table.commit([table.add_file(2, {"p": "7"}, stats=stats(1, 5))])
    (add,) = adds(table.path / write(table))
    assert ("stats" in add) == as_json
    assert ("stats_parsed" in add) == ("partitionValues_parsed" in add) == as_struct
    if as_struct:
        assert add["partitionValues_parsed"] == {"p": 7}
        assert add["stats_parsed"]["numRecords"] == 2
        assert add["stats_parsed"]["minValues"]["id"] == 1
        assert add["stats_parsed"]["nullCount"] == {"id": 0, "at": 1}


@pytest.mark.parametrize(
    ("at", "wanted"),
    [
        ("2024-01-02T03:04:05.123Z", "2024-01-02 03:04:05.123000+00:00"),
        ("2024-01-02T03:04:05.123+02:00", "2024-01-02 01:04:05.123000+00:00"),
        ("2024-01-02 03:04:05", None),
        ("infinity", None),
        (7, None),
    ],
)
def test_a_time_without_a_zone_is_none_to_rely_on(tmp_path, at, wanted):
    table = table_of(tmp_path)
    table.commit([table.add_file(2, {"p": "7"}, stats=stats(1, 5, at))])
    found = adds(table.path / write(table))[0]["stats_parsed"]["minValues"]["at"]
    assert found == wanted if wanted is None else str(found) == wanted


@pytest.mark.parametrize("text", ["", "{", "[]", '{"numRecords": "many", "minValues": {"id": "x"}}'])
def test_statistics_that_mean_nothing_are_kept_as_text_alone(tmp_path, text):
    table = table_of(tmp_path)
    table.commit([table.add_file(2, {"p": "x"}, stats=text)])
    (add,) = adds(table.path / write(table))
    assert add["stats"] == text
    assert not add["stats_parsed"] or add["stats_parsed"]["numRecords"] is None
    assert add["partitionValues_parsed"] == {"p": None}


def test_statistics_pass_from_struct_to_struct(tmp_path):
    configuration = {"delta.checkpoint.writeStatsAsJson": "false"}
    table = table_of(tmp_path, configuration)
    table.commit([table.add_file(2, {"p": "7"}, stats=stats(1, 5))])
    first = adds(table.path / write(table))
    table.delete_commits(0)
    table.commit([table.txn("a", 1)])
    assert adds(table.path / write(table)) == first
    # And to a struct of other members, once the column has grown.
    wider = SCHEMA.set(0, pa.field("id", pa.decimal128(20, 0))).append(pa.field("new", pa.string()))
    table.metadata(wider, ["p"], configuration).commit()
    (add,) = adds(table.path / write(table))
    assert int(add["stats_parsed"]["maxValues"]["id"]) == 5
    assert add["stats_parsed"]["nullCount"] == {"id": 0, "at": 1, "new": None}


def test_columns_that_differ_in_case_alone_have_statistics_as_text(tmp_path):
    schema = pa.schema([("a", pa.int64()), ("A", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    table = TableBuilder(tmp_path).protocol().metadata(schema)
    values = {"a": 1, "A": 2, "at": "2024-01-02T03:04:05.123Z"}
    table.commit([table.add_file(1, stats={"numRecords": 1, "minValues": values, "maxValues": values})])
    write(table)
    (add,) = adds(next(table.log.glob("*.checkpoint.parquet")))
    assert list(add["stats_parsed"]["minValues"]) == ["at"]
    assert json.loads(add["stats"])["minValues"] == values


def test_row_groups_hold_few_partitions_each(tmp_path):
    table = table_of(tmp_path)
    table.commit([table.add_file(1, {"p": str(n % 97)}, name=f"f{n}") for n in range(9_000)])
    sizes = CheckpointSizes(group_rows=2_000, batch_rows=500)
    metadata = pq.read_metadata(tmp_path / write(table, sizes=sizes))
    (leaf,) = [i for i in range(metadata.num_columns) if metadata.schema.column(i).path.endswith("_parsed.p")]
    groups = [metadata.row_group(i).column(leaf).statistics for i in range(metadata.num_row_groups)]
    assert len(groups) > 3
    assert all(older.max <= newer.min for older, newer in itertools.pairwise(groups))


# --- what has expired ----------------------------------------------------------------------------------


def test_transactions_expire(tmp_path):
    table = table_of(tmp_path, {"delta.setTransactionRetentionDuration": "interval 2 days"})
    times = {"old": EPOCH_MS - 2 * DAY_MS, "young": EPOCH_MS - DAY_MS, "without": None}
    table.commit(
        {"txn": {"appId": name, "version": 1} | ({} if time is None else {"lastUpdated": time})}
        for name, time in times.items()
    )
    rows = pq.read_table(table.path / write(table)).column("txn").drop_null().to_pylist()
    assert [row["appId"] for row in rows] == ["young"]


def test_removed_domains_are_not_there(tmp_path):
    table = table_of(tmp_path)
    table.commit([table.domain("a", "x"), table.domain("b", "y")])
    table.commit([table.domain("a", "", removed=True)])
    rows = pq.read_table(table.path / write(table)).column("domainMetadata").drop_null().to_pylist()
    assert [row["domain"] for row in rows] == ["b"]


def test_a_removed_file_keeps_neither_statistics_nor_tags(tmp_path):
    table = table_of(tmp_path)
    add = table.add_file(2, {"p": "7"}, tags={"a": "b"})
    table.commit([add]).commit([table.remove(add, tags={"a": "b"}, stats="{}")])
    write(table)
    table.delete_commits(0, 1)
    (stone,) = list_tombstones(replay(store := open_store(tmp_path), list_segment(store))).to_pylist()
    assert (stone["stats"], stone["tags"], stone["data_change"]) == (None, None, False)


# --- V2 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manifest_format", ["parquet", "json"])
def test_a_v2_checkpoint_has_its_files_in_sidecars(tmp_path, manifest_format):
    table = table_of(tmp_path, V2)
    files = [table.add_file(2, {"p": str(n)}, stats=stats(n, n)) for n in range(3)]
    table.commit([*files, table.txn("a", 1), table.domain("d", "x")]).commit([table.remove(files[0])])
    before = everything(tmp_path)
    name = write(table, manifest_format=manifest_format)
    table.delete_commits(0, 1)
    assert everything(tmp_path) == before
    assert list_segment(open_store(tmp_path)).checkpoint.files[0].name == name
    hint = json.loads((table.log / "_last_checkpoint").read_text())
    manifest = hint["v2Checkpoint"]
    assert f"_delta_log/{manifest['path']}" == name
    assert manifest["sizeInBytes"] == (tmp_path / name).stat().st_size
    sidecars = {file.name: file.stat().st_size for file in (table.log / "_sidecars").iterdir()}
    assert {each["path"]: each["sizeInBytes"] for each in manifest["sidecarFiles"]} == sidecars
    assert hint["sizeInBytes"] == manifest["sizeInBytes"] + sum(sidecars.values())
    # Two adds, one remove; two sidecars, and five actions that are not about files.
    assert (hint["numOfAddFiles"], hint["size"]) == (2, 3 + 2 + 5)
    assert ("checkpointSchema" in hint) == (manifest_format == "parquet")


def test_sidecars_are_of_bounded_size(tmp_path):
    table = table_of(tmp_path, V2)
    table.commit([table.add_file(1, {"p": "1"}, name=f"f{n}") for n in range(5_000)])
    before = everything(tmp_path)
    write(table, sizes=CheckpointSizes(sidecar_rows=2_000, batch_rows=500))
    table.delete_commits(0)
    assert everything(tmp_path) == before
    rows = [pq.read_metadata(file).num_rows for file in (table.log / "_sidecars").iterdir()]
    assert sum(rows) == 5_000
    assert len(rows) > 1


def test_a_v2_checkpoint_of_an_empty_table_has_no_sidecar(tmp_path):
    table = table_of(tmp_path, V2).commit()
    before = everything(tmp_path)
    write(table)
    table.delete_commits(0)
    assert everything(tmp_path) == before
    assert not (table.log / "_sidecars").exists()


def test_a_v2_checkpoint_needs_its_feature(tmp_path):
    table = table_of(tmp_path, V2, features=()).commit()
    with pytest.raises(DeltaProtocolError, match="v2Checkpoint"):
        write(table)


def test_a_v2_checkpoint_that_fails_leaves_no_sidecar(tmp_path):
    table = table_of(tmp_path, V2)
    table.commit([table.add_file(1, {"p": "1"}, name=f"f{n}") for n in range(3)])
    old = write(table)
    sidecar = next((table.log / "_sidecars").iterdir())
    broken = pq.read_table(sidecar).to_pylist(maps_as_pydicts="strict")
    broken[0]["add"]["size"] = None
    # Without what tells it before a row is read.
    broken = pa.Table.from_pylist(broken, pq.read_schema(sidecar))
    pq.write_table(broken, sidecar, write_statistics=False)
    table.delete_commits(0)
    table.commit([table.txn("a", 1)])
    with pytest.raises(CorruptLogError, match="without a required field"):
        write(table)
    assert [file.name for file in (table.log / "_sidecars").iterdir()] == [sidecar.name]
    assert [file.name for file in table.log.glob("*.checkpoint.*")] == [old.rpartition("/")[2]]


# --- the state -----------------------------------------------------------------------------------------

NAMES = st.integers(0, 5)
STEP = st.lists(st.tuples(st.sampled_from(["add", "remove", "txn", "domain", "undomain"]), NAMES), max_size=5)


EXAMPLES = given(
    st.lists(st.tuples(STEP, st.sampled_from(["", "classic", "parquet", "json"])), min_size=1, max_size=5),
    st.sampled_from([DEFAULT_LIMITS, LogLimits(replayed_bytes=-1)]),
)


@settings(deadline=None, max_examples=examples(5))
@EXAMPLES
def test_the_state_is_the_same_with_checkpoints_as_without(tmp_path_factory, steps, limits):
    check_state(tmp_path_factory, steps, limits)


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@EXAMPLES
def test_the_state_is_the_same_with_checkpoints_as_without_in_many_examples(tmp_path_factory, steps, limits):
    check_state(tmp_path_factory, steps, limits)


def check_state(tmp_path_factory, steps, limits):
    """Whatever the kinds of the checkpoints before it, and whether these are read at once or queried."""
    folder = tmp_path_factory.mktemp("t")
    table = table_of(folder).commit()
    for number, (step, kind) in enumerate(steps):
        configuration = {} if kind in ("", "classic") else V2
        table.metadata(SCHEMA, ["p"], configuration)
        actions = {}
        for what, which in step:
            add = table.add_file(2, {"p": str(which)}, stats=stats(which, number), name=f"f%20{which}")
            made = {
                "add": add,
                "remove": table.remove(add),
                "txn": table.txn(f"a{which}", number),
                "domain": table.domain(f"d{which}", str(number)),
                "undomain": table.domain(f"d{which}", "", removed=True),
            }[what]
            actions[what.removeprefix("un") if what not in ("add", "remove") else "file", which] = made
        table.commit(actions.values())
        before = everything(folder, limits)
        if kind:
            write(table, limits, manifest_format="json" if kind == "json" else "parquet")
            table.delete_commits(*(v for v in table.commits if (table.log / f"{v:020d}.json").exists()))
            assert everything(folder, limits) == before
