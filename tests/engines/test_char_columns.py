"""Strings of CHAR(n): padded by every engine, and compared with padded literals in Spark SQL."""

import json
import re

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.schema import ArrayType, Field, MapType, Schema, StructType

DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
INNER = StructType([Field("x", "string"), Field("y", "integer")])
SCHEMA = Schema(
    [
        Field("id", "integer"),
        Field("c", "string", metadata={DECLARED: "char(4)"}),
        Field("d", "string", metadata={DECLARED: "CHAR(6)"}),
        Field("v", "string", metadata={DECLARED: "varchar(4)"}),
        Field("s", "string"),
        Field("a", ArrayType("string"), metadata={DECLARED: "array<char(3)>"}),
        Field("st", INNER, metadata={DECLARED: "struct<x:char(3),y:int>"}),
        Field("m", MapType("string", "string"), metadata={DECLARED: "map<char(2),char(3)>"}),
        Field("k", "string", metadata={DECLARED: "char(3)"}),
    ]
)
ROWS = [
    {
        "id": 1,
        "c": "z",
        "d": "z",
        "v": "z",
        "s": "z",
        "a": ["q"],
        "st": {"x": "s", "y": 1},
        "m": [("k", "v")],
    },
    {"id": 2, "c": "zé", "d": "y", "v": "z ", "s": "z   ", "a": [None, "qq "], "st": None, "m": None},
    {"id": 3, "st": {"x": None, "y": 2}, "m": [("k", None)]},
    {"id": 4, "c": "abcd", "d": "abcd", "v": "abcd", "s": "abcd", "a": ["abc"], "st": {"x": "abc"}, "m": []},
]
PARTITIONS = ("x", None, "xy", "xyz")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table whose files hold the strings without padding, one row in each."""
    path = tmp_path_factory.mktemp("char") / "t"
    feed = {"delta.enableChangeDataFeed": "true"}
    da.DeltaTable.create(path, SCHEMA, partition_by=["k"], configuration=feed)
    for row, k in zip(ROWS, PARTITIONS, strict=True):
        da.write_deltalake(path, pa.Table.from_pylist([row | {"k": k}], SCHEMA.to_arrow()), mode="append")
    return path


def test_every_engine_pads_strings_anywhere_in_columns(engine, table):
    found = {each["id"]: [*each.values()][1:] for each in engine(table)}
    assert found == {
        1: ["z   ", "z     ", "z", "z", ["q  "], {"x": "s  ", "y": 1}, [("k ", "v  ")], "x  "],
        2: ["zé  ", "y     ", "z ", "z   ", [None, "qq "], None, None, None],
        3: [None, None, None, None, None, {"x": None, "y": 2}, [("k ", None)], "xy "],
        4: ["abcd", "abcd  ", "abcd", "abcd", ["abc"], {"x": "abc", "y": None}, [], "xyz"],
    }


def test_every_engine_filters_padded_strings(engine, table):
    for where, wanted in {
        "c = 'z   '": [1],
        "c > 'z   '": [2],
        "c IN ('z   ', 'abcd')": [1, 4],
        "c < 'zz'": [1, 4],
        "k = 'xy '": [3],
        "k >= 'xy ' AND c IS NOT NULL": [4],
        "k IN ('x  ', 'xyz')": [1, 4],
    }.items():
        assert [each["id"] for each in engine(table, ["id"], where)] == wanted, where


CONDITIONS = {
    "c = 'z'": [1],
    "c = 'z   '": [1],
    "'z       ' = c": [1],
    "c <=> 'z'": [1],
    "c != 'z'": [2, 4],
    "NOT (c = 'z')": [2, 4],
    "c < 'z '": [4],
    "c <= 'z'": [1, 4],
    "c > 'z'": [2],
    "c BETWEEN 'z' AND 'z'": [],
    "c IN ('z', 'abcd')": [1, 4],
    "c IN ('z      ', 'abcd')": [1, 4],
    "c NOT IN ('z')": [2, 4],
    "c IN ('z', NULL)": [],
    "c IN (d, 'z')": [],
    "c IN (d)": [1, 4],
    "c = d": [1, 4],
    "d = c AND id > 1": [4],
    "c = s": [4],
    "c = v": [4],
    "c = concat('z', '')": [1],
    "c = trim('z ')": [1],
    "trim(c) = 'z'": [1],
    "c LIKE 'z'": [],
    "c LIKE 'z   '": [1],
    "length(c) = 4": [1, 2, 4],
    "CASE c WHEN 'z' THEN true ELSE false END": [1],
    "decode(c, 'z', true, false)": [1],
    "equal_null(c, 'z')": [1],
    "nullif(c, 'z') IS NULL": [3],
    "coalesce(c, 'x') = 'z'": [],
    "st.x = 's'": [],
    "st.x = 's  '": [1],
    "a[0] = 'q  '": [1],
    "array_contains(a, 'q')": [],
    "m['k '] = 'v  '": [1],
    "k = 'x'": [1],
    "k IN ('xy', 'xyz')": [3, 4],
    "k < 'xy'": [1],
}


def test_conditions_of_spark_sql_compare_padded_literals(table):
    opened = da.DeltaTable(table)
    for text, wanted in CONDITIONS.items():
        found = opened.to_pyarrow_table(columns=["id"], filters=text)
        assert sorted(found["id"].to_pylist()) == wanted, text


def test_queries_of_spark_sql_compare_padded_literals(table):
    with da.connect(dialect="spark") as connection:
        columns = ", ".join(f"count_if({text})" for text in CONDITIONS)
        counts = connection.sql(f"SELECT {columns} FROM delta.`{table}`").fetchall()[0]
        assert dict(zip(CONDITIONS, counts, strict=True)) == {
            key: len(ids) for key, ids in CONDITIONS.items()
        }
        for query in (
            "SELECT id FROM (SELECT id, c AS key FROM t LIMIT 9) WHERE key = 'z'",
            "WITH q AS (SELECT * FROM t) SELECT q.id FROM q JOIN t USING (c) WHERE c = 'z'",
            "SELECT id FROM t WHERE c IN (SELECT d FROM t) OR c = 'z'",
            "SELECT one.id FROM t one JOIN t two ON one.c = two.d WHERE two.d = 'z'",
        ):
            assert connection.sql(re.sub(r"\bt\b", f"delta.`{table}`", query)).fetchall() == [(1,)]
        assert connection.sql(f"SELECT max(c) = 'zé' FROM delta.`{table}`").fetchall() == [(False,)]


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ([("c", "=", "z")], [1]),
        ([("c", "=", "z     ")], [1]),
        ([("c", "!=", "z")], [2, 4]),
        ([("c", "in", ["z", "abcd"])], [1, 4]),
        ([("c", "not in", ["z"])], [2, 3, 4]),
        ([[("k", "=", "xy")], [("k", "=", "x")]], [1, 3]),
    ],
)
def test_tuples_are_padded_as_literals_are(table, filters, wanted):
    found = da.DeltaTable(table).to_pyarrow_table(columns=["id"], filters=filters)
    assert sorted(found["id"].to_pylist()) == wanted


@pytest.mark.parametrize("text", ["c = 'z'", "c IN ('z', 'zy')", "k = 'x'", "c >= 'zé'"])
def test_conditions_skip_files_by_strings_without_padding(table, text):
    explanation = da.DeltaTable(table).explain(filters=text)
    assert explanation.left_files < explanation.files


def test_a_pivot_compares_without_padding(table):
    query = "SELECT * FROM (SELECT id, c FROM delta.`{}`) PIVOT (count(id) FOR c IN ('z', 'z   '))"
    with da.connect(dialect="spark") as connection:
        assert connection.sql(query.format(table)).fetchall() == [(None, 1)]


def test_changes_and_other_tables_have_padded_strings(table, tmp_path):
    with da.connect(dialect="spark") as connection:
        query = f"SELECT id, c, upper(c) AS u, a FROM delta.`{table}`"
        connection.sql(f"CREATE TABLE delta.`{tmp_path}` USING delta AS {query}")
    copy = da.DeltaTable(tmp_path)
    declared = [field.metadata.get(DECLARED) for field in copy.schema().fields]
    assert declared == [None, "char(4)", None, "array<char(3)>"]
    found = copy.to_pyarrow_table(filters="c = 'z'").to_pylist()
    assert found == [{"id": 1, "c": "z   ", "u": "Z   ", "a": ["q  "]}]
    changes = da.DeltaTable(table).load_cdf(1, 1).read_all().select(["id", "c", "st", "k"])
    assert changes.to_pylist() == [{"id": 1, "c": "z   ", "st": {"x": "s  ", "y": 1}, "k": "x  "}]


def test_strings_longer_than_declared_stay_whole(engine, tmp_path):
    da.write_deltalake(tmp_path, pa.table({"c": ["toolong", "x"]}))
    log = tmp_path / "_delta_log" / "00000000000000000000.json"
    plain = '\\"name\\":\\"c\\",\\"type\\":\\"string\\",\\"nullable\\":true,\\"metadata\\":{'
    text = log.read_text()
    assert plain in text
    log.write_text(text.replace(plain, plain + f'\\"{DECLARED}\\":\\"char(2)\\"'))
    assert engine(tmp_path) == [{"c": "toolong"}, {"c": "x "}]


def test_a_column_whose_declared_type_has_a_dropped_field_refuses_itself_alone(engine, tmp_path):
    declared = {DECLARED: "struct<x:char(3),y:string>"}
    schema = Schema([Field("id", "long"), Field("st", StructType([Field("y", "string")]), metadata=declared)])
    da.write_deltalake(tmp_path, pa.table({"id": [1], "st": [{"y": "long"}]}))
    log = tmp_path / "_delta_log" / "00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "metaData" in action:
            action["metaData"]["schemaString"] = schema.to_json()
    log.write_text("\n".join(map(json.dumps, actions)))
    assert engine(tmp_path, ["id"]) == [{"id": 1}]
    with pytest.raises(Exception, match="'st' is declared as struct<x:char"):
        engine(tmp_path)
