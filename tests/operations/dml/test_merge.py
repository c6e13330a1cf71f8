"""MERGE: the effect of its clauses, its reads, and its refusals."""

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, Field, Schema, UnsupportedFeatureError, write_deltalake
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError

VECTORS = {"delta.enableDeletionVectors": "true"}
BOTH = pytest.mark.parametrize("configuration", [VECTORS, {}], ids=["vectors", "rewriting"])


def make(path, rows, configuration=None, **options):
    write_deltalake(str(path), rows, configuration=configuration, **options)
    return DeltaTable(str(path))


def rows_of(table):
    return sorted((tuple(row.values()) for row in table.to_pyarrow_table().to_pylist()), key=str)


TARGET = pa.table({"id": [1, 2, 3, None], "v": ["a", "b", "c", "d"]})
SOURCE = pa.table({"id": [2, 3, 4, None], "v": ["B", "C", "D", "N"]})


@BOTH
def test_upsert(tmp_path, configuration):
    table = make(tmp_path, TARGET, configuration)
    merger = table.merge(SOURCE, "target.id = source.id")
    metrics = merger.when_matched_update_all().when_not_matched_insert_all().execute()
    assert rows_of(table) == sorted(
        [(1, "a"), (2, "B"), (3, "C"), (4, "D"), (None, "d"), (None, "N")], key=str
    )
    counted = (
        "num_source_rows",
        "num_target_rows_inserted",
        "num_target_rows_updated",
        "num_target_rows_deleted",
    )
    assert [metrics[name] for name in counted] == [4, 2, 2, 0]
    assert table.verify(deep=True).ok


def test_null_safe_keys(tmp_path):
    table = make(tmp_path, TARGET, VECTORS)
    table.merge(SOURCE, "t.id <=> s.id", "s", "t").when_matched_update({"v": "s.v"}).execute()
    assert rows_of(table) == sorted([(1, "a"), (2, "B"), (3, "C"), (None, "N")], key=str)


@BOTH
def test_the_first_clause_whose_predicate_is_true_counts(tmp_path, configuration):
    table = make(tmp_path, pa.table({"id": [1, 2, 3, 4, 5], "v": list("abcde")}), configuration)
    source = pa.table({"id": [1, 2, 3, 7, 8], "v": [None, "x", "y", "p", "q"]})
    metrics = (
        table.merge(source, "t.id = s.id", "s", "t")
        .when_matched_delete("s.v = 'x'")
        .when_matched_update({"t.v": "concat(t.v, s.v)"}, "t.id > 2")
        .when_matched_update({"v": "'was null'"}, "s.v is null")
        .when_not_matched_insert({"id": "s.id + 100", "v": "upper(s.v)"}, "s.id = 7")
        .when_not_matched_insert({"id": "id"}, "v = 'q'")
        .when_not_matched_by_source_update({"v": "'alone'"}, "t.id = 4")
        .when_not_matched_by_source_delete("id = 5")
        .execute()
    )
    assert rows_of(table) == sorted(
        [(1, "was null"), (3, "cy"), (4, "alone"), (107, "P"), (8, None)], key=str
    )
    assert (metrics["num_target_rows_updated"], metrics["num_target_rows_deleted"]) == (3, 2)
    told = table.history(1)[0]
    assert told["operationMetrics"]["numTargetRowsNotMatchedBySourceUpdated"] == "1"
    assert told["operationMetrics"]["numTargetRowsMatchedDeleted"] == "1"
    assert told["operationParameters"]["notMatchedPredicates"] == (
        '[{"predicate":"(s.id = 7)","actionType":"insert"},{"predicate":"(v = \'q\')","actionType":"insert"}]'
    )


def test_a_row_that_several_rows_match_is_refused_unless_it_goes_in_any_case(tmp_path):
    table = make(tmp_path, TARGET, VECTORS)
    twice = pa.table({"id": [2, 2, 3], "v": ["x", "y", "z"]})
    merge = table.merge(twice, "target.id = source.id")
    with pytest.raises(UnsupportedFeatureError, match="several rows of the source"):
        merge.when_matched_update_all().execute()
    conditional = table.merge(twice, "target.id = source.id")
    with pytest.raises(UnsupportedFeatureError, match="several rows of the source"):
        conditional.when_matched_delete("source.v = 'x'").execute()
    table.update_incremental()
    assert table.version() == 0
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    metrics = table.merge(twice, "target.id = source.id").when_matched_delete().execute()
    assert metrics["num_target_rows_deleted"] == 2
    assert rows_of(table) == sorted([(1, "a"), (None, "d")], key=str)


def test_inserts_alone_do_not_mind(tmp_path):
    table = make(tmp_path, TARGET, VECTORS)
    source = pa.table({"id": [2, 2, 9, 9], "v": list("wxyz")})
    table.merge(source, "target.id = source.id").when_not_matched_insert_all().execute()
    assert table.count() == 6
    (commit,) = table.history(1)
    assert commit["operationMetrics"]["numTargetRowsInserted"] == "2"


def test_conditions_without_equality(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 5, 9]}), VECTORS)
    ranges = pa.table({"low": [4, 20], "high": [6, 30]})
    (
        table.merge(ranges, "t.id between s.low and s.high", "s", "t")
        .when_matched_update({"id": "t.id * 10"})
        .when_not_matched_insert({"id": "s.low"})
        .when_not_matched_by_source_delete("t.id = 9")
        .execute()
    )
    assert rows_of(table) == [(1,), (20,), (50,)]


def test_sources_of_every_kind(tmp_path):
    news = {"id": [1, 9], "v": ["n", "m"]}
    other = make(tmp_path / "other", pa.table(news))
    sources = [
        pa.table(news),
        pa.table(news).to_reader(),
        pl.DataFrame(news),
        pl.LazyFrame(news),
        duckdb.sql("SELECT unnest([1, 9]) AS id, unnest(['n', 'm']) AS v"),
        other,
        iter(pa.table(news).to_batches()),
    ]
    for place, source in enumerate(sources):
        table = make(tmp_path / str(place), TARGET, VECTORS)
        merger = table.merge(source, "target.id = source.id")
        merger.when_matched_update_all().when_not_matched_insert_all().execute()
        assert rows_of(table) == sorted([(1, "n"), (2, "b"), (3, "c"), (9, "m"), (None, "d")], key=str)
    itself = table.merge(table, "source.id = target.id + 1").when_matched_update({"v": "source.v"})
    itself.execute()
    assert (1, "b") in rows_of(table) and (2, "c") in rows_of(table)


def test_empty_sides(tmp_path):
    table = make(tmp_path, TARGET, VECTORS)
    merger = table.merge(SOURCE.slice(0, 0), "target.id = source.id")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()
    assert table.version() == 0
    table.merge(SOURCE.slice(0, 0), "target.id = source.id").when_not_matched_by_source_delete().execute()
    assert table.count() == 0
    merger = table.merge(SOURCE, "target.id = source.id")
    merger.when_matched_update_all().when_not_matched_insert_all().execute()
    assert rows_of(table) == rows_of(make(tmp_path / "same", SOURCE))


def test_columns_that_the_table_gains(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 2], "s": [{"a": 1}, {"a": 2}]}), VECTORS)
    source = pa.table({"id": [2, 3], "s": [{"a": 5, "b": "x"}, {"a": 6, "b": "y"}], "more": [2.5, 3.5]})
    with pytest.raises(SchemaMismatchError, match="'b'"):
        table.merge(source, "target.id = source.id").when_matched_update_all().execute()
    merger = table.merge(source, "target.id = source.id", merge_schema=True)
    merger.when_matched_update_all().when_not_matched_insert_all().execute()
    assert sorted(table.to_pyarrow_table().to_pylist(), key=str) == [
        {"id": 1, "s": {"a": 1, "b": None}, "more": None},
        {"id": 2, "s": {"a": 5, "b": "x"}, "more": 2.5},
        {"id": 3, "s": {"a": 6, "b": "y"}, "more": 3.5},
    ]
    late = pa.table({"id": [1], "extra": [7], "other": [8]})
    table.merge(late, "target.id = source.id", merge_schema=True).when_matched_update(
        {"extra": "source.extra"}
    ).execute()
    assert table.schema().names == ["id", "s", "more", "extra"]


def test_column_without_a_type_takes_that_of_the_source_or_no_value(tmp_path):
    write_deltalake(tmp_path, pa.table({"id": [1], "n": pa.nulls(1)}))
    source = pa.table({"id": [1, 2], "n": [5, 6]})

    def upsert(rows, merge_schema=False):
        merger = DeltaTable(tmp_path).merge(rows, "t.id = s.id", "s", "t", merge_schema=merge_schema)
        merger.when_matched_update_all().when_not_matched_insert_all().execute()

    with pytest.raises(SchemaMismatchError, match="'n' has no type in the table yet"):
        upsert(source)
    upsert(pa.table({"id": [3], "n": pa.nulls(1)}))
    upsert(source, merge_schema=True)
    assert sorted(DeltaTable(tmp_path).to_pyarrow_table().to_pylist(), key=lambda row: row["id"]) == [
        {"id": 1, "n": 5},
        {"id": 2, "n": 6},
        {"id": 3, "n": None},
    ]


def test_columns_that_are_left_out(tmp_path):
    table = make(tmp_path, pa.table({"id": [1], "a": ["x"], "b": ["y"]}), VECTORS)
    source = pa.table({"id": [1, 2], "a": ["X", "Z"], "b": ["Y", "W"]})
    merger = table.merge(source, "target.id = source.id")
    merger.when_matched_update_all(except_cols=["b"]).when_not_matched_insert_all(except_cols=["a"]).execute()
    assert rows_of(table) == sorted([(1, "X", "y"), (2, None, "W")], key=str)
    with pytest.raises(SchemaMismatchError, match="nothing"):
        table.merge(source, "target.id = source.id").when_matched_update_all(
            except_cols=["nothing"]
        ).execute()
    with pytest.raises(SchemaMismatchError, match="'b'"):
        table.merge(source.drop(["b"]), "target.id = source.id").when_matched_update_all().execute()


def test_rules_of_the_table(tmp_path):
    schema = Schema(
        [
            Field("id", "long", nullable=False),
            Field("twice", "long", metadata={"delta.generationExpression": "id * 2"}),
            Field("n", "long", metadata={
                "delta.identity.start": 1,
                "delta.identity.step": 1,
                "delta.identity.allowExplicitInsert": False,
            }),
            Field("d", "string", metadata={"CURRENT_DEFAULT": "'none'"}),
        ]
    )  # fmt: skip
    configuration = VECTORS | {"delta.feature.allowColumnDefaults": "supported"}
    table = DeltaTable.create(str(tmp_path), schema, configuration=configuration)
    table.alter.add_constraint({"small": "id < 100"})

    def merge(ids):
        source = pa.table({"id": pa.array(ids, pa.int64())})
        merger = table.merge(source, "target.id = source.id - 1")
        return merger.when_matched_update({"id": "source.id"}).when_not_matched_insert({"id": "source.id"})

    merge([1, 5]).execute()
    assert rows_of(table) == [(1, 2, 1, "none"), (5, 10, 2, "none")]
    merge([2, 9]).execute()
    assert rows_of(table) == [(2, 4, 1, "none"), (5, 10, 2, "none"), (9, 18, 3, "none")]
    for ids, error in [([100], "small"), ([None], "id")]:
        with pytest.raises(ConstraintViolationError, match=error):
            merge(ids).execute()
    with pytest.raises(SchemaMismatchError, match="identity"):
        merger = table.merge(pa.table({"id": [1]}), "target.id = source.id")
        merger.when_matched_update({"n": "5"}).execute()


@BOTH
def test_row_ids_and_the_change_feed(tmp_path, configuration):
    both = {"delta.enableRowTracking": "true", "delta.enableChangeDataFeed": "true"}
    table = make(tmp_path, pa.table({"id": [1, 2, 3], "v": ["a", "b", "c"]}), configuration | both)
    (
        table.merge(pa.table({"id": [1, 2, 7], "v": ["A", "B", "G"]}), "t.id = s.id", "s", "t")
        .when_matched_delete("s.id = 1")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .execute()
    )
    tracked = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
    found = {tuple(row.values()) for row in table.to_pyarrow_table(columns=tracked).to_pylist()}
    assert {(2, 1, 1), (3, 2, 0)} < found
    ((new_id, version),) = {(row_id, version) for id, row_id, version in found if id == 7}
    assert new_id > 2
    assert version == 1
    feed = table.load_cdf(1).read_all().select(["id", "v", "_change_type"]).to_pylist()
    assert sorted(tuple(row.values()) for row in feed) == [
        (1, "a", "delete"),
        (2, "B", "update_postimage"),
        (2, "b", "update_preimage"),
        (7, "G", "insert"),
    ]


def test_files_that_hold_no_row_of_the_source_are_not_read(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 2], "day": ["a", "a"]}), VECTORS)
    for ids, day in (([10, 11], "b"), ([20, 21], "c"), ([30, 31], "d")):
        write_deltalake(table, pa.table({"id": ids, "day": [day] * 2}), mode="append")
    source = pa.table({"id": [11, 30]})

    def files(merger):
        return merger.when_matched_delete().explain().left_files

    assert files(table.merge(source, "t.id = s.id", "s", "t")) == 2
    assert files(table.merge(source, "t.id = s.id and t.day > 'b'", "s", "t")) == 1
    assert files(table.merge(source, "t.id + 1 = s.id", "s", "t")) == 4
    assert files(table.merge(source.to_reader(), "t.id = s.id and t.day > 'b'", "s", "t")) == 2
    merger = table.merge(source, "t.id = s.id", "s", "t").when_not_matched_by_source_delete("t.id = 1")
    assert files(merger) == 3
    metrics = table.merge(source, "t.id = s.id", "s", "t").when_matched_delete().execute()
    skipped = (metrics["num_target_files_scanned"], metrics["num_target_files_skipped_during_scan"])
    assert (skipped, metrics["num_target_rows_deleted"]) == ((2, 2), 2)


def test_what_cannot_be_meant_is_refused(tmp_path):
    table = make(tmp_path, TARGET, VECTORS)

    def merge(condition="target.id = source.id", source=SOURCE):
        return table.merge(source, condition)

    for merger, error in [
        (merge(), ValueError),
        (merge().when_matched_delete().when_matched_update_all(), ValueError),
        (merge("id = 1").when_matched_delete(), SchemaMismatchError),
        (merge("target.no = 1").when_matched_delete(), SchemaMismatchError),
        (merge().when_not_matched_insert({"id": "target.id"}), SchemaMismatchError),
        (merge().when_not_matched_insert_all("target.id = 1"), SchemaMismatchError),
        (merge().when_not_matched_by_source_delete("source.id = 1"), SchemaMismatchError),
        (merge().when_matched_update({"no": "1"}), SchemaMismatchError),
        (merge("source.id in (select 1)").when_matched_delete(), UnsupportedFeatureError),
        (table.merge(SOURCE, "true", "x", "X").when_matched_delete(), ValueError),
        (merge(source=pa.table({"id": [1]})).when_not_matched_insert_all(), SchemaMismatchError),
    ]:  # fmt: skip
        with pytest.raises(error):
            merger.execute()
    assert table.version() == 0
    with pytest.raises(ValueError, match="max_temp_directory_size"):
        table.merge(SOURCE, "true", max_temp_directory_size=0)
    with pytest.raises(ValueError, match="memory limit"):
        table.merge(SOURCE, "true", memory_limit="much").when_matched_delete().execute()


def test_a_source_that_is_larger_than_what_is_held(tmp_path):
    """More than 64 MiB of the columns that are read."""
    table = make(tmp_path, pa.table({"id": list(range(500)), "v": [0] * 500}), VECTORS)
    text = pa.array(["x" * 400_000] * 2)
    batches = [pa.record_batch({"id": [n, n + 1000], "v": [n, n], "text": text}) for n in range(0, 500, 5)]
    condition = "target.id = source.id and source.text <> ''"
    merger = table.merge(iter(batches), condition, memory_limit="200MB")
    metrics = merger.when_matched_update_all().when_not_matched_insert_all().execute()
    assert (metrics["num_target_rows_updated"], metrics["num_target_rows_inserted"]) == (100, 100)
    assert table.to_pyarrow_table(filters="v > 0 and id < 500").num_rows == 99


def test_source_may_have_a_column_of_the_name_that_marks_its_rows(tmp_path):
    table = make(tmp_path, pa.table({"id": [1, 2, 3], "v": [0, 0, 0]}))
    source = pa.table(
        {"id": [1, 2, 9], "deltaarrow_present": [None, 5, None], "deltaarrow_present_": [0, 0, 0]}
    )
    merger = table.merge(source, "t.id = s.id", "s", "t")
    merger.when_matched_update({"v": "coalesce(s.deltaarrow_present, 7) + s.deltaarrow_present_"})
    merger.when_not_matched_by_source_delete().execute()
    assert rows_of(table) == [(1, 7), (2, 5)]


def test_a_value_of_the_source_that_cannot_be_computed_is_named(tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"id": [1]}))
    merger = DeltaTable(tmp_path / "t").merge(
        pa.table({"s": ["1", "x"]}), "target.id = CAST(source.s AS BIGINT)"
    )
    with pytest.raises(ConstraintViolationError, match="x is not a valid BIGINT"):
        merger.when_matched_delete().execute()


def test_a_value_of_the_table_is_none_of_the_source_though_columns_are_added(tmp_path):
    write_deltalake(tmp_path / "t", pa.table({"id": [1], "n": [1]}))
    table = DeltaTable(tmp_path / "t")
    source = pa.table({"id": [1, 2], "n": [5, 6], "more": ["a", "b"]})
    merger = table.merge(source, "target.id = source.id", merge_schema=True)
    merger.when_matched_update({"n": "target.n", "more": "source.more"}).when_not_matched_insert(
        {"id": "id", "n": "n"}
    ).execute()
    assert sorted(map(tuple, map(dict.values, table.to_pyarrow_table().to_pylist()))) == [
        (1, 1, "a"),
        (2, 6, None),
    ]


@pytest.mark.parametrize("merge_schema", [False, True])
def test_a_value_that_does_not_fit_becomes_null_where_it_may(tmp_path, merge_schema):
    write_deltalake(tmp_path, pa.table({"id": [1, 2], "value": [10, 20]}))
    table = DeltaTable(tmp_path)
    source = pa.table({"id": [1, 2, 3], "value": ["abc", "7", "def"]})
    options = {"merge_schema": merge_schema, "error_on_type_mismatch": False}
    merger = table.merge(source, "source.id = target.id", **options).when_matched_update_all()
    merger.when_not_matched_insert({"id": "source.id", "value": "source.value"}).execute()
    found = sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["id"])
    assert found == [{"id": 1, "value": None}, {"id": 2, "value": 7}, {"id": 3, "value": None}]
    with pytest.raises(ConstraintViolationError, match="abc"):
        table.merge(source, "source.id = target.id").when_matched_update_all().execute()


def test_nanoseconds_of_the_source_are_cut_where_they_may_be(tmp_path):
    """A key in nanoseconds would match the row of another time if it were rounded."""
    nanoseconds = pa.timestamp("ns", "UTC")
    target = pa.table({"t": pa.array([1, 2], pa.timestamp("us", "UTC")), "n": [0, 0]})
    write_deltalake(tmp_path, target)
    table = DeltaTable(tmp_path)
    source = pa.table({"t": pa.array([1_999], nanoseconds), "n": [7]})
    merger = table.merge(source, "source.t = target.t").when_matched_update_all()
    with pytest.raises(SchemaMismatchError, match="allow_truncation=True"):
        merger.execute()
    cutting = table.merge(source, "source.t = target.t", allow_truncation=True).when_matched_update_all()
    assert cutting.explain() is not None
    cutting.execute()
    found = table.to_pyarrow_table().sort_by("t")
    assert (found["t"].cast("int64").to_pylist(), found["n"].to_pylist()) == ([1, 2], [7, 0])
