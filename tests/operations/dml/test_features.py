"""DELETE, UPDATE and MERGE in tables with each feature: the rows, and the required contents of files."""

import datetime
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow import DeltaTable, Field, Schema, UnsupportedFeatureError, write_deltalake
from deltaarrow.catalogs import UnityCatalog
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError
from deltaarrow.schema import ArrayType, StructType
from deltaarrow.variant import to_json
from tests.support.commits import commit
from tests.support.engines import ENGINES
from tests.support.many_features import changed_table
from tests.support.rows import READERS
from tests.support.tables import TableBuilder
from tests.support.unity_server import TOKEN, unity_server

VECTORS = {"delta.enableDeletionVectors": "true"}
ROWS = pa.table({"id": range(1, 9), "v": list("abcdefgh"), "p": ["x", "y"] * 4})
SOURCE = pa.table({"id": [5, 9], "v": ["E", "new"], "p": ["x", "z"]})
LEFT = [
    (2, "B", "y"),
    (3, "c", "x"),
    (4, "D", "y"),
    (5, "E", "x"),
    (7, "g", "x"),
    (8, "h", "y"),
    (9, "new", "z"),
]


def make(path, rows=ROWS, configuration=None, **options):
    write_deltalake(str(path), rows, configuration=configuration, **options)
    return DeltaTable(str(path))


def change(table, source=SOURCE):
    """Delete, update, and merge with a clause for each kind of row."""
    table.delete("id = 1")
    table.update({"v": "upper(v)"}, predicate="id in (2, 4)")
    (
        table.merge(source, "t.id = s.id", "s", "t")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete("t.id = 6")
        .execute()
    )


def left(table, *columns):
    """The rows in every engine's eyes, in the order of the first column."""
    found = {
        way: sorted(
            (tuple(row.values()) for row in READERS[way](table.table_uri).select(columns).to_pylist()),
            key=repr,
        )
        for way in ("dataset", "duckdb", "polars")
    }
    assert found["dataset"] == found["duckdb"] == found["polars"]
    assert table.verify(deep=True).ok
    return found["dataset"]


def files(table):
    return table.snapshot.files().to_pylist(maps_as_pydicts="strict")


def adds(table, version):
    return [action["add"] for action in commit(table.table_uri, version) if "add" in action]


@pytest.mark.parametrize(
    ("configuration", "marks_rows"),
    [
        pytest.param(VECTORS, True, marks=pytest.mark.feature("deletionVectors")),
        pytest.param(VECTORS | {"delta.columnMapping.mode": "name"}, True),
        pytest.param({"delta.columnMapping.mode": "id"}, False, marks=pytest.mark.feature("columnMapping")),
        pytest.param(
            VECTORS | {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "2"},
            True,
            marks=pytest.mark.feature("v2Checkpoint"),
        ),
        pytest.param(
            VECTORS | {"delta.feature.vacuumProtocolCheck": "supported"},
            True,
            marks=pytest.mark.feature("vacuumProtocolCheck"),
        ),
        pytest.param(
            {"delta.feature.checkpointProtection": "supported"},
            False,
            marks=pytest.mark.feature("checkpointProtection"),
        ),
        pytest.param(
            {"delta.enableIcebergCompatV1": "true"}, False, marks=pytest.mark.feature("icebergCompatV1")
        ),
        pytest.param(
            {"delta.enableIcebergCompatV2": "true"}, False, marks=pytest.mark.feature("icebergCompatV2")
        ),
        pytest.param(
            VECTORS | {"delta.enableIcebergCompatV3": "true"},
            True,
            marks=pytest.mark.feature("icebergCompatV3"),
        ),
        pytest.param(
            {"delta.enableMaterializePartitionColumnsFeature": "true"},
            False,
            marks=pytest.mark.feature("materializePartitionColumns"),
        ),
    ],
    ids=str,
)
def test_rows_change_in_a_partitioned_table(tmp_path, configuration, marks_rows):
    table = make(tmp_path, configuration=configuration, partition_by=["p"])
    change(table)
    assert left(table, "id", "v", "p") == LEFT
    assert any(row["deletion_vector"] for row in files(table)) == marks_rows
    asks_for_them = any("Iceberg" in name or "Materialize" in name for name in configuration)
    for row in files(table):
        assert len(pq.ParquetFile(tmp_path / row["path"]).schema_arrow.names) >= (3 if asks_for_them else 2)
    assert da.DeltaTable(table.table_uri).count() == len(LEFT)


@pytest.mark.feature("inCommitTimestamp")
def test_the_time_of_a_version_is_in_its_commit_and_grows(tmp_path):
    table = make(tmp_path, configuration={"delta.enableInCommitTimestamps": "true"})
    change(table)
    infos = [commit(tmp_path, version)[0]["commitInfo"] for version in range(table.version() + 1)]
    times = [info["inCommitTimestamp"] for info in infos]
    assert len(times) == 4 and times == sorted(set(times))
    assert left(table, "id", "v", "p") == LEFT


@pytest.mark.feature("appendOnly")
def test_an_append_only_table_is_only_inserted_into(tmp_path):
    table = make(tmp_path, configuration={"delta.appendOnly": "true"})
    merger = table.merge(SOURCE, "t.id = s.id", "s", "t").when_not_matched_insert_all()
    assert merger.execute()["num_target_rows_inserted"] == 1
    for refused in (
        lambda: table.delete("id = 1"),
        lambda: table.update({"v": "'z'"}, predicate="id > 100"),
        merger.when_matched_delete().execute,
    ):
        with pytest.raises(UnsupportedFeatureError, match=r"change rows of the table: .* delta\.appendOnly"):
            refused()
    assert (table.version(), table.count()) == (1, 9)


@pytest.mark.feature("changeDataFeed")
@pytest.mark.parametrize("vectors", [VECTORS, {}], ids=["vectors", "rewriting"])
def test_the_change_feed_tells_every_change_once(tmp_path, vectors):
    table = make(tmp_path, configuration=vectors | {"delta.enableChangeDataFeed": "true"}, partition_by=["p"])
    change(table)
    found = table.load_cdf(1).read_all().select(["_commit_version", "_change_type", "id", "v", "p"])
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == [
        (1, "delete", 1, "a", "x"),
        (2, "update_postimage", 2, "B", "y"),
        (2, "update_postimage", 4, "D", "y"),
        (2, "update_preimage", 2, "b", "y"),
        (2, "update_preimage", 4, "d", "y"),
        (3, "delete", 6, "f", "y"),
        (3, "insert", 9, "new", "z"),
        (3, "update_postimage", 5, "E", "x"),
        (3, "update_preimage", 5, "e", "x"),
    ]
    assert left(table, "id", "v", "p") == LEFT


@pytest.mark.feature("rowTracking")
@pytest.mark.parametrize("vectors", [VECTORS, {}], ids=["vectors", "rewriting"])
def test_rows_keep_their_ids(tmp_path, vectors):
    table = make(tmp_path, configuration=vectors | {"delta.enableRowTracking": "true"}, partition_by=["p"])

    def ids():
        found = table.to_pyarrow_table(columns=["id", "_metadata.row_id", "_metadata.row_commit_version"])
        return {row["id"]: tuple(row.values())[1:] for row in found.to_pylist()}

    before = ids()
    change(table)
    after = ids()
    written_in = {2: 2, 4: 2, 5: 3}
    assert {id: after[id] for id in before if id in after} == {
        id: (row_id, written_in.get(id, version))
        for id, (row_id, version) in before.items()
        if id not in (1, 6)
    }
    assert after[9][0] > max(row_id for row_id, _ in before.values()) and after[9][1] == 3
    assert left(table, "id", "v", "p") == LEFT


@pytest.mark.feature("domainMetadata")
@pytest.mark.feature("clustering")
def test_domains_stay_and_a_file_that_stays_keeps_who_clustered_it(tmp_path):
    table = TableBuilder(tmp_path).features("clustering", "domainMetadata", "deletionVectors")
    table.metadata(ROWS.schema, [], VECTORS)
    table.commit(
        [
            table.domain("delta.clustering", '{"clusteringColumns":[["id"]]}'),
            table.domain("mine", "{}"),
            table.add_file(ROWS, clusteringProvider="liquid"),
        ]
    )
    changed = DeltaTable(tmp_path)
    changed.update({"v": "'z'"}, predicate="id = 1")
    old, new = sorted(adds(changed, 1), key=lambda add: "deletionVector" not in add)
    assert old["clusteringProvider"] == "liquid" and "clusteringProvider" not in new
    assert json.loads(new["stats"])["minValues"]["id"] == 1
    assert changed.detail()["clusteringColumns"] == ["id"]
    assert changed.snapshot.domains["mine"].configuration == "{}"


@pytest.mark.feature("typeWidening")
@pytest.mark.parametrize("vectors", [VECTORS, {}], ids=["vectors", "rewriting"])
def test_rows_of_the_older_type_take_values_of_the_newer(tmp_path, vectors):
    rows = ROWS.set_column(0, "id", ROWS["id"].cast(pa.int16()))
    table = make(tmp_path, rows, vectors | {"delta.enableTypeWidening": "true"})
    wider = pa.table({"id": [70_000], "v": ["wide"], "p": ["x"]})
    write_deltalake(table, wider, mode="append", schema_mode="merge")
    change(table, SOURCE)
    table.update({"id": "id + 100000"}, predicate="id in (2, 70000)")
    moved = [(100_002, "B", "y"), (170_000, "wide", "x")]
    assert left(table, "id", "v", "p") == sorted([*LEFT[1:], *moved], key=repr)


@pytest.mark.feature("timestampNtz")
def test_times_without_a_zone(tmp_path):
    def day(number):
        return datetime.datetime(2026, 1, number)

    table = make(tmp_path, pa.table({"id": [1, 2, 3], "at": [day(1), day(2), None]}), VECTORS)
    table.delete("at < TIMESTAMP_NTZ'2026-01-02 00:00:00'")
    table.update({"at": "TIMESTAMP_NTZ'2026-01-03 00:00:00'"}, predicate="at IS NULL")
    source = pa.table({"at": [day(3), day(4)], "id": [30, 40]})
    merger = table.merge(source, "t.at = s.at", "s", "t").when_matched_update_all()
    merger.when_not_matched_insert_all().execute()
    assert left(table, "id", "at") == [(2, day(2)), (30, day(3)), (40, day(4))]


@pytest.mark.feature("invariants")
@pytest.mark.feature("checkConstraints")
@pytest.mark.parametrize("vectors", [VECTORS, {}], ids=["vectors", "rewriting"])
def test_rows_that_break_a_rule_are_refused_and_nothing_is_left_behind(tmp_path, vectors):
    odd = json.dumps({"expression": {"expression": "odd % 2 = 1"}})
    schema = Schema(
        [Field("id", "long", nullable=False), Field("odd", "long", metadata={"delta.invariants": odd})]
    )
    DeltaTable.create(tmp_path, schema, configuration=vectors | {"delta.constraints.small": "id < 10"})
    write_deltalake(tmp_path, pa.table({"id": [1, 2], "odd": [1, 3]}), mode="append")
    table = DeltaTable(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    for updates, rule in [({"id": "id + 8"}, "small"), ({"odd": "2"}, "odd"), ({"id": "NULL"}, "id")]:
        with pytest.raises((ConstraintViolationError, SchemaMismatchError), match=rule):
            table.update(updates)
        with pytest.raises((ConstraintViolationError, SchemaMismatchError), match=rule):
            source = pa.table({"key": [2]})
            table.merge(source, "id = key").when_matched_update({"odd": "1"} | updates, "id < 20").execute()
    with pytest.raises((ConstraintViolationError, SchemaMismatchError), match="small"):
        source = pa.table({"id": [11], "odd": [1]})
        table.merge(source, "target.id = source.id").when_not_matched_insert_all().execute()
    assert sorted(tmp_path.rglob("*")) == before
    table.update({"id": "9 - id", "odd": "odd + 2"})
    assert left(table, "id", "odd") == [(7, 5), (8, 3)]


@pytest.mark.feature("generatedColumns")
@pytest.mark.parametrize("vectors", [VECTORS, {}], ids=["vectors", "rewriting"])
def test_columns_are_generated_anew(tmp_path, vectors):
    double = Field("double", "long", metadata={"delta.generationExpression": "id * 2"})
    DeltaTable.create(
        tmp_path, Schema([Field("id", "long"), double]), partition_by="double", configuration=vectors
    )
    write_deltalake(tmp_path, pa.table({"id": [1, 2, 3]}), mode="append")
    table = DeltaTable(tmp_path)
    table.update({"id": "id + 10"}, predicate="double = 4")
    source = pa.table({"id": [3, 4]})
    merger = table.merge(source, "t.id = s.id", "s", "t").when_matched_update({"id": "s.id + 20"})
    merger.when_not_matched_insert({"id": "s.id"}).execute()
    assert left(table, "id", "double") == [(1, 2), (12, 24), (23, 46), (4, 8)]
    with pytest.raises(ConstraintViolationError, match="double"):
        table.update({"double": "7"})


@pytest.mark.feature("identityColumns")
def test_rows_that_are_inserted_are_numbered_and_others_keep_their_number(tmp_path):
    number = Field(
        "number",
        "long",
        metadata={
            "delta.identity.start": 10,
            "delta.identity.step": 5,
            "delta.identity.allowExplicitInsert": False,
        },
    )
    DeltaTable.create(tmp_path, Schema([number, Field("v", "string")]), configuration=VECTORS)
    write_deltalake(tmp_path, pa.table({"v": ["a", "b"]}), mode="append")
    table = DeltaTable(tmp_path)
    table.update({"v": "upper(v)"}, predicate="v = 'a'")
    source = pa.table({"v": ["b", "c", "d"]})
    merger = table.merge(source, "t.v = s.v", "s", "t").when_matched_update({"v": "'bb'"})
    merger.when_not_matched_insert_all().execute()
    assert {row[0] for row in left(table, "number", "v")} == {10, 15, 20, 25}
    assert left(table, "v", "number")[:2] == [("A", 10), ("bb", 15)]
    with pytest.raises(SchemaMismatchError, match="identity column"):
        table.update({"number": "1"})


@pytest.mark.feature("allowColumnDefaults")
def test_columns_that_an_insert_leaves_out_have_their_default(tmp_path):
    columns = [
        Field("id", "long"),
        Field("v", "string", metadata={"CURRENT_DEFAULT": "'none'"}),
        Field("w", "string"),
    ]
    configuration = VECTORS | {"delta.feature.allowColumnDefaults": "supported"}
    DeltaTable.create(tmp_path, Schema(columns), configuration=configuration)
    write_deltalake(tmp_path, pa.table({"id": [1, 2], "v": ["a", "b"], "w": ["c", "d"]}), mode="append")
    table = DeltaTable(tmp_path)
    source = pa.table({"id": [2, 3]})
    merger = table.merge(source, "t.id = s.id", "s", "t").when_matched_update({"id": "t.id + 10"})
    merger.when_not_matched_insert({"id": "s.id"}).execute()
    assert left(table, "id", "v") == [(1, "a"), (12, "b"), (3, "none")]
    table.update({"v": "default", "w": "DEFAULT"}, predicate="id = 1")
    assert left(table, "id", "v", "w") == [(1, "none", None), (12, "b", "d"), (3, "none", None)]


def test_texts_keep_to_their_declared_length(tmp_path):
    short = Field("v", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(3)"})
    DeltaTable.create(tmp_path, Schema([Field("id", "long"), short]), configuration=VECTORS)
    write_deltalake(tmp_path, pa.table({"id": [1], "v": ["abc"]}), mode="append")
    table = DeltaTable(tmp_path)
    with pytest.raises(ConstraintViolationError, match=r"(?i)varchar\(3\)"):
        table.update({"v": "'abcd'"})
    table.update({"v": "'xyz'"})
    with pytest.raises(ConstraintViolationError, match=r"(?i)varchar\(3\)"):
        source = pa.table({"id": [2], "v": ["long"]})
        table.merge(source, "t.id = s.id", "s", "t").when_not_matched_insert_all().execute()
    assert left(table, "id", "v") == [(1, "xyz")]


def test_char_strings_are_padded_where_statements_read_them(tmp_path):
    """Rows that a file keeps stay as they were stored; values that are set are as given."""
    padded = Field("v", "string", metadata={"__CHAR_VARCHAR_TYPE_STRING": "char(3)"})
    DeltaTable.create(
        tmp_path, Schema([Field("id", "long"), padded, Field("w", "string")]), configuration=VECTORS
    )
    write_deltalake(tmp_path, pa.table({"id": [1, 2], "v": ["ab", "abc"], "w": ["x", "y"]}), mode="append")
    table = DeltaTable(tmp_path)
    table.update({"w": "v"}, predicate="v = 'ab'")
    table.update({"v": "'d'"}, predicate="id = 2")
    assert left(table, "id", "v", "w") == [(1, "ab ", "ab "), (2, "d  ", "y")]
    table.merge(pa.table({"k": ["ab "]}), "v = k").when_matched_update({"w": "length(v)"}).execute()
    table.delete("v IN ('d', 'e')")
    assert left(table, "id", "v", "w") == [(1, "ab ", "3")]
    with pytest.raises(ConstraintViolationError, match=r"char\(3\)"):
        table.update({"v": "'abcd'"})


@pytest.mark.feature("variantType")
@pytest.mark.feature("variantShredding")
@pytest.mark.parametrize("shreds", [{}, {"delta.enableVariantShredding": "true"}], ids=["whole", "shredded"])
@pytest.mark.parametrize("vectors", [VECTORS, {}], ids=["vectors", "rewriting"])
def test_variants_are_merged_from_text_and_copied(tmp_path, vectors, shreds):
    schema = Schema([Field("id", "long"), Field("v", "variant"), Field("n", "long")])
    feed = {"delta.enableChangeDataFeed": "true"}
    DeltaTable.create(tmp_path, schema, configuration=vectors | shreds | feed)
    texts = ['{"a":1}', None, "null", '{"a":{"b":"x"}}']
    write_deltalake(tmp_path, pa.table({"id": range(1, 5), "v": texts, "n": [0] * 4}), mode="append")
    table = DeltaTable(tmp_path)
    table.update({"n": "n + 1"}, predicate="id in (1, 3)")
    table.delete("v IS NULL")
    source = pa.table({"id": [4, 5], "v": ['[1,"two"]', '{"a":5}'], "n": [7, 8]})
    merger = table.merge(source, "t.id = s.id", "s", "t").when_matched_update_all()
    merger.when_not_matched_insert_all().execute()

    def said(found):
        texts = to_json(found["v"]).to_pylist()
        return sorted(zip(found["id"].to_pylist(), texts, found["n"].to_pylist(), strict=True))

    wanted = [(1, '{"a":1}', 1), (3, "null", 1), (4, '[1,"two"]', 7), (5, '{"a":5}', 8)]
    for way in ("dataset", "duckdb", "polars"):
        assert said(READERS[way](tmp_path)) == wanted, way
    changes = table.load_cdf(2).read_all()
    old = changes.filter(pa.compute.equal(changes["_change_type"], "update_preimage"))
    assert said(old) == [(1, '{"a":1}', 0), (3, "null", 0), (4, '{"a":{"b":"x"}}', 0)]
    assert table.verify(deep=True).ok


def test_variants_inside_structs_and_lists_are_merged_and_others_are_given_as_text_or_null(tmp_path):
    struct = StructType([Field("v", "variant"), Field("n", "long")])
    schema = Schema(
        [Field("id", "long"), Field("v", "variant"), Field("s", struct), Field("l", ArrayType(struct))]
    )
    DeltaTable.create(tmp_path, schema, configuration=VECTORS)

    def rows(*pairs):
        texts = [{"v": text, "n": id} for id, text in pairs]
        ids, bare = zip(*pairs, strict=True)
        return pa.table({"id": ids, "v": bare, "s": texts, "l": [[each, None] for each in texts]})

    write_deltalake(tmp_path, rows((1, '{"a":1}'), (2, "2")), mode="append")
    table = DeltaTable(tmp_path)
    merger = table.merge(rows((2, '["x"]'), (3, None)), "t.id = s.id", "s", "t").when_matched_update_all()
    merger.when_not_matched_insert_all().execute()
    table.update({"v": "NULL", "s.n": "7"}, predicate="id = 1")
    table.update(new_values={"v": '{"b":2}'}, predicate="id = 3")
    for value in (5, {"metadata": b"", "value": b""}):
        with pytest.raises(SchemaMismatchError, match="a variant is given as JSON text"):
            table.update(new_values={"v": value})
    found = table.to_pyarrow_table().sort_by("id")
    structs = found["s"].combine_chunks()
    assert to_json(found["v"]).to_pylist() == [None, '["x"]', '{"b":2}']
    assert to_json(structs.field("v")).to_pylist() == ['{"a":1}', '["x"]', None]
    assert structs.field("n").to_pylist() == [7, 2, 3]
    inner = found["l"].combine_chunks().flatten().field("v")
    assert to_json(inner).to_pylist() == ['{"a":1}', None, '["x"]', None, None, None]


@pytest.mark.feature("catalogManaged")
def test_a_table_of_a_catalog_is_changed_through_it(tmp_path):
    with unity_server() as unity:
        unity.reset(tmp_path)
        catalog = UnityCatalog(unity.url, "main", TOKEN)
        write_deltalake("shop.orders", ROWS, catalog=catalog)
        table = DeltaTable("shop.orders", catalog=catalog)
        change(table)
        assert (table.version(), unity.hosted("shop.orders").published) == (3, 3)
        for way in ("dataset", "duckdb", "polars"):
            rows = ENGINES[way](table.snapshot, None, "id > 0").select(["id", "v", "p"]).to_pylist()
            assert sorted(tuple(row.values()) for row in rows) == LEFT
        assert unity.violations == []


@pytest.mark.parametrize("feature", ["collations", "icebergWriterCompatV1", "liquid"])
def test_what_is_not_known_of_writers_is_refused_by_name(tmp_path, feature):
    table = TableBuilder(tmp_path).protocol(1, 7, writer_features=[feature])
    table.metadata(ROWS.schema, [], {}).commit([table.add_file(ROWS)])
    changed = DeltaTable(tmp_path)
    for refused in (
        lambda: changed.delete("id = 1"),
        lambda: changed.update({"v": "'z'"}),
        changed.merge(SOURCE, "t.id = s.id", "s", "t").when_not_matched_insert_all().execute,
    ):
        with pytest.raises(UnsupportedFeatureError, match=feature):
            refused()
    assert changed.version() == 0


TAKEN = ("delete", "update_preimage")


@pytest.mark.parametrize("vectors", [VECTORS, {}], ids=["vectors", "rewriting"])
def test_all_of_them_at_once(tmp_path, vectors):
    table = changed_table(tmp_path, vectors)
    with pytest.raises(ConstraintViolationError, match="small"):
        table.update({"id": "id * 1000"})

    rows = {row["id"]: row for row in table.to_pyarrow_table().to_pylist()}
    assert table.verify(deep=True).ok
    assert all(row["year"] == row["day"].year != 2021 for row in rows.values())
    assert len({row["number"] for row in rows.values()}) == len(rows) == table.count()
    assert {row["note"] for row in rows.values()} == {"none", "old"}
    replayed = {}
    changes = table.load_cdf(1).read_all().to_pylist()
    for change in sorted(
        changes, key=lambda each: (each["_commit_version"], each["_change_type"] not in TAKEN)
    ):
        taken = change["_change_type"] in TAKEN
        assert (change["id"] in replayed) is taken
        if taken:
            del replayed[change["id"]]
        else:
            replayed[change["id"]] = change
    assert {id: {name: change[name] for name in rows[id]} for id, change in replayed.items()} == rows
