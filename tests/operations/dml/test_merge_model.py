"""MERGE against a model: the same rows, the same changes and the same refusals for random statements."""

import itertools
import shutil
import tempfile
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, UnsupportedFeatureError, write_deltalake
from tests.support.examples import examples

SCHEMA = pa.schema([("id", pa.int64()), ("p", pa.string()), ("v", pa.int64())])
KEYS = st.one_of(st.none(), st.integers(0, 6))
ROW = st.tuples(KEYS, st.sampled_from(["x", "y"]), st.one_of(st.none(), st.integers(-3, 3)))

# A predicate as SQL, and what it is on a row of the table and one of the source; NULL is not TRUE.
MATCHED = {
    None: lambda t, s: True,
    "s.v > 0": lambda t, s: s[2] is not None and s[2] > 0,
    "t.v = s.v": lambda t, s: t[2] is not None and t[2] == s[2],
    "t.p = 'x'": lambda t, s: t[1] == "x",
    "not (t.v < 0)": lambda t, s: t[2] is not None and t[2] >= 0,
}
NOT_MATCHED = {
    None: lambda t, s: True,
    "s.v is null or s.v > 1": lambda t, s: s[2] is None or s[2] > 1,
    "s.p = 'y'": lambda t, s: s[1] == "y",
}
BY_SOURCE = {
    None: lambda t, s: True,
    "t.v <> 2": lambda t, s: t[2] is not None and t[2] != 2,
    "t.id >= 3": lambda t, s: t[0] is not None and t[0] >= 3,
}
JOINS = {
    "t.id = s.id": lambda t, s: t[0] is not None and t[0] == s[0],
    "t.id <=> s.id": lambda t, s: t[0] == s[0],
    "t.id = s.id and t.p = s.p": lambda t, s: t[0] is not None and t[0] == s[0] and t[1] == s[1],
    "t.id = s.id and t.p = 'x'": lambda t, s: t[0] is not None and t[0] == s[0] and t[1] == "x",
    "t.id > s.id + 3": lambda t, s: None not in (t[0], s[0]) and t[0] > s[0] + 3,
}


def clauses(predicates, kinds):
    return st.lists(st.tuples(st.sampled_from(kinds), st.sampled_from(list(predicates))), max_size=2).filter(
        lambda found: all(predicate is not None for _, predicate in found[:-1])
    )


STATEMENT = st.tuples(
    st.sampled_from(list(JOINS)),
    clauses(MATCHED, ["update", "update_all", "delete"]),
    clauses(NOT_MATCHED, ["insert", "insert_all"]),
    clauses(BY_SOURCE, ["update", "delete"]),
).filter(lambda statement: any(statement[1:]))


def first(found, predicates, t, s):
    return next((kind for kind, predicate in found if predicates[predicate](t, s)), None)


def run_model(target, source, statement):
    """The rows afterwards and the changes; None where a row is matched more than once."""
    join, matched, not_matched, by_source = statement
    pairs = [[s for s in source if JOINS[join](t, s)] for t in target]
    only_delete = matched == [("delete", None)]
    if (matched or by_source) and not only_delete and any(len(found) > 1 for found in pairs):
        return None
    rows, changes = [], []
    for t, found in zip(target, pairs, strict=True):
        s = found[0] if found else None
        kind = first(matched, MATCHED, t, s) if found else first(by_source, BY_SOURCE, t, None)
        if kind is None:
            rows.append(t)
        elif kind == "delete":
            changes.append((*t, "delete"))
        else:
            new = s if kind == "update_all" else (t[0], t[1], None if t[2] is None else t[2] + 10)
            rows.append(new)
            changes += [(*t, "update_preimage"), (*new, "update_postimage")]
    for s in source:
        if not any(JOINS[join](t, s) for t in target):
            kind = first(not_matched, NOT_MATCHED, None, s)
            if kind is not None:
                new = s if kind == "insert_all" else (s[0], s[1], None)
                rows.append(new)
                changes.append((*new, "insert"))
    return Counter(rows), Counter(changes)


def table_of(rows):
    return pa.Table.from_pylist([dict(zip(SCHEMA.names, row, strict=True)) for row in rows], SCHEMA)


def run(table, source, statement):
    join, matched, not_matched, by_source = statement
    merger = table.merge(table_of(source), join, "s", "t")
    for kind, predicate in matched:
        match kind:
            case "update":
                merger.when_matched_update({"v": "t.v + 10"}, predicate)
            case "update_all":
                merger.when_matched_update_all(predicate)
            case "delete":
                merger.when_matched_delete(predicate)
    for kind, predicate in not_matched:
        if kind == "insert":
            merger.when_not_matched_insert({"id": "s.id", "p": "s.p"}, predicate)
        else:
            merger.when_not_matched_insert_all(predicate)
    for kind, predicate in by_source:
        if kind == "update":
            merger.when_not_matched_by_source_update({"v": "t.v + 10"}, predicate)
        else:
            merger.when_not_matched_by_source_delete(predicate)
    merger.execute()


def counted(rows, *columns):
    return Counter(tuple(row[name] for name in columns) for row in rows.to_pylist())


EXAMPLES = given(
    parts=st.lists(st.lists(ROW, min_size=1, max_size=5), min_size=1, max_size=3),
    source=st.lists(ROW, max_size=6),
    statements=st.lists(STATEMENT, min_size=1, max_size=2),
    vectors=st.booleans(),
    partitioned=st.booleans(),
)


@settings(max_examples=examples(5), deadline=None)
@EXAMPLES
def test_rows_and_changes_are_those_of_the_model(parts, source, statements, vectors, partitioned):
    check_merges(parts, source, statements, vectors, partitioned)


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@EXAMPLES
def test_rows_and_changes_of_many_merges_are_those_of_the_model(
    parts, source, statements, vectors, partitioned
):
    check_merges(parts, source, statements, vectors, partitioned)


def check_merges(parts, source, statements, vectors, partitioned):
    folder = tempfile.mkdtemp()
    try:
        configuration = {
            "delta.enableDeletionVectors": str(vectors).lower(),
            "delta.enableChangeDataFeed": "true",
            "delta.enableRowTracking": "true",
        }
        for part in parts:
            is_new = part is parts[0]
            write_deltalake(
                folder,
                table_of(part),
                mode="append",
                configuration=configuration if is_new else None,
                partition_by=["p"] if partitioned else None,
            )
        table = DeltaTable(folder)
        target = list(itertools.chain(*parts))
        for statement in statements:
            before = table.version()
            expected = run_model(target, source, statement)
            if expected is None:
                try:
                    run(table, source, statement)
                except UnsupportedFeatureError as error:
                    assert "several rows of the source" in str(error)
                    continue
                raise AssertionError("a row was matched more than once")
            run(table, source, statement)
            rows, changes = expected
            assert counted(table.to_pyarrow_table(), "id", "p", "v") == rows
            ids = table.to_pyarrow_table(columns=["_metadata.row_id"]).column(0).to_pylist()
            assert len(set(ids)) == len(ids)
            feed = Counter()
            if table.version() > before:
                feed = counted(table.load_cdf(before + 1).read_all(), "id", "p", "v", "_change_type")
            assert feed == changes
            target = list(rows.elements())
        assert table.verify(deep=True).ok
    finally:
        shutil.rmtree(folder)
