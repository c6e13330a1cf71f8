import pickle
import subprocess
import sys

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CorruptDataFileError, CorruptDeletionVectorError, SchemaMismatchError
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("p", pa.string())])


def data(*ids: int) -> pa.Table:
    return pa.table({"id": pa.array(ids, pa.int64()), "name": [f"n{i}" for i in ids]})


@pytest.fixture
def builder(tmp_path):
    return TableBuilder(tmp_path).features("deletionVectors").metadata(SCHEMA, ["p"])


@pytest.fixture
def dataset(builder):
    builder.commit([builder.add_file(data(1, 2, 3), {"p": "a"}), builder.add_file(data(4, 5), {"p": None})])
    return DeltaTable(builder.path).to_pyarrow_dataset()


def test_it_is_a_pyarrow_dataset_with_the_logical_schema(dataset):
    assert isinstance(dataset, pads.Dataset)
    assert dataset.schema.equals(SCHEMA)


def test_to_table_has_columns_in_the_wanted_order(dataset):
    table = dataset.to_table(columns=["p", "id"], filter=pc.field("id") > 2)
    assert table.column_names == ["p", "id"]
    assert sorted(table.to_pylist(), key=lambda row: row["id"]) == [
        {"p": "a", "id": 3},
        {"p": None, "id": 4},
        {"p": None, "id": 5},
    ]


@pytest.mark.parametrize("text", ["id > 2", [("id", ">", 2)]])
def test_a_filter_of_a_dataset_is_no_sql_text(dataset, text):
    for use in (dataset.count_rows, dataset.filter, dataset.explain):
        with pytest.raises(TypeError, match="is a pyarrow expression"):
            use(**({"expression": text} if use == dataset.filter else {"filter": text}))


def test_columns_may_be_expressions(dataset):
    table = dataset.to_table(columns={"twice": pc.field("id") * 2, "where": pc.field("p")})
    assert sorted(table["twice"].to_pylist()) == [2, 4, 6, 8, 10]
    assert table.column_names == ["twice", "where"]


def test_columns_may_be_casts_and_constants(dataset):
    table = dataset.to_table(columns={"share": pc.field("id").cast("float64"), "one": pc.scalar(1)})
    assert sorted(table["share"].to_pylist()) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert dataset.to_table(columns={"one": pc.scalar(1)})["one"].to_pylist() == [1] * 5


@pytest.mark.parametrize("columns", [[], ["p"], ["id"]])
def test_count_does_not_depend_on_columns(dataset, columns):
    assert dataset.scanner(columns=columns).count_rows() == 5
    assert dataset.scanner(columns=columns, filter=pc.field("id") >= 4).count_rows() == 2
    assert dataset.to_table(columns=columns).num_rows == 5


def test_head_take_and_batches(dataset):
    assert dataset.head(2).num_rows == 2
    assert dataset.take([0, 4]).num_rows == 2
    assert sum(batch.num_rows for batch in dataset.to_batches(batch_size=2)) == 5
    assert max(batch.num_rows for batch in dataset.to_batches(batch_size=2)) <= 2


def test_a_scanner_can_be_used_more_than_once(dataset):
    scanner = dataset.scanner(filter=pc.field("id") > 1)
    assert scanner.to_table().num_rows == scanner.count_rows() == len(scanner.to_reader().read_all()) == 4


def test_an_unknown_column_is_refused(dataset):
    with pytest.raises(SchemaMismatchError, match="nope"):
        dataset.to_table(columns=["nope"])
    with pytest.raises((SchemaMismatchError, ValueError), match="nope"):
        dataset.to_table(filter=pc.field("nope") == 1)


def test_files_that_cannot_match_are_not_opened(builder):
    absent = builder.add_file(10, {"p": "gone"}, stats={"numRecords": 10, "minValues": {"id": 100}})
    bounded = builder.add_file(
        10,
        {"p": "a"},
        stats={"numRecords": 10, "minValues": {"id": 50}, "maxValues": {"id": 60}, "nullCount": {"id": 0}},
    )
    builder.commit([absent, bounded, builder.add_file(data(1, 2), {"p": "a"})])
    dataset = DeltaTable(builder.path).to_pyarrow_dataset()
    assert dataset.to_table(filter=(pc.field("p") == "a") & (pc.field("id") < 50)).num_rows == 2
    assert dataset.scanner(filter=pc.field("p") == "zzz").count_rows() == 0
    with pytest.raises(CorruptDataFileError, match="not in storage"):
        dataset.to_table(filter=pc.field("p") == "a")


@pytest.mark.feature("deletionVectors")
def test_rows_of_deletion_vectors_are_not_there(builder):
    many = data(*range(1000))
    add = builder.add_file(many, {"p": "a"}, parquet={"row_group_size": 64})
    deleted = [0, 63, 64, 65, 500, 999]
    builder.commit([add]).commit(builder.with_deletion_vector(add, builder.deletion_vector(deleted)))
    dataset = DeltaTable(builder.path).to_pyarrow_dataset()
    expected = [i for i in range(1000) if i not in deleted]
    assert dataset.to_table()["id"].to_pylist() == expected
    assert dataset.to_table(columns=["p"]).num_rows == dataset.count_rows() == 994
    late = dataset.to_table(filter=pc.field("id") >= 490)["id"].to_pylist()
    assert late == [i for i in expected if i >= 490]
    (fragment,) = dataset.get_fragments()
    assert fragment.row_mask.to_pylist() == [i not in deleted for i in range(1000)]
    assert fragment.to_table()["id"].to_pylist() == expected
    assert fragment.count_rows() == 994


def test_a_deletion_vector_beyond_the_file_is_refused(builder):
    add = builder.add_file(data(1, 2), {"p": "a"})
    builder.commit([add]).commit(builder.with_deletion_vector(add, builder.deletion_vector([2])))
    with pytest.raises(CorruptDeletionVectorError):
        DeltaTable(builder.path).to_pyarrow_table()


def test_the_partition_value_of_the_log_wins_over_the_file(builder):
    rows = data(1).append_column("p", pa.array(["of the file"]))
    builder.commit([builder.add_file(rows, {"p": "of the log"})])
    assert DeltaTable(builder.path).to_pyarrow_table()["p"].to_pylist() == ["of the log"]


def test_fragments_carry_what_is_known(builder):
    builder.commit([builder.add_file(data(1, 2), {"p": "a"}), builder.add_file(data(7, 8), {"p": "b"})])
    dataset = DeltaTable(builder.path).to_pyarrow_dataset()
    fragments = {f.to_table()["p"][0].as_py(): f for f in dataset.get_fragments()}
    assert set(fragments) == {"a", "b"}
    assert all(f.row_mask is None for f in fragments.values())
    format_ = pads.ParquetFileFormat()
    from pyarrow.fs import LocalFileSystem

    for wanted, fragment in fragments.items():
        known = fragment.partition_expression & fragment.guarantee
        dummy = format_.make_fragment("/absent", LocalFileSystem(), partition_expression=known)
        pruned = pads.FileSystemDataset([dummy], SCHEMA, format_, LocalFileSystem())
        assert len(list(pruned.get_fragments(filter=pc.field("p") == wanted))) == 1
        assert len(list(pruned.get_fragments(filter=pc.field("p") == "z"))) == 0
        assert len(list(pruned.get_fragments(filter=pc.field("id") > 100))) == 0
    (only,) = dataset.get_fragments(filter=pc.field("id") > 5)
    assert only.path == fragments["b"].path


def test_pickling_keeps_the_version(builder, dataset):
    copy = pickle.loads(pickle.dumps(dataset.filter(pc.field("id") > 1)))
    builder.commit([builder.add_file(data(9), {"p": "a"})])
    assert copy.to_table().num_rows == 4
    assert "version=0" in repr(copy)


def test_filters_add_up(dataset):
    narrowed = dataset.filter(pc.field("id") > 1).filter(pc.field("p") == "a")
    assert sorted(narrowed.to_table(filter=pc.field("id") < 3)["id"].to_pylist()) == [2]


def test_fragments_have_the_rows_of_a_filtered_dataset(dataset):
    narrowed = dataset.filter(pc.field("id") > 1).filter(pc.field("p") == "a")
    (fragment,) = narrowed.get_fragments()
    assert fragment.to_table()["id"].to_pylist() == [2, 3]
    assert fragment.count_rows() == 2
    assert fragment.to_table(columns=["name"], filter=pc.field("id") < 3)["name"].to_pylist() == ["n2"]
    (other,) = pickle.loads(pickle.dumps(narrowed)).get_fragments()
    assert pickle.loads(pickle.dumps(other)).to_table()["id"].to_pylist() == [2, 3]


def test_fragments_take_a_schema_first_as_those_of_pyarrow(dataset):
    (fragment,) = dataset.get_fragments(filter=pc.field("p") == "a")
    assert fragment.to_table(dataset.schema).schema.equals(SCHEMA)
    some = pa.schema([SCHEMA.field("p"), SCHEMA.field("id")])
    assert fragment.to_table(some).column_names == ["p", "id"]
    [batch] = fragment.scanner(SCHEMA, columns=["id"], filter=pc.field("id") > 1, batch_size=10).to_batches()
    assert batch.to_pydict() == {"id": [2, 3]}
    with pytest.raises(SchemaMismatchError, match="'id' is of type int64, and the given schema has string"):
        fragment.to_table(pa.schema([("id", pa.string())]))
    with pytest.raises(SchemaMismatchError, match="no column `x`"):
        fragment.to_batches(pa.schema([("x", pa.string())]))


def test_a_pickled_fragment_knows_its_own_file_alone(dataset):
    fragments = list(dataset.get_fragments())
    for fragment in fragments:
        pickled = pickle.dumps(fragment)
        names = {each.path.rpartition("/")[2] for each in fragments}
        assert {name for name in names if name.encode() in pickled} == {fragment.path.rpartition("/")[2]}
        copy = pickle.loads(pickled)
        assert copy.to_table().equals(fragment.to_table())
        assert str(copy.guarantee) == str(fragment.guarantee)
        assert str(copy.partition_expression) == str(fragment.partition_expression)


def test_sorting_and_joining_are_in_memory(dataset):
    assert dataset.sort_by([("id", "descending")]).to_table()["id"].to_pylist() == [5, 4, 3, 2, 1]
    other = pads.dataset(pa.table({"id": [1, 2], "x": ["u", "v"]}))
    assert dataset.join(other, "id", join_type="inner").to_table().num_rows == 2


def test_duckdb_reads_it_through_its_own_interface(dataset):
    con = duckdb.connect()
    con.register("t", dataset)
    assert con.sql("SELECT count(*), sum(id) FROM t WHERE p = 'a' OR id IN (5)").fetchall() == [(4, 11)]
    assert con.sql("SELECT count(*) FROM t").fetchall() == [(5,)]


def test_the_table_is_an_arrow_stream(builder, dataset):
    table = DeltaTable(builder.path)
    assert pa.table(table).num_rows == 5
    assert pa.RecordBatchReader.from_stream(table).schema.equals(SCHEMA)
    assert pa.schema(table).equals(SCHEMA)


@pytest.mark.parametrize(
    ("stored", "declared", "expected"),
    [
        (pa.array([1, None], pa.int32()), "long", [1, None]),
        (pa.array([1, None], pa.int8()), "double", [1.0, None]),
        (pa.array(["a", None]).dictionary_encode(), "string", ["a", None]),
        (pa.array([b"a", None]), "string", ["a", None]),
        (
            pa.array([[1], None], pa.list_(pa.int32())),
            {"type": "array", "elementType": "long", "containsNull": True},
            [[1], None],
        ),
    ],
)
def test_types_widen(tmp_path, stored, declared, expected):
    schema = {"type": "struct", "fields": [{"name": "x", "type": declared, "nullable": True, "metadata": {}}]}
    builder = TableBuilder(tmp_path).protocol().metadata(schema)
    builder.commit([builder.add_file(pa.table({"x": stored}), stats=False, parquet={"store_schema": True})])
    assert DeltaTable(tmp_path).to_pyarrow_table()["x"].to_pylist() == expected


@pytest.mark.parametrize(
    ("stored", "declared"),
    [
        (pa.array(["12"]), "integer"),
        (pa.array([1.5]), "float"),
        (pa.array([1.5]), "long"),
        (pa.array([1]), "string"),
        (pa.array([2**40]), "integer"),
        (pa.array([True]), "integer"),
        (pa.array([[1]]), "integer"),
        (
            pa.array([{"a": 1}]),
            {"type": "map", "keyType": "string", "valueType": "long", "valueContainsNull": True},
        ),
    ],
)
def test_a_type_that_cannot_hold_the_values_is_refused(tmp_path, stored, declared):
    schema = {"type": "struct", "fields": [{"name": "x", "type": declared, "nullable": True, "metadata": {}}]}
    builder = TableBuilder(tmp_path).protocol().metadata(schema)
    builder.commit([builder.add_file(pa.table({"x": stored}), stats=False)])
    with pytest.raises((CorruptDataFileError, pa.ArrowInvalid)):
        DeltaTable(tmp_path).to_pyarrow_table()


def test_names_that_differ_in_case_alone_are_found(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(pa.schema([("Id", pa.int64())]))
    builder.commit([builder.add_file(pa.table({"ID": [1]}), stats=False)])
    assert DeltaTable(tmp_path).to_pyarrow_table()["Id"].to_pylist() == [1]


def test_a_column_absent_from_a_file_is_null(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64()), ("x", pa.date32())]))
    builder.commit([builder.add_file(pa.table({"id": [1]}), stats=False)])
    assert DeltaTable(tmp_path).to_pyarrow_table().to_pylist() == [{"id": 1, "x": None}]
    assert DeltaTable(tmp_path).to_pyarrow_table(columns=["x"]).to_pylist() == [{"x": None}]


READINGS = """
table.to_pyarrow_dataset().head(5)
next(iter(table.to_pyarrow_dataset().to_batches()))
reader = pa.RecordBatchReader.from_stream(table)
reader.read_next_batch()
con = duckdb.connect()
con.register('t', table.to_pyarrow_dataset())
con.sql('SELECT * FROM t LIMIT 5').fetchall()
other = duckdb.connect()
da.register(other, 't', table, native=False)
stream = other.sql('SELECT * FROM t').to_arrow_reader()
stream.read_next_batch()
"""


def test_scans_that_are_not_read_to_their_end_let_the_process_end(tmp_path):
    DeltaTable.create(tmp_path, pa.schema([("id", pa.int64())]))
    write_deltalake(tmp_path, pa.table({"id": range(1_000_000)}), mode="append")
    imports = "import duckdb, pyarrow as pa, deltaarrow as da"
    code = f"{imports}\ntable = da.DeltaTable({str(tmp_path)!r})\n{READINGS}\nprint('read')"
    for _ in range(3):
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
        )
        assert (found.returncode, found.stdout) == (0, "read\n"), found.stderr


def test_take_keeps_the_order_that_was_asked_for(dataset):
    ids = dataset.to_table()["id"].to_pylist()
    assert dataset.take([4, 0, 2, 0])["id"].to_pylist() == [ids[4], ids[0], ids[2], ids[0]]
    assert dataset.take([]).num_rows == 0
    with pytest.raises(IndexError, match="5"):
        dataset.take([5])


def test_batches_of_wide_tables_have_fewer_rows(tmp_path):
    wide = pa.table({f"c{i}": pa.array(range(20_000), pa.float64()) for i in range(200)})
    write_deltalake(tmp_path, wide)
    dataset = DeltaTable(tmp_path).to_pyarrow_dataset()
    assert max(batch.nbytes for batch in dataset.to_batches()) <= 9 << 20
    assert max(batch.num_rows for batch in dataset.to_batches(columns=["c0"])) > 19_000
