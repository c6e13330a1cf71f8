"""Histories of one table, whose steps run in any of several places, beside a model that knows every row.

The places are the threads of this process, pickled tasks, the executors of Spark, and delta-spark. After
each step, the table as we and as delta-spark read it has the rows of the model. Rows keep their ids and the
version that last changed them, new rows get ids that no row had before, and the change feed tells what was
done. Rows also keep the number that an identity column, `number`, gave them. New rows get numbers beyond the
high water mark, which is then the furthest of them. Columns change as well: `e` comes and goes, and `p`
becomes `q` and `p` again.
"""

import contextlib
import os
import re
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
    "AlterColumns",
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
    e: int | None = None


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
    "p = 'b', n = coalesce(n, id)": lambda id, row: row._replace(n=id if row.n is None else row.n, p="b"),
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
    """Adds new rows, from a frame or a table where they bring the column `e`, else by a statement."""

    count: int
    brings_e: bool = False

    def text(self, history: "History") -> str:
        """The statement, or what is done instead."""
        if self.brings_e:
            return f"append {self.count} rows with e"
        rows = [(id, row.n, row.p) for id, row in self.new(history).items()]
        return f"INSERT INTO {{t}} (id, n, {{p}}) VALUES {', '.join(map(repr, rows))}".replace("None", "NULL")

    def new(self, history: "History") -> Rows:
        """The new rows."""
        rows = rows_of_keys(range(history.next_key, history.next_key + self.count))
        return {id: row._replace(e=id) for id, row in rows.items()} if self.brings_e else rows

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
        return f"DELETE FROM {{t}} WHERE {_named(self.condition)}"

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
        return f"UPDATE {{t}} SET {_named(self.setting)} WHERE {_named(self.condition)}"

    def change(self, history: "History") -> Change:
        """What it makes of the rows."""
        kept, old = _divided(history.values, self.condition)
        new = {id: UPDATES[self.setting](id, row) for id, row in old.items()}
        return Change({**kept, **new}, frozenset(new), _told_updates(old, new))


@dataclass(frozen=True)
class Merge:
    """Merges rows of which some are there: deletes, updates and inserts.

    `first` and `count` say which keys, and `step` that every so many is one of the source. `brings_e` says
    that the source has the column `e`, and that the table gets it if it has none.
    """

    first: int
    count: int
    step: int
    deletes_others: bool
    brings_e: bool = False

    def source(self, history: "History") -> Rows:
        """The rows to merge: each key once; those from `count` on are new."""
        known = range(self.first, self.first + self.count * self.step, self.step)
        new = range(history.next_key, history.next_key + 3)
        return {
            id: Values(id % 7, "b" if id % 2 else None, -id if self.brings_e else None)
            for id in {*known, *new}
            if id >= 0
        }

    def text(self, history: "History") -> str:
        """The statement."""
        others = " WHEN NOT MATCHED BY SOURCE AND t.id % 20 = 3 THEN DELETE" if self.deletes_others else ""
        if self.brings_e:
            way, updates, inserts = "WITH SCHEMA EVOLUTION ", "n = s.n, e = s.e", "*"
        else:
            way, updates, inserts = "", "n = s.n", "(id, n, {p}) VALUES (s.id, s.n, s.{p})"
        return (
            f"MERGE {way}INTO {{t}} t USING {{s}} s ON t.id = s.id WHEN MATCHED AND s.n = 4 THEN DELETE"
            f" WHEN MATCHED THEN UPDATE SET {updates} WHEN NOT MATCHED THEN INSERT {inserts}{others}"
        )

    def change(self, history: "History") -> Change:
        """What it makes of the rows."""
        source, rows = self.source(history), dict(history.values)
        old = {id: rows[id] for id in source if id in rows and source[id].n != 4}
        updated = {id: row._replace(n=source[id].n) for id, row in old.items()}
        if self.brings_e:
            updated = {id: row._replace(e=source[id].e) for id, row in updated.items()}
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


@dataclass(frozen=True)
class AlterColumns:
    """Adds or drops the column `e`, or renames `p` to `q` or back; the last two where columns are mapped."""

    way: Literal["add", "drop", "rename"]

    def applies(self, history: "History") -> bool:
        """Whether the table can be altered so."""
        if self.way == "add":
            return not history.has_e
        return history.is_mapped and (self.way == "rename" or history.has_e)

    def text(self, history: "History") -> str:
        """The statement."""
        other = "q" if history.name_of_p == "p" else "p"
        does = {
            "add": "ADD COLUMNS (e BIGINT)",
            "drop": "DROP COLUMN e",
            "rename": f"RENAME COLUMN {{p}} TO {other}",
        }
        return f"ALTER TABLE {{t}} {does[self.way]}"

    def change(self, history: "History") -> Change:
        """No file is another one; without the column, no row has a value of it."""
        rows = history.values
        if self.way == "drop":
            rows = {id: row._replace(e=None) for id, row in rows.items()}
        return Change(rows, frozenset(), [])


Step = Append | Delete | Update | Merge | Rewrite | Restore | VacuumDryRun | AlterColumns


@dataclass(frozen=True)
class _Row:
    values: Values
    number: int | None
    row_id: int
    changed: int
    """The version that last changed it."""


@dataclass
class History:
    """A table at `path`, and what its versions hold; each step is checked once it is done.

    `layout` are the arguments for its partition or clustering columns. `numbers` are start and step of the
    column `number`, which the table lacks if they are None. Without a session, delta-spark reads nothing.
    """

    spark: Any
    path: Path
    configuration: Mapping[str, str]
    layout: Mapping[str, Sequence[str]] = field(default_factory=dict)
    files: int = 9
    numbers: tuple[int, int] | None = None
    states: dict[int, dict[int, _Row]] = field(default_factory=dict)
    steps: list[tuple[Place, str]] = field(default_factory=list)
    _row_ids: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Make the table, of several files."""
        self.next_key = 0
        given: dict[str, Any] = {"configuration": self.configuration, **self.layout}
        if self.numbers is not None:
            da.DeltaTable.create(self.path, _numbered_schema(*self.numbers), **given)
            given = {}
        first = 0 if given else 1
        for _ in range(self.files):
            rows = rows_of_keys(range(self.next_key, self.next_key + 10))
            da.write_deltalake(self.path, table_of(rows), mode="append", **given)
            self.next_key += 10
            given = {}
        found = self._read()
        assert {id: row.values for id, row in found.items()} == rows_of_keys(range(self.next_key))
        assert {row.changed for row in found.values()} == set(range(first, first + self.files))
        self._row_ids = {row.row_id for row in found.values()}
        self._check_numbers(found, {}, frozenset(found), None)
        self.states = {self.version: found}

    @property
    def version(self) -> int:
        """The newest version."""
        return da.DeltaTable(self.path).version()

    @property
    def values(self) -> Rows:
        """The rows of the newest version."""
        return {id: row.values for id, row in self.states[max(self.states)].items()}

    @property
    def _schema(self) -> da.Schema:
        return da.DeltaTable(self.path).snapshot.schema

    @property
    def has_e(self) -> bool:
        """Whether the table has the column `e`."""
        return "e" in self._schema.names

    @property
    def name_of_p(self) -> str:
        """The present name of the column `p`."""
        return "p" if "p" in self._schema.names else "q"

    @property
    def is_mapped(self) -> bool:
        """Whether columns can be dropped and renamed."""
        return "delta.columnMapping.mode" in self.configuration

    @property
    def mark(self) -> int | None:
        """The high water mark of the column `number`."""
        if self.numbers is None:
            return None
        return self._schema.field("number").metadata.get("delta.identity.highWaterMark")

    def do(self, place: Place, step: Step) -> None:
        """Run a step in a place, and check what it has left; columns are only altered where that applies."""
        if isinstance(step, AlterColumns) and not step.applies(self):
            return
        mark = self.mark
        before, change, text = self.version, step.change(self), step.text(self)
        # The version whose rows keep their ids.
        kept = step.version(self) if isinstance(step, Restore) else before
        self.steps.append((place, text))
        names = {"t": delta_table(self.path), "p": self.name_of_p}
        if isinstance(step, Merge):
            source = self.path.with_name(f"source-{len(self.steps)}")
            da.write_deltalake(source, table_of(step.source(self), self.name_of_p, has_e=step.brings_e))
            names["s"] = delta_table(source)
        said = self._run(place, step, text.format(**names))
        if isinstance(step, VacuumDryRun):
            self._check_files(said)
        self.next_key += 100
        after = self.version
        assert before <= after <= before + 1, self.steps
        self._check(change, self.states[kept], before, after, mark)

    def _run(self, place: Place, step: Step, text: str) -> list[str]:
        if isinstance(step, Append) and (step.brings_e or place == "executors"):
            self._append(place, table_of(step.new(self), self.name_of_p, has_e=step.brings_e))
            return []
        if place == "delta-spark":
            self.spark.conf.set(_CHECK, "false")
            try:
                return [str(row[0]) for row in self.spark.sql(text).collect()]
            finally:
                self.spark.conf.unset(_CHECK)
        with self._executors(place), da.connect(dialect="spark") as con:
            con.sql(f"SET {_CHECK} = false")
            found = con.sql(text)
            return [str(each) for each in found.column(0).to_pylist()] if found.num_columns else []

    def _append(self, place: Place, rows: pa.Table) -> None:
        if place in ("threads", "tasks"):
            da.write_deltalake(self.path, rows, mode="append", schema_mode="merge")
            return
        kind = "delta" if place == "delta-spark" else "deltaarrow"
        frame = self.spark.createDataFrame(rows).repartition(2)
        frame.write.format(kind).mode("append").option("mergeSchema", "true").save(str(self.path))

    def _executors(self, place: Place) -> AbstractContextManager[Any]:
        if place == "executors":
            return deltaarrow.spark.on_executors(self.spark)
        return using(TwiceExecutor()) if place == "tasks" else contextlib.nullcontext()

    def _check(
        self, change: Change, kept: Mapping[int, _Row], before: int, after: int, mark: int | None
    ) -> None:
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
        self._check_numbers(found, kept, change.written - kept.keys(), mark)
        self._check_feed(change, before, after)
        self.states[after] = found

    def _check_numbers(
        self, found: Mapping[int, _Row], kept: Mapping[int, _Row], new: frozenset[int], mark: int | None
    ) -> None:
        """Rows keep their numbers, and new ones go on from the mark, which then is the furthest of them."""
        if self.numbers is None:
            return
        for id in found.keys() - new:
            assert found[id].number == kept[id].number, (id, self.steps)
        start, step = self.numbers
        places = [(found[id].number - start) / step for id in new]
        assert len(set(places)) == len(places), self.steps
        assert all(place == int(place) >= 0 for place in places), self.steps
        before = -1 if mark is None else (mark - start) // step
        assert min(places, default=before + 1) > before, self.steps
        wanted = max(places, default=before)
        assert self.mark == (None if wanted < 0 else start + int(wanted) * step), self.steps

    @property
    def _columns(self) -> list[str]:
        optional = [name for name in ("e", "number") if name in self._schema.names]
        return ["id", "n", self.name_of_p, *optional]

    def _read(self) -> dict[int, _Row]:
        """The rows with their ids, by `id`: ours, which are those of delta-spark."""
        names = self._columns
        table = da.DeltaTable(self.path).to_pyarrow_table(columns=[*names, ROW_ID, ROW_COMMIT_VERSION])
        one = _counted(table)
        if self.spark is not None:
            frame = self.spark.read.format("delta").load(str(self.path))
            hidden = ["_metadata.row_id", "_metadata.row_commit_version"]
            assert one == _counted(spark_rows(frame.select(*names, *hidden))), self.steps
        assert set(one.values()) <= {1}, self.steps
        rows = table.rename_columns([*map(_as_p, names), "row_id", "changed"]).to_pylist()
        return {
            row["id"]: _Row(_values(row), row.get("number"), row["row_id"], row["changed"]) for row in rows
        }

    def _check_feed(self, change: Change, before: int, after: int) -> None:
        if after == before:
            assert not change.told, self.steps
            return
        columns = ["_change_type", *self._columns]
        feed = pa.table(da.DeltaTable(self.path).load_cdf(after, after).read_all()).select(columns)
        one = _counted(feed)
        if self.spark is not None:
            options = {"readChangeFeed": "true", "startingVersion": after, "endingVersion": after}
            frame = self.spark.read.format("delta").options(**options).load(str(self.path))
            assert one == _counted(spark_rows(frame.select(*columns))), self.steps
        named = feed.rename_columns(list(map(_as_p, columns))).to_pylist()
        one = Counter((row["_change_type"], row["id"], *_values(row)) for row in named)
        if change.told is not None:
            assert one == Counter((kind, id, *row) for kind, id, row in change.told), self.steps
        # What is left of the rows before, once all is deleted and inserted, are the rows now. Values of a
        # column come and go with it, and no change tells of them.
        width = 4 if self.has_e and change.told is not None else 3
        net = Counter((id, *row)[:width] for id, row in self.values.items())
        for (kind, *row), count in one.items():
            net[tuple(row[:width])] += -count if kind in ("delete", "update_preimage") else count
        wanted = Counter((id, *row)[:width] for id, row in change.rows.items())
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


def table_of(rows: Rows, name_of_p: str = "p", *, has_e: bool = False) -> pa.Table:
    """The rows in Arrow."""
    schema = pa.schema([("id", pa.int64()), ("n", pa.int64()), ("p", pa.string()), ("e", pa.int64())])
    table = pa.Table.from_pylist([{"id": id, **row._asdict()} for id, row in rows.items()], schema)
    table = table.rename_columns(["id", "n", name_of_p, "e"])
    return table if has_e else table.drop_columns(["e"])


def _numbered_schema(start: int, step: int) -> da.Schema:
    identity = {"start": start, "step": step, "allowExplicitInsert": False}
    number = {f"delta.identity.{key}": value for key, value in identity.items()}
    return da.Schema(
        [
            da.Field("id", "long"),
            da.Field("n", "long"),
            da.Field("p", "string"),
            da.Field("number", "long", metadata=number),
        ]
    )


def _values(row: Mapping[str, Any]) -> Values:
    return Values(row["n"], row["p"], row.get("e"))


def _as_p(name: str) -> str:
    return "p" if name == "q" else name


def _named(text: str) -> str:
    """The text of a condition or of assignments, with a place for the present name of `p`."""
    return re.sub(r"\bp\b", "{p}", text)


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
