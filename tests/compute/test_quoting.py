"""Any text that a table holds is one name or one value once it is quoted."""

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.compute import quote_file, quote_identifier, quote_literal
from deltaarrow.errors import StorageError
from tests.support.examples import examples

_texts = st.one_of(
    st.text(),
    st.lists(st.sampled_from(["'", '"', "\\", "--", "/*", ";", "\0", "$$", "\n", "{", "%"])).map("".join),
)


@pytest.fixture(scope="module")
def connection():
    with duckdb.connect() as connection:
        yield connection


@settings(deadline=None)
@given(_texts)
def test_a_literal_is_its_text(connection, text: str) -> None:
    assert connection.execute(f"SELECT {quote_literal(text)}").fetchone() == (text,)


@settings(deadline=None)
@given(_texts.filter(bool))
def test_an_identifier_is_its_name(connection, name: str) -> None:
    connection.execute(f"SELECT x.{quote_identifier(name)} FROM (SELECT 1 AS {quote_identifier(name)}) x")
    assert connection.description[0][0] == name
    assert connection.fetchall() == [(1,)]


@settings(deadline=None, max_examples=examples(17))
@given(st.text(st.sampled_from("ab*?[]!-^{}'\\, "), min_size=1, max_size=8))
def test_a_file_is_itself_and_no_pattern(connection, tmp_path_factory, name: str) -> None:
    folder = tmp_path_factory.mktemp("glob")
    for other in ("a", "b", "ab", "ba", "aa"):
        (folder / other).write_text("other")
    (folder / name).write_text("this")
    if "\\" in name and set(name) & set("*?["):
        with pytest.raises(StorageError, match="backslash"):
            quote_file(name)
        return
    sql = f"SELECT content FROM read_text({quote_file(str(folder / name))})"
    assert connection.execute(sql).fetchall() == [("this",)]
