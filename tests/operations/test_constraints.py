"""CHECK constraints added to a table and dropped again."""

import pyarrow as pa
import pytest

from deltaarrow import CommitProperties, DeltaTable, write_deltalake
from deltaarrow.errors import (
    ConcurrentAppendException,
    ConstraintViolationError,
    InvalidTablePropertyError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from deltaarrow.operations import add_constraints, drop_constraint
from tests.support.commits import commit

pytestmark = pytest.mark.feature("checkConstraints")

ROWS = pa.table({"id": pa.array([1, 2, None], pa.int64()), "day": ["a", "b", "b"]})


@pytest.fixture
def table(tmp_path):
    write_deltalake(tmp_path, ROWS, partition_by="day", configuration={"delta.columnMapping.mode": "name"})
    return tmp_path


def snapshot(path):
    return DeltaTable(path).snapshot


def test_a_constraint_is_added_and_dropped(table):
    properties = CommitProperties(custom_metadata={"by": "me"})
    clock = lambda: 1500  # noqa: E731
    version = add_constraints(
        snapshot(table), {"Small": "id IS NULL OR id < 9"}, commit_properties=properties, clock=clock
    )
    assert version == 1
    info = commit(table, 1)[0]["commitInfo"]
    assert info["operation"] == "ADD CONSTRAINT"
    assert info["operationParameters"] == {"name": "Small", "expr": "id IS NULL OR id < 9"}
    assert (info["timestamp"], info["by"], info["isBlindAppend"]) == (1500, "me", False)
    assert snapshot(table).configuration["delta.constraints.small"] == "id IS NULL OR id < 9"
    assert "checkConstraints" in snapshot(table).protocol.writer_features
    with pytest.raises(ConstraintViolationError, match="small"):
        write_deltalake(table, pa.table({"id": [9]}), mode="append")
    assert drop_constraint(snapshot(table), "SMALL") == 2
    assert commit(table, 2)[0]["commitInfo"]["operationParameters"] == {
        "name": "SMALL",
        "expr": "id IS NULL OR id < 9",
        "existed": "true",
    }
    write_deltalake(table, pa.table({"id": [9]}), mode="append")
    assert "checkConstraints" in snapshot(table).protocol.writer_features


@pytest.mark.parametrize(
    ("expression", "broken"), [("id > 1", 2), ("1 > 2", 3), ("day <> 'b'", 2), ("id = 1 AND day = 'a'", 2)]
)
def test_rows_that_are_there_have_to_meet_it(table, expression, broken):
    with pytest.raises(ConstraintViolationError, match=rf"constraint c .* is violated by {broken} rows of"):
        add_constraints(snapshot(table), {"c": expression})
    assert snapshot(table).version == 0


def test_deleted_rows_need_not_meet_it(tmp_path):
    write_deltalake(tmp_path, ROWS, configuration={"delta.enableDeletionVectors": "true"})
    write_deltalake(tmp_path, ROWS.slice(0, 0), mode="overwrite", predicate="id = 2")
    assert add_constraints(snapshot(tmp_path), {"c": "id IS DISTINCT FROM 2"}) == 2


def test_an_empty_table_meets_everything(tmp_path):
    DeltaTable.create(tmp_path, ROWS.schema)
    assert add_constraints(snapshot(tmp_path), {"c": "1 > 2"}) == 1


@pytest.mark.parametrize(
    ("name", "expression", "error", "message"),
    [
        ("c", "id + 1", UnsupportedFeatureError, "of type long"),
        ("c", "nope > 1", SchemaMismatchError, "nope"),
        ("c", "read_csv('/etc/passwd') = 1", UnsupportedFeatureError, "READ_CSV"),
        ("", "id > 1", InvalidTablePropertyError, "name of the constraint is empty"),
        ("KNOWN", "id > 1", InvalidTablePropertyError, "already has a constraint 'KNOWN': true; drop it"),
    ],
)
def test_what_is_no_constraint_is_refused(table, name, expression, error, message):
    add_constraints(snapshot(table), {"known": "true"})
    with pytest.raises(error, match=message):
        add_constraints(snapshot(table), {name: expression})
    assert snapshot(table).version == 1


def test_dropping_what_is_not_there(table):
    with pytest.raises(InvalidTablePropertyError, match="no constraint 'c'"):
        drop_constraint(snapshot(table), "c")
    assert drop_constraint(snapshot(table), "c", raise_if_not_exists=False) == 0
    assert snapshot(table).version == 0


def test_a_name_that_is_spelled_in_two_ways(tmp_path):
    properties = {"delta.constraints.Upper": "id > 0", "delta.constraints.both": "id > 1"}
    DeltaTable.create(tmp_path, ROWS.schema, configuration=properties | {"delta.constraints.Both": "id > 2"})
    drop_constraint(snapshot(tmp_path), "BOTH")
    drop_constraint(snapshot(tmp_path), "upper")
    assert snapshot(tmp_path).configuration == {"delta.constraints.Both": "id > 2"}


def test_rows_that_come_in_the_meantime_are_a_conflict(table):
    before = snapshot(table)
    write_deltalake(table, pa.table({"id": [9]}), mode="append")
    with pytest.raises(ConcurrentAppendException):
        add_constraints(before, {"c": "id < 9 OR id IS NULL"})
    assert "delta.constraints.c" not in snapshot(table).configuration
