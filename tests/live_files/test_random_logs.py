"""A condition leaves the same live files wherever their actions are stored.

Random logs hold the files of `tests.support.file_model`, whose rows are known, in checkpoints of every kind
and in later commits. They are read row by row from the checkpoint, from memory, or as one table.
"""

import tempfile
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.compute import sandbox_cursor
from deltaarrow.expressions import And, Or, bind, to_duckdb
from deltaarrow.log.file_sources import list_files
from deltaarrow.log.limits import LogLimits
from deltaarrow.statistics import matching_rows, parse_statistics
from tests.support.engines import open_snapshot
from tests.support.examples import examples
from tests.support.file_model import PARTITION_COLUMNS, SCHEMA, VALUES, data_file, leaf_predicates
from tests.support.tables import TableBuilder

KINDS = [
    {"kind": "classic"},
    {"kind": "multipart", "parts": 2},
    {"kind": "v2-parquet", "sidecars": 2},
    {"kind": "v2-json", "sidecars": 2},
]
IN_MEMORY = LogLimits(replayed_bytes=1 << 40, listed_bytes=1 << 40)


def with_structs(file, random):
    """Write a checkpoint again with typed statistics, beside the texts or alone, a few rows a row group."""
    table = pq.read_table(file)
    place = table.schema.get_field_index("add")
    if place < 0:
        return
    adds = table.column(place).combine_chunks()
    members = {field.name: adds.field(field.name) for field in adds.type}
    parsed = parse_statistics(members["stats"], SCHEMA, "none", PARTITION_COLUMNS)
    members["stats_parsed"] = pa.concat_arrays(parsed.to_struct_array().chunks)
    if random.random() < 0.5:
        del members["stats"]
    structs = pa.StructArray.from_arrays([*members.values()], [*members], mask=adds.is_null())
    pq.write_table(
        table.set_column(place, "add", structs),
        file,
        row_group_size=random.choice([1, 2, 5]),
        write_statistics=random.random() < 0.8,
        use_deprecated_int96_timestamps=random.random() < 0.5,
    )


def log_of(folder, random, files):
    """A log in which the files are live, some of them after the checkpoint, beside others that are not."""
    table = TableBuilder(folder).features("v2Checkpoint", "deletionVectors")
    table.metadata(SCHEMA.to_json(), PARTITION_COLUMNS)
    adds = [
        table.add_file(1, each.partition_values, each.stats or False, name=f"f%20{number}")
        for number, each in enumerate(files)
    ]
    gone = [
        table.add_file(1, each["add"]["partitionValues"], False, name=f"gone{number}")
        for number, each in enumerate(adds[:4])
    ]
    marked = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    other = {"add": adds[0]["add"] | {"deletionVector": marked | {"sizeInBytes": 40, "cardinality": 6}}}
    older = [each for each in adds[1:] if random.random() < 0.7]
    table.commit([other, *older, *gone])
    table.commit([table.remove(gone[0])])
    has_structs = random.random() < 0.6
    for file in table.checkpoint(**random.choice(KINDS)):
        if has_structs and file.suffix == ".parquet":
            with_structs(file, random)
    newer = [each for each in adds[1:] if each not in older]
    table.commit([table.remove(other), adds[0], *map(table.remove, gone[1:3])])
    table.commit([table.remove(gone[3]), *newer])


def paths(files):
    found = files.column("path").to_pylist()
    assert len(set(found)) == len(found)
    return set(found)


def matching(files, predicates):
    """For each predicate the names of the files that hold a row for which it is true."""
    rows = [
        each.rows.append_column("file", pa.array([f"f {number}"] * each.rows.num_rows, pa.string()))
        for number, each in enumerate(files)
    ]
    conditions = [f"coalesce(TRY({to_duckdb(predicate)}), FALSE)" for predicate in predicates]
    with sandbox_cursor() as cursor:
        cursor.register("held", pa.concat_tables(rows))
        selected = ", ".join(f"list(file) FILTER ({each})" for each in conditions)
        (found,) = cursor.sql(f"SELECT {selected} FROM held").fetchall()
    return [set(names or ()) for names in found]


DATA_COLUMNS = [path for path in VALUES if path[0] not in PARTITION_COLUMNS]


def conditions_on(random, paths):
    """Conditions on some columns: one, two that must both be true, or one of two."""
    leaves = [random.choice(leaf_predicates(random.choice(paths))) for _ in range(12)]
    pairs = [*zip(leaves[:8:2], leaves[1:8:2], strict=True)]
    asked = [*map(And, pairs[:3]), *map(Or, pairs[3:]), *leaves[8:]]
    return [bind(each, SCHEMA) for each in asked]


@settings(deadline=None, max_examples=examples(3))
@given(st.integers())
def test_no_file_with_a_matching_row_is_left_out(seed):
    check_files_for_rows(seed)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(st.integers())
def test_no_file_with_a_matching_row_is_left_out_in_many_examples(seed):
    check_files_for_rows(seed)


def check_files_for_rows(seed):
    random = Random(seed)
    wanted = [*random.sample(DATA_COLUMNS, 1), *random.sample([("p",), ("q",), ("t",)], 2)]
    files = [data_file(random, wanted) for _ in range(10)]
    asked = conditions_on(random, wanted)
    needed = matching(files, asked)
    with tempfile.TemporaryDirectory() as folder:
        log_of(Path(folder), random, files)
        listed = list_files(open_snapshot(folder).state)
        assert paths(listed) == {f"f {number}" for number in range(10)}
        expected = [left_of(listed, predicate) for predicate in asked]
        from_the_log = LogLimits(
            replayed_bytes=-1,
            listed_bytes=-1,
            selective=random.choice([0, 1 / 2, 1]),
            numbered_rows=random.choice([0, 256]),
            rows_at_once=random.choice([2, 1 << 16]),
        )
        for limits in (from_the_log, IN_MEMORY):
            snapshot = open_snapshot(folder, limits=limits)
            for _ in range(2):
                found = [paths(snapshot.files(predicate, ["path"])) for predicate in asked]
                assert found == expected
        assert all(map(set.issubset, needed, expected))


def left_of(listed, predicate):
    mask = matching_rows(listed, predicate, SCHEMA, "none", PARTITION_COLUMNS)
    return paths(listed.take(np.flatnonzero(mask)))
