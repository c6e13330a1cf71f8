"""Random files, deletion vectors, partitions and conditions: every engine against a simple model."""

import tempfile

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from tests.support.engines import ENGINES, open_snapshot
from tests.support.examples import examples
from tests.support.tables import TableBuilder

SCHEMA = pa.schema([("id", pa.int64()), ("x", pa.int32()), ("late", pa.string()), ("p", pa.int32())])

VALUES = st.one_of(st.none(), st.integers(-3, 3))


@st.composite
def data_files(draw):
    """The rows of a file, the positions that are deleted, its partition and whether it has all columns."""
    values = draw(st.lists(VALUES, max_size=12))
    deleted = draw(st.sets(st.integers(0, len(values) - 1))) if values else set()
    return values, deleted, draw(VALUES), draw(st.booleans()), draw(st.booleans())


CONDITIONS = st.sampled_from(
    [
        (None, lambda row: True),
        ("x = 1", lambda row: row["x"] == 1),
        ("x > 0 AND p < 2", lambda row: _all(row["x"], row["p"]) and row["x"] > 0 and row["p"] < 2),
        ("p IS NULL", lambda row: row["p"] is None),
        ("p = 2 OR x IS NULL", lambda row: row["p"] == 2 or row["x"] is None),
        ("late = 'y' AND id >= 100", lambda row: row["late"] == "y" and row["id"] >= 100),
        ("late IS NULL", lambda row: row["late"] is None),
        ("NOT (x <= 1)", lambda row: row["x"] is not None and not row["x"] <= 1),
        ("p IN (0, 1)", lambda row: row["p"] in (0, 1)),
    ]
)


def _all(*values):
    return all(value is not None for value in values)


def _write(folder, files):
    """Write the table and return its rows."""
    table = TableBuilder(folder).features("deletionVectors").metadata(SCHEMA, ["p"])
    adds, rows = [], []
    for number, (values, deleted, partition, complete, counted) in enumerate(files):
        ids = [100 * number + i for i in range(len(values))]
        columns = {"id": pa.array(ids, pa.int64()), "x": pa.array(values, pa.int32())}
        if complete:
            columns["late"] = pa.array(["y"] * len(ids), pa.string())
        text = None if partition is None else str(partition)
        vector = table.deletion_vector(deleted) if deleted else None
        adds.append(table.add_file(pa.table(columns), {"p": text}, stats=counted, deletion_vector=vector))
        late = "y" if complete else None
        rows += [
            {"id": ids[i], "x": value, "late": late, "p": partition}
            for i, value in enumerate(values)
            if i not in deleted
        ]
    table.commit(adds)
    return rows


@pytest.mark.parametrize("engine", ENGINES)
@given(files=st.lists(data_files(), max_size=5), condition=CONDITIONS)
@settings(max_examples=examples(9), deadline=None)
def test_rows_are_those_of_the_model(engine, files, condition):
    where, holds = condition
    with tempfile.TemporaryDirectory() as folder:
        rows = _write(folder, files)
        found = ENGINES[engine](open_snapshot(folder), None, where)
        assert found.column_names == SCHEMA.names
        assert sorted(found.to_pylist(), key=lambda row: row["id"]) == [row for row in rows if holds(row)]
