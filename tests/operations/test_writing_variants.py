"""Variants written to tables: their input forms, the refusals, and their form in files."""

import json

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaarrow as da
from deltaarrow.schema import ArrayType, Field, MapType, PrimitiveType, Schema, StructType
from deltaarrow.variant import Shape, parse_json, shred, to_json, variant_array
from tests.support.rows import READERS
from tests.support.tables import TableBuilder

pytestmark = [pytest.mark.feature("variantType"), pytest.mark.feature("variantShredding")]

VARIANT = PrimitiveType("variant")
TEXTS = ['{"a":1}', None, "null", '[1,"x"]']
SHREDS = {"delta.enableVariantShredding": "true"}


class VariantType(pa.ExtensionType):
    """The type as other libraries register it; its storage has the members the other way round."""

    def __init__(self):
        """Take the name of the canonical type."""
        storage = pa.struct(
            [pa.field("value", pa.binary()), pa.field("metadata", pa.binary(), nullable=False)]
        )
        super().__init__(storage, "arrow.parquet.variant")

    def __arrow_ext_serialize__(self):
        """There is nothing to say of it."""
        return b""


def turned(variants):
    """The same with the members the other way round, and large."""
    metadata, value = (variants.field(name).cast(pa.large_binary()) for name in ("metadata", "value"))
    return pa.StructArray.from_arrays([value, metadata], ["value", "metadata"], mask=variants.is_null())


def texts_of(path, way="arrow", column="v"):
    return to_json(READERS[way](path)[column]).to_pylist()


FORMS = {
    "text": pa.array(TEXTS),
    "large text": pa.array(TEXTS, pa.large_string()),
    "text of few kinds": pa.array(TEXTS).dictionary_encode(),
    "binary": parse_json(pa.array(TEXTS)),
    "binary, turned": turned(parse_json(pa.array(TEXTS))),
    "shredded": shred(parse_json(pa.array(TEXTS)), Shape({"a": Shape(pa.int64())})),
    "extension": pa.ExtensionArray.from_storage(
        VariantType(), turned(parse_json(pa.array(TEXTS))).cast(VariantType().storage_type)
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(tmp_path, form):
    da.DeltaTable.create(tmp_path, Schema([Field("v", VARIANT)]))
    for mode in ("append", "overwrite", "append"):
        da.write_deltalake(tmp_path, pa.table({"V": FORMS[form]}), mode=mode)
    assert texts_of(tmp_path) == TEXTS * 2
    assert da.DeltaTable(tmp_path).schema().fields[0].type == VARIANT


def test_text_of_null_type_is_null(tmp_path):
    da.DeltaTable.create(tmp_path, Schema([Field("v", VARIANT), Field("w", VARIANT)]))
    da.write_deltalake(tmp_path, pa.table({"v": pa.nulls(2)}), mode="append")
    assert texts_of(tmp_path) == texts_of(tmp_path, column="w") == [None, None]


def test_a_new_table_has_variants_where_the_data_says_so(tmp_path):
    plain = parse_json(pa.array(TEXTS))
    data = pa.table({"e": FORMS["extension"], "s": plain, "t": FORMS["text"], "n": [1, 2, 3, 4]})
    marked = data.append_column(
        pa.field("m", plain.type, metadata={"ARROW:extension:name": "arrow.parquet.variant"}), plain
    )
    da.write_deltalake(tmp_path / "arrow", marked)
    types = {field.name: field.type for field in da.DeltaTable(tmp_path / "arrow").schema().fields}
    assert types["e"] == types["m"] == VARIANT
    assert isinstance(types["s"], StructType)
    assert types["t"] == PrimitiveType("string")
    da.write_deltalake(tmp_path / "again", da.DeltaTable(tmp_path / "arrow").to_pyarrow_table())
    assert da.DeltaTable(tmp_path / "again").schema() == da.DeltaTable(tmp_path / "arrow").schema()
    with duckdb.connect() as con:
        da.write_deltalake(tmp_path / "duckdb", con.sql("""SELECT '{"a": 1}'::JSON::VARIANT AS v"""))
    assert texts_of(tmp_path / "duckdb") == ['{"a":1}']


NESTED = Schema(
    [
        Field("s", StructType([Field("w", VARIANT), Field("x", "long")])),
        Field("l", ArrayType(StructType([Field("w", VARIANT)]))),
        Field("m", MapType(PrimitiveType("string"), VARIANT)),
    ]
)


@pytest.mark.parametrize("configuration", [{}, SHREDS, SHREDS | {"delta.columnMapping.mode": "name"}])
def test_variants_in_structs_arrays_and_maps(tmp_path, configuration):
    da.DeltaTable.create(tmp_path, NESTED, configuration=configuration)
    data = pa.table(
        {
            "m": pa.array([[("k", '{"a":1}'), ("l", None)], None, []], pa.map_(pa.string(), pa.string())),
            "s": [{"x": 1, "w": '{"a":1,"b":"x"}'}, None, {"x": 2, "w": None}],
            "l": [[{"w": "1"}, None, {"w": None}], [], None],
        }
    )
    da.write_deltalake(tmp_path, data.slice(0, 1), mode="append")
    da.write_deltalake(tmp_path, data.slice(1), mode="append")
    for way in ("arrow", "dataset", "polars"):
        rows = sorted(READERS[way](tmp_path).to_pylist(), key=lambda row: row["s"]["x"] if row["s"] else 9)
        members = [row["s"] and row["s"]["w"] for row in rows]
        assert to_json(variants(members)).to_pylist() == ['{"a":1,"b":"x"}', None, None], way
        assert to_json(variants(dict(rows[0]["m"]).values())).to_pylist() == ['{"a":1}', None]
        assert [each and each["w"] is None for each in rows[0]["l"]] == [False, None, True], way
    assert [str(finding) for finding in da.DeltaTable(tmp_path).verify(deep=True)] == []


def variants(values):
    return pa.array(list(values), variant_array([]).type)


@pytest.mark.parametrize(
    ("column", "error", "match"),
    [
        (pa.array(['{"a":1', "1"]), da.SchemaMismatchError, "not JSON"),
        (pa.array(['{"a":1,"a":2}', "1"]), da.SchemaMismatchError, "two fields of one name"),
        (
            variants([{"metadata": b"\x02\x00\x00", "value": b"\x00"}] * 2),
            da.SchemaMismatchError,
            "version 1",
        ),
        (variants([{"metadata": b"\x01\x00\x00", "value": b"\x0c"}] * 2), da.SchemaMismatchError, "cut off"),
        (variants([{"metadata": b"\x01\x00\x00", "value": None}] * 2), da.SchemaMismatchError, "lacks"),
        (pa.array([{"value": b"\x00"}] * 2), da.SchemaMismatchError, "is no variant"),
        (pa.array([{"a": 1}] * 2), da.SchemaMismatchError, "is no variant"),
        (pa.array([1, 2]), da.SchemaMismatchError, "does not fit"),
        (pa.array([b"1", b"2"]), da.SchemaMismatchError, "does not fit"),
        (pa.array(["1", None]), da.ConstraintViolationError, "NOT NULL"),
    ],
)
def test_what_is_no_variant_is_refused(tmp_path, column, error, match):
    da.DeltaTable.create(tmp_path, Schema([Field("v", VARIANT, nullable=False)]))
    with pytest.raises(error, match=match):
        da.write_deltalake(tmp_path, pa.table({"v": column}), mode="append")
    assert da.DeltaTable(tmp_path).version() == 0
    assert not list(tmp_path.glob("*.parquet"))


def test_rules_for_columns_of_variants(tmp_path):
    schema = Schema([Field("id", "long"), Field("v", VARIANT)])
    with pytest.raises(da.SchemaMismatchError, match="cannot partition"):
        da.DeltaTable.create(tmp_path, schema, partition_by="v")
    made = {"delta.generationExpression": "parse_json('1')"}
    with pytest.raises(da.SchemaMismatchError, match="a variant cannot be generated"):
        da.DeltaTable.create(tmp_path, Schema([Field("id", "long"), Field("v", VARIANT, metadata=made)]))
    given = Schema([Field("id", "long"), Field("v", VARIANT, metadata={"CURRENT_DEFAULT": "NULL"})])
    da.DeltaTable.create(tmp_path, given, configuration={"delta.feature.allowColumnDefaults": "supported"})
    da.DeltaTable(tmp_path).alter.add_constraint({"positive": "id > 0"})
    da.write_deltalake(tmp_path, pa.table({"id": [1]}), mode="append")
    da.write_deltalake(tmp_path, pa.table({"id": [2], "v": ["[]"]}), mode="append")
    assert sorted(texts_of(tmp_path), key=repr) == ["[]", None]


def shredded_leaves(path):
    (file,) = path.glob("*.parquet")
    schema = pq.ParquetFile(file).schema
    return [schema.column(place).path for place in range(len(schema))]


def test_files_are_shredded_as_their_first_rows_are(tmp_path):
    da.DeltaTable.create(tmp_path, Schema([Field("id", "long"), Field("v", VARIANT)]), configuration=SHREDS)
    first = [json.dumps({"n": number, "t": f"t{number}", "d": number / 4 + 0.1}) for number in range(3000)]
    later = ['{"n":"text","more":[1]}', "7", None, '{"n":1,"d":1e300}', "null"] * 600
    batches = [
        pa.record_batch({"id": np.arange(len(texts)) + start, "v": texts})
        for start, texts in ((0, first), (3000, later))
    ]
    reader = pa.RecordBatchReader.from_batches(batches[0].schema, batches)
    properties = da.WriterProperties(max_row_group_size=3000)
    da.write_deltalake(tmp_path, reader, mode="append", writer_properties=properties)
    assert shredded_leaves(tmp_path) == [
        *("id", "v.metadata", "v.value", "v.typed_value.d.value", "v.typed_value.d.typed_value"),
        *("v.typed_value.n.value", "v.typed_value.n.typed_value"),
        *("v.typed_value.t.value", "v.typed_value.t.typed_value"),
    ]
    wanted = to_json(parse_json(pa.array([*first, *later]))).to_pylist()
    for way in ("arrow", "dataset", "polars"):
        table = READERS[way](tmp_path).sort_by("id")
        assert to_json(table["v"]).to_pylist() == wanted, way
    stats = json.loads(da.DeltaTable(tmp_path).snapshot.files()["stats"][0].as_py())
    assert stats == {
        "numRecords": 6000,
        "minValues": {"id": 0},
        "maxValues": {"id": 5999},
        "nullCount": {"id": 0, "v": 600},
    }
    da.write_deltalake(tmp_path, pa.table({"id": [1]}), mode="overwrite", predicate="id = 1")
    assert da.DeltaTable(tmp_path).count() == 6000


@pytest.mark.parametrize("configuration", [{}, {"delta.enableVariantShredding": "false"}])
def test_files_are_not_shredded_unless_the_table_says_so(tmp_path, configuration):
    da.DeltaTable.create(tmp_path, Schema([Field("v", VARIANT)]), configuration=configuration)
    da.write_deltalake(tmp_path, pa.table({"v": ['{"a":1}'] * 10}), mode="append")
    assert shredded_leaves(tmp_path) == ["v.value", "v.metadata"]


def test_partitions_are_shredded_each_in_its_way(tmp_path):
    schema = Schema([Field("day", "string"), Field("v", VARIANT)])
    da.DeltaTable.create(tmp_path, schema, partition_by="day", configuration=SHREDS)
    texts = ['{"a":1}', '{"b":"x"}', '{"a":2}', "[]"]
    da.write_deltalake(tmp_path, pa.table({"day": ["1", "2", "1", "3"], "v": texts}), mode="append")
    assert sorted(texts_of(tmp_path)) == sorted(texts)
    data = pa.table({"day": ["1"], "v": ["5"]})
    da.write_deltalake(tmp_path, data, mode="overwrite", partition_overwrite_mode="dynamic")
    assert sorted(texts_of(tmp_path)) == ["5", "[]", '{"b":"x"}']


def test_a_text_column_replaces_variants_when_the_schema_is_overwritten(tmp_path):
    da.DeltaTable.create(tmp_path, Schema([Field("v", VARIANT)]))
    da.write_deltalake(tmp_path, pa.table({"v": ["not JSON"]}), mode="overwrite", schema_mode="overwrite")
    assert da.DeltaTable(tmp_path).to_pyarrow_table()["v"].to_pylist() == ["not JSON"]


def test_tables_of_the_preview_keep_its_names(tmp_path):
    names = ("variantType-preview", "variantShredding-preview")
    table = TableBuilder(tmp_path).features(*names)
    schema = Schema([Field("id", "long"), Field("v", VARIANT)])
    table.metadata(schema.to_json(), configuration=SHREDS).commit([])
    protocol = da.DeltaTable(tmp_path).protocol()
    text = ['{"a":1}', None]
    da.write_deltalake(tmp_path, pa.table({"id": [1, 2], "v": text}), mode="append")
    marked = pa.field("w", FORMS["binary"].type, metadata={"ARROW:extension:name": "arrow.parquet.variant"})
    more = pa.table({"id": [3, 4], "v": text}).append_column(marked, parse_json(pa.array(text)))
    da.write_deltalake(tmp_path, more, mode="append", schema_mode="merge")
    assert texts_of(tmp_path) == text * 2
    da.write_deltalake(tmp_path, more, mode="overwrite")
    da.write_deltalake(tmp_path, more, mode="overwrite", schema_mode="overwrite")
    assert texts_of(tmp_path, column="w") == text
    assert da.DeltaTable(tmp_path).schema().field("w").type == VARIANT
    assert da.DeltaTable(tmp_path).protocol() == protocol
    assert set(protocol.reader_features) == set(names)
    logs = [file.read_text() for file in sorted((tmp_path / "_delta_log").glob("*.json"))]
    assert len(logs) == 5
    assert not any('"protocol":' in each for each in logs[1:])
