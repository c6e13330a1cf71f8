"""Histories of one table, whose steps run in any of several places, beside a model that knows every row.

The places are the threads of this process, pickled tasks, the executors of Spark, and delta-spark. After
each step, the table as we and as delta-spark read it has the rows of the model. Rows keep their ids and the
version that last changed them, new rows get ids that no row had before, and the change feed tells what was
done.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import pyarrow as pa

import deltaarrow as da
import deltaarrow.spark
from deltaarrow.runtime.executors import using
from deltaarrow.scan.row_id_columns import ROW_COMMIT_VERSION, ROW_ID
from tests.support.distributed import TwiceExecutor
from tests.support.leftovers import files_of_version
from tests.support.spark import delta_table, spark_rows

__all__ = [
    "CONDITIONS",
    "PLACES",
    "REWRITES",
    "UPDATES",
    "Append",
    "Change",
    "Delete",
    "History",
    "Merge",
    "Place",
    "Restore",
    "Rewrite",
    "Step",
    "Update",
    "VacuumDryRun",
]

Place = Literal["threads", "tasks", "executors", "delta-spark"]
PLACES: tuple[Place, ...] = get_args(Place)
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


class Values(NamedTuple):
    """The columns of a row besides its key `id`."""

    n: int | None
    p: str | None


Rows = Mapping[int, Values]
"""The rows of a table, by `id`."""

Told = Sequence[tuple[str, int, Values]]
"""What the change feed tells of a step: the kind of change, the key, and the values."""

CONDITIONS: dict[str, Callable[[int, Values], bool]] = {
    "true": lambda id, row: True,
    "id % 3 = 1": lambda id, row: id % 3 == 1,
    "id < 40": lambda id, row: id < 40,
    "n IS NULL": lambda id, row: row.n is None,
    "n > 2": lambda id, row: row.n is not None and row.n > 2,
    "NOT (n > 2)": lambda id, row: row.n is not None and row.n <= 2,
    "p = 'a'": lambda id, row: row.p == "a",
    "p IS NULL OR id % 10 = 7": lambda id, row: row.p is None or id % 10 == 7,
    "p <> 'a' AND n = 1": lambda id, row: row.p not in (None, "a") and row.n == 1,
    "id < 0": lambda id, row: False,
}
"""Conditions of DELETE and UPDATE, and which rows they hold for."""

UPDATES: dict[str, Callable[[int, Values], Values]] = {
    "n = n + 1": lambda id, row: row._replace(n=None if row.n is None else row.n + 1),
    "n = NULL": lambda id, row: row._replace(n=None),
    "p = 'b', n = coalesce(n, id)": lambda id, row: Values(id if row.n is None else row.n, "b"),
}

REWRITES = ("OPTIMIZE {t}", "OPTIMIZE {t} ZORDER BY (n, id)", "REORG TABLE {t} APPLY (PURGE)")
"""Statements that move rows and change none. A clustered table is clustered anew, not put in Z-order."""


class Change(NamedTuple):
    """What a step makes of the rows: all rows afterwards, the keys that it has written, and its change feed.

    The feed is None if it may tell more than has changed, as that of RESTORE does.
    """

    rows: Rows
    written: frozenset[int]
    told: Told | None


@dataclass(frozen=True)
class Append:
    """Adds new rows."""

    count: int

    def text(self, history: "History") -> str:
        """The statement."""
        rows = [(id, *row) for id, row in self.new(history).items()]
        return f"INSERT INTO {{t}} VALUES {', '.join(map(repr, rows))}".replace("None", "NULL")

    def new(self, history: "History") -> Rows:
        """The new rows."""
        return rows_of_keys(range(history.next_key, history.next_key + self.count))

    def change(self, history: "History") -> Change:
        """What it makes of the rows."""
        new = self.new(history)
        return Change({**history.values, **new}, frozenset(new), [("insert", id, new[id]) for id in new])


@dataclass(frozen=True)
class Delete:
    """Deletes the rows of a condition."""

    condition: str

    def text(self, history: "History") -> str:
        """The statement."""
        return f"DELETE FROM {{t}} WHERE {self.condition}"

    def change(self, history: "History") -> Change:
        """What it makes of the rows."""
        kept, gone = _divided(history.values, self.condition)
        return Change(kept, frozenset(), [("delete", id, gone[id]) for id in gone])


@dataclass(frozen=True)
class Update:
    """Changes the rows of a condition."""

    setting: str
    condition: str

    def text(self, history: "History") -> str:
        """The statement."""
        return f"UPDATE {{t}} SET {self.setting} WHERE {self.condition}"

    def change(self, history: "History") -> Change:
        """What it makes of the rows."""
        kept, old = _divided(history.values, self.condition)
        new = {id: UPDATES[self.setting](id, row) for id, row in old.items()}
        return Change({**kept, **new}, frozenset(new), _told_updates(old, new))


@dataclass(frozen=True)
class Merge:
    """Merges rows of which some are there: deletes, updates and inserts.

    `first` and `count` say which keys, and `step` that every so many is one of the source.
    """

    first: int
    count: int
    step: int
    deletes_others: bool

    def source(self, history: "History") -> Rows:
        """The rows to merge: each key once; those from `count` on are new."""
        known = range(self.first, self.first + self.count * self.step, self.step)
        new = range(history.next_key, history.next_key + 3)
        return {id: Values(id % 7, "b" if id % 2 else None) for id in {*known, *new} if id >= 0}

    def text(self, history: "History") -> str:
        """The statement."""
        others = " WHEN NOT MATCHED BY SOURCE AND t.id % 20 = 3 THEN DELETE" if self.deletes_others else ""
        return (
            "MERGE INTO {t} t USING {s} s ON t.id = s.id WHEN MATCHED AND s.n = 4 THEN DELETE"
            f" WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT *{others}"
        )

    def change(self, history: "History") -> Change:
        """What it makes of the rows."""
        source, rows = self.source(history), dict(history.values)
        old = {id: rows[id] for id in source if id in rows and source[id].n != 4}
        updated = {id: row._replace(n=source[id].n) for id, row in old.items()}
        inserted = {id: row for id, row in source.items() if id not in rows}
        deleted = {id: rows[id] for id in source if id in rows and id not in old}
        if self.deletes_others:
            deleted |= {id: row for id, row in rows.items() if id not in source and id % 20 == 3}
        told = [
            *_told_updates(old, updated),
            *(("insert", id, row) for id, row in inserted.items()),
            *(("delete", id, row) for id, row in deleted.items()),
        ]
        left = {id: row for id, row in rows.items() if id not in deleted}
        return Change({**left, **updated, **inserted}, frozenset([*updated, *inserted]), told)


@dataclass(frozen=True)
class Rewrite:
    """Moves rows to other files."""

    statement: str

    def text(self, history: "History") -> str:
        """The statement."""
        if "cluster_by" in history.layout:
            return self.statement.replace("ZORDER BY (n, id)", "FULL")
        return self.statement

    def change(self, history: "History") -> Change:
        """No row is another one."""
        return Change(history.values, frozenset(), [])


@dataclass(frozen=True)
class Restore:
    """Restores a version, counted from the newest one back."""

    back: int

    def version(self, history: "History") -> int:
        """The version."""
        return max(min(history.states), history.version - self.back)

    def text(self, history: "History") -> str:
        """The statement."""
        return f"RESTORE TABLE {{t}} TO VERSION AS OF {self.version(history)}"

    def change(self, history: "History") -> Change:
        """The rows are those of the version, with its ids."""
        state = history.states[self.version(history)]
        return Change({id: row.values for id, row in state.items()}, frozenset(), None)


@dataclass(frozen=True)
class VacuumDryRun:
    """Asks which files VACUUM would delete."""

    def text(self, history: "History") -> str:
        """The statement."""
        return "VACUUM {t} RETAIN 0 HOURS DRY RUN"

    def change(self, history: "History") -> Change:
        """No row is another one."""
        return Change(history.values, frozenset(), [])


Step = Append | Delete | Update | Merge | Rewrite | Restore | VacuumDryRun


@dataclass(frozen=True)
class _Row:
    values: Values
    row_id: int
    changed: int
    """The version that last changed it."""


@dataclass
class History:
    """A table at `path`, and what its versions hold; each step is checked once it is done.

    `layout` are the arguments for its partition or clustering columns. Without a session, delta-spark reads
    nothing.
    """

    spark: Any
    path: Path
    configuration: Mapping[str, str]
    layout: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: int = 9
    states: dict[int, dict[int, _Row]] = field(default_factory=dict)
    steps: list[tuple[Place, str]] = field(default_factory=list)
    _row_ids: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Make the table, of several files."""
        self.next_key = 0
        for number in range(self.files):
            rows = rows_of_keys(range(self.next_key, self.next_key + 10))
            given = {"configuration": self.configuration, **self.layout}
            da.write_deltalake(self.path, table_of(rows), mode="append", **({} if number else given))
            self.next_key += 10
        found = self._read()
        assert {id: row.values for id, row in found.items()} == rows_of_keys(range(self.next_key))
        assert {row.changed for row in found.values()} == set(range(self.files))
        self._row_ids = {row.row_id for row in found.values()}
        self.states = {self.version: found}

    @property
    def version(self) -> int:
        """The newest version."""
        return da.DeltaTable(self.path).version()

    @property
    def values(self) -> Rows:
        """The rows of the newest version."""
        return {id: row.values for id, row in self.states[max(self.states)].items()}

    def do(self, place: Place, step: Step) -> None:
        """Run a step in a place, and check what it has left."""
        before, change, text = self.version, step.change(self), step.text(self)
        # The version whose rows keep their ids.
        kept = step.version(self) if isinstance(step, Restore) else before
        self.steps.append((place, text))
        names = {"t": delta_table(self.path)}
        if isinstance(step, Merge):
            source = self.path.with_name(f"source-{len(self.steps)}")
            da.write_deltalake(source, table_of(step.source(self)))
            names["s"] = delta_table(source)
        said = self._run(place, step, text.format(**names))
        if isinstance(step, VacuumDryRun):
            self._check_files(said)
        self.next_key += 100
        after = self.version
        assert before <= after <= before + 1, self.steps
        self._check(change, self.states[kept], before, after)

    def _run(self, place: Place, step: Step, text: str) -> list[str]:
        if place == "delta-spark":
            self.spark.conf.set(_CHECK, "false")
            try:
                return [str(row[0]) for row in self.spark.sql(text).collect()]
            finally:
                self.spark.conf.unset(_CHECK)
        if place == "executors" and isinstance(step, Append):
            frame = self.spark.createDataFrame(table_of(step.new(self))).repartition(2)
            frame.write.format("deltaarrow").mode("append").save(str(self.path))
            return []
        with self._executors(place), da.connect(dialect="spark") as con:
            con.sql(f"SET {_CHECK} = false")
            found = con.sql(text)
            return [str(each) for each in found.column(0).to_pylist()] if found.num_columns else []

    def _executors(self, place: Place) -> AbstractContextManager[Any]:
        if place == "executors":
            return deltaarrow.spark.on_executors(self.spark)
        return using(TwiceExecutor()) if place == "tasks" else contextlib.nullcontext()

    def _check(self, change: Change, kept: Mapping[int, _Row], before: int, after: int) -> None:
        found = self._read()
        assert {id: row.values for id, row in found.items()} == change.rows, self.steps
        for id, row in found.items():
            if id in change.written and id not in kept:
                assert row.row_id not in self._row_ids, (id, self.steps)
            else:
                assert row.row_id == kept[id].row_id, (id, self.steps)
            wanted = after if id in change.written else kept[id].changed
            assert row.changed == wanted, (id, row, wanted, self.steps)
        self._row_ids |= {row.row_id for row in found.values()}
        assert len({row.row_id for row in found.values()}) == len(found), self.steps
        self._check_feed(change, before, after)
        self.states[after] = found

    def _read(self) -> dict[int, _Row]:
        """The rows with their ids, by `id`: ours, which are those of delta-spark."""
        names = ["id", "n", "p", ROW_ID, ROW_COMMIT_VERSION]
        one = _counted(da.DeltaTable(self.path).to_pyarrow_table(columns=names))
        if self.spark is not None:
            frame = self.spark.read.format("delta").load(str(self.path))
            names[3:] = ["_metadata.row_id", "_metadata.row_commit_version"]
            assert one == _counted(spark_rows(frame.select(*names))), self.steps
        assert set(one.values()) <= {1}, self.steps
        return {id: _Row(Values(n, p), row_id, changed) for id, n, p, row_id, changed in one}

    def _check_feed(self, change: Change, before: int, after: int) -> None:
        if after == before:
            assert not change.told, self.steps
            return
        columns = ["_change_type", "id", "n", "p"]
        feed = da.DeltaTable(self.path).load_cdf(after, after).read_all()
        one = _counted(pa.table(feed).select(columns))
        if self.spark is not None:
            options = {"readChangeFeed": "true", "startingVersion": after, "endingVersion": after}
            frame = self.spark.read.format("delta").options(**options).load(str(self.path))
            assert one == _counted(spark_rows(frame.select(*columns))), self.steps
        if change.told is not None:
            assert one == Counter((kind, id, *row) for kind, id, row in change.told), self.steps
        # What is left of the rows before, once all is deleted and inserted, are the rows now.
        net = Counter((id, *row) for id, row in self.values.items())
        for (kind, *row), count in one.items():
            net[tuple(row)] += -count if kind in ("delete", "update_preimage") else count
        wanted = Counter((id, *row) for id, row in change.rows.items())
        assert {row: count for row, count in net.items() if count} == wanted, self.steps

    def _check_files(self, paths: Sequence[str]) -> None:
        """No file that VACUUM would delete is one of the newest version."""
        live = {os.path.basename(path) for path in files_of_version(da.DeltaTable(self.path))}
        assert not live & {os.path.basename(path) for path in paths}, self.steps


def _counted(rows: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*rows.to_pydict().values(), strict=True))


def rows_of_keys(keys: range) -> Rows:
    """Rows with these keys, some with NULL."""
    return {id: Values(None if id % 4 == 0 else id % 5, (None, "a", "b")[id % 3]) for id in keys}


def table_of(rows: Rows) -> pa.Table:
    """The rows in Arrow."""
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("p", pa.string())])
    return pa.Table.from_pylist([{"id": id, "n": row.n, "p": row.p} for id, row in rows.items()], schema)


def _divided(rows: Rows, condition: str) -> tuple[dict[int, Values], dict[int, Values]]:
    """The rows that a condition does not hold for, and those that it holds for."""
    holds = CONDITIONS[condition]
    parts: tuple[dict[int, Values], dict[int, Values]] = ({}, {})
    for id, row in rows.items():
        parts[holds(id, row)][id] = row
    return parts


def _told_updates(old: Rows, new: Rows) -> list[tuple[str, int, Values]]:
    return [
        *(("update_preimage", id, row) for id, row in old.items()),
        *(("update_postimage", id, row) for id, row in new.items()),
    ]
