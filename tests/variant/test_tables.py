"""Tables whose files hold variants in different forms, read as one."""

import datetime

import duckdb
import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import CorruptDataFileError
from deltaarrow.scan import plan_scan
from deltaarrow.scan.batches import BatchReader
from deltaarrow.variant import parse
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder
from tests.support.variants import Shape, shredded

VARIANT = {"type": "struct", "fields": [{"name": "v", "type": "variant", "nullable": True, "metadata": {}}]}
OBJECT = Shape({"a": Shape(pa.int64()), "b": Shape(Shape(pa.string()))})
VALUES = [{"a": 1, "b": ["x", 2]}, {"a": "one", "c": None}, [1.5], None, "text"]


def field(name, data_type):
    return {"name": name, "type": data_type, "nullable": True, "metadata": {}}


def variant_table(path, schema=VARIANT):
    return TableBuilder(path).features("variantType", "variantShredding").metadata(schema)


def read(path):
    table = da.DeltaTable(path).to_pyarrow_table()
    table.validate(full=True)
    return table


def parsed(column):
    return [None if row is None else parse(**row) for row in column.to_pylist()]


@pytest.mark.feature("variantType")
@pytest.mark.feature("variantShredding")
@pytest.mark.parametrize("deleted", [[], [0, 3]])
def test_files_shredded_differently_are_one_column(tmp_path, deleted):
    table = variant_table(tmp_path)
    adds = []
    for shape in [OBJECT, Shape(pa.string()), Shape(Shape(pa.float64())), Shape()]:
        rows = pa.table({"v": shredded(VALUES, shape)})
        vector = table.deletion_vector(deleted) if deleted else None
        adds.append(table.add_file(rows, stats=False, deletion_vector=vector))
    table.commit(adds)
    kept = [value for row, value in enumerate(VALUES) if row not in deleted]
    assert parsed(read(tmp_path)["v"]) == kept * 4


@pytest.mark.feature("variantType")
def test_variants_inside_of_other_types(tmp_path):
    in_struct = {"type": "struct", "fields": [field("x", "long"), field("w", "variant")]}
    schema = {
        "type": "struct",
        "fields": [
            field("s", in_struct),
            field("l", {"type": "array", "elementType": "variant", "containsNull": True}),
            field(
                "m", {"type": "map", "keyType": "string", "valueType": in_struct, "valueContainsNull": True}
            ),
        ],
    }
    variants = shredded(VALUES, OBJECT)
    structs = pa.StructArray.from_arrays(
        [pa.array(range(5)), variants], ["x", "w"], mask=pa.array([False, True, False, False, False])
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 2, None, 2, 4, 5], pa.int32()), variants)
    maps = pa.MapArray.from_arrays(pa.array([0, 0, 3, 3, 4, 5], pa.int32()), pa.array(list("abcde")), structs)
    table = variant_table(tmp_path, schema)
    table.commit([table.add_file(pa.table({"s": structs, "l": lists, "m": maps}), stats=False)])
    rows = read(tmp_path).to_pylist()

    def plain(row):
        return None if row is None else {"x": row["x"], "w": row["w"] and parse(**row["w"])}

    wanted = [{"x": i, "w": value} for i, value in enumerate(VALUES)]
    wanted[1] = None
    assert [plain(row["s"]) for row in rows] == wanted
    assert [row["l"] and [each and parse(**each) for each in row["l"]] for row in rows] == [
        VALUES[0:2],
        [],
        None,
        VALUES[2:4],
        VALUES[4:5],
    ]
    assert [[(key, plain(each)) for key, each in row["m"]] for row in rows] == [
        [],
        list(zip("abc", wanted[:3], strict=True)),
        [],
        [("d", wanted[3])],
        [("e", wanted[4])],
    ]


def test_large_batches_are_put_together_in_parts(tmp_path):
    values = [{"a": i, "b": [str(i)]} for i in range(50)]
    table = variant_table(tmp_path)
    table.commit([table.add_file(pa.table({"v": shredded(values, OBJECT)}), stats=False)])
    plan = plan_scan(open_snapshot(tmp_path))
    batches = [*BatchReader(plan.layout, plan.columns, variant_bytes=100).read(plan.tasks)]
    assert len(batches) > 10
    assert parsed(pa.Table.from_batches(batches)["v"]) == values


def test_files_of_duckdb(tmp_path):
    table = variant_table(tmp_path)
    file = tmp_path / "part.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT {'a': i::BIGINT, 'b': ['x', 'y' || i], 'c': DATE '2024-01-01'}::VARIANT AS v"
            f" FROM range(10) t(i)) TO '{file}' (shredding {{v: 'STRUCT(a BIGINT, b VARCHAR[])'}})"
        )
    add = table.add_file(10, stats=False, name="part.parquet", size=file.stat().st_size)
    table.commit([add])
    day = datetime.date(2024, 1, 1)
    assert parsed(read(tmp_path)["v"]) == [{"a": i, "b": ["x", f"y{i}"], "c": day} for i in range(10)]


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ({"metadata": b"\x01\x00\x00", "value": b"\x00", "typed_value": 1}, "both value and typed_value"),
        ({"metadata": b"\x01\x00\x00", "value": b"", "typed_value": None}, "no bytes"),
    ],
)
def test_an_error_names_the_file_and_the_column(tmp_path, stored, reason):
    stored_type = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
    rows = pa.table({"v": pa.array([stored, stored | {"value": None, "typed_value": 2}], stored_type)})
    table = variant_table(tmp_path)
    table.commit([table.add_file(rows, stats=False, name="broken.parquet")])
    with pytest.raises(CorruptDataFileError, match=rf"broken\.parquet, column v: .*{reason}"):
        read(tmp_path)


def test_a_type_that_no_variant_has_is_refused_with_file_and_column(tmp_path):
    stored_type = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.uint32())])
    table = variant_table(tmp_path)
    table.commit([table.add_file(pa.table({"v": pa.nulls(1, stored_type)}), stats=False, name="f.parquet")])
    with pytest.raises(
        CorruptDataFileError, match=r"f\.parquet, column v: typed_value is shredded as uint32"
    ):
        read(tmp_path)
