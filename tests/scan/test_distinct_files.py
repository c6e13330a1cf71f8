import duckdb
import pyarrow as pa
import pytest

from deltaarrow import DeltaTable
from deltaarrow.errors import CorruptLogError
from deltaarrow.scan.plan import ensure_distinct_files
from deltaarrow.storage import decode_path, open_store
from tests.support.tables import TableBuilder

REFUSED = (CorruptLogError, duckdb.Error)  # DuckDB wraps what a dataset raises


@pytest.fixture
def table(tmp_path):
    return TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))


def test_a_file_under_a_relative_and_an_absolute_path_is_refused_by_every_engine(table, engine):
    add = table.add_file(pa.table({"id": [1, 2]}), name="f.parquet")
    again = {"add": add["add"] | {"path": f"{table.path}/f.parquet"}}
    table.commit([add, again])
    with pytest.raises(REFUSED, match=r"f\.parquet twice"):
        engine(table.path)
    with pytest.raises(CorruptLogError, match=r"f\.parquet twice"):
        DeltaTable(table.path).count()


@pytest.mark.parametrize("few", [0, 1_000])
@pytest.mark.parametrize("folder", ["", "/{path}/", "file:///{path}/", "file:/{path}/"])
def test_many_files_are_compared_as_few_are(tmp_path, few, folder):
    files = pa.table({"path": ["a/f", "g", decode_path(folder.format(path=str(tmp_path)[1:]) + "g")]})
    with pytest.raises(CorruptLogError, match="g twice"):
        ensure_distinct_files(open_store(tmp_path), files, few)


def test_a_file_with_two_deletion_vectors_is_refused_by_every_engine(table, engine):
    add = table.add_file(pa.table({"id": [1, 2, 3]}), name="f.parquet")
    masked = [{"add": add["add"] | {"deletionVector": table.deletion_vector([row])}} for row in (0, 1)]
    table.commit(masked)
    with pytest.raises(REFUSED, match=r"f\.parquet twice"):
        engine(table.path)


def test_an_absolute_path_alone_is_read(table, engine):
    add = table.add_file(pa.table({"id": [1, 2]}), name="f.parquet")
    other = table.add_file(pa.table({"id": [3]}), name="g.parquet")
    add["add"]["path"] = f"{table.path}/f.parquet"
    table.commit([add, other])
    assert [row["id"] for row in engine(table.path)] == [1, 2, 3]
