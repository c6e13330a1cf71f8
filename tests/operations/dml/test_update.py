"""UPDATE: which rows change and how, and which stay."""

import datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from deltaarrow import (
    CommitProperties,
    DeltaTable,
    Field,
    Schema,
    Transaction,
    UnsupportedFeatureError,
    write_deltalake,
)
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError

VECTORS = {"delta.enableDeletionVectors": "true"}
BOTH = pytest.mark.parametrize("configuration", [VECTORS, {}], ids=["vectors", "rewriting"])


def make(path, rows, configuration=None, **options):
    write_deltalake(str(path), rows, configuration=configuration, **options)
    return DeltaTable(str(path))


def rows_of(table, *columns):
    found = table.to_pyarrow_table(columns=list(columns) or None).to_pylist()
    return sorted(found, key=lambda row: str(row))


@BOTH
def test_expressions_see_the_row_as_it_was(tmp_path, configuration):
    table = make(tmp_path, pa.table({"a": [1, 2], "b": [10, 20]}), configuration)
    metrics = table.update({"a": "b", "b": "a + 1"}, predicate="a = 2")
    assert metrics["num_updated_rows"] == 1
    assert rows_of(table) == [{"a": 1, "b": 10}, {"a": 20, "b": 3}]
    assert table.update({"a": "a + 1"})["num_updated_rows"] == 2
    assert rows_of(table, "a") == [{"a": 21}, {"a": 2}]
    assert table.verify(deep=True).ok


@BOTH
def test_a_row_moves_to_another_partition(tmp_path, configuration):
    table = make(tmp_path, pa.table({"id": [1, 2], "day": ["x", "y"]}), configuration, partition_by=["day"])
    table.update({"day": "'z'"}, predicate="id = 1")
    assert sorted(row["day"] for row in table.partitions()) == ["y", "z"]


def test_python_values_of_every_kind(tmp_path):
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, datetime.UTC)
    values = {
        "long": 5,
        "double": 2.5,
        "text": "it's",
        "flag": True,
        "day": datetime.date(2026, 1, 2),
        "at": moment,
        "price": Decimal("1.25"),
        "raw": b"\x00'",
        "list": [1, None],
        "s": {"a": 1, "b": None},
    }
    schema = pa.schema(
        [
            ("long", pa.int64()),
            ("double", pa.float64()),
            ("text", pa.string()),
            ("flag", pa.bool_()),
            ("day", pa.date32()),
            ("at", pa.timestamp("us", "UTC")),
            ("price", pa.decimal128(5, 2)),
            ("raw", pa.binary()),
            ("list", pa.list_(pa.int64())),
            ("s", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ]
    )
    table = make(tmp_path, pa.Table.from_pylist([dict.fromkeys(values)], schema), VECTORS)
    table.update(new_values=values)
    assert table.to_pyarrow_table().to_pylist() == [values]
    table.update(new_values=dict.fromkeys(values))
    assert table.to_pyarrow_table().to_pylist() == [dict.fromkeys(values)]
    with pytest.raises(SchemaMismatchError, match="long"):
        table.update(new_values={"long": "five"})


def test_a_time_of_pandas_does_not_lose_digits_in_silence(tmp_path):
    rows = pa.table(
        {"t": pa.array([0], pa.timestamp("us", "UTC")), "times": [[datetime.datetime(2026, 1, 1)]]}
    )
    table = make(tmp_path, rows, VECTORS)
    time = pd.Timestamp(1_001, tz="UTC")
    for values in ({"t": time}, {"times": [time.tz_localize(None)]}):
        with pytest.raises(SchemaMismatchError, match="below microseconds"):
            table.update(new_values=values)
    table.update(new_values={"t": time.floor("us")})
    assert table.to_pyarrow_table()["t"].cast("int64").to_pylist() == [1]


def test_members_of_structs(tmp_path):
    rows = pa.table({"id": [1, 2], "s": [{"a": 1, "b": {"c": "x", "d": 2}}, None]})
    table = make(tmp_path, rows, VECTORS)
    table.update({"s.b.c": "concat('n', cast(id as string))", "s.a": "7"})
    assert rows_of(table, "s") == [
        {"s": {"a": 7, "b": {"c": "n1", "d": 2}}},
        {"s": {"a": 7, "b": {"c": "n2", "d": None}}},
    ]
    with pytest.raises(SchemaMismatchError, match="more than once"):
        table.update({"s": "s", "s.a": "1"})
    with pytest.raises(SchemaMismatchError, match="nothing"):
        table.update({"s.nothing": "1"})


def test_columns_of_any_type_are_assigned_from_one_another(tmp_path):
    rows = pa.table({"a": [[1, 2]], "b": [[3, 4]], "small": pa.array([1], pa.int8()), "big": [300]})
    table = make(tmp_path, rows, VECTORS)
    table.update({"a": "b", "big": "small"})
    assert rows_of(table, "a", "big") == [{"a": [3, 4], "big": 1}]
    table.update({"big": "300"})
    with pytest.raises(ConstraintViolationError):
        table.update({"small": "big"})
    with pytest.raises(SchemaMismatchError):
        table.update({"a": "big"})


def test_generated_columns_are_computed_anew_and_constraints_checked(tmp_path):
    schema = Schema(
        [
            Field("id", "long"),
            Field("twice", "long", metadata={"delta.generationExpression": "id * 2"}),
            Field("name", "string", nullable=False),
        ]
    )
    table = DeltaTable.create(str(tmp_path), schema, configuration=VECTORS)
    write_deltalake(table, pa.table({"id": [1, 2], "name": ["a", "b"]}), mode="append")
    table.alter.add_constraint({"small": "id < 100"})
    table.update({"id": "id + 10"}, predicate="id = 1")
    assert rows_of(table, "id", "twice") == [{"id": 11, "twice": 22}, {"id": 2, "twice": 4}]
    version = table.version()
    for updates, message in [
        ({"id": "1000"}, "small"),
        ({"name": "null"}, "name"),
        ({"twice": "1"}, "Generated"),
    ]:
        with pytest.raises(ConstraintViolationError, match=message):
            table.update(updates)
    table.update_incremental()
    assert table.version() == version
    kept = {uri.rpartition("/")[2] for uri in table.file_uris()}
    removed = {path.rpartition("/")[2] for path in table.snapshot.tombstones()["path"].to_pylist()}
    assert {file.name for file in tmp_path.glob("*.parquet")} == kept | removed


@BOTH
def test_rows_keep_their_ids_and_get_a_new_version(tmp_path, configuration):
    tracked = configuration | {"delta.enableRowTracking": "true"}
    table = make(tmp_path, pa.table({"id": [1, 2, 3, 4]}), tracked)

    def tracking():
        columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
        found = table.to_pyarrow_table(columns=columns).to_pylist()
        return {row["_metadata.row_id"]: (row["id"], row["_metadata.row_commit_version"]) for row in found}

    table.update({"id": "id * 10"}, predicate="id > 3")
    assert tracking() == {0: (1, 0), 1: (2, 0), 2: (3, 0), 3: (40, 1)}
    table.update({"id": "id + 1"}, predicate="id = 40 or id = 1")
    assert tracking() == {0: (2, 2), 1: (2, 0), 2: (3, 0), 3: (41, 2)}


@BOTH
def test_the_change_feed_has_both_images(tmp_path, configuration):
    table = make(
        tmp_path, pa.table({"id": [1, 2, 3]}), configuration | {"delta.enableChangeDataFeed": "true"}
    )
    table.update({"id": "id + 10"}, predicate="id = 2")
    found = table.load_cdf(1).read_all().select(["id", "_change_type", "_commit_version"]).to_pylist()
    assert sorted(found, key=str) == [
        {"id": 12, "_change_type": "update_postimage", "_commit_version": 1},
        {"id": 2, "_change_type": "update_preimage", "_commit_version": 1},
    ]
    assert table.history(1)[0]["operationMetrics"]["numAddedChangeFiles"] == "1"


def test_an_operation_of_an_application_is_done_once(tmp_path):
    table = make(tmp_path, pa.table({"id": [1]}), VECTORS)
    once = CommitProperties(app_transactions=[Transaction("etl", 1)])
    for done in (1, 0):
        metrics = table.update({"id": "id + 1"}, commit_properties=once)
        assert (metrics["num_updated_rows"], table.version()) == (done, 1)
    assert rows_of(table) == [{"id": 2}]


def test_columns_may_have_the_names_that_the_query_uses(tmp_path):
    names = ["file", "row", "clause", "row_id", "t", "j", "n0", "o0", "File.x", "t.file"]
    fed = VECTORS | {"delta.enableChangeDataFeed": "true", "delta.enableRowTracking": "true"}
    fed |= {"delta.columnMapping.mode": "name"}
    table = make(tmp_path, pa.table({name: [place] for place, name in enumerate(names)}), fed)
    quoted = [f"`{name}`" for name in names]
    table.update({name: f"{name} + 10" for name in quoted}, predicate="file = 0 and row = 1 and clause = 2")
    source = table.to_pyarrow_table()
    assert source.to_pylist() == [{name: place + 10 for place, name in enumerate(names)}]
    table.merge(source, "t.file = s.file and t.`t.file` = s.`t.file`", "s", "t").when_matched_update(
        {f"t.{name}": f"s.{name} + t.{name}" for name in quoted}
    ).execute()
    assert table.to_pyarrow_table().to_pylist() == [
        {name: 2 * place + 20 for place, name in enumerate(names)}
    ]
    assert table.delete("`t.file` = 38 and n0 = 32")["num_deleted_rows"] == 1
    hidden = make(tmp_path / "hidden", pa.table({"__ROW": [1]}), VECTORS)
    with pytest.raises(UnsupportedFeatureError, match="__row"):
        hidden.update({"__row": "__row + 1"})


def test_what_cannot_be_is_refused(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 0]}), VECTORS)
    for arguments, error in [
        ({}, ValueError),
        ({"updates": {}}, ValueError),
        ({"updates": {"id": "1"}, "new_values": {"id": 1}}, ValueError),
        ({"updates": {"no": "1"}}, SchemaMismatchError),
        ({"updates": {"id": "nothing"}}, SchemaMismatchError),
        ({"updates": {"id": "uuid()"}}, UnsupportedFeatureError),
        ({"updates": {"id": "1 div id"}}, ConstraintViolationError),
        ({"updates": {"id": 5}}, TypeError),
    ]:
        with pytest.raises(error):
            table.update(**arguments)
    assert table.version() == 0


def test_a_value_that_does_not_fit_becomes_null_where_it_may(tmp_path):
    rows = pa.table({"id": [1, 2], "small": pa.array([1, 2], pa.int8()), "text": ["x", "7"]})
    table = make(tmp_path, rows)
    with pytest.raises(ConstraintViolationError):
        table.update({"small": "text"})
    table.update({"small": "text"}, error_on_type_mismatch=False)
    assert rows_of(table, "id", "small") == [{"id": 1, "small": None}, {"id": 2, "small": 7}]
    table.update({"small": "id * 200"}, error_on_type_mismatch=False)
    assert rows_of(table, "small") == [{"small": None}] * 2
    table.update(new_values={"small": 3})
    table.update(new_values={"small": 1000}, predicate="id = 1", error_on_type_mismatch=False)
    assert rows_of(table, "id", "small") == [{"id": 1, "small": None}, {"id": 2, "small": 3}]
    with pytest.raises(ConstraintViolationError):
        table.update({"small": "id div (id - 1)"}, error_on_type_mismatch=False)


def test_a_null_in_place_of_a_value_that_does_not_fit_meets_the_rules_of_the_table(tmp_path):
    schema = Schema([Field("id", "long", nullable=False), Field("text", "string")])
    table = DeltaTable.create(tmp_path, schema)
    write_deltalake(table, pa.table({"id": [1], "text": ["x"]}), mode="append")
    with pytest.raises(ConstraintViolationError, match="id"):
        table.update({"id": "text"}, error_on_type_mismatch=False)
    assert table.version() == 1
