"""What differs between two versions: held against the rows of both, counted one by one."""

from collections import Counter

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.table.difference import Change, VersionDifference

PROPERTIES = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}


def difference(path, first, last):
    older, newer = (da.DeltaTable(path, version=version).snapshot for version in (first, last))
    return VersionDifference(older, newer)


def changed(path, first, last):
    """How often each row, as text, came or went."""
    found = difference(path, first, last)
    with found.open_rows() as reader:
        rows = reader.read_all().to_pylist()
    kinds = [row.pop("_change_type") for row in rows]
    assert found.count_rows() == {kind: kinds.count(kind) for kind in ("insert", "delete")}
    return Counter(zip(kinds, map(repr, rows), strict=True))


def expected(path, first, last):
    """The same from all rows of both versions; of the older one with the columns of the newer one."""
    newer = da.DeltaTable(path, version=last).to_pyarrow_table()
    older = da.DeltaTable(path, version=first).to_pyarrow_table().to_pylist()
    rows = [repr({name: row.get(name) for name in newer.column_names}) for row in older]
    before, after = Counter(rows), Counter(map(repr, newer.to_pylist()))
    return Counter(
        {("insert", row): n for row, n in (after - before).items()}
        | {("delete", row): n for row, n in (before - after).items()}
    )


def rows_of(*ids):
    nested = [{"x": i, "l": [i, None]} if i % 3 else None for i in ids]
    return pa.table({"id": ids, "s": [f"t{i % 2}" for i in ids], "st": nested, "p": [i % 2 for i in ids]})


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_rows_are_those_that_one_version_has_more_often(tmp_path, vectors):
    properties = {**PROPERTIES, "delta.enableDeletionVectors": vectors}
    da.write_deltalake(tmp_path, rows_of(1, 2, 3, 3, 4, 5), partition_by="p", configuration=properties)
    table = da.DeltaTable(tmp_path)
    table.delete("id = 2")
    table.update({"s": "'new'"}, predicate="id = 3")
    da.write_deltalake(table, rows_of(3, 6, 7), mode="append")
    table.optimize()
    table.delete("id IN (4, 6)")
    table.alter.add_columns([da.Field("more", "integer")])
    table.update({"more": "7"}, predicate="id = 5")
    table.alter.rename_column("st", "nested")
    table.delete("id = 1")
    table.restore(3)
    newest = table.version()
    for first in range(newest + 1):
        for last in sorted({first, min(first + 1, newest), min(first + 4, newest), newest}):
            if "nested" not in da.DeltaTable(tmp_path, version=last).schema().names or first >= 8:
                assert changed(tmp_path, first, last) == expected(tmp_path, first, last), (first, last)
    assert changed(tmp_path, 3, 4) == Counter()
    assert changed(tmp_path, 6, 7).total() == 2


def test_rows_in_files_of_both_versions_are_not_read(tmp_path):
    da.write_deltalake(tmp_path, rows_of(1, 2), configuration=PROPERTIES)
    kept = [*tmp_path.glob("**/*.parquet")]
    da.write_deltalake(tmp_path, rows_of(3), mode="append")
    for file in kept:
        file.unlink()
    assert changed(tmp_path, 0, 1) == Counter({("insert", repr(rows_of(3).to_pylist()[0])): 1})


def test_an_emptied_table_lacks_all_rows(tmp_path):
    da.write_deltalake(tmp_path, rows_of(1, 2))
    da.DeltaTable(tmp_path).delete()
    assert difference(tmp_path, 0, 1).count_rows() == {"insert": 0, "delete": 2}


def test_a_column_of_another_type_is_compared_by_its_text(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"id": [1, 2]}))
    other = pa.table({"id": ["1", "x"]})
    da.write_deltalake(tmp_path, other, mode="overwrite", schema_mode="overwrite")
    assert changed(tmp_path, 0, 1) == {("insert", "{'id': 'x'}"): 1, ("delete", "{'id': '2'}"): 1}


def test_columns_settings_and_protocol_are_compared(tmp_path):
    da.write_deltalake(tmp_path, rows_of(1), configuration={"delta.appendOnly": "true"})
    alter = da.DeltaTable(tmp_path).alter
    alter.set_table_properties({"delta.appendOnly": "false", **PROPERTIES})
    alter.set_table_description("orders")
    alter.drop_columns(["s"])
    alter.set_column_metadata("p", {"comment": "part"})
    alter.add_columns([da.Field("more", "integer")])
    alter.unset_table_properties("delta.appendOnly")
    found = difference(tmp_path, 0, da.DeltaTable(tmp_path).version()).changes
    assert [each for each in found if each.part in ("column", "table")] == [
        Change("column", "s", "string", None),
        Change("column", "p", "bigint", "bigint COMMENT 'part'"),
        Change("column", "more", None, "int"),
        Change("table", "description", None, "orders"),
    ]
    assert [each.kind for each in found[:4]] == ["removed", "changed", "added", "added"]
    assert Change("property", "delta.appendOnly", "true", None) in found
    assert Change("property", "delta.columnMapping.mode", None, "name") in found
    assert Change("protocol", "deletionVectors", None, "supported") in found
    assert difference(tmp_path, 1, 1).changes == []


def test_a_name_that_the_rows_need_is_refused(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"_Change_Type": [1]}))
    found = difference(tmp_path, 0, 0)
    assert found.count_rows() == {"insert": 0, "delete": 0}
    with pytest.raises(da.DeltaError, match="rename the column"), found.open_rows():
        pass
