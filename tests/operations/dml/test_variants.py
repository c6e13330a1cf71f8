"""Rows that are changed, replaced and read by parts of variants, with and without deletion vectors."""

import pyarrow as pa
import pytest

import deltaarrow
from deltaarrow import DeltaTable
from deltaarrow.errors import ConstraintViolationError
from deltaarrow.schema import Field, Schema
from deltaarrow.variant import to_json

pytestmark = pytest.mark.feature("variantType")


@pytest.fixture(params=["true", "false"], ids=["marks", "rewrites"])
def table(tmp_path, request):
    DeltaTable.create(
        tmp_path,
        Schema([Field("id", "long"), Field("v", "variant")]),
        configuration={"delta.enableDeletionVectors": request.param},
    )
    rows = pa.table({"id": [1, 2, 3, 4], "v": ['{"a": {"b": 1}}', "null", None, '{"a": {"b": 7}, "l": [1]}']})
    deltaarrow.write_deltalake(tmp_path, rows, mode="append")
    return DeltaTable(tmp_path)


def rows_of(table):
    rows = table.to_pyarrow_table().sort_by("id")
    return list(zip(rows["id"].to_pylist(), to_json(rows["v"]).to_pylist(), strict=True))


def test_a_part_of_a_variant_chooses_the_rows_to_delete(table):
    assert table.delete("v:a.b::int = 1 OR v:a IS NULL")["num_deleted_rows"] == 3
    assert rows_of(table) == [(4, '{"a":{"b":7},"l":[1]}')]


def test_an_update_computes_values_of_parts_of_variants(table):
    table.update(
        updates={"id": "v:a.b::int + 10", "v": "v:l"}, predicate="array_contains(v:l::array<int>, 1)"
    )
    table.update(updates={"v": "parse_json(concat('[', id, ']'))"}, predicate="is_variant_null(v)")
    assert rows_of(table) == [(1, '{"a":{"b":1}}'), (2, "[2]"), (3, None), (17, "[1]")]


def test_a_merge_matches_rows_by_parts_of_variants(table):
    source = pa.table({"key": [1, 9], "note": ["seen", "new"]})
    merger = table.merge(source, "t.v:a.b::long = s.key", source_alias="s", target_alias="t")
    merger.when_matched_update({"v": "parse_json(concat('\"', s.note, ' ', t.v:a.b::string, '\"'))"})
    merger.when_not_matched_insert({"id": "s.key"}).execute()
    assert rows_of(table)[0] == (1, '"seen 1"')
    assert rows_of(table)[-1] == (9, None)


def test_a_part_that_cannot_be_cast_changes_nothing(table):
    with pytest.raises(ConstraintViolationError, match=r"INVALID_VARIANT_CAST.* v:a::int = 1"):
        table.delete("v:a::int = 1")
    assert table.version() == 1


def test_rows_to_replace_are_chosen_by_parts_of_variants(table, tmp_path):
    rows = pa.table({"id": [9], "v": ['{"a": {"b": 7}}']})
    result = deltaarrow.write_deltalake(tmp_path, rows, mode="overwrite", predicate="v:a.b::int = 7")
    assert result.num_deleted_rows == 1
    assert [row for row, _ in rows_of(DeltaTable(tmp_path))] == [1, 2, 3, 9]


def test_a_filter_reads_rows_by_parts_of_variants(table):
    assert table.to_pyarrow_table(filters="v:a.b::int > 1 AND id > 1")["id"].to_pylist() == [4]
    assert table.to_pyarrow_table(filters="schema_of_variant(v) = 'VOID'")["id"].to_pylist() == [2]
