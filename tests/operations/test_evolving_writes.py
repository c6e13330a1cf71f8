"""Tables whose schema changed with a write: old and new rows, through every reader."""

import json
import tempfile

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import ConstraintViolationError, SchemaMismatchError
from deltaarrow.schema import Schema, conform, merge_schemas
from tests.support.examples import examples
from tests.support.rows import READERS, assert_same_rows
from tests.support.schemas import pairs, sample_rows
from tests.support.tables import TableBuilder


@settings(deadline=None, max_examples=examples(9), suppress_health_check=[HealthCheck.too_slow])
@given(pairs(), st.booleans())
def test_every_reader_reads_old_files_through_the_merged_schema(pair, widen):
    old, data = pair
    try:
        new = merge_schemas(old, data, widen=widen)
    except SchemaMismatchError:
        return
    configuration = {"delta.enableTypeWidening": str(widen).lower()}
    with tempfile.TemporaryDirectory() as folder:
        table = TableBuilder(folder).features("typeWidening", "timestampNtz")
        parts = [conform(sample_rows(old), old.to_arrow()), conform(sample_rows(data), new.to_arrow())]
        for schema, part in zip((old, new), parts, strict=True):
            table.metadata(schema.to_json(), configuration=configuration)
            table.commit([table.add_file(pa.Table.from_batches([part]), stats=False)])
        wanted = pa.concat_tables(pa.Table.from_batches([conform(part, new.to_arrow())]) for part in parts)
        for read in READERS.values():
            assert_same_rows(read(folder), wanted)


def rows(path):
    return DeltaTable(path).to_pyarrow_table().to_pylist()


def test_merging_while_appending(tmp_path):
    write_deltalake(tmp_path, pa.table({"Id": [1], "s": [{"x": 1}], "xs": [[{"i": 1}]]}))
    more = pa.table(
        {"xs": [[{"I": 2, "j": 3}]], "s": [{"y": "new"}], "ID": pa.array([2], pa.int8()), "z": [True]}
    )
    write_deltalake(tmp_path, more, mode="append", schema_mode="merge")
    assert rows(tmp_path) == [
        {"Id": 1, "s": {"x": 1, "y": None}, "xs": [{"i": 1, "j": None}], "z": None},
        {"Id": 2, "s": {"x": None, "y": "new"}, "xs": [{"i": 2, "j": 3}], "z": True},
    ]
    write_deltalake(tmp_path, more, mode="append", schema_mode="merge")
    commit = (tmp_path / f"_delta_log/{2:020}.json").read_text().splitlines()
    assert not any("metaData" in json.loads(line) for line in commit)


def test_a_column_without_a_type_gets_one_later(tmp_path):
    write_deltalake(tmp_path, pa.table({"a": [1], "v": pa.nulls(1)}))
    write_deltalake(tmp_path, pa.table({"a": [2], "v": [{"x": 1}]}), mode="append", schema_mode="merge")
    write_deltalake(tmp_path, pa.table({"a": pa.nulls(1), "v": pa.nulls(1)}), mode="append")
    wanted = [{"a": 1, "v": None}, {"a": 2, "v": {"x": 1}}, {"a": None, "v": None}]
    for read in READERS.values():
        assert_same_rows(read(tmp_path), pa.Table.from_pylist(wanted))


def test_merging_while_overwriting_keeps_the_columns_of_the_table(tmp_path):
    write_deltalake(tmp_path, pa.table({"a": [1], "p": ["x"]}), partition_by="p")
    write_deltalake(tmp_path, pa.table({"b": [2], "P": ["y"]}), mode="overwrite", schema_mode="merge")
    assert rows(tmp_path) == [{"a": None, "p": "y", "b": 2}]
    assert DeltaTable(tmp_path).metadata().partition_columns == ["p"]


def test_overwriting_the_schema_with_the_rows(tmp_path):
    write_deltalake(tmp_path, pa.table({"a": [1], "p": ["x"]}), partition_by="p")
    before = DeltaTable(tmp_path)
    data = pa.table({"a": ["text"], "q": [7]})
    write_deltalake(tmp_path, data, mode="overwrite", schema_mode="overwrite", partition_by=["q"])
    assert rows(tmp_path) == [{"a": "text", "q": 7}]
    assert before.to_pyarrow_table().to_pylist() == [{"a": 1, "p": "x"}]
    assert DeltaTable(tmp_path).metadata().partition_columns == ["q"]


def test_without_a_schema_mode_all_extra_columns_are_named(tmp_path):
    write_deltalake(tmp_path, pa.table({"a": [1], "s": [{"x": 1}]}))
    extra = pa.table({"b": [1], "s": [{"x": 1, "y": 2}], "c": [1]})
    with pytest.raises(SchemaMismatchError, match=r"no column 'b', 'c', 's\.y' \(schema_mode='merge'"):
        write_deltalake(tmp_path, extra, mode="append")
    assert DeltaTable(tmp_path).version() == 0


def test_merging_does_not_make_a_required_column_optional(tmp_path):
    required = pa.schema([pa.field("a", pa.int64(), nullable=False), ("b", pa.int64())])
    write_deltalake(tmp_path, pa.table({"a": [1], "b": [1]}, schema=required))
    with pytest.raises(ConstraintViolationError, match="'a' is missing"):
        write_deltalake(tmp_path, pa.table({"b": [1], "c": [1]}), mode="append", schema_mode="merge")
    table = DeltaTable(tmp_path)
    assert (table.version(), Schema.from_arrow(table.schema().to_arrow()).names) == (0, ["a", "b"])


def test_a_value_too_large_for_the_column_of_the_table_is_refused(tmp_path):
    write_deltalake(tmp_path, pa.table({"a": pa.array([1], pa.int8())}))
    for value in (127, 128):
        data = pa.table({"a": [value], "b": [1]})
        if value == 127:
            write_deltalake(tmp_path, data, mode="append", schema_mode="merge")
            continue
        with pytest.raises(SchemaMismatchError, match="'a': a value does not fit int8"):
            write_deltalake(tmp_path, data, mode="append", schema_mode="merge")
    assert rows(tmp_path) == [{"a": 1, "b": None}, {"a": 127, "b": 1}]
