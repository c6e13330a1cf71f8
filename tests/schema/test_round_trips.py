import json
import string

import pyarrow as pa
from hypothesis import given, settings, strategies as st

from deltaarrow.schema import (
    ArrayType,
    Field,
    MapType,
    PrimitiveType,
    Schema,
    StructType,
    conform,
    data_type_from_json,
    ensure_conformable,
    from_arrow_type,
    to_arrow_type,
    to_physical_schema,
)

NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
METADATA = st.dictionaries(
    st.text(string.ascii_letters + ".", min_size=1).map(lambda key: f"k{key}"), JSON, max_size=3
)
DECIMALS = st.integers(1, 38).flatmap(lambda p: st.integers(0, p).map(lambda s: f"decimal({p},{s})"))
PRIMITIVES = DECIMALS | st.sampled_from(
    [
        *("string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary", "date"),
        *("timestamp", "timestamp_ntz", "variant"),
    ]
)


def structs(inner, make=StructType):
    fields = st.builds(Field, NAMES, inner, st.booleans(), METADATA)
    return st.lists(fields, max_size=4, unique_by=lambda field: field.name).map(make)


TYPES = st.recursive(
    PRIMITIVES.map(PrimitiveType),
    lambda inner: (
        st.builds(ArrayType, inner, st.booleans())
        | st.builds(MapType, inner, inner, st.booleans())
        | structs(inner)
    ),
    max_leaves=8,
)
SCHEMAS = structs(TYPES, Schema)


@given(SCHEMAS)
@settings(deadline=None)
def test_schema_to_json_and_back(schema):
    text = schema.to_json()
    assert Schema.from_json(text) == schema
    assert Schema.from_json(text).to_json() == text
    assert Schema.from_json(json.dumps(json.loads(text), indent=1)) == schema


@given(SCHEMAS)
@settings(deadline=None)
def test_schema_to_arrow_and_back(schema):
    assert Schema.from_arrow(schema.to_arrow()) == schema
    ensure_conformable(schema.to_arrow(), schema.to_arrow())


@given(SCHEMAS)
@settings(deadline=None)
def test_schema_through_an_ipc_message(schema):
    assert Schema.from_arrow(pa.ipc.read_schema(schema.to_arrow().serialize())) == schema


@given(TYPES)
@settings(deadline=None)
def test_type_to_json_and_arrow_and_back(data_type):
    assert data_type_from_json(data_type.to_json()) == data_type
    if data_type != PrimitiveType("variant"):  # which only a field can tell from a struct
        assert from_arrow_type(to_arrow_type(data_type)) == data_type


@given(SCHEMAS)
@settings(deadline=None)
def test_physical_schema_of_an_upgraded_table_is_the_logical_one(schema):
    numbers = iter(range(10_000))

    def upgraded(data_type):
        if isinstance(data_type, StructType):
            return type(data_type)(
                Field(
                    each.name,
                    upgraded(each.type),
                    each.nullable,
                    {"delta.columnMapping.physicalName": each.name, "delta.columnMapping.id": next(numbers)},
                )
                for each in data_type
            )
        if isinstance(data_type, ArrayType):
            return ArrayType(upgraded(data_type.element_type), data_type.contains_null)
        if isinstance(data_type, MapType):
            return MapType(upgraded(data_type.key_type), upgraded(data_type.value_type))
        return data_type

    mapped = upgraded(schema)
    assert to_physical_schema(mapped, "id") == mapped


ROWS = st.lists(
    st.none()
    | st.fixed_dictionaries(
        {
            "xs": st.none() | st.lists(st.none() | st.integers(-128, 127), max_size=3),
            "m": st.none()
            | st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=3), max_size=3),
        }
    ),
    max_size=6,
)
PLAIN = pa.struct([("xs", pa.list_(pa.int64())), ("m", pa.map_(pa.string(), pa.string()))])
ENCODED = st.sampled_from(
    [
        pa.struct([("m", pa.map_(text, text)), ("XS", make(number))])
        for text in (pa.string(), pa.large_string(), pa.string_view())
        for number in (pa.int8(), pa.int64())
        for make in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)
    ]
)


@given(ROWS, ENCODED, st.integers(0, 5))
@settings(deadline=None)
def test_conform_keeps_every_value_whatever_the_encoding(rows, encoded, start):
    rows = [row and {**row, "m": list(row["m"].items()) if row["m"] is not None else None} for row in rows]
    source = pa.array([row and {"XS": row["xs"], "m": row["m"]} for row in rows], encoded)
    batch = pa.RecordBatch.from_arrays([source], ["c"]).slice(start)
    result = conform(batch, pa.schema([("c", PLAIN)]))
    result.validate(full=True)
    assert result.column(0).to_pylist() == rows[start:]
