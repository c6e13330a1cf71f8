"""DELETE, UPDATE, MERGE and INSERT as values that run on Spark, in SQL, and on `deltaarrow.DeltaTable`.

`StatementMaker` draws statements, and the rows for them, from a seed. Its conditions and values use
functions that both sides know; its rows are full of NULL, NaN, -0.0, duplicates and awkward partitions.
"""

import datetime
import os
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

import deltaarrow as da
from tests.support.spark import delta_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "COLUMNS",
    "Clause",
    "Delete",
    "Insert",
    "Merge",
    "Optimize",
    "Statement",
    "StatementMaker",
    "Update",
    "assignments_sql",
    "clause_sql",
    "describe",
    "rows",
    "run_here",
    "run_in_spark",
    "where_sql",
]

COLUMNS = pa.schema(
    {
        "id": pa.int64(),
        "i": pa.int32(),
        "s": pa.string(),
        "x": pa.float64(),
        "m": pa.decimal128(10, 2),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "ok": pa.bool_(),
        "st": pa.struct({"a": pa.int32(), "b": pa.string()}),
        "xs": pa.list_(pa.int32()),
        "p": pa.string(),
    }
)
"""The columns of every table, and of everything that is merged into one."""


# --- statements ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Insert:
    """An append."""

    rows: pa.Table


@dataclass(frozen=True)
class Delete:
    """``DELETE``; of all rows without a condition."""

    condition: str | None = None


@dataclass(frozen=True)
class Update:
    """``UPDATE``: column or ``struct.field`` -> expression."""

    values: Mapping[str, str]
    condition: str | None = None


@dataclass(frozen=True)
class Clause:
    """A ``WHEN``: values are by column, or all of the source's where they are None."""

    when: Literal["MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"]
    then: Literal["UPDATE", "DELETE", "INSERT"]
    condition: str | None = None
    values: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Merge:
    """``MERGE`` into ``t`` of ``s``: the rows of `source`, or of the table itself where it is None."""

    source: pa.Table | None
    on: str
    clauses: Sequence[Clause]


@dataclass(frozen=True)
class Optimize:
    """``OPTIMIZE``, of Spark alone."""


Statement = Insert | Delete | Update | Merge | Optimize


def run_in_spark(session: "SparkSession", path: str | os.PathLike[str], statement: Statement) -> None:
    """Run a statement on the table at `path` by Spark."""
    name = delta_table(path)
    match statement:
        case Insert(given):
            session.createDataFrame(given).coalesce(1).createOrReplaceTempView("given")
            session.sql(f"INSERT INTO {name} SELECT * FROM given")
        case Delete(condition):
            session.sql(f"DELETE FROM {name}{where_sql(condition)}")
        case Update(values, condition):
            session.sql(f"UPDATE {name} SET {assignments_sql(values)}{where_sql(condition)}")
        case Merge(source, on, clauses):
            if source is not None:
                session.createDataFrame(source).coalesce(1).createOrReplaceTempView("given")
            using = name if source is None else "given"
            session.sql(
                f"MERGE INTO {name} AS t USING {using} AS s ON {on} "
                + " ".join(clause_sql(clause) for clause in clauses)
            )
        case Optimize():
            session.sql(f"OPTIMIZE {name}")


def where_sql(condition: str | None) -> str:
    return "" if condition is None else f" WHERE {condition}"


def assignments_sql(values: Mapping[str, str]) -> str:
    return ", ".join(f"{column} = {value}" for column, value in values.items())


def clause_sql(clause: Clause) -> str:
    condition = "" if clause.condition is None else f" AND {clause.condition}"
    if clause.then == "DELETE":
        action = "DELETE"
    elif clause.values is None:
        action = "UPDATE SET *" if clause.then == "UPDATE" else "INSERT *"
    elif clause.then == "UPDATE":
        action = f"UPDATE SET {assignments_sql(clause.values)}"
    else:
        action = f"INSERT ({', '.join(clause.values)}) VALUES ({', '.join(clause.values.values())})"
    return f"WHEN {clause.when}{condition} THEN {action}"


def run_here(path: str | os.PathLike[str], statement: Statement) -> None:
    """Run a statement on the table at `path` by deltaarrow."""
    table = da.DeltaTable(path)
    match statement:
        case Insert(given):
            da.write_deltalake(table, given, mode="append")
        case Delete(condition):
            table.delete(condition)
        case Update(values, condition):
            table.update(dict(values), predicate=condition)
        case Merge(source, on, clauses):
            given = da.DeltaTable(path) if source is None else source
            merger = table.merge(given, on, source_alias="s", target_alias="t")
            for clause in clauses:
                merger = _with_clause(merger, clause)
            merger.execute()
        case Optimize():
            raise NotImplementedError("OPTIMIZE is for Spark")


def _with_clause(merger: Any, clause: Clause) -> Any:
    name = f"when_{clause.when.lower().replace(' ', '_')}_{clause.then.lower()}"
    if clause.then == "DELETE":
        return getattr(merger, name)(clause.condition)
    if clause.values is None:
        return getattr(merger, f"{name}_all")(clause.condition)
    return getattr(merger, name)(dict(clause.values), clause.condition)


def describe(statement: Statement) -> str:
    """A statement as it is to be read in a report, its rows included."""
    match statement:
        case Insert(given):
            return f"INSERT {given.to_pylist()}"
        case Delete(condition):
            return f"DELETE{where_sql(condition)}"
        case Update(values, condition):
            return f"UPDATE SET {assignments_sql(values)}{where_sql(condition)}"
        case Merge(source, on, clauses):
            given = "itself" if source is None else source.to_pylist()
            return f"MERGE ON {on} {' '.join(clause_sql(each) for each in clauses)} USING {given}"
    return repr(statement)


# --- rows and statements out of a seed -------------------------------------------------------------

_DAYS = [datetime.date(1969, 12, 31), datetime.date(2024, 1, 31), datetime.date(2024, 2, 29)]
_TIMES = [
    datetime.datetime(1969, 12, 31, 23, 59, 59, 900_000, datetime.UTC),
    datetime.datetime(2024, 1, 31, 13, 14, 15, 123_456, datetime.UTC),
    datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC),
]
_POOLS: dict[str, list[Any]] = {
    "i": [-5, 0, 1, 2, 3, 7, 2_000_000_000],
    "s": ["", "a", "ab", "B", "b", "é", "z 'q'"],
    "x": [0.0, -0.0, 1.5, -2.5, float("nan"), float("inf"), float("-inf"), 0.1],
    "m": [Decimal("0.00"), Decimal("1.25"), Decimal("-1.25"), Decimal("2.50"), Decimal("99999999.99")],
    "day": _DAYS,
    "at": _TIMES,
    "ok": [True, False],
    "st": [{"a": 1, "b": "u"}, {"a": None, "b": "v"}, {"a": 2, "b": None}, {"a": None, "b": None}],
    "xs": [[], [1], [1, 2], [None, 2], [3, 2, 1]],
    "p": ["a", "a", "b", "c d/=%"],
}

_ATOMS = {
    "id": "{}id = {n}|{}id > {n}|{}id < {n}|{}id IN ({n}, 5, NULL)|{}id IS NULL|{}id % 3 = 1|{}id <=> {n}"
    "|{}id NOT IN ({n}, 7)|{}id BETWEEN 5 AND {n}|{}id <> {n}",
    "i": "{}i > 1|{}i <= 0|{}i = {}id|{}i < {}id|{}i IN (1, 2, 3)|NOT {}i = 2|coalesce({}i, 0) = 0",
    "s": "{}s = 'b'|{}s > 'Z'|{}s LIKE 'a%'|upper({}s) = 'B'|{}s = ''|length({}s) < 2|{}s NOT IN ('a', NULL)"
    "|{}s >= 'b'|{}s <= 'ab'|{}s IS NOT NULL",
    "x": "{}x > 1.5D|isnan({}x)|{}x = 0D|{}x = {}x|{}x < 0D|{}x >= CAST('NaN' AS DOUBLE)|{}x <> 1.5D"
    "|{}x <= CAST('Infinity' AS DOUBLE)|NOT {}x > 0D|{}x IN (0D, 1.5D)",
    "m": "{}m > 1.25|{}m = 2.5|{}m * 2 < 3|{}m <= -1.25|{}m BETWEEN 0 AND 2",
    "day": "{}day = DATE'2024-01-31'|{}day < '2024-02-01'|year({}day) = 2024|{}day IS NULL",
    "at": "{}at >= TIMESTAMP'2024-01-31 13:14:15.123456'|{}at < TIMESTAMP'2024-01-01 00:00:00'|{}at > {}day",
    "ok": "{}ok|NOT {}ok|{}ok IS NOT TRUE|{}ok = false|{}ok IS NULL",
    "st": "{}st.a = 1|{}st IS NULL|{}st.b IS NULL|{}st.a > 1",
    "xs": "size({}xs) > 1|array_contains({}xs, 2)|{}xs IS NULL",
    "p": "{}p = 'a'|{}p IS NULL|{}p IN ('b', 'c d/=%')|{}p <> 'b'|{}p > 'a'",
}
"""Column -> conditions; ``{}`` is for the alias of the table, ``{n}`` for a number."""

_VALUES = {
    "id": ["{}id + 1", "{}id", "NULL", "100", "-{}id"],
    "i": ["{}i + 1", "1", "NULL", "CAST({}id AS INT)", "coalesce({}i, 0) % 5", "{}id"],
    "s": ["concat({}s, 'x')", "upper({}s)", "NULL", "'new'", "CAST({}id AS STRING)", "coalesce({}s, {}p)"],
    "x": ["{}x * 2", "-{}x", "CAST('NaN' AS DOUBLE)", "NULL", "0", "1.5", "{}i / 2"],
    "m": ["{}m / 2", "1.005", "-{}m", "NULL", "3", "CAST({}i AS DECIMAL(10,2)) / 10"],
    "day": ["date_add({}day, 1)", "DATE'2020-02-29'", "NULL", "CAST({}at AS DATE)"],
    "at": ["TIMESTAMP'2020-01-01 00:00:00.5'", "NULL", "CAST({}day AS TIMESTAMP)"],
    "ok": ["NOT {}ok", "{}id > 10", "NULL", "true"],
    "st": ["{}st", "NULL"],
    "xs": ["{}xs", "NULL"],
    "p": ["'a'", "{}s", "NULL", "concat({}p, '!')", "'new p'"],
}
"""Column -> what it may become."""

_ON = [
    *["t.id = s.id"] * 6,
    "t.id <=> s.id",
    "t.id = s.id AND t.p = s.p",
    "t.id = s.id AND s.i > 0",
    "t.id = s.id AND t.p = 'a'",
    "s.id = t.id + 1",
    "t.s = s.s AND t.id = s.id",
    "t.x = s.x AND t.id = s.id",
    "t.p = 'a' AND s.id = 3",
    "false",
]


def rows(seed: int, ids: Sequence[int | None]) -> pa.Table:
    """Rows with these `id`, the rest of them from the seed."""
    return StatementMaker(seed).rows(ids)


class StatementMaker:
    """Draws rows and statements, always the same from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def rows(self, ids: Sequence[int | None]) -> pa.Table:
        """Rows with these `id`."""
        columns: dict[str, list[Any]] = {"id": list(ids)}
        for name, pool in _POOLS.items():
            columns[name] = [self.random.choice([*pool, None]) for _ in ids]
        return pa.table(columns, schema=COLUMNS)

    def statement(self) -> Statement:
        """The next statement; a MERGE half of the time."""
        kind = self.random.choice(
            ["insert", "delete", "update", "update", "merge", "merge", "merge", "merge"]
        )
        if kind == "insert":
            return Insert(self.rows([self._id() for _ in range(self.random.randint(1, 10))]))
        if kind == "delete":
            return Delete(self.condition())
        if kind == "update":
            return Update(self._values([""]), self.condition() if self.random.random() < 0.9 else None)
        return self._merge()

    def condition(self, aliases: Sequence[str] = ("",), depth: int = 2) -> str:
        """A condition over the columns of tables with these aliases."""
        shape = self.random.choice(["atom", "atom", "AND", "OR", "NOT"]) if depth else "atom"
        if shape == "atom":
            atom = self.random.choice(self.random.choice(list(_ATOMS.values())).split("|"))
            return self._aliased(atom, aliases)
        if shape == "NOT":
            return f"NOT ({self.condition(aliases, depth - 1)})"
        return f"({self.condition(aliases, depth - 1)} {shape} {self.condition(aliases, depth - 1)})"

    def _id(self) -> int | None:
        return None if self.random.random() < 0.1 else self.random.randint(0, 30)

    def _aliased(self, template: str, aliases: Sequence[str]) -> str:
        while "{}" in template:
            template = template.replace("{}", self.random.choice(aliases), 1)
        return template.replace("{n}", str(self.random.randint(0, 30)))

    def _values(self, aliases: Sequence[str]) -> dict[str, str]:
        chosen = self.random.sample(list(_VALUES), self.random.randint(1, 3))
        found = {name: self._aliased(self.random.choice(_VALUES[name]), aliases) for name in chosen}
        if "" in aliases and "st" not in found and self.random.random() < 0.2:
            found["st.a"] = self._aliased("coalesce({}i, {}st.a)", aliases)
        return found

    def _merge(self) -> Merge:
        ids = [self._id() for _ in range(self.random.choice([0, 1, 4, 8, 12]))]
        if self.random.random() < 0.8:
            ids = list(dict.fromkeys(ids))
        source = None if self.random.random() < 0.1 else self.rows(ids)
        on = self.random.choice(_ON)
        clauses = self._clauses("MATCHED", ["UPDATE", "UPDATE", "DELETE"], ["t.", "s."], 3)
        if "<=>" not in on:
            # Spark takes a row without a match for one that matches by its NULL, and fails.
            clauses += self._clauses("NOT MATCHED", ["INSERT"], ["s."], 2)
            clauses += self._clauses("NOT MATCHED BY SOURCE", ["UPDATE", "DELETE"], ["t."], 2)
        return Merge(source, on, clauses or [Clause("MATCHED", "DELETE")])

    def _clauses(self, when: Any, actions: list[Any], aliases: list[str], most: int) -> list[Clause]:
        count = self.random.randint(0, most)
        found = []
        for number in range(count):
            then = self.random.choice(actions)
            is_last = number == count - 1
            condition = None if is_last and self.random.random() < 0.5 else self.condition(aliases, 1)
            is_star = when != "NOT MATCHED BY SOURCE" and self.random.random() < 0.5
            values = None if then == "DELETE" or is_star else self._values(aliases)
            found.append(Clause(when, then, condition, values))
        return found
