"""Columns in Polars: names, types, and columns that files hold under other names or not at all."""

import datetime
import decimal

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.engines.polars import native_scan as polars_native
from deltaarrow.engines.polars.lazy_frame import scan_delta
from deltaarrow.errors import CorruptDataFileError
from tests.support.tables import TableBuilder

UTC = datetime.UTC


def mapped(name, kind, number, physical=None, **metadata):
    """A field of a mapped table, in the protocol's JSON."""
    names = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": physical or f"col-{number}",
    }
    return {"name": name, "type": kind, "nullable": True, "metadata": names | metadata}


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(element):
    return {"type": "array", "elementType": element, "containsNull": True}


def mapping(key, value):
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def with_id(name, kind, number):
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def is_native(frame):
    return "Parquet SCAN" in frame.explain()


EVERY_TYPE = pa.schema(
    [
        ("byte", pa.int8()),
        ("short", pa.int16()),
        ("integer", pa.int32()),
        ("long", pa.int64()),
        ("float", pa.float32()),
        ("double", pa.float64()),
        ("boolean", pa.bool_()),
        ("string", pa.string()),
        ("binary", pa.binary()),
        ("date", pa.date32()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("ntz", pa.timestamp("us")),
        ("small", pa.decimal128(5, 2)),
        ("large", pa.decimal128(38, 10)),
    ]
)
NESTED = pa.schema(
    [
        ("list", pa.list_(pa.int16())),
        ("map", pa.map_(pa.string(), pa.struct([("a", pa.int8()), ("t", pa.timestamp("us", "UTC"))]))),
        ("struct", pa.struct([("a", pa.list_(pa.struct([("b", pa.string())])))])),
        ("void", pa.null()),
    ]
)
VALUES = {
    "byte": -128,
    "short": 32767,
    "integer": -(2**31),
    "long": 2**63 - 1,
    "float": 0.1,
    "double": -0.0,
    "boolean": True,
    "string": "ü \0 '",
    "binary": b"\x00\xff",
    "date": datetime.date(9999, 12, 31),
    "timestamp": datetime.datetime(1500, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
    "ntz": datetime.datetime(1, 1, 1),
    "small": decimal.Decimal("-999.99"),
    "large": decimal.Decimal("1234567890123456789012345678.0123456789"),
    "list": [1, None],
    "map": [("k", {"a": 1, "t": None}), ("l", None)],
    "struct": {"a": [{"b": "x"}, None, {"b": None}]},
    "void": None,
}


@pytest.mark.parametrize("native", [True, False])
def test_every_type(tmp_path, native):
    schema = pa.unify_schemas([EVERY_TYPE, NESTED])
    rows = pa.table({f.name: pa.array([VALUES[f.name], None], f.type) for f in schema if f.name != "void"})
    if not native:  # a case of its own makes pyarrow read the file
        rows = rows.rename_columns([name.upper() for name in rows.column_names])
    builder = TableBuilder(tmp_path).protocol().metadata(schema)
    builder.commit([builder.add_file(rows, stats=False)])
    frame = scan_delta(tmp_path)
    assert is_native(frame) == native
    assert frame.collect_schema() == pl.Schema(schema)
    found = frame.collect()
    assert found.schema == pl.Schema(schema)
    expected = pa.table({f.name: pa.array([VALUES[f.name], None], f.type) for f in schema})
    assert_frame_equal(found, pl.DataFrame(expected))


PARTITION_TEXTS = {
    "byte": "-128",
    "short": "32767",
    "integer": "-2147483648",
    "long": "9223372036854775807",
    "float": "0.1",
    "double": "-0.0",
    "boolean": "true",
    "string": "a b%3A/=ü'",
    "date": "0001-01-01",
    "timestamp": "1500-01-01T00:00:00.000001Z",
    "ntz": "9999-12-31 23:59:59.999999",
    "small": "-999.99",
    "large": "1234567890123456789012345678.0123456789",
}
PARTITION_VALUES = VALUES | {
    "string": "a b%3A/=ü'",
    "date": datetime.date(1, 1, 1),
    "ntz": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
}


@pytest.mark.parametrize("physical", [False, True])
def test_partition_values_are_the_log_s(tmp_path, physical):
    """Whatever a file holds under the name of a partition column: Spark writes it at times."""
    columns = [f for f in EVERY_TYPE if f.name != "binary"]
    builder = TableBuilder(tmp_path).protocol()
    builder.metadata(pa.schema([("id", pa.int64()), *columns]), [f.name for f in columns])
    rows = pa.table({"id": [1]})
    if physical:
        rows = rows.append_column("long", pa.array([7])).append_column("string", pa.array(["file"]))
    builder.commit(
        [
            builder.add_file(rows, PARTITION_TEXTS),
            builder.add_file(rows, dict.fromkeys(PARTITION_TEXTS)),
        ]
    )
    frame = scan_delta(tmp_path)
    expected = pa.table(
        {"id": [1, 1]} | {f.name: pa.array([PARTITION_VALUES[f.name], None], f.type) for f in columns}
    )
    assert_frame_equal(frame.sort("string", nulls_last=True).collect(), pl.DataFrame(expected))
    for name in PARTITION_TEXTS:
        value = pl.lit(PARTITION_VALUES[name], dtype=frame.collect_schema()[name])
        assert frame.filter(pl.col(name) == value).collect().height == 1
        assert frame.filter(pl.col(name).is_null()).select("id").collect().height == 1


def test_columns_and_nested_fields_that_a_file_lacks_are_null(tmp_path):
    old = pa.table(
        {
            "id": [1],
            "s": [{"a": 1}],
            "l": [[{"a": 1}]],
            "m": pa.array([[("k", {"a": 1})]], pa.map_(pa.string(), pa.struct([("a", pa.int64())]))),
        }
    )
    item = pa.struct([("new", pa.string()), ("a", pa.int64()), ("deep", pa.struct([("x", pa.date32())]))])
    schema = pa.schema(
        [
            ("n", pa.decimal128(9, 1)),
            ("id", pa.int64()),
            ("s", item),
            ("l", pa.list_(item)),
            ("m", pa.map_(pa.string(), item)),
        ]
    )
    builder = TableBuilder(tmp_path).protocol().metadata(schema)
    builder.commit([builder.add_file(old)])
    frame = scan_delta(tmp_path)
    assert is_native(frame)
    value = {"new": None, "a": 1, "deep": None}
    (row,) = frame.collect().to_arrow().to_pylist()
    assert row == {"n": None, "id": 1, "s": value, "l": [value], "m": [("k", value)]}
    assert frame.filter(pl.col("n").is_null()).select(pl.len()).collect().item() == 1
    assert frame.filter(pl.col("s").struct.field("new").is_null()).collect().height == 1
    assert frame.select("n").collect().shape == (1, 1)


def test_a_column_in_another_case_is_found(tmp_path):
    """As in Spark; Polars would fill it with NULL."""
    schema = pa.schema([("Id", pa.int64()), ("s", pa.struct([("Aa", pa.int64()), ("b", pa.int64())]))])
    builder = TableBuilder(tmp_path).protocol().metadata(schema)
    builder.commit(
        [
            builder.add_file(pa.table({"Id": [1], "s": [{"Aa": 1, "b": 1}]})),
            builder.add_file(pa.table({"ID": [2], "s": [{"Aa": 2, "b": 2}]})),
            builder.add_file(pa.table({"Id": [3], "s": [{"aa": 3, "b": 3}]})),
        ]
    )
    frame = scan_delta(tmp_path)
    expected = [{"Id": n, "s": {"Aa": n, "b": n}} for n in (1, 2, 3)]
    assert frame.sort("Id").collect().to_dicts() == expected
    assert (
        frame.filter(pl.col("Id") >= 2, pl.col("s").struct.field("Aa") < 3).collect().to_dicts()
        == expected[1:2]
    )
    assert frame.select(pl.col("Id").sum()).collect().item() == 6
    assert frame.select(pl.len()).collect().item() == 3
    assert frame.head(2).collect().height == 2


MAPPED = struct(
    mapped("id", "long", 1),
    mapped(
        "s",
        struct(mapped("a", "long", 3, "x"), mapped("x", array(struct(mapped("é", "string", 5))), 4, "a")),
        2,
    ),
    mapped("l", array(array(struct(mapped("b", "integer", 7)))), 6),
    mapped(
        "m",
        mapping(
            struct(mapped("k", "string", 9)),
            struct(mapped("v", mapping("string", struct(mapped("w", "long", 11))), 10)),
        ),
        8,
    ),
    mapped("col-1", "string", 12),
    mapped("p", "integer", 13, "id"),
)


def mapped_file(number):
    def field(name, kind):
        return (
            with_id(name, kind, name.removeprefix("col-"))
            if name.startswith("col-")
            else with_id(name, kind, {"x": 3, "a": 4}[name])
        )

    kinds = {
        "col-1": pa.int64(),
        "col-2": pa.struct(
            [field("x", pa.int64()), field("a", pa.list_(pa.struct([field("col-5", pa.string())])))]
        ),
        "col-6": pa.list_(pa.list_(pa.struct([field("col-7", pa.int32())]))),
        "col-8": pa.map_(
            pa.struct([field("col-9", pa.string())]),
            pa.struct([field("col-10", pa.map_(pa.string(), pa.struct([field("col-11", pa.int64())])))]),
        ),
        "col-12": pa.string(),
    }
    rows = [
        {
            "col-1": number,
            "col-2": {"x": number, "a": [{"col-5": "y"}, None]},
            "col-6": [[{"col-7": 1}, None], None, []],
            "col-8": [({"col-9": "k"}, {"col-10": [("j", {"col-11": 5}), ("i", None)]})],
            "col-12": "t",
        },
        dict.fromkeys(kinds),
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema([field(name, kind) for name, kind in kinds.items()]))


@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("legacy", [True, False])
def test_column_mapping_at_every_level(tmp_path, mode, legacy):
    builder = TableBuilder(tmp_path)
    builder.protocol(2, 5) if legacy else builder.features("columnMapping")
    builder.metadata(MAPPED, ["p"], {"delta.columnMapping.mode": mode})
    builder.commit(
        [
            builder.add_file(mapped_file(1), {"id": "10"}, stats=False),
            builder.add_file(mapped_file(2), {"id": None}, stats=False),
        ]
    )
    frame = scan_delta(tmp_path)
    assert is_native(frame)
    found = frame.sort("id").collect().to_arrow().to_pylist()
    full = {
        "s": {"a": 1, "x": [{"é": "y"}, None]},
        "l": [[{"b": 1}, None], None, []],
        "m": [({"k": "k"}, {"v": [("j", {"w": 5}), ("i", None)]})],
        "col-1": "t",
    }
    null = {"id": None, "s": None, "l": None, "m": None, "col-1": None}
    key = lambda row: (row["id"] or 0, row["p"] or 0)  # noqa: E731
    assert sorted(found, key=key) == [
        null | {"p": None},
        null | {"p": 10},
        {"id": 1} | full | {"p": 10},
        {"id": 2} | full | {"s": full["s"] | {"a": 2}, "p": None},
    ]
    query = frame.filter(pl.col("id") > 1, pl.col("s").struct.field("a") == 2)
    assert 'SELECTION: col("col-1") > 1' in query.explain()
    assert query.select("col-1", "p").collect().rows() == [("t", None)]
    assert frame.select("p").collect().height == 4


@pytest.mark.feature("columnMapping")
def test_mapping_by_id_goes_by_id(tmp_path):
    """Names in files mean nothing then: those of tables converted from other formats are logical ones."""
    schema = struct(
        mapped("a", "long", 1), mapped("b", "long", 2), mapped("s", struct(mapped("c", "long", 4)), 3)
    )
    builder = TableBuilder(tmp_path).features("columnMapping")
    builder.metadata(schema, (), {"delta.columnMapping.mode": "id"})
    swapped = pa.schema([with_id("col-2", pa.int64(), 1), with_id("col-1", pa.int64(), 2)])
    nested = pa.struct([with_id("c", pa.int64(), 4)])
    logical = pa.schema([with_id("b", pa.int64(), 2), with_id("s", nested, 3)])
    builder.commit(
        [
            builder.add_file(pa.table([[1], [2]], schema=swapped), stats=False),
            builder.add_file(pa.Table.from_pylist([{"b": 4, "s": {"c": 5}}], schema=logical), stats=False),
        ]
    )
    found = scan_delta(tmp_path).sort("b").collect()
    assert found.rows() == [(1, 2, None), (None, 4, {"c": 5})]


def test_mapping_by_id_refuses_a_file_without_ids(tmp_path):
    builder = TableBuilder(tmp_path).features("columnMapping")
    builder.metadata(struct(mapped("a", "long", 1)), (), {"delta.columnMapping.mode": "id"})
    builder.commit([builder.add_file(pa.table({"col-1": [1]}), stats=False)])
    with pytest.raises(CorruptDataFileError, match="field ids"):
        scan_delta(tmp_path).collect()


def change(old, new, **extra):
    return {"delta.typeChanges": [{"fromType": old, "toType": new, "tableVersion": 1, **extra}]}


@pytest.mark.feature("typeWidening")
@pytest.mark.parametrize(
    ("kind", "old", "value", "expected", "native"),
    [
        ("short", pa.int8(), -1, -1, True),
        ("long", pa.int32(), -1, -1, True),
        ("double", pa.float32(), 0.5, 0.5, True),
        ("decimal(12,2)", pa.decimal128(5, 2), decimal.Decimal("1.25"), decimal.Decimal("1.25"), True),
        ("decimal(12,4)", pa.decimal128(5, 2), decimal.Decimal("1.25"), decimal.Decimal("1.2500"), False),
        ("double", pa.int32(), 3, 3.0, False),
        ("decimal(12,2)", pa.int32(), 3, decimal.Decimal("3.00"), False),
        ("timestamp_ntz", pa.date32(), datetime.date(1582, 1, 1), datetime.datetime(1582, 1, 1), False),
    ],
)
@pytest.mark.parametrize("level", ["top", "struct", "list", "map"])
def test_type_widening(tmp_path, kind, old, value, expected, native, level):
    names = {pa.int8(): "byte", pa.int32(): "integer", pa.float32(): "float", pa.date32(): "date"}
    from_type = names.get(old, "decimal(5,2)")
    path = {"list": {"fieldPath": "element"}, "map": {"fieldPath": "value"}}.get(level, {})
    field = {"name": "c", "type": kind, "nullable": True, "metadata": change(from_type, kind, **path)}
    if level == "top":
        wrap, arrow_type = (lambda v: v), old
    elif level == "struct":
        field = {"name": "c", "type": struct(field), "nullable": True, "metadata": {}}
        wrap, arrow_type = (lambda v: {"c": v}), pa.struct([("c", old)])
    elif level == "list":
        field["type"] = array(kind)
        wrap, arrow_type = (lambda v: [v, None]), pa.list_(old)
    else:
        field["type"] = mapping("string", kind)
        wrap, arrow_type = (lambda v: [("k", v)]), pa.map_(pa.string(), old)
    builder = TableBuilder(tmp_path).features("typeWidening").metadata(struct(field))
    builder.commit(
        [builder.add_file(pa.table({"c": pa.array([wrap(value), None], arrow_type)}), stats=False)]
    )
    frame = scan_delta(tmp_path)
    assert is_native(frame) == native
    assert frame.collect().to_arrow()["c"].to_pylist() == [wrap(expected), None]
    if level == "top":
        low = pl.lit(expected, dtype=frame.collect_schema()["c"])
        assert frame.filter(pl.col("c") >= low).collect().height == 1
        assert frame.filter(pl.col("c") < low).collect().height == 0


def test_a_filter_beyond_the_range_of_the_narrow_type(tmp_path):
    field = {"name": "c", "type": "long", "nullable": True, "metadata": change("integer", "long")}
    builder = TableBuilder(tmp_path).features("typeWidening").metadata(struct(field))
    builder.commit([builder.add_file(pa.table({"c": pa.array([1, None, -5], pa.int32())}), stats=False)])
    frame = scan_delta(tmp_path)
    assert frame.filter(pl.col("c") < 2**40).collect().height == 2
    assert frame.filter(pl.col("c") > 2**40).collect().height == 0
    assert frame.filter(pl.col("c") != 2**40).collect().height == 2


def test_a_narrowing_is_an_error(tmp_path):
    builder = TableBuilder(tmp_path).protocol().metadata(pa.schema([("c", pa.int16())]))
    builder.commit([builder.add_file(pa.table({"c": pa.array([70000], pa.int64())}), stats=False)])
    with pytest.raises(Exception, match=r"(?i)overflow|not in range"):
        scan_delta(tmp_path).collect()


@pytest.mark.parametrize("parquet", [{"use_deprecated_int96_timestamps": True}, {"coerce_timestamps": "us"}])
def test_timestamps_of_all_ages(tmp_path, parquet):
    """INT96 reaches beyond what 64 bits of nanoseconds hold."""
    values = [
        datetime.datetime(1, 1, 1, tzinfo=UTC),
        datetime.datetime(1500, 1, 1, 1, 2, 3, 456789, tzinfo=UTC),
        datetime.datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC),
        datetime.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        None,
    ]
    kind = pa.timestamp("us", "UTC")
    schema = pa.schema([("t", kind), ("l", pa.list_(kind))])
    rows = pa.table({"t": values, "l": [[v] for v in values]}, schema=schema)
    builder = TableBuilder(tmp_path).protocol().metadata(schema)
    builder.commit([builder.add_file(rows, parquet=parquet)])
    frame = scan_delta(tmp_path)
    assert is_native(frame)
    assert frame.collect().to_arrow()["t"].to_pylist() == values
    assert frame.collect()["l"].to_list() == [[v] for v in values]
    for value in values[:4]:
        assert frame.filter(pl.col("t") == value).collect()["t"].to_list() == [value]
        assert frame.filter(pl.col("t") > value).collect().height == 3 - values.index(value)


@pytest.mark.parametrize("name", ["*", "^.*$", "^a$", "^b\n$"])
@pytest.mark.parametrize("partition", [False, True])
def test_names_that_polars_takes_for_patterns(tmp_path, name, partition):
    schema = pa.schema([("a", pa.int64()), (name, pa.int64())])
    builder = TableBuilder(tmp_path).protocol().metadata(schema, [name] if partition else [])
    rows = pa.table({"a": [1]} if partition else {"a": [1], name: [2]})
    builder.commit([builder.add_file(rows, {name: "2"} if partition else {}, stats=False)])
    assert scan_delta(tmp_path).collect().to_dicts() == [{"a": 1, name: 2}]
    assert scan_delta(tmp_path).filter(pl.col("a") == 1).collect().to_dicts() == [{"a": 1, name: 2}]


def test_strange_names(tmp_path):
    names = ["a.b", "`", "'\"", "ü\n", " ", "col(1)", "__row", "$x^", ""]
    rows = pa.table({name: [n] for n, name in enumerate(names)})
    builder = TableBuilder(tmp_path).protocol().metadata(rows.schema)
    builder.commit([builder.add_file(rows, stats=False)])
    frame = scan_delta(tmp_path)
    assert frame.collect().columns == names
    assert frame.filter(pl.col("a.b") == 0, pl.col("ü\n") == 3).select("'\"").collect().rows() == [(2,)]


def test_mapped_structs_inside_structs_inside_structs(tmp_path):
    inner = pa.struct([("c", pa.struct([("d", pa.string())])), ("e", pa.int8())])
    outer = pa.struct([("b", inner)])
    rows = [{"a": {"b": {"c": {"d": "x"}, "e": 1}}}, {"a": {"b": None}}, {"a": None}]
    rows = [row | {"l": [row["a"], None]} for row in rows]
    data = pa.Table.from_pylist(rows, pa.schema([("a", outer), ("l", pa.list_(outer))]))
    write_deltalake(str(tmp_path), data, configuration={"delta.columnMapping.mode": "name"})
    assert DeltaTable(str(tmp_path)).to_polars().collect().to_dicts() == rows


@pytest.mark.parametrize("hook", [True, False])
@pytest.mark.parametrize("values", [["a", "a"], ["a", None]])
def test_rows_are_numbered_without_any_column(tmp_path, monkeypatch, values, hook):
    """Of a scan without columns nothing is left but the number of its rows."""
    monkeypatch.setattr(polars_native, "is_hook_verified", lambda: hook)
    table = TableBuilder(tmp_path).features("deletionVectors")
    table.metadata(pa.schema([("id", pa.int64()), ("p", pa.string())]), ["p"])
    data, vector = pa.table({"id": [1, 2, 3]}), table.deletion_vector([1])
    first = table.add_file(data, {"p": values[0]}, deletion_vector=vector)
    table.commit([first, table.add_file(data, {"p": values[1]})])
    numbers = scan_delta(tmp_path).with_row_index("number").select("number")
    assert numbers.collect()["number"].to_list() == [0, 1, 2, 3, 4]
    assert numbers.filter(pl.col("number") > 1).select(pl.len()).collect().item() == 3
