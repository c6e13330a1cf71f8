"""One flipped bit in a footer: the table is unchanged, or an error names the file.

A file with a flipped bit is read in this process, which must not crash. The bounds of a row group are values,
like those in pages, and not structure: except for integers, nothing stores them twice. So the test checks the
state of the table bit by bit, and not which row groups a predicate skips.
"""

import itertools
import shutil
from decimal import Decimal

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow import DeltaTable
from deltaarrow.columnar.parquet_footers import parse_footer
from deltaarrow.errors import CorruptDataFileError, CorruptLogError, DeltaError
from deltaarrow.snapshot import Snapshot
from deltaarrow.storage import open_store
from tests.support.engines import ENGINES, open_snapshot
from tests.support.footers import CHECKPOINTS, ROWS, bits_of_footer, flipped, sample, write_checkpointed_table
from tests.support.tables import TableBuilder

ENGINE_ERRORS = (duckdb.Error, pl.exceptions.PolarsError, pl.exceptions.PanicException)
COLUMNS = ("path", "size", "partition_values", "stats", "deletion_vector", "modification_time")


def state(path):
    """All that a checkpoint says of a table."""
    found = Snapshot.load(open_store(path))
    files = sorted(map(repr, found.files(columns=COLUMNS).to_pylist()))
    return found.protocol, found.metadata, found.transactions, found.domains, files


def outcomes(path, file, bits):
    """The bits with which a checkpoint tells another table, and how many of them it is refused with."""
    expected = state(path)
    wrong, refused = [], 0
    for bit in bits:
        with flipped(file, bit):
            try:
                if state(path) != expected:
                    wrong.append(bit)
            except DeltaError as error:
                refused += 1
                if file.name not in str(error):
                    wrong.append(bit)
    return wrong, refused


@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_bit_of_the_footer_of_a_checkpoint_changes_no_table(tmp_path, name):
    table, files = write_checkpointed_table(tmp_path, name)
    for number, file in enumerate(files):
        wrong, refused = outcomes(table.path, file, sample(bits_of_footer(file), number, 100))
        assert wrong == []
        assert refused > 30


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_no_bit_of_the_footer_of_a_checkpoint_changes_a_table(tmp_path, name):
    table, files = write_checkpointed_table(tmp_path, name)
    for file in files:
        assert outcomes(table.path, file, bits_of_footer(file))[0] == []


def in_schema(file, name):
    """The first bit of a name in the schema of a Parquet file, which stands before the column chunks."""
    first = bits_of_footer(file).start // 8
    place = file.read_bytes().index(bytes([len(name)]) + name.encode(), first)
    return 8 * (place + 1)


@pytest.mark.parametrize("checkpoint", ["classic", "multipart", "sidecar", "struct"])
@pytest.mark.parametrize(
    "name", ["add", "path", "partitionValues", "size", "modificationTime", "dataChange", "remove"]
)
def test_a_misspelt_file_action_is_refused(tmp_path, checkpoint, name):
    table, files = write_checkpointed_table(tmp_path, checkpoint)
    with flipped(files[-1], in_schema(files[-1], name) + 2), pytest.raises(CorruptLogError, match=name):
        DeltaTable(table.path).to_pyarrow_table()


@pytest.mark.parametrize(
    "name", ["metaData", "configuration", "partitionColumns", "schemaString", "protocol", "txn", "appId"]
)
def test_a_misspelt_action_of_another_kind_is_refused(tmp_path, name):
    table, (file,) = write_checkpointed_table(tmp_path, "classic")
    with flipped(file, in_schema(file, name)), pytest.raises(CorruptLogError, match=name):
        DeltaTable(table.path)


def test_where_commits_lead_to_the_version_they_are_read_in_place_of_a_misspelt_checkpoint(tmp_path):
    table, (file,) = write_checkpointed_table(tmp_path, "classic")
    for version, lines in list(table.commits.items()):
        table.commit([line for line in lines if "commitInfo" not in line], version=version)
    with flipped(file, in_schema(file, "add") + 2):
        assert DeltaTable(table.path).count() == 12


# --- data files ------------------------------------------------------------------------------------


def test_verify_names_a_data_file_whose_footer_contradicts_itself(tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(ROWS.schema)
    table.commit([table.add_file(ROWS, name="a.parquet"), table.add_file(ROWS, name="b.parquet")])
    assert not DeltaTable(table.path).verify().errors
    # DuckDB, which counts the rows, finds nothing wrong with it.
    file = table.path / "b.parquet"
    with flipped(file, in_schema(file, "name")):
        (error,) = DeltaTable(table.path).verify().errors
    assert error.where == "b.parquet"
    assert "is named 'name'" in error.what


def test_verify_names_a_checkpoint_whose_footer_contradicts_itself(tmp_path):
    table, (file,) = write_checkpointed_table(tmp_path, "classic")
    for version, lines in list(table.commits.items()):
        table.commit([line for line in lines if "commitInfo" not in line], version=version)
    with flipped(file, in_schema(file, "configuration")):
        errors = DeltaTable(table.path).verify().errors
    assert [error.where.rpartition("/")[2] for error in errors] == [file.name]
    assert "configuration" in errors[0].what


@pytest.fixture(params=["statistics", "no statistics"])
def data_table(request, tmp_path):
    table = TableBuilder(tmp_path / "t").protocol().metadata(ROWS.schema)
    table.commit([table.add_file(ROWS, name="a.parquet", stats=request.param == "statistics")])
    return table


PLACES = itertools.count()


def rows(table, engine):
    """The rows of a table, read at a place that no footer is remembered for."""
    copy = table.path.parent / f"{next(PLACES)}"
    shutil.copytree(table.path, copy)
    try:
        return ENGINES[engine](open_snapshot(copy), None, None).to_pylist()
    finally:
        shutil.rmtree(copy)


def wrong_bits(table, engine, bits):
    """The bits with which a data file has other rows."""
    expected = rows(table, engine)
    wrong = []
    for bit in bits:
        with flipped(table.path / "a.parquet", bit):
            try:
                if rows(table, engine) != expected:
                    wrong.append(bit)
            except (DeltaError, *ENGINE_ERRORS):
                continue
    return wrong


@pytest.mark.parametrize("engine", ["dataset", "duckdb", "polars"])
def test_a_bit_of_the_footer_of_a_data_file_changes_no_row(data_table, engine):
    bits = sample(bits_of_footer(data_table.path / "a.parquet"), 7, 20)
    assert wrong_bits(data_table, engine, bits) == []


@pytest.mark.parametrize("engine", ["dataset", "polars"])
@pytest.mark.parametrize("name", ["point", "tags", "id"])
def test_a_column_of_a_data_file_that_is_said_to_have_no_null_is_refused(data_table, engine, name):
    file = data_table.path / "a.parquet"
    # Behind the repetition, 1 as a zigzag number, stand the number of the next field and the name's length.
    repetition = in_schema(file, name) - 24
    assert file.read_bytes()[repetition // 8] == 2
    with flipped(file, repetition + 1), pytest.raises((CorruptDataFileError, *ENGINE_ERRORS)):
        rows(data_table, engine)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dataset", "polars"])
def test_no_bit_of_the_footer_of_a_data_file_changes_a_row(data_table, engine):
    # DuckDB takes two fields as they are, of which no other part of the package hears: whether a column is
    # optional, and how long its values are.
    assert wrong_bits(data_table, engine, bits_of_footer(data_table.path / "a.parquet")) == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["id", "name", "seen", "point", "tags"])
def test_a_misspelt_column_of_a_data_file_is_refused(data_table, engine, name):
    file = data_table.path / "a.parquet"
    with flipped(file, in_schema(file, name)), pytest.raises((CorruptDataFileError, *ENGINE_ERRORS)):
        rows(data_table, engine)


def test_bounds_of_decimals_are_ordered_by_their_numbers():
    # pyarrow writes decimals of a fixed length alone; other writers write them as byte arrays.
    rows = pa.table({"price": pa.array([Decimal("-1.00"), Decimal("1.00")], pa.decimal128(38, 2))})
    sink = pa.BufferOutputStream()
    pq.write_table(rows, sink)
    data = sink.getvalue().to_pybytes()
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    fixed_length, byte_array = b"\x15\x0e", b"\x15\x0c"

    footer = parse_footer(data[end:-8].replace(fixed_length, byte_array), end)

    assert [(leaf.physical_type, leaf.is_decimal) for leaf in footer.leaves] == [(6, True)]
