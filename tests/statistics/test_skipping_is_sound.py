"""Skipping never loses a row, whoever wrote the statistics and whichever engine compares."""

from random import Random

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.expressions import (
    Column,
    Compare,
    IsIn,
    Literal,
    StartsWith,
    bind,
    columns_of,
    to_arrow,
    to_duckdb,
)
from deltaarrow.statistics import matching_rows, parse_statistics, stored_predicate
from tests.support.examples import examples
from tests.support.file_model import PARTITION_COLUMNS, SCHEMA, VALUES, data_file, leaf_predicates, predicates

FILE_SCHEMA = pa.schema([("stats", pa.string()), ("partition_values", pa.map_(pa.string(), pa.string()))])
CONNECTION = duckdb.connect()
CONNECTION.execute("SET GLOBAL TimeZone = 'America/St_Johns'")


def answers(table, conditions):
    """For each condition on a row the set of files that have such a row."""
    selected = ", ".join(f"bool_or(coalesce({each}, FALSE))" for each in conditions)
    with CONNECTION.cursor() as cursor:
        cursor.register("t", table)
        rows = cursor.execute(f"SELECT file, {selected} FROM t GROUP BY file").fetchall()
    return [{file for file, *found in rows if found[number]} for number in range(len(conditions))]


def listed(files):
    rows = [{"stats": each.stats, "partition_values": list(each.partition_values.items())} for each in files]
    return pa.Table.from_pylist(rows, FILE_SCHEMA)


def kept_of(conditions, table):
    masks = [matching_rows(table, each, SCHEMA, "none", PARTITION_COLUMNS) for each in conditions]
    return [set(np.flatnonzero(mask).tolist()) for mask in masks]


def kept(conditions, files):
    return kept_of(conditions, listed(files))


def kept_by_structs(conditions, files, *, json):
    """The same by the struct that Spark's checkpoints have, in which times are INT96 without a zone."""
    table = listed(files)
    parsed = parse_statistics(table.column("stats"), SCHEMA, "none", PARTITION_COLUMNS)
    struct = as_int96(parsed.to_struct_array().combine_chunks())
    table = table.append_column("stats_parsed", struct)
    return kept_of(conditions, table if json else table.drop_columns("stats"))


def as_int96(array):
    if pa.types.is_struct(array.type):
        return pa.StructArray.from_arrays(
            [as_int96(each) for each in array.flatten()], names=[field.name for field in array.type]
        )
    return array.cast(pa.timestamp("ns")) if array.type == pa.timestamp("us", "UTC") else array


def rows_of(files):
    """The rows of all files, each with the number of its file."""
    return pa.concat_tables(
        each.rows.append_column("file", pa.array([number] * each.rows.num_rows, pa.int64()))
        for number, each in enumerate(files)
    )


def matching_in_pyarrow(rows, condition):
    try:
        return set(rows.filter(to_arrow(condition)).column("file").to_pylist())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        # Numbers that pyarrow does not compare: no row is kept by a filter that fails.
        return set()


def assert_kept(conditions, matching, found):
    for condition, wanted, files in zip(conditions, matching, found, strict=True):
        assert wanted <= files, condition


@pytest.mark.parametrize("path", [path for path in VALUES if path != ("st", "s")], ids=".".join)
@pytest.mark.parametrize("count", [15, pytest.param(1000, marks=pytest.mark.slow)], ids=["some", "all"])
def test_conditions_on_a_column(path, count):
    random = Random(f"{path}")
    files = [data_file(random, [path]) for _ in range(50)]
    every = leaf_predicates(path)
    conditions = [bind(each, SCHEMA) for each in random.sample(every, min(len(every), count))]
    rows = rows_of(files)
    # TRY: a decimal of more than 38 digits fails the query, which then keeps no row.
    in_duckdb = answers(rows, [f"TRY({to_duckdb(each)})" for each in conditions])
    in_pyarrow = [matching_in_pyarrow(rows, each) for each in conditions]
    in_either = [theirs | ours for theirs, ours in zip(in_duckdb, in_pyarrow, strict=True)]
    found = kept(conditions, files)
    assert_kept(conditions, in_either, found)
    by_structs = kept_by_structs(conditions, files, json=False)
    assert_kept(conditions, in_either, by_structs)
    assert_kept(conditions, by_structs, found)
    if path[0] not in ("b", "x"):
        skipped = sum(len(files) - len(each) for each in found)
        needless = sum(len(kept_for_nothing) for kept_for_nothing in map(set.__sub__, found, in_either))
        assert skipped > needless, "skipping is of use"


@given(predicates(), st.integers())
@settings(deadline=None, max_examples=examples(5))
def test_combinations_of_conditions(predicate, seed):
    random = Random(seed)
    files = [data_file(random, sorted(columns_of(predicate))) for _ in range(20)]
    bound = bind(predicate, SCHEMA)
    rows = rows_of(files)
    matching = answers(rows, [f"TRY({to_duckdb(bound)})"])[0] | matching_in_pyarrow(rows, bound)
    assert matching <= kept([bound], files)[0]
    by_structs = kept_by_structs([bound], files, json=False)
    assert matching <= by_structs[0] <= kept([bound], files)[0]
    assert kept_by_structs([bound], files, json=True) == by_structs
    assert matching <= kept([predicate], files)[0], "the same without binding"


@given(
    stored=st.text(alphabet="a z\t\x01é", max_size=5),
    literal=st.text(alphabet="a z\t\x01é", max_size=7),
    operator=st.sampled_from(["=", "<", "<=", ">", ">=", "starts with", "in"]),
    length=st.integers(0, 7),
)
def test_a_condition_on_padded_strings_is_one_on_stored_strings(stored, literal, operator, length):
    shown = stored.ljust(length)
    column = Column(("c",))
    if operator == "starts with":
        predicate, holds = StartsWith(column, literal), shown.startswith(literal)
    elif operator == "in":
        predicate, holds = IsIn(column, ("a", literal)), shown in ("a", literal)
    else:
        predicate = Compare(operator, column, Literal(literal))
        one, other = shown.encode(), literal.encode()
        holds = {
            "=": one == other,
            "<": one < other,
            "<=": one <= other,
            ">": one > other,
            ">=": one >= other,
        }[operator]
    found = stored_predicate(predicate, ["c"])
    rows = pa.record_batch({"c": [stored]})
    assert not holds or rows.filter(to_arrow(found)).num_rows == 1
