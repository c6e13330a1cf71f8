"""Behaviour that readers see, the same through every engine."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deltaarrow.errors import CorruptDataFileError, DeltaError
from tests.support.tables import TableBuilder

UTC = dt.UTC
NOON = dt.datetime(2026, 1, 2, 12, 30, 15, 123456)


def rows(*found):
    return sorted(found, key=repr)


def mapped(name, data_type, number, **more):
    """A column of a mapped table: its physical name is ``c-<number>``."""
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"c-{number}"}
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata} | more


def struct(*fields):
    return {"type": "struct", "fields": list(fields)}


def array(element):
    return {"type": "array", "elementType": element, "containsNull": True}


def map_of(key, value):
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


# --- types -----------------------------------------------------------------------------------------

TYPES = {
    "byte": (pa.int8(), -128),
    "short": (pa.int16(), 32767),
    "integer": (pa.int32(), -(2**31)),
    "long": (pa.int64(), 2**63 - 1),
    "float": (pa.float32(), 1.5),
    "double": (pa.float64(), float("inf")),
    "string": (pa.string(), 'it\'s "ä"'),
    "binary": (pa.binary(), b"\x00\xff\\x41"),
    "boolean": (pa.bool_(), False),
    "date": (pa.date32(), dt.date(1, 1, 1)),
    "timestamp": (pa.timestamp("us", "UTC"), NOON.replace(tzinfo=UTC)),
    "timestamp_ntz": (pa.timestamp("us"), NOON),
    "decimal": (pa.decimal128(38, 18), Decimal("-12345678901234567890.123456789012345678")),
    "array": (pa.list_(pa.int32()), [1, None]),
    "struct": (pa.struct([("x", pa.timestamp("us", "UTC"))]), {"x": NOON.replace(tzinfo=UTC)}),
    "map": (pa.map_(pa.string(), pa.date32()), [("a", dt.date(2026, 1, 1)), ("b", None)]),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("stats", [True, False])
def test_values_of_every_type_come_back(engine, tmp_path, name, stats):
    arrow_type, value = TYPES[name]
    schema = pa.schema([("v", arrow_type)])
    table = TableBuilder(tmp_path).features("timestampNtz").metadata(schema)
    table.commit([table.add_file(pa.table({"v": pa.array([value, None], arrow_type)}), stats=stats)])
    found = [row["v"] for row in engine(tmp_path)]
    assert sorted(found, key=repr) == rows(value, None)


@pytest.mark.parametrize("version", ["1.0", "2.6"])
@pytest.mark.parametrize("unit", ["ms", "us"])
def test_timestamps_without_zone_in_files_are_utc(engine, tmp_path, unit, version):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("t", pa.timestamp("us", "UTC"))]))
    moment = NOON.replace(microsecond=123000)
    data = pa.table({"t": pa.array([moment], pa.timestamp(unit))})
    table.commit([table.add_file(data, stats=False, parquet={"version": version})])
    assert engine(tmp_path) == [{"t": moment.replace(tzinfo=UTC)}]


@pytest.mark.parametrize("zone", ["UTC", None])
def test_times_in_nanoseconds_are_read_whole_or_not_at_all(engine, tmp_path, zone):
    """Delta has no such times. INT96, which has, is cut by all readers of Delta."""
    nanoseconds = pa.timestamp("ns", zone)
    schema = pa.schema([("t", pa.timestamp("us", "UTC")), ("l", pa.list_(pa.timestamp("us", "UTC")))])

    def write(folder, count, **parquet):
        table = TableBuilder(folder).protocol().metadata(schema)
        data = pa.table({"t": pa.array([count], nanoseconds), "l": pa.array([[0]], pa.list_(nanoseconds))})
        table.commit([table.add_file(data, stats=False, parquet=parquet)])
        return folder

    moment = dt.datetime(1970, 1, 1, 0, 0, 0, 1, UTC)
    assert [row["t"] for row in engine(write(tmp_path / "whole", 1_000))] == [moment]
    old = write(tmp_path / "old", 1_999, use_deprecated_int96_timestamps=True)
    assert [row["t"] for row in engine(old)] == [moment]
    with pytest.raises(Exception, match="would lose data"):
        engine(write(tmp_path / "finer", 1_999))


def test_int96_reaches_beyond_nanoseconds_in_64_bits(engine, tmp_path):
    moments = [dt.datetime(1, 1, 1), dt.datetime(1900, 1, 1, 12), dt.datetime(9999, 12, 31, 23, 59, 59)]
    nested = pa.struct([("at", pa.timestamp("us", "UTC"))])
    schema = pa.schema(
        [
            ("t", pa.timestamp("us", "UTC")),
            ("s", nested),
            ("l", pa.list_(nested)),
            ("m", pa.map_(pa.string(), nested)),
        ]
    )
    aware = [moment.replace(tzinfo=UTC) for moment in moments]
    data = pa.table(
        {
            "t": aware,
            "s": [{"at": aware[0]}, None, {"at": None}],
            "l": [[{"at": aware[0]}, None], None, []],
            "m": [[("a", {"at": aware[2]}), ("b", None)], None, []],
        },
        schema=schema,
    )
    table = TableBuilder(tmp_path).protocol().metadata(schema)
    options = {"use_deprecated_int96_timestamps": True}
    table.commit([table.add_file(data, stats=False, parquet=options)])
    found = {row["t"]: row for row in engine(tmp_path)}
    assert sorted(found) == aware
    assert [found[moment]["s"] for moment in aware] == [{"at": aware[0]}, None, {"at": None}]
    assert [found[moment]["l"] for moment in aware] == [[{"at": aware[0]}, None], None, []]


def test_text_in_binary_columns_is_text(engine, tmp_path):
    schema = pa.schema([("s", pa.string()), ("b", pa.binary())])
    table = TableBuilder(tmp_path).protocol().metadata(schema)
    data = pa.table({"s": ["€".encode(), b"a\\x41"], "b": [b"\xff", b"\\x41"]})
    table.commit([table.add_file(data, stats=False)])
    assert engine(tmp_path) == rows({"s": "€", "b": b"\xff"}, {"s": "a\\x41", "b": b"\\x41"})


def test_void_columns_are_null(engine, tmp_path):
    schema = struct(
        {"name": "id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "nothing", "type": "void", "nullable": True, "metadata": {}},
    )
    table = TableBuilder(tmp_path).protocol().metadata(schema)
    table.commit([table.add_file(pa.table({"id": [1, 2]}))])
    assert engine(tmp_path) == [{"id": 1, "nothing": None}, {"id": 2, "nothing": None}]


@pytest.mark.feature("typeWidening")
@pytest.mark.feature("timestampNtz")
def test_files_written_before_a_type_was_widened(engine, tmp_path):
    schema = pa.schema(
        [
            ("i", pa.int64()),
            ("f", pa.float64()),
            ("d", pa.timestamp("us")),
            ("n", pa.decimal128(12, 4)),
            ("x", pa.float64()),
            ("s", pa.struct([("i", pa.int32()), ("l", pa.list_(pa.int64()))])),
        ]
    )
    table = TableBuilder(tmp_path).features("timestampNtz", "typeWidening").metadata(schema)
    old = pa.table(
        {
            "i": pa.array([-1], pa.int8()),
            "f": pa.array([0.1], pa.float32()),
            "d": pa.array([dt.date(2026, 1, 1)]),
            "n": pa.array([Decimal("1.5")], pa.decimal128(5, 1)),
            "x": pa.array([7], pa.int32()),
            "s": pa.array([{"i": 1, "l": [2]}], pa.struct([("i", pa.int16()), ("l", pa.list_(pa.int16()))])),
        }
    )
    new = pa.table(
        {
            "i": [2**40],
            "f": [0.1],
            "d": [dt.datetime(2026, 1, 1, 12)],
            "n": [Decimal("99999999.9999")],
            "x": [0.5],
            "s": [{"i": 2**20, "l": [2**40]}],
        },
        schema=schema,
    )
    table.commit([table.add_file(old), table.add_file(new)])
    assert engine(tmp_path) == rows(
        {
            "i": -1,
            "f": 0.10000000149011612,
            "d": dt.datetime(2026, 1, 1),
            "n": Decimal("1.5000"),
            "x": 7.0,
            "s": {"i": 1, "l": [2]},
        },
        {
            "i": 2**40,
            "f": 0.1,
            "d": dt.datetime(2026, 1, 1, 12),
            "n": Decimal("99999999.9999"),
            "x": 0.5,
            "s": {"i": 2**20, "l": [2**40]},
        },
    )


@pytest.mark.feature("typeWidening")
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("i < 0", [-2, -1]),
        ("i = 3000000000", [3_000_000_000]),
        ("x >= 7 AND x < 7.5", [-1]),
        ("n > 1.4 AND n < 1.6", [-1]),
        ("n = 0.0001", [3_000_000_000]),
    ],
)
def test_filters_meet_widened_values(engine, tmp_path, where, expected):
    schema = pa.schema([("i", pa.int64()), ("x", pa.float64()), ("n", pa.decimal128(12, 4))])
    table = TableBuilder(tmp_path).features("typeWidening").metadata(schema)
    old = pa.table(
        {
            "i": pa.array([-2, -1], pa.int8()),
            "x": pa.array([1, 7], pa.int32()),
            "n": pa.array([Decimal("0.5"), Decimal("1.5")], pa.decimal128(5, 1)),
        }
    )
    new = pa.table({"i": [3 * 10**9], "x": [7.5], "n": [Decimal("0.0001")]}, schema=schema)
    table.commit([table.add_file(rows, parquet={"row_group_size": 1}) for rows in (old, new)])
    assert [row["i"] for row in sorted(engine(tmp_path, None, where), key=lambda r: r["i"])] == expected


@pytest.mark.parametrize(
    ("declared", "stored"),
    [
        (pa.int64(), pa.array(["12"])),
        (pa.int64(), pa.array([1.5])),
        (pa.string(), pa.array([12])),
        (pa.float32(), pa.array([0.1])),
        (pa.bool_(), pa.array([1])),
        (pa.decimal128(5, 1), pa.array([Decimal("1.25")], pa.decimal128(5, 2))),
        (pa.list_(pa.int64()), pa.array([["1"]])),
        (pa.struct([("a", pa.int64())]), pa.array([{"a": "1"}])),
    ],
    ids=str,
)
def test_a_file_of_another_type_is_refused_and_not_cast(engine, tmp_path, declared, stored):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("v", declared)]))
    table.commit([table.add_file(pa.table({"v": stored}), stats=False)])
    with pytest.raises(Exception, match=r"cannot represent|holds the column") as caught:
        engine(tmp_path)
    if engine.name == "duckdb":
        assert isinstance(caught.value, CorruptDataFileError)


# --- columns ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stats", [True, False])
def test_columns_and_members_that_a_file_lacks_are_null(engine, tmp_path, stats):
    schema = pa.schema(
        [
            ("id", pa.int64()),
            ("late", pa.string()),
            ("s", pa.struct([("a", pa.int64()), ("later", pa.string())])),
            ("l", pa.list_(pa.struct([("later", pa.string()), ("a", pa.int64())]))),
        ]
    )
    table = TableBuilder(tmp_path).protocol().metadata(schema)
    old = pa.table({"id": [1], "s": [{"a": 1}], "l": [[{"a": 1}]]})
    new = pa.table(
        {"id": [2], "late": ["x"], "s": [{"a": 2, "later": "y"}], "l": [[{"later": "z", "a": 2}]]},
        schema=schema,
    )
    table.commit([table.add_file(old, stats=stats), table.add_file(new, stats=stats)])
    first = {"id": 1, "late": None, "s": {"a": 1, "later": None}, "l": [{"later": None, "a": 1}]}
    second = {"id": 2, "late": "x", "s": {"a": 2, "later": "y"}, "l": [{"later": "z", "a": 2}]}
    assert engine(tmp_path) == rows(first, second)
    assert engine(tmp_path, ["late"]) == rows({"late": None}, {"late": "x"})
    assert engine(tmp_path, ["id"], "late IS NULL") == [{"id": 1}]


@pytest.mark.parametrize(
    "data_type", [pa.int64(), pa.string(), pa.timestamp("us", "UTC"), pa.decimal128(5, 2)]
)
def test_columns_that_a_file_declares_to_be_null(engine, tmp_path, data_type):
    """As pyarrow and pandas write a column of nothing but NULLs whose type they do not know."""
    table = TableBuilder(tmp_path).protocol()
    table.metadata(pa.schema([("id", pa.int64()), ("x", data_type), ("s", pa.struct([("x", data_type)]))]))
    nulls = pa.array([{"x": None}, None], pa.struct([("x", pa.null())]))
    table.commit([table.add_file(pa.table({"id": [1, 2], "x": pa.nulls(2), "s": nulls}), stats=False)])
    assert engine(tmp_path) == rows({"id": 1, "x": None, "s": {"x": None}}, {"id": 2, "x": None, "s": None})
    assert engine(tmp_path, ["id"], "x IS NULL") == rows({"id": 1}, {"id": 2})


def test_names_in_files_may_differ_in_case(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("Id", pa.int64()), ("name", pa.string())]))
    one = table.add_file(pa.table({"ID": [1], "NAME": ["a"]}), stats=False)
    table.commit([one, table.add_file(pa.table({"Id": [2], "name": ["b"]}))])
    assert engine(tmp_path) == rows({"Id": 1, "name": "a"}, {"Id": 2, "name": "b"})


NESTED_MAPPED = struct(
    mapped("id", "long", 1),
    mapped(
        "s",
        struct(mapped("a b", "integer", 3), mapped("in", struct(mapped("z", "string", 5)), 4)),
        2,
    ),
    mapped("l", array(struct(mapped("e", "long", 7))), 6),
    mapped("m", map_of("string", struct(mapped("v", "date", 9))), 8),
    mapped("p", "string", 10),
)


def with_id(name, data_type, number):
    return pa.field(name, data_type, metadata={"PARQUET:field_id": str(number)})


def nested_data(names):
    """Data of `NESTED_MAPPED`; `names` gives the name in the file for a field id."""

    def field(data_type, number):
        return with_id(names(number), data_type, number)

    schema = pa.schema(
        [
            field(pa.struct([field(pa.struct([field(pa.string(), 5)]), 4), field(pa.int32(), 3)]), 2),
            field(pa.int64(), 1),
            field(pa.list_(pa.struct([field(pa.int64(), 7)])), 6),
            field(pa.map_(pa.string(), pa.struct([field(pa.date32(), 9)])), 8),
        ]
    )
    day = dt.date(2026, 1, 1)
    n = names
    return pa.table(
        [
            pa.array([{n(3): 1, n(4): {n(5): "x"}}, None, {n(3): None, n(4): None}], schema.field(0).type),
            pa.array([1, 2, 3], pa.int64()),
            pa.array([[{n(7): 1}, None], None, []], schema.field(2).type),
            pa.array([[("k", {n(9): day}), ("j", None)], None, []], schema.field(3).type),
        ],
        schema=schema,
    )


NESTED_ROWS = rows(
    {
        "id": 1,
        "s": {"a b": 1, "in": {"z": "x"}},
        "l": [{"e": 1}, None],
        "m": [("k", {"v": dt.date(2026, 1, 1)}), ("j", None)],
        "p": "a",
    },
    {"id": 2, "s": None, "l": None, "m": None, "p": "a"},
    {"id": 3, "s": {"a b": None, "in": None}, "l": [], "m": [], "p": "a"},
)


@pytest.mark.feature("columnMapping")
@pytest.mark.parametrize(
    ("mode", "names"), [("name", lambda n: f"c-{n}"), ("id", lambda n: f"c-{n}"), ("id", lambda n: f"any{n}")]
)
def test_columns_are_mapped_at_every_level(engine, tmp_path, mode, names):
    table = TableBuilder(tmp_path).protocol(2, 5)
    table.metadata(NESTED_MAPPED, ["p"], {"delta.columnMapping.mode": mode})
    table.commit([table.add_file(nested_data(names), {"c-10": "a"}, stats=False)])
    assert engine(tmp_path) == NESTED_ROWS


@pytest.mark.feature("columnMapping")
def test_files_that_differ_in_the_ids_of_columns_alone(engine, tmp_path):
    """A name was used again for another column, or two columns swapped theirs, at the top and in a struct."""
    schema = struct(
        mapped("a", "long", 1), mapped("b", "long", 3), mapped("s", struct(mapped("c", "long", 5)), 4)
    )
    table = TableBuilder(tmp_path).protocol(2, 5)
    table.metadata(schema, (), {"delta.columnMapping.mode": "id"})
    adds = []
    for a, b, c in [(1, 2, 6), (1, 3, 5), (3, 1, 5)]:
        inner = pa.struct([with_id("z", pa.int64(), c)])
        fields = [with_id("x", pa.int64(), a), with_id("y", pa.int64(), b), with_id("s", inner, 4)]
        adds.append(table.add_file(pa.table([[a], [b], [{"z": c}]], schema=pa.schema(fields)), stats=False))
    table.commit(adds)
    full = {"a": 1, "b": 3, "s": {"c": 5}}
    assert engine(tmp_path) == rows({"a": 1, "b": None, "s": {"c": None}}, full, full)
    assert engine(tmp_path, ["a"], "b = 3") == rows({"a": 1}, {"a": 1})


def test_mapping_by_id_refuses_files_without_ids(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol(2, 5)
    table.metadata(struct(mapped("id", "long", 1)), (), {"delta.columnMapping.mode": "id"})
    table.commit([table.add_file(pa.table({"c-1": [1]}))])
    with pytest.raises(Exception, match="no field ids"):
        engine(tmp_path)


def test_two_level_lists(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("l", pa.list_(pa.int32()))]))
    data = pa.table({"l": pa.array([[1, 2], None, []], pa.list_(pa.int32()))})
    options = {"use_compliant_nested_type": False, "version": "1.0"}
    table.commit([table.add_file(data, stats=False, parquet=options)])
    assert engine(tmp_path) == rows({"l": [1, 2]}, {"l": None}, {"l": []})


# --- partitions ------------------------------------------------------------------------------------

PARTITIONS = {
    "string": (pa.string(), {"a b/=%": "a b/=%", "": "", None: None}),
    "long": (pa.int64(), {"-7": -7, None: None}),
    "date": (pa.date32(), {"2026-01-02": dt.date(2026, 1, 2)}),
    "boolean": (pa.bool_(), {"true": True, "false": False}),
    "decimal": (pa.decimal128(9, 2), {"-1.50": Decimal("-1.50")}),
    "double": (pa.float64(), {"1.5": 1.5}),
    "timestamp": (
        pa.timestamp("us", "UTC"),
        {
            "2026-01-02T12:30:15.123456Z": NOON.replace(tzinfo=UTC),
            "2026-01-02 12:30:15.123456": NOON.replace(tzinfo=UTC),
        },
    ),
    "timestamp_ntz": (pa.timestamp("us"), {"2026-01-02 12:30:15.123456": NOON}),
    "binary": (pa.binary(), {"\u0001A": b"\x01A"}),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_partition_values_are_typed(engine, tmp_path, name):
    arrow_type, values = PARTITIONS[name]
    schema = pa.schema([("id", pa.int64()), ("p", arrow_type)])
    table = TableBuilder(tmp_path).features("timestampNtz").metadata(schema, ["p"])
    adds = [table.add_file(pa.table({"id": [i]}), {"p": text}) for i, text in enumerate(values)]
    table.commit(adds)
    expected = rows(*({"id": i, "p": value} for i, value in enumerate(values.values())))
    assert engine(tmp_path) == expected
    assert engine(tmp_path, ["p"]) == rows(*({"p": row["p"]} for row in expected))


def test_the_partition_value_in_the_log_wins(engine, tmp_path):
    table = (
        TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64()), ("p", pa.int64())]), ["p"])
    )
    table.commit(
        [table.add_file(pa.table({"id": [i], "p": ["of the file"]}), {"p": str(i)}) for i in range(2)]
    )
    assert engine(tmp_path) == [{"id": 0, "p": 0}, {"id": 1, "p": 1}]


NAMES = ["a[b].parquet", "a*.parquet", "a?b.parquet", "it's.parquet", 'q"q.parquet', "p=9/x=1/f.parquet"]


def test_names_of_files_mean_nothing(engine, tmp_path):
    table = (
        TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64()), ("p", pa.string())]), ["p"])
    )
    adds = [table.add_file(pa.table({"id": [i]}), {"p": "a"}, name=name) for i, name in enumerate(NAMES)]
    for decoy in ("ab.parquet", "axb.parquet"):
        pq.write_table(pa.table({"id": [99]}), tmp_path / decoy)
    table.commit(adds)
    assert engine(tmp_path) == [{"id": i, "p": "a"} for i in range(len(NAMES))]


# --- rows ------------------------------------------------------------------------------------------


@pytest.mark.feature("deletionVectors")
@pytest.mark.parametrize("storage", ["u", "i", "p"])
def test_deleted_rows_are_not_there(engine, tmp_path, storage):
    schema = pa.schema([("id", pa.int64()), ("p", pa.string())])
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(schema, ["p"])
    deleted = [0, 7, 8, 63, 64, 999]
    masked = table.add_file(
        pa.table({"id": range(1000)}),
        {"p": "masked"},
        deletion_vector=table.deletion_vector(deleted, storage),
        parquet={"row_group_size": 100},
    )
    table.commit([masked, table.add_file(pa.table({"id": [1000, 1001]}), {"p": "clean"})])
    kept = [i for i in range(1000) if i not in deleted]
    assert [row["id"] for row in sorted(engine(tmp_path), key=lambda r: r["id"])] == [*kept, 1000, 1001]
    assert len(engine(tmp_path, ["p"], "p = 'masked'")) == 994
    assert engine(tmp_path, ["id"], "id >= 62 AND id < 66") == [{"id": 62}, {"id": 65}]
    assert engine(tmp_path, ["p"], "id > 998") == [{"p": "clean"}, {"p": "clean"}]


@pytest.mark.feature("deletionVectors")
def test_all_rows_deleted(engine, tmp_path):
    table = TableBuilder(tmp_path).features("deletionVectors").metadata(pa.schema([("id", pa.int64())]))
    table.commit(
        [table.add_file(pa.table({"id": [1, 2]}), deletion_vector=table.deletion_vector([0, 1]), stats=False)]
    )
    assert engine(tmp_path) == []


def test_a_table_without_files_has_its_columns(engine, tmp_path):
    schema = pa.schema([("id", pa.int64()), ("s", pa.struct([("t", pa.timestamp("us", "UTC"))]))])
    TableBuilder(tmp_path).protocol().metadata(schema).commit()
    assert engine(tmp_path) == []
    assert engine(tmp_path, ["s"], "id = 1") == []


def test_files_of_other_partitions_are_not_opened(engine, tmp_path):
    table = (
        TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64()), ("p", pa.int64())]), ["p"])
    )
    adds = [table.add_file(pa.table({"id": [i]}), {"p": str(i)}) for i in range(10)]
    table.commit(adds)
    for add in adds[4:]:
        path = tmp_path / add["add"]["path"]
        path.write_bytes(b"not Parquet".ljust(path.stat().st_size))
    assert engine(tmp_path, None, "p < 3") == [{"id": i, "p": i} for i in range(3)]
    assert engine(tmp_path, ["id"], "p = 3") == [{"id": 3}]


def test_an_absent_file_is_named(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64())]))
    table.commit([table.add_file(pa.table({"id": [1]})), table.add_file(3, name="gone.parquet")])
    with pytest.raises(Exception, match=r"gone\.parquet") as caught:
        engine(tmp_path)
    assert engine.name != "duckdb" or isinstance(caught.value, DeltaError)


def test_statistics_without_sense_do_no_harm(engine, tmp_path):
    table = TableBuilder(tmp_path).protocol().metadata(pa.schema([("id", pa.int64()), ("s", pa.string())]))
    data = pa.table({"id": [1]})
    bad = ["{", "[]", "null", json.dumps({"numRecords": "1"}), json.dumps({"numRecords": 1, "nullCount": {}})]
    table.commit([table.add_file(data, stats=text) for text in bad])
    assert engine(tmp_path) == [{"id": 1, "s": None}] * len(bad)
