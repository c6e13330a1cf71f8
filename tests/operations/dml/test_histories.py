"""Random concurrent statements leave the table as if those that succeeded had run one after another.

A statement begins with the table at some version, like a writer that read it then, and ends in the drawn
order. A model then runs the committed statements again, in the order of their versions.
"""

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, replace

import pyarrow as pa
import pytest
from hypothesis import example, given, settings, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import CommitFailedError
from tests.support.examples import examples

SCHEMA = pa.schema([("id", pa.int64()), ("seen", pa.int64())])
KEYS = range(16)

Rows = dict[int, int]


def table_of(rows: Rows) -> pa.Table:
    return pa.table([list(rows), list(rows.values())], schema=SCHEMA)


@dataclass(frozen=True)
class Append:
    """Adds a row under a key of its own."""

    key: int = 30

    def run(self, table):
        write_deltalake(table, table_of({self.key: 0}), mode="append")

    def apply(self, rows):
        return rows | {self.key: 0}


@dataclass(frozen=True)
class Change:
    """Changes rows of some keys, or those with a value."""

    ids: frozenset[int]
    seen: int | None

    @property
    def condition(self) -> str:
        among = f"id IN ({', '.join(map(str, sorted(self.ids)))})"
        return among if self.seen is None else f"{among} AND seen <= {self.seen}"

    def matches(self, key: int, seen: int) -> bool:
        return key in self.ids and (self.seen is None or seen <= self.seen)


class Delete(Change):
    def run(self, table):
        table.delete(self.condition)

    def apply(self, rows):
        return {key: seen for key, seen in rows.items() if not self.matches(key, seen)}


class Update(Change):
    def run(self, table):
        table.update({"seen": "seen + 1"}, predicate=self.condition)

    def apply(self, rows):
        return {key: seen + self.matches(key, seen) for key, seen in rows.items()}


class Upsert(Change):
    def run(self, table):
        merger = table.merge(table_of(dict.fromkeys(self.ids, 0)), "t.id = s.id", "s", "t")
        condition = None if self.seen is None else f"t.seen <= {self.seen}"
        merger.when_matched_update({"seen": "t.seen + 1"}, condition).when_not_matched_insert_all().execute()

    def apply(self, rows):
        return dict.fromkeys(self.ids, 0) | Update.apply(self, rows)


class InsertMissing(Change):
    def run(self, table):
        source = table_of(dict.fromkeys(self.ids, 0))
        table.merge(source, "t.id = s.id", "s", "t").when_not_matched_insert_all().execute()

    def apply(self, rows):
        return dict.fromkeys(self.ids, 0) | rows


class Keep(Change):
    """Deletes what is not among the keys, and was seen more often than said."""

    def run(self, table):
        merger = table.merge(table_of(dict.fromkeys(self.ids, 0)), "t.id = s.id", "s", "t")
        merger.when_not_matched_by_source_delete(f"t.seen > {self.seen or 0}").execute()

    def apply(self, rows):
        return {key: seen for key, seen in rows.items() if key in self.ids or seen <= (self.seen or 0)}


def changes(kind):
    few = st.frozensets(st.sampled_from([*KEYS, 20, 21]), min_size=1, max_size=4)
    return st.builds(kind, few, st.one_of(st.none(), st.integers(0, 1)))


STATEMENTS = st.lists(
    st.tuples(
        st.one_of(st.builds(Append), *map(changes, (Delete, Update, Upsert, InsertMissing, Keep))),
        st.integers(0, 3),  # how many versions back it read the table
    ),
    min_size=2,
    max_size=4,
)


def images(before: Rows, after: Rows) -> Counter:
    """What the change feed says of a change; a row that stays as it is is not in it."""
    found = Counter()
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        if old is None or new is None:
            found[("delete", key, old) if new is None else ("insert", key, new)] += 1
        elif old != new:
            found.update([("update_preimage", key, old), ("update_postimage", key, new)])
    return found


@settings(max_examples=examples(5), deadline=None)
@given(statements=STATEMENTS, vectors=st.booleans(), files=st.integers(1, 2))
@example([(Delete(frozenset({1}), None), 0), (InsertMissing(frozenset({1, 20}), None), 1)], True, 1)
@example([(Upsert(frozenset({20}), None), 0), (InsertMissing(frozenset({20, 21}), None), 1)], True, 2)
def test_what_was_committed_equals_a_run_one_after_another(statements, vectors, files):
    check_history(statements, vectors, files)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(statements=STATEMENTS, vectors=st.booleans(), files=st.integers(1, 2))
def test_what_was_committed_equals_a_run_one_after_another_in_many_examples(statements, vectors, files):
    check_history(statements, vectors, files)


def check_history(statements, vectors, files):
    folder = tempfile.mkdtemp()
    try:
        configuration = {
            "delta.enableDeletionVectors": str(vectors).lower(),
            "delta.enableChangeDataFeed": "true",
            "delta.enableRowTracking": "true",
        }
        for number in range(files):
            part = dict.fromkeys(range(number, len(KEYS), files), 0)
            is_first = number == 0
            write_deltalake(
                folder,
                table_of(part),
                mode="error" if is_first else "append",
                configuration=configuration if is_first else None,
            )
        newest = start = files - 1
        states = {start: dict.fromkeys(KEYS, 0)}
        for number, (statement, back) in enumerate(statements):
            if isinstance(statement, Append):
                statement = replace(statement, key=30 + number)
            table = DeltaTable(folder, version=max(start, newest - back))
            try:
                statement.run(table)
            except CommitFailedError:
                continue
            if DeltaTable(folder).version() > newest:
                newest += 1
                states[newest] = statement.apply(states[newest - 1])
            else:  # it found nothing to do, and has its place where it read the table
                read = states[max(start, newest - back)]
                assert statement.apply(read) == read
        check(DeltaTable(folder), states, start)
    finally:
        shutil.rmtree(folder)


def check(table, states, start):
    assert table.version() == max(states)
    found = table.to_pyarrow_table(columns=["id", "seen", "_metadata.row_id"]).to_pylist()
    assert sorted((row["id"], row["seen"]) for row in found) == sorted(states[table.version()].items())
    assert len({row["_metadata.row_id"] for row in found}) == len(found)
    for version in range(start + 1, table.version() + 1):
        feed = table.load_cdf(version, version).read_all().to_pylist()
        told = Counter((row["_change_type"], row["id"], row["seen"]) for row in feed)
        assert told == images(states[version - 1], states[version])
    assert table.verify(deep=True).ok
