"""Paths in the log: Spark's spellings, every spelling of one file, and the same in SQL."""

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.errors import StorageError
from deltaarrow.storage import canonical_path_sql, decode_path, encode_path
from deltaarrow.storage.paths import ensure_inside
from tests.support.examples import examples

SPELLINGS = [
    # name, as Spark writes it
    ("part-0.snappy.parquet", "part-0.snappy.parquet"),
    ("p=a b%3A%2F%3D%251/part.parquet", "p=a%20b%253A%252F%253D%25251/part.parquet"),
    ("p=__HIVE_DEFAULT_PARTITION__/f", "p=__HIVE_DEFAULT_PARTITION__/f"),
    ("p=é😀/f", "p=é😀/f"),
    ("p=a\u00a0b\u2003c\u3000d/f", "p=a%C2%A0b%E2%80%83c%E3%80%80d/f"),
    ("p=-_.!~*'():@&=+$,;/f", "p=-_.!~*'():@&=+$,;/f".replace(":", "%3A")),
    ('p="<>\\^`{|}[]#?/f', "p=%22%3C%3E%5C%5E%60%7B%7C%7D%5B%5D%23%3F/f"),
    ("p=\x01\t\x7f\x85/f", "p=%01%09%7F%C2%85/f"),
    ("day=1/a:b.parquet", "day=1/a:b.parquet"),
    ("/t/a b/f", "file:/t/a%20b/f"),
    ("s3://bucket/t/a b/f", "s3://bucket/t/a%20b/f"),
    ("abfss://c@account.dfs.core.windows.net/t/f", "abfss://c@account.dfs.core.windows.net/t/f"),
]


@pytest.mark.parametrize(("name", "in_log"), SPELLINGS)
def test_spark_spellings(name: str, in_log: str) -> None:
    assert encode_path(name) == in_log
    assert decode_path(in_log) == name


@pytest.mark.parametrize(
    "in_log", ["/t/a b", "/t/a%20b", "file:/t/a%20b", "file:///t/a%20b", "file:/t/%61 b"]
)
def test_spellings_of_one_file(in_log: str) -> None:
    assert decode_path(in_log) == "/t/a b"


@pytest.mark.parametrize(
    ("in_log", "name"),
    [
        ("a%zz%20b", "a%zz b"),
        ("100%", "100%"),
        ("a%2", "a%2"),
        ("a+b", "a+b"),
        ("p=12:30/f", "p=12:30/f"),
        ("p=%FF%20/f", "p=%FF%20/f"),  # not UTF-8: left alone as a whole
        ("file://host/p", "file://host/p"),
        ("file:p", "file:p"),
        ("FILE:/p", "FILE:/p"),
        ("file%3A/p", "file:/p"),
        ("", ""),
    ],
)
def test_odd_paths_are_read_as_they_are(in_log: str, name: str) -> None:
    assert decode_path(in_log) == name


PIECES = "file: / // /// s3:// a .. : % %20 %2 %zz %25 %C3%A9 %FF %ED%A0%80 %C0%80 %00 + é 😀 ' \" [ \x7f \0"
_pieces = st.sampled_from([*PIECES.split(), " ", "\u00a0", "\u2028", "e\u0301"])
_paths = st.one_of(st.text(), st.lists(_pieces).map("".join))


@settings(deadline=None, max_examples=examples(167))
@given(_paths)
def test_encoding_is_undone_by_decoding(path: str) -> None:
    name = decode_path(path)
    encoded = encode_path(name)
    assert decode_path(encoded) == name
    assert not set(encoded) & set(' "<>\\^`{|}[]#?')


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


@settings(deadline=None, max_examples=examples(34))
@given(st.lists(_paths | st.none(), min_size=1))
def test_sql_is_the_same_function(connection, paths: list[str | None]) -> None:
    found = connection.execute(
        f"SELECT {canonical_path_sql('a.p')} FROM (SELECT unnest(?::VARCHAR[]) AS p) a", [paths]
    ).fetchall()
    assert [row[0] for row in found] == [None if path is None else decode_path(path) for path in paths]


def test_sql_takes_any_expression(connection) -> None:
    sql = canonical_path_sql("coalesce(add.path, remove.path)")
    row = connection.execute(
        f"SELECT {sql} FROM (SELECT {{path: NULL::VARCHAR}} AS add, {{path: 'file:///a%20b'}} AS remove)"
    ).fetchone()
    assert row == ("/a b",)


@pytest.mark.parametrize("name", ["..", "../a", "a/../..", "./../a", "a/b/../../.."])
def test_a_name_that_leaves_the_root(name: str) -> None:
    with pytest.raises(StorageError, match="leaves the folder"):
        ensure_inside(name)


@pytest.mark.parametrize(
    ("name", "inside"), [("a/../b", "b"), ("a..b", "a..b"), ("...", "..."), ("a/./b", "a/./b")]
)
def test_a_name_that_stays_inside(name: str, inside: str) -> None:
    assert ensure_inside(name) == inside
