"""Blind appends concurrent with a statement on rows, in both orders, at both isolation levels.

delta-spark's decisions: at Serializable the table is as if the statement came after the append, so rows
that it would have changed are a conflict; at WriteSerializable the append may count as the later one.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import ConcurrentAppendException
from tests.support.commits import commit, rewrite_configuration

VECTORS = {"delta.enableDeletionVectors": "true"}
CONFIGURATIONS = pytest.mark.parametrize("configuration", [VECTORS, {}], ids=["vectors", "rewriting"])


def rows(*ids):
    return pa.table({"id": pa.array(ids, pa.int64()), "n": pa.array([0] * len(ids), pa.int64())})


def merger(table):
    return table.merge(rows(1, 7), "t.id = s.id", "s", "t")


STATEMENTS = {
    "delete": lambda table: table.delete("id IN (1, 7)"),
    "update": lambda table: table.update({"n": "n + 1"}, predicate="id IN (1, 7)"),
    "merge": lambda table: (
        merger(table).when_matched_update({"n": "t.n + 1"}).when_not_matched_insert_all().execute()
    ),
    "merge_insert": lambda table: merger(table).when_not_matched_insert_all().execute(),
}
EACH = pytest.mark.parametrize("statement", STATEMENTS)


@pytest.fixture
def make(tmp_path):
    def made(configuration, level):
        write_deltalake(tmp_path, rows(1, 2, 3), configuration=configuration)
        if level == "WriteSerializable":
            # Nobody may set it any more, but tables have it.
            rewrite_configuration(tmp_path, 0, {"delta.isolationLevel": level})
        return DeltaTable(tmp_path)

    return made


def info(table):
    table.update_incremental()
    (found,) = (
        each["commitInfo"] for each in commit(table.table_uri, table.version()) if "commitInfo" in each
    )
    return found


def ids(table):
    return sorted(DeltaTable(table.table_uri).to_pyarrow_table()["id"].to_pylist())


@CONFIGURATIONS
@EACH
def test_blind_append_of_a_row_that_matches_then_statement_at_serializable_conflicts(
    make, statement, configuration
):
    table = make(configuration, "Serializable")
    write_deltalake(table.table_uri, rows(7), mode="append")
    assert info(DeltaTable(table.table_uri))["isBlindAppend"]
    with pytest.raises(ConcurrentAppendException):
        STATEMENTS[statement](table)
    assert ids(table) == [1, 2, 3, 7]


@CONFIGURATIONS
@EACH
def test_blind_append_of_a_row_that_matches_then_statement_at_write_serializable_commits(
    make, statement, configuration
):
    table = make(configuration, "WriteSerializable")
    write_deltalake(table.table_uri, rows(7), mode="append")
    STATEMENTS[statement](table)
    assert info(table)["isolationLevel"] == "WriteSerializable"
    # As if the append had come last: the statement has not seen its row.
    assert ids(table) == {"delete": [2, 3, 7], "update": [1, 2, 3, 7]}.get(statement, [1, 2, 3, 7, 7])
    assert table.to_pyarrow_table().filter(pc.field("id") == 7)["n"].to_pylist().count(1) == 0
    assert table.verify(deep=True).ok


@CONFIGURATIONS
@EACH
def test_append_that_has_read_then_statement_at_write_serializable_conflicts(make, statement, configuration):
    table = make(configuration, "WriteSerializable")
    merger(DeltaTable(table.table_uri)).when_not_matched_insert_all().execute()
    assert not info(DeltaTable(table.table_uri))["isBlindAppend"]
    with pytest.raises(ConcurrentAppendException):
        STATEMENTS[statement](table)


@pytest.mark.parametrize("level", ["Serializable", "WriteSerializable"])
@CONFIGURATIONS
@EACH
def test_statement_then_blind_append_commits(make, statement, configuration, level):
    table = make(configuration, level)
    other = DeltaTable(table.table_uri)
    STATEMENTS[statement](table)
    write_deltalake(other, rows(7, 1), mode="append")
    assert info(table)["isBlindAppend"] and info(table)["isolationLevel"] == level
    assert ids(table).count(7) == 1 + statement.startswith("merge")
    assert table.verify(deep=True).ok
