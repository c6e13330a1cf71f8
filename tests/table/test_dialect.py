"""`dialect="deltalake"` on a table and on its calls: double quotes are columns, and the log has Spark SQL."""

import pickle

import pyarrow as pa
import pytest

from deltaarrow import DeltaTable, connect, set_default_dialect, write_deltalake
from deltaarrow.errors import InvalidPredicateError

ROWS = pa.table({"id": [1, 2, 3], "Product.Id": ["x-1", "x-2", r"C:\x"], "open": [True, False, True]})


@pytest.fixture
def table(tmp_path):
    write_deltalake(tmp_path, ROWS, configuration={"delta.enableChangeDataFeed": "true"})
    return DeltaTable(tmp_path, dialect="deltalake")


def ids(table, filters=None):
    return sorted(table.to_pyarrow_table(filters=filters)["id"].to_pylist())


def test_reads(table):
    condition = "\"Product.Id\" = 'C:\\x'"
    assert ids(table, condition) == [3]
    assert table.to_pandas(filters=condition)["id"].tolist() == [3]
    assert table.file_uris(file_pruning_predicate="\"Product.Id\" = 'y'") == []
    assert table.partitions(file_pruning_predicate="\"Product.Id\" = 'y'") == []
    assert table.explain("\"Product.Id\" = 'y'").left_files == 0
    assert len(table.load_cdf(predicate=condition).read_all()) == 1
    assert ids(pickle.loads(pickle.dumps(table)), condition) == [3]


def test_changes_rows(table):
    table.update({'"Product.Id"': "concat(\"Product.Id\", '!')"}, predicate="\"Product.Id\" = 'x-1'")
    table.delete("\"Product.Id\" = 'x-2'")
    source = pa.table({"key": ["x-1!", "new"], "id": [10, 20]})
    merger = table.merge(source, 'source."key" = target."Product.Id"')
    merger = merger.when_matched_update({"id": 'source."id"'}, predicate='source."id" > 5')
    merger.when_not_matched_insert({'"Product.Id"': 'source."key"', "id": "source.id"}).execute()
    write_deltalake(table, ROWS.slice(2), mode="overwrite", predicate="\"Product.Id\" = 'C:\\x'")
    found = {row["id"]: row["Product.Id"] for row in table.to_pyarrow_table().to_pylist()}
    assert found == {10: "x-1!", 3: r"C:\x", 20: "new"}
    assert "`Product.Id`" in str(table.history(3)[2]["operationParameters"])


def test_a_call_has_its_own_dialect(tmp_path):
    write_deltalake(tmp_path, ROWS)
    table = DeltaTable(tmp_path)
    with pytest.raises(InvalidPredicateError, match=r"DeltaTable\(..., dialect='deltalake'\)"):
        table.delete("\"Product.Id\" = 'x-1'")
    assert table.delete("\"Product.Id\" = 'x-1'", dialect="deltalake")["num_deleted_rows"] == 1
    assert (
        table.update({"id": '"id" + 1'}, predicate='"id" = 2', dialect="deltalake")["num_updated_rows"] == 1
    )
    merger = table.merge(ROWS, 'target."id" = source."id"', dialect="deltalake")
    assert merger.when_matched_delete().execute()["num_target_rows_deleted"] == 2
    write_deltalake(tmp_path, ROWS.slice(1), mode="overwrite", predicate='"id" > 1', dialect="deltalake")
    assert table.to_pyarrow_table(filters='"id" > 9', dialect="deltalake").num_rows == 0


def test_a_constraint_is_stored_in_spark_sql(table):
    table.alter.add_constraint({"named": 'length("Product.Id") > 1 AND "Product.Id" <> \'a\\b\''})
    stored = table.metadata().configuration["delta.constraints.named"]
    assert stored == r"length(`Product.Id`) > 1 AND `Product.Id` <> 'a\\b'"


def test_an_unknown_dialect_is_refused(tmp_path):
    with pytest.raises(ValueError, match="spark, deltalake"):
        DeltaTable(tmp_path, dialect="datafusion")


def test_a_script_chooses_its_dialect_once(tmp_path):
    write_deltalake(tmp_path / "before", ROWS)
    before = DeltaTable(tmp_path / "before")
    set_default_dialect("deltalake")
    try:
        made = DeltaTable.create(tmp_path / "t", ROWS.schema)
        write_deltalake(tmp_path / "t", ROWS, mode="append")
        write_deltalake(tmp_path / "t", ROWS.slice(1), mode="overwrite", predicate='"id" > 1')
        table = DeltaTable(tmp_path / "t")
        assert (made.dialect, table.dialect, pickle.loads(pickle.dumps(table)).dialect) == ("deltalake",) * 3
        assert table.scan(["id"], "\"Product.Id\" = 'x-1'").read_all()["id"].to_pylist() == [1]
        assert table.delete("\"Product.Id\" = 'x-1'")["num_deleted_rows"] == 1
        assert (before.dialect, DeltaTable(tmp_path / "t", dialect="spark").dialect) == ("spark", "spark")
        with connect(dialect="spark") as connection:
            connection.sql(f'DELETE FROM delta.`{tmp_path}/before` WHERE `Product.Id` = "x-2"')
            connection.sql(f'INSERT INTO delta.`{tmp_path}/before` REPLACE WHERE id > 9 SELECT 10, "y", true')
        with pytest.raises(ValueError, match="unknown dialect"):
            set_default_dialect("datafusion")
    finally:
        set_default_dialect()
    assert DeltaTable(tmp_path / "t").dialect == "spark"
    before.update_incremental()
    assert sorted(before.to_pyarrow_table()["id"].to_pylist()) == [1, 3, 10]
