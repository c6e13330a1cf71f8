"""``_metadata`` in queries: the file and the position of each row, and its row ids."""

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import SchemaMismatchError, UnsupportedFeatureError

MARKED = {"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.fixture
def orders(tmp_path):
    """Two files, of the partitions ``a b`` and ``c``; the row of id 1 is deleted."""
    rows = pa.table({"id": range(4), "p": ["a b", "a b", "a b", "c"]})
    deltaarrow.write_deltalake(tmp_path / "orders", rows, partition_by="p", configuration=MARKED | MAPPED)
    DeltaTable(tmp_path / "orders").delete("id = 1")
    return tmp_path / "orders"


@pytest.fixture
def con(orders):
    with deltaarrow.connect(dialect="spark") as connection:
        yield connection.attach(orders.parent, "lake")


def test_each_row_has_its_file_of_the_log_and_its_position_there(con, orders):
    found = con.sql("SELECT id, _metadata AS m FROM lake.orders ORDER BY id").to_arrow_table().to_pylist()
    files = DeltaTable(orders).inspect.files().to_pylist()
    by_partition = {each["partition"]["p"]: each for each in files}
    assert [(row["id"], row["m"]["row_index"]) for row in found] == [(0, 0), (2, 2), (3, 0)]
    for row, partition in zip(found, ["a b", "a b", "c"], strict=True):
        file, told = by_partition[partition], row["m"]
        assert told["file_path"] == f"file:{orders}/{file['path']}".replace(" ", "%20")
        assert told["file_name"] == file["path"].rpartition("/")[2]
        assert (told["file_size"], told["file_block_length"]) == (file["size_bytes"], file["size_bytes"])
        assert (told["file_block_start"], told["file_modification_time"]) == (0, file["modification_time"])


def test_row_ids_are_those_that_the_table_tracks(con, orders):
    con.sql("UPDATE lake.orders SET p = 'd' WHERE id = 3")
    columns = ["id", "_metadata.row_id", "_metadata.row_commit_version"]
    found = con.sql(f"SELECT {', '.join(columns)} FROM lake.orders WHERE _metadata.row_id > 0").fetchall()
    tracked = DeltaTable(orders).to_pyarrow_table(columns=columns)
    wanted = zip(*(tracked[name].to_pylist() for name in columns), strict=True)
    assert sorted(found) == sorted(row for row in wanted if row[1] > 0)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("SELECT id FROM lake.orders WHERE _metadata.row_index = 0 ORDER BY id", [(0,), (3,)]),
        ("SELECT count(*) FROM lake.orders GROUP BY _metadata.file_path ORDER BY 1", [(1,), (2,)]),
        ("SELECT id FROM lake.orders VERSION AS OF 0 WHERE _METADATA.Row_Index = 1", [(1,)]),
        (
            "SELECT o.id, n.id FROM lake.orders o JOIN lake.orders n"
            " ON o._metadata.file_name = n._metadata.file_name AND o.id < n.id",
            [(0, 2)],
        ),
        ("SELECT *, _metadata.row_index + 1 FROM lake.orders WHERE p = 'c'", [(3, "c", 1)]),
        ("SELECT p, count(_metadata) FROM lake.orders GROUP BY p ORDER BY p", [("a b", 2), ("c", 1)]),
    ],
)
def test_queries_use_it_like_any_column(con, text, wanted):
    assert con.sql(text).fetchall() == wanted


def test_view_and_source_of_a_merge_may_read_it(con, orders):
    con.sql("CREATE TEMP VIEW places AS SELECT id, _metadata.row_index AS place FROM lake.orders")
    merge = "MERGE INTO lake.orders AS o USING (SELECT * FROM places) AS n ON o.id = n.id"
    assert con.sql(f"{merge} WHEN MATCHED AND n.place = 2 THEN DELETE").column(
        "num_deleted_rows"
    ).to_pylist() == [1]
    assert con.sql("SELECT id, place FROM places ORDER BY id").fetchall() == [(0, 0), (3, 0)]


def test_in_the_dialect_of_duckdb_it_is_there_where_it_is_named(con, orders):
    text = f"SELECT o.id, o._metadata.row_index FROM delta.'{orders}' o WHERE _metadata.row_index > 0"
    assert con.sql(text, dialect="duckdb").fetchall() == [(2, 2)]
    named = con.sql("SELECT * FROM lake.orders WHERE p = '_metadata'", dialect="duckdb")
    assert named.columns == ["id", "p"]
    other = (
        "SELECT * FROM lake.orders JOIN (SELECT 3 AS id, 'x' AS _metadata) USING (id) WHERE _metadata = 'x'"
    )
    assert con.sql(other, dialect="duckdb").fetchall() == [(3, "c", "x")]
    with pytest.raises(
        UnsupportedFeatureError, match=r"_metadata beside \* is not supported: name the columns"
    ):
        con.sql("SELECT * FROM lake.orders WHERE _metadata.row_index = 1", dialect="duckdb")


def test_tables_have_the_fields_that_spark_gives_them(con, orders, tmp_path):
    deltaarrow.write_deltalake(tmp_path / "plain", pa.table({"id": [1]}))
    with pytest.raises(SchemaMismatchError, match=r"FIELD_NOT_FOUND.*no field `row_index`.*`file_size`"):
        con.sql("SELECT _metadata.row_index FROM lake.plain")
    with pytest.raises(SchemaMismatchError, match="CANNOT_RESOLVE_STAR_EXPAND"):
        con.sql("SELECT _metadata.* FROM lake.plain")


def test_column_of_the_table_comes_before_it(con, tmp_path):
    deltaarrow.write_deltalake(tmp_path / "own", pa.table({"_metadata": ["own"]}))
    assert con.sql("SELECT _metadata, * FROM lake.own").fetchall() == [("own", "own")]


def test_tables_that_duckdb_cannot_read_are_refused(con, tmp_path):
    deltaarrow.write_deltalake(tmp_path / "odd", pa.table({"file_row_number": [1]}))
    with pytest.raises(
        UnsupportedFeatureError, match=r"_metadata of this table cannot be read: .*file_row_number"
    ):
        con.sql("SELECT _metadata.file_name FROM lake.odd")


def test_table_without_files_has_none(con, tmp_path):
    DeltaTable.create(tmp_path / "empty", pa.schema([("id", pa.int64())]))
    assert con.sql("SELECT id, _metadata.file_path FROM lake.empty").fetchall() == []
