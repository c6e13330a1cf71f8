"""Bad input raises a clear error and leaves no version and no new file."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltaarrow.errors import (
    ConstraintViolationError,
    InvalidTablePropertyError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)

ROWS = pa.table(
    {
        "id": pa.array([1, 2], pa.int64()),
        "small": pa.array([1, None], pa.int8()),
        "price": pa.array([Decimal("1.50"), None], pa.decimal128(5, 2)),
        "at": pa.array([datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)] * 2, pa.timestamp("us", "UTC")),
        "day": ["a", "b"],
    }
)
FAR = pa.array([10**7], pa.int32()).cast(pa.date32())
"""A day in the year 29349, which Spark and Arrow know and Python does not."""


def files(path) -> set[str]:
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}


@pytest.fixture
def table(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by="day")
    return tmp_path


def column(values, arrow_type=None, name="id"):
    return pa.table({name: pa.array(values, arrow_type), "day": ["a"] * len(values)})


MISFITS = {
    "text for a number": (column(["1"]), "'id' has Arrow type string, which does not fit int64"),
    "a number for a text": (pa.table({"day": [1]}), "'day' has Arrow type int64"),
    "an integer too large": (column([300], name="small"), "'small': a value does not fit int8: .*300"),
    "an unsigned integer too large": (column([2**64 - 1], pa.uint64()), "'id': a value does not fit int64"),
    "a fraction for an integer": (column([1.5]), "'id' has Arrow type double"),
    "not a number for a decimal": (column([float("nan")], name="price"), "'price' has Arrow type double"),
    "infinity for a decimal": (column([float("inf")], name="price"), "'price' has Arrow type double"),
    "a decimal of too many digits": (
        column([Decimal("12345.00")], pa.decimal128(10, 2), "price"),
        "'price': a value does not fit .*precision 5",
    ),
    "a decimal with more after the point": (
        column([Decimal("1.001")], pa.decimal128(10, 3), "price"),
        "'price': a value does not fit .*data loss",
    ),
    "a nanosecond": (column([1], pa.timestamp("ns", "UTC"), "at"), "'at': a value does not fit .*lose data"),
    "a local time for an instant": (column([0], pa.timestamp("us"), "at"), "'at' has Arrow type timestamp"),
    "columns that the table lacks": (
        pa.table({"id": [1], "x": [1], "y": [2]}),
        "the table has no column 'x', 'y'",
    ),
    "two columns for one": (
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["ID", "Id"]),
        "'id' is ambiguous in the data: 'ID', 'Id'",
    ),
    "no column": (pa.table({}), "the data has no columns"),
    "rows without a column": (
        pa.RecordBatch.from_struct_array(pa.array([{}] * 3, pa.struct([]))),
        "the data has no columns",
    ),
}
MODES = [
    {"mode": "append"},
    {"mode": "overwrite"},
    {"mode": "overwrite", "predicate": "id < 9"},
    {"mode": "overwrite", "partition_overwrite_mode": "dynamic"},
]


@pytest.mark.parametrize("misfit", MISFITS)
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_rows_that_do_not_fit_the_table(table, misfit, mode):
    data, message = MISFITS[misfit]
    before = files(table)
    with pytest.raises(SchemaMismatchError, match=message):
        write_deltalake(table, data, **mode)
    assert files(table) == before


NO_TABLES = {
    "no column": (pa.table({}), "the data has no columns"),
    "two columns of one name": (
        pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]),
        "'a' and 'a' have the same name",
    ),
    "columns that differ in case": (
        pa.table({"a": [1], "A": [2]}),
        "'A' and 'a' have the same name up to case",
    ),
    "an empty name": (pa.Table.from_arrays([pa.array([1])], names=[""]), "name is empty"),
    "a time of day": (pa.table({"t": pa.array([1], pa.time64("us"))}), "'t': Delta has no type"),
    "a duration": (pa.table({"t": pa.array([1], pa.duration("us"))}), "'t': Delta has no type"),
    "a decimal of 50 digits": (
        pa.table({"d": pa.array([Decimal(1)], pa.decimal256(50, 2))}),
        "'d': Delta has no type",
    ),
}


@pytest.mark.parametrize("case", NO_TABLES)
def test_rows_that_no_table_can_be_made_of(tmp_path, case):
    data, message = NO_TABLES[case]
    with pytest.raises((SchemaMismatchError, UnsupportedFeatureError), match=message):
        write_deltalake(tmp_path / "new", data)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"configuration": {"delta.nope": "1"}},
        {"configuration": {"delta.appendOnly": "maybe"}},
        {"configuration": {"delta.checkpointInterval": "0"}},
        {"configuration": {"delta.logRetentionDuration": "1 day"}},
        {"configuration": {1: "x"}},
        {"configuration": {"delta.dataSkippingStatsColumns": "nowhere"}},
        {"configuration": {"delta.feature.nope": "supported"}},
        {"configuration": {"delta.enableChangeDataFeed": "true"}},
        {"partition_by": "nowhere"},
        {"partition_by": ["id", "_change_type"]},
        {"target_file_size": 0},
    ],
    ids=str,
)
def test_arguments_that_no_table_can_be_made_of(tmp_path, arguments):
    errors = (InvalidTablePropertyError, SchemaMismatchError, UnsupportedFeatureError, ValueError, TypeError)
    with pytest.raises(errors):
        write_deltalake(tmp_path / "new", pa.table({"id": [1], "_change_type": ["x"]}), **arguments)
    assert not files(tmp_path)


@pytest.mark.parametrize("partition_by", ["p", None])
def test_a_day_beyond_the_reach_of_python(tmp_path, partition_by):
    data = pa.table({"id": [1], "p": FAR})
    if partition_by is None:
        write_deltalake(tmp_path, data)
        assert DeltaTable(tmp_path).to_pyarrow_table()["p"].combine_chunks().equals(FAR)
        return
    with pytest.raises(UnsupportedFeatureError, match="partition value of type date"):
        write_deltalake(tmp_path, data, partition_by=partition_by)
    assert not files(tmp_path)


def broken_source(batches: int):
    def read():
        for number in range(batches):
            yield pa.record_batch(
                {
                    "id": np.arange(number * 1000, (number + 1) * 1000),
                    "day": [str(number % 7)] * 1000,
                }
            )
        raise OSError("the source broke")

    return pa.RecordBatchReader.from_batches(pa.schema([("id", pa.int64()), ("day", pa.string())]), read())


@pytest.mark.parametrize("batches", [0, 1, 40])
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_source_that_breaks(table, batches, mode):
    before = files(table)
    mode = mode | ({"predicate": "id >= 0"} if "predicate" in mode else {})
    with pytest.raises(OSError, match="the source broke"):
        write_deltalake(table, broken_source(batches), target_file_size=1000, **mode)
    assert files(table) == before


@pytest.mark.parametrize("batches", [0, 40])
def test_a_source_that_breaks_makes_no_table(tmp_path, batches):
    with pytest.raises(OSError, match="the source broke"):
        write_deltalake(tmp_path, broken_source(batches), partition_by="day", target_file_size=1000)
    assert not files(tmp_path)


@pytest.mark.parametrize("place", [0, 30])
def test_one_bad_row_among_many(table, place):
    """The files of the rows before it are gone again."""
    before = files(table)
    good = pa.record_batch({"small": pa.array([1] * 1000), "day": ["a"] * 1000})
    bad = pa.record_batch({"small": pa.array([1] * 999 + [128]), "day": ["a"] * 1000})
    batches = [good] * place + [bad] + [good] * 3
    with pytest.raises(SchemaMismatchError, match="'small': a value does not fit int8"):
        write_deltalake(table, batches, mode="append", target_file_size=100)
    assert files(table) == before


def test_null_for_what_is_not_null(tmp_path):
    DeltaTable.create(tmp_path, pa.schema([pa.field("id", pa.int64(), nullable=False), ("p", pa.string())]))
    before = files(tmp_path)
    for data in (pa.table({"id": [1, None]}), pa.table({"p": ["x"]})):
        with pytest.raises(ConstraintViolationError, match="'id'"):
            write_deltalake(tmp_path, data, mode="append")
    assert files(tmp_path) == before


@pytest.mark.parametrize("mode", [{"mode": "append"}, MODES[3]], ids=str)
def test_no_rows_make_no_version(table, mode):
    before = files(table)
    result = write_deltalake(table, ROWS.slice(0, 0), **mode)
    assert (result.version, result.num_files, result.is_replay) == (None, 0, False)
    assert files(table) == before


def test_no_rows_make_an_empty_table_and_empty_one(tmp_path):
    assert write_deltalake(tmp_path, ROWS.slice(0, 0)).version == 0
    assert write_deltalake(tmp_path, ROWS, mode="append").version == 1
    result = write_deltalake(tmp_path, ROWS.slice(0, 0), mode="overwrite")
    assert (result.version, result.num_removed_files) == (2, 1)
    assert DeltaTable(tmp_path).to_pyarrow_table().num_rows == 0


def test_no_rows_that_bring_a_column_make_a_version(table):
    data = pa.table({"more": pa.array([], pa.bool_())})
    assert write_deltalake(table, data, mode="append", schema_mode="merge").version == 1


def test_a_write_that_fails_stages_nothing_in_its_transaction(table):
    """Whoever catches the error may go on: neither the column nor the progress of the application stays."""
    before = files(table)
    data = pa.RecordBatchReader.from_batches(
        pa.schema([("id", pa.int64()), ("more", pa.bool_())]),
        (pa.record_batch({"id": [1], "more": [True]}) if number < 3 else 1 / 0 for number in range(4)),
    )
    progress = CommitProperties(app_transactions=[Transaction("app", 1)])
    with DeltaTable(table).transaction() as transaction:
        with pytest.raises(ZeroDivisionError):
            write_deltalake(transaction, data, mode="append", schema_mode="merge", commit_properties=progress)
        assert transaction.actions == ()
    assert transaction.version is None
    assert files(table) == before


def test_a_transaction_that_has_added_rows_cannot_overwrite(table):
    with DeltaTable(table).transaction() as transaction:
        write_deltalake(transaction, ROWS, mode="append")
        with pytest.raises(UnsupportedFeatureError, match="has added rows cannot overwrite"):
            write_deltalake(transaction, ROWS, mode="overwrite")
    assert DeltaTable(table).count() == 4
    with DeltaTable(table).transaction() as transaction:
        write_deltalake(transaction, ROWS, mode="overwrite")
        write_deltalake(transaction, ROWS, mode="append")
    assert DeltaTable(table).count() == 4


def test_rows_to_replace_are_told_by_sql_text(tmp_path):
    write_deltalake(tmp_path, pa.table({"p": [1]}))
    with pytest.raises(TypeError, match="is SQL text, not list"):
        write_deltalake(tmp_path, pa.table({"p": [1]}), mode="overwrite", predicate=[("p", "=", 1)])
