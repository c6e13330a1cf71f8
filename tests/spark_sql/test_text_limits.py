"""Length limits of CHAR and VARCHAR texts, in columns and inside them."""

import pickle

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.schema import ArrayType, Field, MapType, PrimitiveType, Schema, StructType
from deltaarrow.spark_sql import declared_rules

STRING = PrimitiveType("string")
CODES = StructType([Field("code", "string"), Field("n", "integer"), Field("free", "string")])
COLUMNS = [
    ("v", STRING, "VARCHAR(3)"),
    ("c", STRING, "char(2)"),
    ("s", CODES, "struct<code:varchar(3),n:int>"),
    ("a", ArrayType(CODES), "array<struct<code:char(2),n:decimal(10,2),free:string collate UTF8_LCASE>>"),
    ("m", MapType(STRING, ArrayType(STRING)), "map<varchar(2),array<char(3)>>"),
]
ARROW_CODES = pa.struct([("code", pa.string()), ("n", pa.int32()), ("free", pa.string())])
TYPES = {
    "v": pa.string(),
    "c": pa.string(),
    "s": ARROW_CODES,
    "a": pa.list_(ARROW_CODES),
    "m": pa.map_(pa.string(), pa.list_(pa.string())),
}


def declared(name, data_type, text):
    return Field(name, data_type, metadata={"__CHAR_VARCHAR_TYPE_STRING": text})


SCHEMA = Schema([declared(*each) for each in COLUMNS])


def batch(*rows):
    arrays = [pa.array([row.get(name) for row in rows], each) for name, each in TYPES.items()]
    return pa.RecordBatch.from_arrays(arrays, names=list(TYPES))


FINE = [
    {"v": "abc", "c": "", "s": {"code": "abc", "free": "as long as it likes"}},
    {
        "v": "\U0001f44d\xe9a",
        "c": "xy",
        "s": None,
        "a": [None, {"code": "xy", "free": "long"}, {"code": None}],
    },
    {"v": None, "c": "x", "s": {"code": None}, "a": [], "m": [("k", ["abc", None]), ("l", None), ("", [])]},
    {},
]
BROKEN = {
    r"'v' is varchar\(3\), and a text in it has 4 characters: 'abc '": {"v": "abc "},
    r"'c' is char\(2\), .* 3 characters: 'xyz'": {"c": "xyz"},
    r"'s\.code' is varchar\(3\)": {"s": {"code": "abcd"}},
    r"'a\.element\.code' is char\(2\), .*'\xe9\xe9\xe9'": {"a": [None, {"code": "\xe9\xe9\xe9"}]},
    r"'m\.key' is varchar\(2\)": {"m": [("a", None), ("abc", None)]},
    r"'m\.value\.element' is char\(3\)": {"m": [("a", ["abc"]), ("b", [None, "abcd"])]},
    r"70 characters: '" + "x" * 60 + r"'\.\.\.": {"v": "x" * 70},
}


def test_texts_that_fit_pass():
    rules = pickle.loads(pickle.dumps(declared_rules(SCHEMA, {})))
    assert rules
    given = batch(*FINE)
    assert list(rules.apply([given])) == [given]
    assert list(rules.apply([given.slice(1, 2), given.slice(0, 0)])) == [given.slice(1, 2), given.slice(0, 0)]
    assert list(rules.apply([given.select(["c"])])) == [given.select(["c"])]


@pytest.mark.parametrize("message", BROKEN)
def test_texts_that_are_too_long_are_named(message):
    rules = declared_rules(SCHEMA, {})
    rows = batch(BROKEN[message], *FINE, BROKEN[message])
    with pytest.raises(ConstraintViolationError, match=message):
        list(rules.apply([rows]))
    # What is beside a slice does not count, nor what stands under a list that is NULL.
    assert list(rules.apply([rows.slice(1, len(FINE))]))
    for part in (rows.slice(0, 1), rows.slice(len(FINE) + 1)):
        with pytest.raises(ConstraintViolationError, match=message):
            list(rules.apply([rows.slice(1, len(FINE)), part]))


def test_what_is_hidden_under_null_does_not_count():
    hidden = pa.StructArray.from_arrays(
        [pa.array(["too long", "abc"])], ["code"], mask=pa.array([True, False])
    )
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.array(["too long", "abc"]), mask=pa.array([True, False])
    )
    schema = Schema(
        [
            declared("s", StructType([Field("code", "string")]), "struct<code:char(3)>"),
            declared("l", ArrayType(STRING), "array<char(3)>"),
        ]
    )
    rows = pa.RecordBatch.from_arrays([hidden, lists], names=["s", "l"])
    assert list(declared_rules(schema, {}).apply([rows])) == [rows]


def test_members_go_by_their_places():
    renamed = StructType([Field("now", "string"), Field("added", "string")])
    (limit,) = declared_rules(Schema([declared("s", renamed, "struct<was:char(2)>")]), {}).text_limits
    assert limit.path == ("s", "now")
    dropped = Schema([declared("s", StructType([Field("a", "string")]), "struct<a:string,b:map<int,int>>")])
    assert not declared_rules(dropped, {})


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        (StructType([Field("a", "string")]), "struct<a:string,b:char(2)>"),
        (StructType([Field("a", "integer")]), "struct<a:char(2)>"),
        (ArrayType(STRING), "map<char(2),string>"),
        (STRING, "array<char(2)>"),
        (PrimitiveType("integer"), "char(2)"),
        (STRING, "char(2"),
        (STRING, "char(2)>"),
        (STRING, "char(12345678901)"),
        (STRING, "varchar(2) or so"),
        (StructType([Field("a", "string")]), "struct<char(2)>"),
    ],
    ids=str,
)
def test_declarations_that_are_not_understood_are_refused(data_type, text):
    with pytest.raises(UnsupportedFeatureError, match="'x' is declared as"):
        declared_rules(Schema([declared("x", data_type, text)]), {})


def test_nothing_is_written_of_data_with_a_text_that_is_too_long(tmp_path):
    da.DeltaTable.create(tmp_path, SCHEMA)
    da.write_deltalake(tmp_path, batch(*FINE), mode="append")
    before = sorted(tmp_path.rglob("*"))
    for mode in ("append", "overwrite"):
        with pytest.raises(ConstraintViolationError, match=r"'a\.element\.code'"):
            da.write_deltalake(tmp_path, batch({"a": [{"code": "xyz"}]}), mode=mode)
    assert sorted(tmp_path.rglob("*")) == before
    assert da.DeltaTable(tmp_path).to_pyarrow_table().num_rows == len(FINE)
