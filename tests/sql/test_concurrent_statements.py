"""Statements of several writers on one table at a time: each row is there once, as its writer left it."""

import multiprocessing
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import deltaarrow
from deltaarrow.errors import CommitFailedError

_TRIES = 100
LAYOUTS = {
    "marked": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true')",
    "rewritten": "TBLPROPERTIES ('delta.checkpointInterval' = '3')",
    "partitioned": "PARTITIONED BY (w) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
}


class Writer:
    """Changes rows of its own by SQL, and knows what they are."""

    def __init__(self, connection, table, number):
        self._connection, self._table, self._number = connection, table, number
        self._chance, self._next = random.Random(number), 0
        self.rows = {}

    def work(self, rounds):
        kinds = [self._insert, self._merge, self._delete, self._update, self._replace, self._optimize]
        for kind in (*kinds, *self._chance.choices(kinds, k=rounds)):
            kind()
        return {(self._number, key): value for key, value in self.rows.items()}

    def _run(self, text):
        for _ in range(_TRIES):
            try:
                self._connection.execute(text).fetchall()
            except CommitFailedError:
                continue
            return
        raise AssertionError(f"{text} has had {_TRIES} conflicts")

    def _new(self, count):
        self._next += count
        return range(self._next - count, self._next)

    def _values(self, keys):
        return ", ".join(f"({self._number}, {key}, 0)" for key in keys)

    def _insert(self):
        new = self._new(3)
        self._run(f"INSERT INTO {self._table} VALUES {self._values(new)}")
        self.rows |= dict.fromkeys(new, 0)

    def _merge(self):
        old, new = self._chance.sample(sorted(self.rows), min(2, len(self.rows))), self._new(2)
        self._run(
            f"MERGE INTO {self._table} AS t"
            f" USING (SELECT * FROM (VALUES {self._values([*old, *new])}) AS r(w, id, v)) AS s"
            " ON t.w = s.w AND t.id = s.id WHEN MATCHED THEN UPDATE SET v = t.v + 1"
            " WHEN NOT MATCHED THEN INSERT (w, id, v) VALUES (s.w, s.id, s.v)"
        )
        self.rows |= {key: self.rows[key] + 1 for key in old} | dict.fromkeys(new, 0)

    def _delete(self):
        rest = self._chance.randrange(5)
        self._run(f"DELETE FROM {self._table} WHERE w = {self._number} AND id % 5 = {rest}")
        self.rows = {key: value for key, value in self.rows.items() if key % 5 != rest}

    def _update(self):
        rest = self._chance.randrange(3)
        self._run(f"UPDATE {self._table} SET v = v + 1 WHERE w = {self._number} AND id % 3 = {rest}")
        self.rows = {key: value + (key % 3 == rest) for key, value in self.rows.items()}

    def _replace(self):
        new = self._new(2)
        condition = f"w = {self._number} AND id > 5"
        kept = [key for key in new if key > 5]
        if kept:
            self._run(f"INSERT INTO {self._table} REPLACE WHERE {condition} VALUES {self._values(kept)}")
            self.rows = {key: value for key, value in self.rows.items() if key <= 5} | dict.fromkeys(kept, 0)

    def _optimize(self):
        self._run(
            self._chance.choice([f"OPTIMIZE {self._table}", f"REORG TABLE {self._table} APPLY (PURGE)"])
        )


def made(path, layout):
    with deltaarrow.connect(dialect="spark") as connection:
        connection.sql(f"CREATE TABLE delta.`{path}` (w INT, id INT, v INT) USING delta {LAYOUTS[layout]}")
    return f"delta.`{path}`"


def check(path, ledgers):
    wanted = {key: value for ledger in ledgers for key, value in ledger.items()}
    table = deltaarrow.DeltaTable(path)
    found = [tuple(row.values()) for row in table.to_pyarrow_table().to_pylist()]
    assert sorted(found) == sorted((*key, value) for key, value in wanted.items())
    assert list(table.verify(deep=True)) == []


def test_threads_with_cursors_of_one_connection(tmp_path):
    table, begins = made(tmp_path / "t", "marked"), threading.Barrier(2)
    with deltaarrow.connect(dialect="spark") as connection, ThreadPoolExecutor(2) as threads:

        def write(number):
            with connection.cursor() as cursor:
                begins.wait(30)
                return Writer(cursor, table, number).work(0)

        check(tmp_path / "t", list(threads.map(write, range(2))))


def write_alone(table, number, dialect, rounds):
    with deltaarrow.connect(dialect=dialect) as connection:
        return Writer(connection, table, number).work(rounds)


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
def test_processes_that_write_in_both_dialects(tmp_path, layout):
    table = made(tmp_path / "t", layout)
    work = [(table, number, ("duckdb", "spark")[number % 2], 20) for number in range(3)]
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        check(tmp_path / "t", pool.starmap(write_alone, work))
