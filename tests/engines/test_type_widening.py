"""Rows, statistics and partition values written under a narrower type, in every engine."""

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest

from tests.support.conditions import predicate_of
from tests.support.delta_json import delta_schema
from tests.support.engines import open_snapshot
from tests.support.tables import TableBuilder

pytestmark = [pytest.mark.feature("typeWidening"), pytest.mark.feature("timestampNtz")]

DAY, NEXT_DAY = dt.date(2026, 1, 1), dt.date(2026, 1, 2)


def midnight(day):
    return dt.datetime(day.year, day.month, day.day)


CASES = {
    "byte-long": (pa.int8(), pa.int64(), [-128, 127], [-128, 127], 2**40),
    "integer-double": (pa.int32(), pa.float64(), [-(2**31), 2**31 - 1], [-(2.0**31), 2.0**31 - 1], 0.5),
    "float-double": (pa.float32(), pa.float64(), [0.5, -0.25], [0.5, -0.25], 1e300),
    "date-timestamp_ntz": (
        pa.date32(),
        pa.timestamp("us"),
        [DAY, NEXT_DAY],
        [midnight(DAY), midnight(NEXT_DAY)],
        dt.datetime(2026, 1, 1, 12),
    ),
    "decimal-scale": (
        pa.decimal128(5, 2),
        pa.decimal128(12, 4),
        [Decimal("-999.99"), Decimal("1.25")],
        [Decimal("-999.9900"), Decimal("1.2500")],
        Decimal("12345678.0001"),
    ),
    "integer-decimal": (
        pa.int32(),
        pa.decimal128(14, 4),
        [-7, 2**31 - 1],
        [Decimal("-7.0000"), Decimal("2147483647.0000")],
        Decimal("0.0001"),
    ),
    "long-decimal": (
        pa.int64(),
        pa.decimal128(24, 4),
        [-(2**63), 2**63 - 1],
        [Decimal("-9223372036854775808.0000"), Decimal("9223372036854775807.0000")],
        Decimal("0.0001"),
    ),
}
NAMES = {pa.int8(): "byte", pa.int32(): "integer", pa.int64(): "long", pa.float32(): "float"}
NAMES |= {pa.date32(): "date", pa.decimal128(5, 2): "decimal(5,2)"}


def widened(schema, old, field_path=None, column="c"):
    """The Delta schema with the type change of `column` in its metadata."""
    described = delta_schema(schema)
    (field,) = (f for f in described["fields"] if f["name"] == column)
    kind = field["type"]
    for step in (field_path or "").split(".") if field_path else ():
        kind = kind[{"element": "elementType", "key": "keyType", "value": "valueType"}[step]]
    change = {"fromType": NAMES[old], "toType": kind}
    field["metadata"] = {"delta.typeChanges": [change | ({"fieldPath": field_path} if field_path else {})]}
    return described


def literal(value, reader="dataset"):
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP{'_NTZ' if reader == 'dataset' else ''} '{value}'"
    return f"CAST('{value}' AS DOUBLE)" if isinstance(value, float) else str(value)


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def build(path, case):
    """An old file with the old values, and a new one with a value that only the wide type has."""
    old, new, stored, _, fresh = case
    schema = pa.schema([("id", pa.int64()), ("c", new)])
    table = TableBuilder(path).features("typeWidening", "timestampNtz").metadata(widened(schema, old))
    table.commit(
        [
            table.add_file(pa.table({"id": [0, 1], "c": pa.array(stored, old)}), name="old.parquet"),
            table.add_file(pa.table({"id": [2], "c": pa.array([fresh], new)}), name="new.parquet"),
        ]
    )
    return table


def test_values_of_the_old_type_are_read_as_the_new_one(engine, tmp_path, case):
    build(tmp_path, case)
    found = {row["id"]: row["c"] for row in engine(tmp_path)}
    assert found == dict(enumerate([*case[3], case[4]]))
    assert all(type(value) is type(case[4]) for value in found.values())


def test_filters_find_values_of_both_types(engine, tmp_path, case):
    build(tmp_path, case)
    values = [*case[3], case[4]]
    for wanted in values:
        for operator, holds in (
            ("=", lambda a, b: a == b),
            ("<", lambda a, b: a < b),
            (">=", lambda a, b: a >= b),
            ("!=", lambda a, b: a != b),
        ):
            found = engine(tmp_path, ["id"], f"c {operator} {literal(wanted, engine.name)}")
            expected = [i for i, value in enumerate(values) if holds(value, wanted)]
            assert [row["id"] for row in found] == expected, (operator, wanted)


def test_statistics_of_the_old_type_leave_out_no_matching_file(tmp_path, case):
    build(tmp_path, case)
    # The statistics of the old file are texts or numbers of the old type.
    snapshot = open_snapshot(tmp_path)
    for wanted in case[3]:
        predicate = predicate_of(f"c = {literal(wanted)}", snapshot.schema)
        assert "old.parquet" in snapshot.files(predicate).column("path").to_pylist()


MAPS = {
    "key": (lambda t: pa.map_(t, pa.string()), lambda v: [(v, "x")]),
    "value": (lambda t: pa.map_(pa.string(), t), lambda v: [("x", v)]),
    "element": (pa.list_, lambda v: [v]),
    "element.value": (lambda t: pa.list_(pa.map_(pa.string(), t)), lambda v: [[("x", v)]]),
    "value.element": (lambda t: pa.map_(pa.string(), pa.list_(t)), lambda v: [("x", [v])]),
}


@pytest.mark.parametrize("field_path", MAPS)
def test_types_inside_of_maps_and_lists(engine, tmp_path, case, field_path):
    old, new, stored, read, fresh = case
    kind, wrap = MAPS[field_path]
    schema = pa.schema([("id", pa.int64()), ("c", kind(new))])
    table = TableBuilder(tmp_path).features("typeWidening", "timestampNtz")
    table.metadata(widened(schema, old, field_path))
    files = [
        pa.table({"id": [0, 1], "c": pa.array([wrap(value) for value in stored], kind(old))}),
        pa.table({"id": [2, 3], "c": pa.array([wrap(fresh), None], kind(new))}),
    ]
    table.commit([table.add_file(rows, stats=False) for rows in files])
    found = {row["id"]: row["c"] for row in engine(tmp_path)}
    assert found == dict(enumerate([*map(wrap, read), wrap(fresh), None]))


PARTITIONS = {
    "integer-double": ("integer", pa.float64(), ["7", "-2.5"], [7.0, -2.5]),
    "byte-long": ("byte", pa.int64(), ["7", "1099511627776"], [7, 2**40]),
    "date-timestamp_ntz": (
        "date",
        pa.timestamp("us"),
        ["2026-01-01", "2026-01-01 12:00:00"],
        [midnight(DAY), dt.datetime(2026, 1, 1, 12)],
    ),
    "integer-decimal": ("integer", pa.decimal128(12, 2), ["7", "7.25"], [Decimal("7.00"), Decimal("7.25")]),
    "decimal-scale": (
        "decimal(5,1)",
        pa.decimal128(12, 4),
        ["-1.5", "0.0001"],
        [Decimal("-1.5000"), Decimal("0.0001")],
    ),
}


@pytest.mark.parametrize("name", PARTITIONS)
def test_partition_values_of_the_old_type(engine, tmp_path, name):
    old, new, texts, values = PARTITIONS[name]
    schema = delta_schema(pa.schema([("id", pa.int64()), ("c", new)]))
    kind = schema["fields"][1]["type"]
    schema["fields"][1]["metadata"] = {"delta.typeChanges": [{"fromType": old, "toType": kind}]}
    table = TableBuilder(tmp_path).features("typeWidening", "timestampNtz")
    table.metadata(json.dumps(schema), ["c"])
    table.commit(
        [table.add_file(pa.table({"id": [i]}), {"c": text}) for i, text in enumerate(texts)]
        + [table.add_file(pa.table({"id": [9]}), {"c": None})]
    )
    assert {row["id"]: row["c"] for row in engine(tmp_path)} == {0: values[0], 1: values[1], 9: None}
    for i, value in enumerate(values):
        assert [row["id"] for row in engine(tmp_path, ["id"], f"c = {literal(value, engine.name)}")] == [i]
        others = [j for j in range(2) if values[j] > value]
        assert [row["id"] for row in engine(tmp_path, ["id"], f"c > {literal(value, engine.name)}")] == others
