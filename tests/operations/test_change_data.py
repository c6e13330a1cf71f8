"""Writes to a table with a change data feed.

The feed follows from added and removed files and from deletion vectors; rewritten files need change
data files.
"""

import json
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import ConstraintViolationError, DeltaTable, write_deltalake
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError
from deltaarrow.schema import Field, Schema
from deltaarrow.variant import to_json
from tests.support.commits import commit
from tests.support.examples import examples
from tests.support.tables import TableBuilder

pytestmark = pytest.mark.feature("changeDataFeed")

FEED = {"delta.enableChangeDataFeed": "true"}
MARKED = FEED | {"delta.enableDeletionVectors": "true"}


def days(*pairs: tuple[int, str | None]) -> pa.Table:
    schema = pa.schema([("id", pa.int64()), ("day", pa.string())])
    return pa.table({"id": [number for number, _ in pairs], "day": [day for _, day in pairs]}, schema=schema)


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


def test_a_condition_on_data_may_replace_whole_files(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "a")), configuration=FEED)
    write_deltalake(tmp_path, days((3, "b")), mode="append")
    write_deltalake(tmp_path, days((9, "a")), mode="overwrite", predicate="day = 'a'")
    assert changes(tmp_path, 2) == [("delete", 1), ("delete", 2), ("insert", 9)]
    assert not (tmp_path / "_change_data").exists()


# --- parts of files --------------------------------------------------------------------------------


def replace_b(path, *pairs: tuple[int, str], **options) -> None:
    write_deltalake(path, days(*pairs), mode="overwrite", predicate="day = 'b'", **options)


def recorded(path, version: int) -> list[tuple[str, int]]:
    """What the change data files of a version hold."""
    files = [action["cdc"] for action in commit(path, version) if "cdc" in action]
    rows = [row for file in files for row in pq.ParquetFile(path / file["path"]).read().to_pylist()]
    return sorted((row["_change_type"], row["id"]) for row in rows)


def metrics(path, version: int) -> dict[str, str]:
    return commit(path, version)[0]["commitInfo"]["operationMetrics"]


def test_rows_of_a_file_that_is_rewritten_are_recorded_with_all_others(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=FEED)
    write_deltalake(tmp_path, days((3, "b"), (4, "b")), mode="append")
    write_deltalake(tmp_path, days((5, "a")), mode="append")
    replace_b(tmp_path, (7, "b"), (8, "b"))
    everything = [("delete", 2), ("delete", 3), ("delete", 4), ("insert", 7), ("insert", 8)]
    assert changes(tmp_path, 3) == everything
    assert recorded(tmp_path, 3) == everything
    assert metrics(tmp_path, 3)["numAddedChangeFiles"] == "2"
    assert list(DeltaTable(tmp_path).verify(deep=True)) == []


def test_deletion_vectors_need_no_change_data_files(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=MARKED)
    write_deltalake(tmp_path, days((3, "b"), (4, "b")), mode="append")
    replace_b(tmp_path, (7, "b"))
    assert changes(tmp_path, 2) == [("delete", 2), ("delete", 3), ("delete", 4), ("insert", 7)]
    assert not (tmp_path / "_change_data").exists()
    assert metrics(tmp_path, 2)["numAddedChangeFiles"] == "0"


def test_a_replacement_without_rows_records_what_is_deleted(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=FEED)
    replace_b(tmp_path)
    assert recorded(tmp_path, 1) == changes(tmp_path, 1) == [("delete", 2)]


def test_rows_that_deletion_vectors_have_deleted_before_are_not_deleted_again(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b"), (3, "b"), (4, "b")), configuration=MARKED)
    write_deltalake(tmp_path, days((5, "b"), (6, "b")), mode="append")
    write_deltalake(tmp_path, days(), mode="overwrite", predicate="id = 2 OR id = 5")
    table = DeltaTable(tmp_path)
    table.alter.set_table_properties({"delta.enableDeletionVectors": "false"})
    replace_b(tmp_path)
    assert recorded(tmp_path, 4) == changes(tmp_path, 4) == [("delete", 3), ("delete", 4), ("delete", 6)]


@pytest.mark.parametrize("stats", [False, "{}", '{"numRecords":-1}'], ids=["none", "empty", "impossible"])
@pytest.mark.parametrize("vectors", [False, True], ids=["copied", "marked"])
def test_files_whose_rows_are_not_counted(tmp_path, stats, vectors):
    features = ["deletionVectors"] if vectors else []
    table = TableBuilder(tmp_path).features(*features, writer_only=["changeDataFeed"])
    data = days((1, "a"), (2, "b"))
    schema = {
        "type": "struct",
        "fields": [
            {"name": name, "type": kind, "nullable": True, "metadata": {}}
            for name, kind in (("id", "long"), ("day", "string"))
        ],
    }
    table.metadata(schema, configuration=MARKED if vectors else FEED)
    whole = days((3, "b"), (4, "b"))
    table.commit([table.add_file(data, stats=stats), table.add_file(whole, stats=stats)])
    replace_b(tmp_path, (9, "b"))
    wanted = [("delete", 2), ("delete", 3), ("delete", 4), ("insert", 9)]
    assert changes(tmp_path, 1) == wanted
    assert recorded(tmp_path, 1) == ([] if vectors else wanted)
    marked = [a["add"] for a in commit(tmp_path, 1) if "deletionVector" in a.get("add", {})]
    counted = [json.loads(add["stats"]) for add in marked]
    assert counted == ([{"numRecords": 2, "tightBounds": False}] if vectors else [])
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table()["id"].to_pylist()) == [1, 9]


def test_columns_that_the_table_fills_are_recorded(tmp_path):
    write_deltalake(
        tmp_path,
        pa.table({"id": [1, 2]}, schema=pa.schema([pa.field("id", pa.int64())])),
        configuration=FEED,
    )
    write_deltalake(
        tmp_path,
        pa.table({"id": [2], "extra": ["x"]}),
        mode="overwrite",
        predicate="id = 2",
        schema_mode="merge",
    )
    feed = DeltaTable(tmp_path).load_cdf(1, columns=["id", "extra", "_change_type"]).read_all()
    assert sorted(feed.to_pylist(), key=str) == [
        {"id": 2, "extra": "x", "_change_type": "insert"},
        {"id": 2, "extra": None, "_change_type": "delete"},
    ]


@pytest.mark.parametrize("mapping", ["none", "name", "id"])
def test_partitions_and_column_mapping(tmp_path, mapping):
    configuration = FEED | {"delta.columnMapping.mode": mapping}
    rows = days((1, "a"), (2, "a"), (3, "ü /%"), (4, None))
    write_deltalake(tmp_path, rows, partition_by="day", configuration=configuration)
    write_deltalake(tmp_path, days((1, "x")), mode="overwrite", predicate="id IN (1, 3, 4)")
    feed = DeltaTable(tmp_path).load_cdf(1, columns=["id", "day", "_change_type"]).read_all()
    assert sorted(map(tuple, (row.values() for row in feed.to_pylist())), key=repr) == [
        (1, "a", "delete"),
        (1, "x", "insert"),
        (3, "ü /%", "delete"),
        (4, None, "delete"),
    ]
    assert all(
        action["cdc"]["path"].startswith("_change_data/") for action in commit(tmp_path, 1) if "cdc" in action
    )


def test_variants_are_recorded(tmp_path):
    schema = Schema([Field("id", "long"), Field("v", "variant")])
    shredded = {"delta.enableVariantShredding": "true"}
    DeltaTable.create(tmp_path, schema, configuration=FEED | shredded)
    data = pa.table({"id": [1, 2], "v": ['{"a":1}', "[2]"]})
    write_deltalake(tmp_path, data, mode="append")
    write_deltalake(tmp_path, data.slice(0, 1), mode="overwrite", predicate="id = 1")
    feed = DeltaTable(tmp_path).load_cdf(2).read_all().sort_by("_change_type")
    assert feed["_change_type"].to_pylist() == ["delete", "insert"]
    assert to_json(feed["v"].combine_chunks()).to_pylist() == ['{"a":1}', '{"a":1}']


def test_rows_are_recorded_with_their_ids(tmp_path):
    tracked = {"delta.enableRowTracking": "true"}
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=FEED | tracked)
    replace_b(tmp_path, (3, "b"))
    files = [action["cdc"]["path"] for action in commit(tmp_path, 1) if "cdc" in action]
    rows = [row for file in files for row in pq.ParquetFile(tmp_path / file).read().to_pylist()]
    deleted, inserted = sorted(rows, key=lambda row: row["_change_type"])
    assert list(inserted.values()) == [3, "b", "insert"]
    assert list(deleted.values()) == [2, "b", 1, 0, "delete"]
    assert [name[: name.rindex("-col-")] for name in list(deleted)[2:4]] == ["_row-id", "_row-commit-version"]
    assert changes(tmp_path, 1) == [("delete", 2), ("insert", 3)]


# --- in one transaction with others ----------------------------------------------------------------


def test_rows_that_are_appended_with_recorded_changes_are_recorded(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=FEED)
    with DeltaTable(tmp_path).transaction("BOTH") as transaction:
        replace_b(transaction, (3, "b"))
        write_deltalake(transaction, days((4, "c")), mode="append")
    wanted = [("delete", 2), ("insert", 3), ("insert", 4)]
    assert recorded(tmp_path, 1) == changes(tmp_path, 1) == wanted


def test_changes_that_were_not_recorded_do_not_go_with_those_that_are(tmp_path):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=FEED)
    write_deltalake(tmp_path, days((3, "c")), mode="append")
    before = sorted(tmp_path.rglob("*"))
    with DeltaTable(tmp_path).transaction("BOTH") as transaction:
        transaction.remove_files(transaction.read_files("day = 'c'"))
        with pytest.raises(UnsupportedFeatureError, match="without recording it") as caught:
            replace_b(transaction, (9, "b"))
        assert caught.value.feature == "changeDataFeed"
    assert changes(tmp_path, 2) == [("delete", 3)]
    assert not (tmp_path / "_change_data").exists()
    assert set(before) < set(tmp_path.rglob("*"))


@pytest.mark.parametrize("failure", ["rows", "commit"])
def test_what_fails_leaves_no_change_data_file(tmp_path, failure):
    write_deltalake(tmp_path, days((1, "a"), (2, "b")), configuration=FEED)
    before = sorted(tmp_path.rglob("*.parquet"))
    table = DeltaTable(tmp_path)
    if failure == "rows":
        with pytest.raises(ConstraintViolationError, match="day = 'b'"):
            replace_b(table, (1, "b"), (2, "c"))
    else:
        with pytest.raises(RuntimeError, match="second thoughts"), table.transaction() as transaction:
            replace_b(transaction, (1, "b"))
            assert len(sorted(tmp_path.rglob("cdc-*.parquet"))) == 2
            raise RuntimeError("second thoughts")
    assert sorted(tmp_path.rglob("*.parquet")) == before


# --- the feed is the difference --------------------------------------------------------------------

FILES = st.lists(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([*"abc", None])), min_size=1, max_size=5),
    min_size=1,
    max_size=4,
)
CONDITIONS = st.sampled_from(
    ["id < 3", "id IN (1, 3, 8)", "day = 'b'", "day IS NULL OR id = 7", "day = 'a' AND id > 4"]
)
HOLDS = {
    "id < 3": lambda i, d: i < 3,
    "id IN (1, 3, 8)": lambda i, d: i in (1, 3, 8),
    "day = 'b'": lambda i, d: d == "b",
    "day IS NULL OR id = 7": lambda i, d: d is None or i == 7,
    "day = 'a' AND id > 4": lambda i, d: d == "a" and i > 4,
}


EXAMPLES = given(
    files=FILES,
    rows=FILES,
    conditions=st.lists(CONDITIONS, min_size=1, max_size=3),
    partition_by=st.sampled_from([[], ["day"]]),
    properties=st.sampled_from([FEED, MARKED]),
)


@settings(max_examples=examples(5), deadline=None)
@EXAMPLES
def test_the_feed_of_a_version_is_what_sets_it_apart_from_the_one_before(
    tmp_path_factory, files, rows, conditions, partition_by, properties
):
    check_feed(tmp_path_factory, files, rows, conditions, partition_by, properties)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@EXAMPLES
def test_the_feeds_of_many_versions_are_what_sets_them_apart(
    tmp_path_factory, files, rows, conditions, partition_by, properties
):
    check_feed(tmp_path_factory, files, rows, conditions, partition_by, properties)


def check_feed(tmp_path_factory, files, rows, conditions, partition_by, properties):
    path = tmp_path_factory.mktemp("table")
    for each in files:
        write_deltalake(
            path, days(*each), mode="append", partition_by=partition_by or None, configuration=properties
        )
    given_rows = [pair for each in rows for pair in each]
    for condition in conditions:
        before = table_rows(path)
        new = [pair for pair in given_rows if HOLDS[condition](*pair)]
        result = write_deltalake(path, days(*new), mode="overwrite", predicate=condition)
        deleted = Counter({pair: n for pair, n in before.items() if HOLDS[condition](*pair)})
        assert table_rows(path) == before - deleted + Counter(new)
        if result.version is None:
            assert not deleted
            assert not new
            continue
        feed = DeltaTable(path).load_cdf(result.version, columns=["id", "day", "_change_type"]).read_all()
        told = Counter(tuple(row.values()) for row in feed.to_pylist())
        wanted = Counter({(*pair, "delete"): n for pair, n in deleted.items()})
        wanted.update((*pair, "insert") for pair in new)
        assert told == wanted


def table_rows(path) -> Counter:
    table = DeltaTable(path).to_pyarrow_table(columns=["id", "day"])
    return Counter(tuple(row.values()) for row in table.to_pylist())


# --- names -----------------------------------------------------------------------------------------


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
