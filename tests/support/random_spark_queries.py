"""Random queries in Spark's dialect over small random tables of odd values."""

import datetime
import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa

__all__ = ["RandomQueries", "random_tables"]

_TIMES = pa.timestamp("us", "UTC")
_TYPES = {
    "i": pa.int32(),
    "l": pa.int64(),
    "d": pa.float64(),
    "m": pa.decimal128(10, 2),
    "s": pa.string(),
    "o": pa.bool_(),
    "t": pa.date32(),
    "z": _TIMES,
}


def _time(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)


_VALUES = {
    "i": [None, 0, 1, 2, 3, -1, 7, 2147483647, -2147483648],
    "l": [None, 0, 1, 2, 3, -1, 7, 2**62, -(2**62)],
    "d": [None, 0.0, -0.0, 1.0, 2.5, float("nan"), float("inf"), float("-inf"), 1e300, -1.0],
    "m": [None, Decimal("0.00"), Decimal("1.00"), Decimal("2.50"), Decimal("-99999999.99"), Decimal("7.05")],
    "s": [None, "", "a", "b", "A", "a ", "añ👍é", "%", "2", "ab"],
    "o": [None, True, False],
    "t": [None, datetime.date(2020, 2, 29), datetime.date(1, 1, 1), datetime.date(9999, 12, 31),
          datetime.date(1970, 1, 1), datetime.date(2021, 1, 1)],
    "z": [None, _time("2020-02-29T12:00:00.000001"), _time("0001-01-01T00:00:00"),
          _time("1970-01-01T00:00:00"), _time("9999-12-31T23:59:59.999999"), _time("2021-01-01T00:00:00")],
}  # fmt: skip
_LITERALS = {
    "i": ["0", "1", "2", "-1", "3", "NULL"],
    "l": ["0L", "2L", "-1L", "7L"],
    "d": ["0.0D", "1.0D", "2.5D", "double('NaN')"],
    "m": ["0.00", "1.00", "2.5", "7.05BD"],
    "s": ["''", "'a'", "'b'", "'ab'", "'A'"],
    "o": ["true", "false"],
    "t": ["DATE'2020-02-29'", "DATE'1970-01-01'", "DATE'2021-01-01'"],
    "z": ["TIMESTAMP'2020-02-29 12:00:00.000001'", "TIMESTAMP'1970-01-01 00:00:00'"],
}
_COMPARABLE = {"i": "ilm", "l": "il", "d": "d", "m": "im", "s": "s", "o": "o", "t": "t", "z": "z"}


def random_tables(seed: int) -> dict[str, pa.Table]:
    """Three tables with one column of each kind and a few rows."""
    rng = random.Random(seed)
    found = {}
    for name in ("r0", "r1", "r2"):
        rows = rng.choice([0, 1, 4, 6, 9])
        columns = {
            kind: pa.array([rng.choice(_VALUES[kind]) for _ in range(rows)], data_type)
            for kind, data_type in _TYPES.items()
        }
        found[name] = pa.table(columns)
    return found


@dataclass(frozen=True)
class _Part:
    """A query and the kinds of its columns by name."""

    sql: str
    columns: tuple[tuple[str, str], ...]


class RandomQueries:
    """Makes queries whose result does not depend on the order of rows."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._names = 0

    def query(self) -> str:
        """A query."""
        part = self._query(self._rng.choice([1, 2, 2, 3]))
        if self._chance(0.25):
            part = self._with(part)
        return part.sql

    # --- queries ---

    def _query(self, depth: int) -> _Part:
        if depth <= 0:
            name = f"r{self._rng.randrange(3)}"
            return _Part(f"SELECT * FROM {name}", tuple((kind, kind) for kind in _TYPES))
        made = self._rng.choice(
            [
                self._select,
                self._select,
                self._grouped,
                self._set,
                self._distinct,
                self._windowed,
                self._limited,
            ]
        )
        return made(depth)

    def _source(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        """A FROM clause, and the kinds of the columns that it offers, by qualified name."""
        one, columns = self._relation(depth)
        if self._chance(0.4):
            other, more = self._relation(depth - 1)
            word = self._rng.choice(
                ["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"]
            )
            pairs = [(a, b) for a, ka in columns for b, kb in more if kb == ka]
            conditions = [f"{a} {self._rng.choice(['=', '=', '<=>'])} {b}" for a, b in pairs]
            condition = self._rng.choice(conditions) if conditions else "true"
            if self._chance(0.3):
                condition += f" AND {self._condition([*columns, *more], 1)}"
            kept = columns if word in ("SEMI JOIN", "ANTI JOIN") else [*columns, *more]
            return f"{one} {word} {other} ON {condition}", kept
        return one, columns

    def _relation(self, depth: int) -> tuple[str, list[tuple[str, str]]]:
        alias = self._name()
        if self._chance(0.6):
            name = f"r{self._rng.randrange(3)}"
            return f"{name} {alias}", [(f"{alias}.{kind}", kind) for kind in _TYPES]
        part = self._query(depth - 1)
        return f"({part.sql}) {alias}", [(f"{alias}.{name}", kind) for name, kind in part.columns]

    def _select(self, depth: int) -> _Part:
        source, columns = self._source(depth)
        where = f" WHERE {self._condition(columns, 2)}" if self._chance(0.6) else ""
        listed, kinds = self._listed([self._value(columns, 2) for _ in range(self._rng.randint(1, 4))])
        return _Part(f"SELECT {listed} FROM {source}{where}", kinds)

    def _distinct(self, depth: int) -> _Part:
        source, columns = self._source(depth)
        listed, kinds = self._listed([self._value(columns, 1) for _ in range(self._rng.randint(1, 2))])
        return _Part(f"SELECT DISTINCT {listed} FROM {source}", kinds)

    def _grouped(self, depth: int) -> _Part:
        source, columns = self._source(depth)
        keys = [self._value(columns, 1) for _ in range(self._rng.choice([0, 1, 1, 2]))]
        keys = [each for each in keys if each[0] not in ("NULL",) and not each[0].lstrip("-").isdigit()]
        made = [*keys, *(self._aggregate(columns) for _ in range(self._rng.randint(1, 3)))]
        listed, kinds = self._listed(made)
        group = ""
        if keys:
            texts = ", ".join(each for each, _ in keys)
            forms = [
                texts,
                ", ".join(map(str, range(1, len(keys) + 1))),
                f"ROLLUP({texts})",
                f"CUBE({texts})",
            ]
            group = f" GROUP BY {self._rng.choice(forms)}"
        having = f" HAVING count(*) > {self._rng.randrange(3)}" if self._chance(0.3) else ""
        return _Part(f"SELECT {listed} FROM {source}{group}{having}", kinds)

    def _set(self, depth: int) -> _Part:
        one = self._query(depth - 1)
        kinds = [kind for _, kind in one.columns]
        source, columns = self._source(0)
        other = ", ".join(self._of_kind(columns, kind, 1) for kind in kinds)
        words = ["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"]
        sql = f"({one.sql}) {self._rng.choice(words)} (SELECT {other} FROM {source})"
        return _Part(sql, one.columns)

    def _windowed(self, depth: int) -> _Part:
        source, columns = self._source(depth)
        partition = self._rng.choice(columns)[0]
        order = ", ".join(
            f"{name} {self._rng.choice(['', 'DESC', 'ASC NULLS LAST', 'DESC NULLS FIRST'])}"
            for name, _ in columns
        )
        calls = [
            (f"rank() OVER (PARTITION BY {partition} ORDER BY {order})", "i"),
            (f"dense_rank() OVER (ORDER BY {order})", "i"),
            (f"count(*) OVER (PARTITION BY {partition})", "l"),
            (f"max({partition}) OVER (ORDER BY {order})", dict(columns)[partition]),
            (f"count({partition}) OVER (PARTITION BY {partition} ORDER BY {order})", "l"),
        ]
        listed, kinds = self._listed([self._rng.choice(columns), self._rng.choice(calls)])
        return _Part(f"SELECT {listed} FROM {source}", kinds)

    def _limited(self, depth: int) -> _Part:
        part = self._query(depth - 1)
        keys = ", ".join(f"{name} {self._rng.choice(['', 'DESC', 'NULLS LAST'])}" for name, _ in part.columns)
        alias = self._name()
        sql = f"SELECT * FROM ({part.sql}) {alias} ORDER BY {keys} LIMIT {self._rng.randrange(6)}"
        return _Part(sql, part.columns)

    def _with(self, part: _Part) -> _Part:
        name = self._name()
        return _Part(f"WITH {name} AS ({part.sql}) SELECT * FROM {name}", part.columns)

    def _listed(self, values: Sequence[tuple[str, str]]) -> tuple[str, tuple[tuple[str, str], ...]]:
        names = [(self._name(), kind) for _, kind in values]
        text = ", ".join(f"{sql} AS {name}" for (sql, _), (name, _) in zip(values, names, strict=True))
        return text, tuple(names)

    # --- expressions ---

    def _value(self, columns: Sequence[tuple[str, str]], depth: int) -> tuple[str, str]:
        kind = self._rng.choice([each for _, each in columns])
        return self._of_kind(columns, kind, depth), kind

    def _of_kind(self, columns: Sequence[tuple[str, str]], kind: str, depth: int) -> str:
        own = [name for name, each in columns if each == kind]
        if depth <= 0 or self._chance(0.5):
            if own and self._chance(0.8):
                return self._rng.choice(own)
            literal = self._rng.choice(_LITERALS[kind])
            return {"i": f"CAST({literal} AS INT)", "m": f"CAST({literal} AS DECIMAL(10,2))"}.get(
                kind, literal
            )
        inner = self._of_kind(columns, kind, depth - 1)
        other = self._of_kind(columns, kind, depth - 1)
        condition = self._condition(columns, depth - 1)
        forms = [
            f"CASE WHEN {condition} THEN {inner} ELSE {other} END",
            f"coalesce({inner}, {other})",
            f"nullif({inner}, {other})",
            f"if({condition}, {inner}, {other})",
        ]
        if kind == "o":
            forms += [f"({condition})", f"(NOT {inner})"]
        if kind == "i":
            forms += [f"({inner} % 3)", f"length({self._of_kind(columns, 's', depth - 1)})"]
        if kind == "s":
            forms += [f"substring({inner}, 1, 1)", f"concat({inner}, {other})"]
        if kind == "d":
            forms += [f"(- {inner})", f"greatest({inner}, {other})"]
        if kind == "l":
            forms += [f"CAST({self._of_kind(columns, 'i', depth - 1)} AS BIGINT)", f"least({inner}, {other})"]
        if kind == "t":
            forms += [f"greatest({inner}, {other})"]
        return self._rng.choice(forms)

    def _condition(self, columns: Sequence[tuple[str, str]], depth: int) -> str:
        if depth > 0 and self._chance(0.35):
            one, other = self._condition(columns, depth - 1), self._condition(columns, depth - 1)
            return self._rng.choice([f"({one} AND {other})", f"({one} OR {other})", f"(NOT {one})"])
        name, kind = self._rng.choice(columns)
        other = self._of_kind(columns, self._rng.choice(_COMPARABLE[kind]), 0)
        sign = self._rng.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        forms = [f"({name} {sign} {other})", f"({name} {sign} {other})", f"({name} IS NULL)"]
        forms.append(f"({name} IN ({other}, {self._of_kind(columns, kind, 0)}))")
        if depth > 0:
            inner, more = self._relation(0)
            equal = [each for each, other_kind in more if other_kind == kind]
            if equal:
                chosen = self._rng.choice(equal)
                forms += [
                    f"({name} IN (SELECT {chosen} FROM {inner}))",
                    f"({name} NOT IN (SELECT {chosen} FROM {inner}))",
                    f"EXISTS (SELECT 1 FROM {inner} WHERE {chosen} = {name})",
                    f"({name} > (SELECT max({chosen}) FROM {inner}))",
                ]
        if kind == "s":
            forms.append(f"({name} LIKE 'a%')")
        return self._rng.choice(forms)

    def _aggregate(self, columns: Sequence[tuple[str, str]]) -> tuple[str, str]:
        name, kind = self._rng.choice(columns)
        forms = [("count(*)", "l"), (f"count({name})", "l"), (f"count(DISTINCT {name})", "l")]
        forms += [(f"max({name})", kind), (f"min({name})", kind)]
        small = [each for each, other in columns if other == "i"]
        if small:
            forms += [(f"sum({small[0]})", "l"), (f"avg({small[0]})", "d")]
        found, found_kind = self._rng.choice(forms)
        if self._chance(0.2):
            found += f" FILTER (WHERE {self._condition(columns, 0)})"
        return found, found_kind

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names}"
