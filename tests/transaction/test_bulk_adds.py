"""Many added files as lines of a commit: the same as rendered one by one."""

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.actions import FILE_SCHEMA, render_action
from deltaarrow.errors import DeltaProtocolError
from deltaarrow.storage import open_store
from deltaarrow.transaction import BulkAdds, add_again
from tests.support.examples import examples

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
MAPS = st.dictionaries(TEXTS, st.none() | TEXTS, max_size=2)
LONGS = st.integers(0, 2**63 - 1)
VECTORS = st.fixed_dictionaries(
    {
        "storage_type": st.sampled_from("uip"),
        "path_or_inline_dv": TEXTS,
        "offset": st.none() | st.integers(0, 2**31 - 1),
        "size_in_bytes": st.integers(0, 2**31 - 1),
        "cardinality": LONGS,
    }
)
ROWS = st.fixed_dictionaries(
    {
        "path": st.just("f"),
        "log_path": TEXTS,
        "partition_values": MAPS,
        "size": LONGS,
        "modification_time": LONGS,
        "data_change": st.booleans(),
        "stats": st.none() | TEXTS,
        "tags": st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
        "deletion_vector": st.none() | VECTORS,
        "base_row_id": st.none() | LONGS,
        "default_row_commit_version": st.none() | LONGS,
        "clustering_provider": st.none() | TEXTS,
    }
)


def table(rows: list[dict]) -> pa.Table:
    def listed(value):
        return list(value.items()) if isinstance(value, dict) else value

    rows = [row | {name: listed(row[name]) for name in ("partition_values", "tags")} for row in rows]
    return pa.Table.from_pylist(rows, FILE_SCHEMA)


def lines(bulk: BulkAdds, first: int = 0, version: int = 7) -> list[dict]:
    text = b"".join(bulk.render(first, version))
    assert not text or text.endswith(b"\n")
    return [orjson.loads(line) for line in text.split(b"\n")[:-1]]


@settings(max_examples=examples(20), deadline=None)
@given(st.lists(ROWS, max_size=4), st.lists(ROWS, max_size=2))
def test_lines_are_those_of_single_actions(first, second):
    bulk = BulkAdds(open_store("memory://bulk"), counts_rows=False)
    for rows in (first, second):
        bulk.add(table(rows))
    wanted = []
    for row in [*first, *second]:
        action = add_again(row | {"base_row_id": None, "default_row_commit_version": None}, data_change=True)
        wanted.append(orjson.loads(orjson.dumps(render_action(action))))
    assert lines(bulk) == wanted
    assert bulk.totals.column("size").to_pylist() == [row["size"] for row in [*first, *second]]


def row(**values) -> dict:
    empty = dict.fromkeys(FILE_SCHEMA.names)
    return empty | {"path": "f", "log_path": "f", "partition_values": {}, "size": 1} | values


def test_row_ids_go_on_from_file_to_file():
    bulk = BulkAdds(open_store("memory://bulk"), counts_rows=True)
    bulk.add(table([row(stats='{"numRecords":3}'), row(stats='{"numRecords":0}')]))
    bulk.add(table([row(stats='{"numRecords":2}')]))
    bulk.add(table([]))
    assert bulk.num_rows == 5
    found = [line["add"] for line in lines(bulk, first=10)]
    assert [(add["baseRowId"], add["defaultRowCommitVersion"]) for add in found] == [
        (10, 7),
        (13, 7),
        (13, 7),
    ]


@pytest.mark.parametrize(
    "stats",
    [
        None,
        "{",
        "{}",
        '{"numRecords":-1}',
        '{"numRecords":3.5}',
        '{"numRecords":"3"}',
        "[]",
        '{"numRecords":1e999}',
        '{"numRecords":"x"}',
        '{"numRecords":null}',
    ],
)
def test_a_file_without_a_row_count_is_refused_where_rows_get_ids(stats):
    bulk = BulkAdds(open_store("memory://bulk"), counts_rows=True)
    with pytest.raises(DeltaProtocolError, match="numRecords"):
        bulk.add(table([row(stats=stats)]))
