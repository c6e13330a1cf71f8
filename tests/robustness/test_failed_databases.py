"""Files at which a DuckDB database fails for good: another replaces it, and the error names the file."""

import duckdb
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable
from deltaarrow.compute import files_cursor
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.storage import open_store
from tests.support.footers import ROWS, bits_of_footer, flipped
from tests.support.tables import TableBuilder


@pytest.fixture(scope="module")
def footers(tmp_path_factory):
    """Parquet files whose schema DuckDB cannot read: one ends the database, if DuckDB has such a fault."""
    file = tmp_path_factory.mktemp("deadly") / "a.parquet"
    pq.write_table(ROWS, file)
    damaged = None
    with duckdb.connect() as connection:
        for bit in bits_of_footer(file):
            with flipped(file, bit):
                try:
                    connection.execute(f"FROM parquet_schema('{file}')").fetchall()
                except duckdb.InternalException:
                    return file.read_bytes(), True
                except duckdb.Error:
                    damaged = damaged or file.read_bytes()
    assert damaged is not None
    return damaged, False


# DuckDB 2.0.1 reads every damaged footer without a failure for good, and fails at this query.
_FATAL = """
SELECT remap_struct(s, NULL::STRUCT(a BIGINT, c STRUCT(x BIGINT)), {'a': 'a'}, {'c': NULL::STRUCT(x BIGINT)})
FROM (VALUES ({'a': 2::BIGINT}), (NULL)) AS t(s)
"""


def test_a_database_that_failed_for_good_is_replaced(tmp_path, footers):
    footer, is_deadly = footers
    (tmp_path / "a.parquet").write_bytes(footer)
    query = f"FROM parquet_schema('{tmp_path}/a.parquet')" if is_deadly else _FATAL
    store = open_store(tmp_path)

    def read():
        with files_cursor(store) as cursor:
            try:
                cursor.execute(query).fetchall()
            except duckdb.InternalException as error:
                with pytest.raises(duckdb.FatalException, match="invalidated"):
                    cursor.execute("SELECT 1")
                raise CorruptDataFileError("of other words") from error

    for _ in range(2):
        with pytest.raises(CorruptDataFileError, match="of other words"):
            read()
    with files_cursor(store) as cursor:
        assert cursor.execute("SELECT 1").fetchone() == (1,)


def test_a_file_that_ends_a_database_is_the_one_that_is_named(tmp_path, footers):
    builder = TableBuilder(tmp_path).protocol().metadata(ROWS.schema)
    names = [f"{number}.parquet" for number in range(40)]
    # Without statistics all footers are asked for.
    builder.commit([builder.add_file(ROWS, name=name, stats=False) for name in names])
    (tmp_path / "7.parquet").write_bytes(footers[0])
    with pytest.raises(CorruptDataFileError, match=r"\b7\.parquet"):
        DeltaTable(tmp_path).count()
    errors = DeltaTable(tmp_path).verify().errors
    assert {error.where for error in errors} == {"7.parquet"}
