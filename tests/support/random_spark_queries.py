"""Random queries in Spark's dialect over the tables of `random_tables`."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.random_expressions import COLUMN_TYPES, Column, RandomExpressions

__all__ = ["RandomQueries"]

_TABLES = ("r0", "r1", "r2")
_INTEGRAL = frozenset({"tinyint", "smallint", "int", "bigint"})
_SIGNS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_DIRECTIONS = ("", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST", "DESC NULLS LAST")


@dataclass(frozen=True)
class _Part:
    """A query and its columns."""

    sql: str
    columns: tuple[Column, ...]


class RandomQueries:
    """Makes queries whose rows do not depend on the order in which rows are read."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._expressions = RandomExpressions(self._rng)
        self._names = 0

    def query(self) -> str:
        """A query."""
        part = self._query(self._rng.choice([1, 1, 2, 2, 3]))
        if self._chance(0.25):
            name = self._name()
            return f"WITH {name} AS ({part.sql}) SELECT * FROM {name}"
        return part.sql

    # --- queries ---

    def _query(self, depth: int) -> _Part:
        if depth <= 0:
            return self._plain()
        shapes = [
            *[self._select] * 4,
            *[self._grouped] * 3,
            *[self._set, self._windowed] * 2,
            *[self._distinct, self._limited, self._qualified, self._exploded, self._generated],
            *[self._lateral, self._joined_by_name, self._pivoted, self._unpivoted, self._values],
        ]
        return self._rng.choice(shapes)(depth)

    def _plain(self) -> _Part:
        """Some columns of a table."""
        names = self._rng.sample(sorted(COLUMN_TYPES), self._rng.randint(3, 8))
        listed, columns = self._listed([(name, COLUMN_TYPES[name]) for name in names])
        return _Part(f"SELECT {listed} FROM {self._rng.choice(_TABLES)}", columns)

    def _select(self, depth: int) -> _Part:
        source, columns = self._source(depth)
        where = f" WHERE {self._condition(columns, 2)}" if self._chance(0.5) else ""
        values = [self._value(columns, 2) for _ in range(self._rng.randint(1, 4))]
        if self._chance(0.15):
            values.append(self._scalar_query(columns))
        listed, made = self._listed(values)
        return _Part(f"SELECT {listed} FROM {source}{where}", made)

    def _distinct(self, depth: int) -> _Part:
        source, columns = self._source(depth)
        values = [self._value(columns, 1) for _ in range(self._rng.randint(1, 2))]
        listed, made = self._listed([each for each in values if "map" not in each[1]] or [("1", "int")])
        return _Part(f"SELECT DISTINCT {listed} FROM {source}", made)

    def _grouped(self, depth: int) -> _Part:
        source, columns = self._source(depth)
        keys = [self._value(columns, 1) for _ in range(self._rng.choice([0, 1, 1, 2, 3]))]
        keys = [each for each in keys if "map" not in each[1] and each[1] != "void"]
        values = [*keys, *(self._aggregate(columns) for _ in range(self._rng.randint(1, 3)))]
        listed, made = self._listed(values)
        group = f" GROUP BY {self._grouping([text for text, _ in keys])}" if keys else ""
        having = f" HAVING {self._having(columns)}" if self._chance(0.3) else ""
        return _Part(f"SELECT {listed} FROM {source}{group}{having}", made)

    def _grouping(self, keys: Sequence[str]) -> str:
        listed = ", ".join(keys)
        sets = ", ".join(f"({', '.join(self._rng.sample(keys, count))})" for count in range(len(keys) + 1))
        places = ", ".join(str(place + 1) for place in range(len(keys)))
        return self._rng.choice(
            [listed, listed, places, f"ROLLUP({listed})", f"CUBE({listed})", f"GROUPING SETS ({sets})"]
        )

    def _having(self, columns: Sequence[Column]) -> str:
        text, kind = self._aggregate(columns)
        forms = [f"count(*) > {self._rng.randrange(3)}"]
        if kind in _INTEGRAL:
            forms.append(f"{text} >= {self._rng.randrange(3)}")
        return self._rng.choice([*forms, f"{text} IS NOT NULL"])

    def _set(self, depth: int) -> _Part:
        one = self._query(depth - 1)
        source, columns = self._source(0)
        other = ", ".join(self._expressions.of_type(columns, kind, 1) for _, kind in one.columns)
        words = ["UNION ALL"]
        if not any("map" in kind for _, kind in one.columns):
            words += ["UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL", "MINUS"]
        return _Part(f"({one.sql}) {self._rng.choice(words)} (SELECT {other} FROM {source})", one.columns)

    def _limited(self, depth: int) -> _Part:
        part = self._query(depth - 1)
        kept = [each for each in part.columns if _is_atomic(each[1])]
        if not kept:
            return part
        keys = ", ".join(f"{name} {self._rng.choice(_DIRECTIONS)}" for name, _ in kept)
        names = ", ".join(name for name, _ in kept)
        offset = f" OFFSET {self._rng.randrange(3)}" if self._chance(0.3) else ""
        sql = f"SELECT {names} FROM ({part.sql}) {self._name()} ORDER BY {keys}"
        return _Part(f"{sql} LIMIT {self._rng.randrange(6)}{offset}", tuple(kept))

    def _windowed(self, depth: int) -> _Part:
        source, columns = self._atomic_source(depth)
        calls = [self._over(columns) for _ in range(self._rng.randint(1, 3))]
        listed, made = self._listed([self._rng.choice(columns), *calls])
        return _Part(f"SELECT {listed} FROM {source}", made)

    def _qualified(self, depth: int) -> _Part:
        source, columns = self._atomic_source(depth)
        listed, made = self._listed(columns[:4])
        window = f"OVER (PARTITION BY {columns[0][0]} ORDER BY {self._order(columns)})"
        place = self._rng.choice(["row_number()", "rank()", "dense_rank()", f"count({columns[-1][0]})"])
        sql = f"SELECT {listed} FROM {source} QUALIFY {place} {window} <= {self._rng.randint(1, 2)}"
        return _Part(sql, made)

    def _exploded(self, depth: int) -> _Part:
        """LATERAL VIEW of an array or a map."""
        alias, value = self._name(), self._name()
        outer = self._rng.choice(["", "OUTER "])
        call, names = self._rng.choice(
            [
                ("explode", [(value, "int")]),
                ("posexplode", [(f"{value}p", "int"), (value, "int")]),
                ("explode", [(f"{value}k", "string"), (value, "int")]),
            ]
        )
        column = "mp" if len(names) == 2 and call == "explode" else "a"
        columns = [*self._columns(alias), *names]
        values = [self._value(columns, 1), *names]
        listed, made = self._listed(values)
        view = f"LATERAL VIEW {outer}{call}({alias}.{column}) v AS {', '.join(name for name, _ in names)}"
        return _Part(f"SELECT {listed} FROM {self._rng.choice(_TABLES)} {alias} {view}", made)

    def _generated(self, depth: int) -> _Part:
        """A generator in the select list."""
        value, other = self._name(), self._name()
        call = self._rng.choice(["explode", "explode_outer"])
        sql = f"SELECT {call}(sa) AS {value}, i AS {other} FROM {self._rng.choice(_TABLES)}"
        return _Part(sql, ((value, "string"), (other, "int")))

    def _lateral(self, depth: int) -> _Part:
        one, columns = self._relation(depth)
        inner, more = self._relation(0)
        pair = self._pair(columns, more)
        value = self._rng.choice([f"max({more[0][0]})" if _is_atomic(more[0][1]) else "count(1)", "count(*)"])
        name, alias = self._name(), self._name()
        word = self._rng.choice(["JOIN", "LEFT JOIN", "CROSS JOIN"])
        kind = more[0][1] if value.startswith("max") else "bigint"
        sub = f"LATERAL (SELECT {value} AS {name} FROM {inner} WHERE {pair}) {alias}"
        listed, made = self._listed([*columns[:3], (f"{alias}.{name}", kind)])
        return _Part(f"SELECT {listed} FROM {one} {word} {sub}", made)

    def _joined_by_name(self, depth: int) -> _Part:
        """A join by USING, or a NATURAL one."""
        key = self._rng.choice(["i", "s", "o", "dt", "l"])
        one, other = (self._rng.choice(["j", "t", "d", "m", "ts", "a"]) for _ in range(2))
        first, second = self._rng.sample(_TABLES, 2)
        a, b, word = self._name(), self._name(), self._rng.choice(["", "LEFT ", "RIGHT ", "FULL "])
        left = f"(SELECT {key}, {one} AS {a} FROM {first})"
        right = f"(SELECT {key}, {other} AS {b} FROM {second})"
        columns = ((key, COLUMN_TYPES[key]), (a, COLUMN_TYPES[one]), (b, COLUMN_TYPES[other]))
        if self._chance(0.3):
            return _Part(f"SELECT * FROM {left} NATURAL {word}JOIN {right}", columns)
        return _Part(f"SELECT * FROM {left} {word}JOIN {right} USING ({key})", columns)

    def _pivoted(self, depth: int) -> _Part:
        key = self._rng.choice(["o", "s", "dt"])
        names = [self._name() for _ in range(2)]
        literals = {"o": ["true", "false"], "s": ["'a'", "''"], "dt": ["DATE'2020-02-29'", "NULL"]}[key]
        pairs = ", ".join(f"{one} AS {name}" for one, name in zip(literals, names, strict=True))
        call, used, kind = self._rng.choice(
            [("count", "l", "bigint"), ("max", "j", "int"), ("sum", "j", "bigint")]
        )
        source = f"(SELECT {key}, {used}, p FROM {self._rng.choice(_TABLES)})"
        columns = (("p", "boolean"), *((name, kind) for name in names))
        return _Part(f"SELECT * FROM {source} PIVOT ({call}({used}) FOR {key} IN ({pairs}))", columns)

    def _unpivoted(self, depth: int) -> _Part:
        nulls = self._rng.choice(["", "INCLUDE NULLS ", "EXCLUDE NULLS "])
        name, value = self._name(), self._name()
        source = f"(SELECT s, i, j FROM {self._rng.choice(_TABLES)})"
        columns = (("s", "string"), (name, "string"), (value, "int"))
        return _Part(f"SELECT * FROM {source} UNPIVOT {nulls}({value} FOR {name} IN (i, j))", columns)

    def _values(self, depth: int) -> _Part:
        kinds = self._rng.sample(["int", "string", "double", "date", "decimal(5,2)", "boolean"], 2)
        rows = [
            f"({', '.join(self._expressions.of_type([], kind, 0) for kind in kinds)})"
            for _ in range(self._rng.randint(1, 3))
        ]
        names = tuple((self._name(), kind) for kind in kinds)
        listed = ", ".join(name for name, _ in names)
        return _Part(f"SELECT * FROM VALUES {', '.join(rows)} AS {self._name()}({listed})", names)

    # --- relations ---

    def _source(self, depth: int) -> tuple[str, list[Column]]:
        """A FROM clause and the columns that it offers, by qualified name."""
        one, columns = self._relation(depth)
        if not self._chance(0.4):
            return one, columns
        other, more = self._relation(depth - 1)
        word = self._rng.choice(["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN"])
        condition = self._pair(columns, more)
        if self._chance(0.3):
            condition += f" AND {self._condition([*columns, *more], 0)}"
        is_left = word in ("SEMI JOIN", "ANTI JOIN")
        if self._chance(0.1):
            return f"{one} CROSS JOIN {other}", [*columns, *more]
        return f"{one} {word} {other} ON {condition}", columns if is_left else [*columns, *more]

    def _pair(self, columns: Sequence[Column], more: Sequence[Column]) -> str:
        """A condition on a pair of columns of the same type."""
        pairs = [(a, b) for a, kind in columns for b, other in more if kind == other and _is_atomic(kind)]
        if not pairs:
            return "true"
        one, other = self._rng.choice(pairs)
        return f"{one} {self._rng.choice(['=', '=', '=', '<=>', '<'])} {other}"

    def _relation(self, depth: int) -> tuple[str, list[Column]]:
        alias = self._name()
        if depth <= 0 or self._chance(0.6):
            return f"{self._rng.choice(_TABLES)} {alias}", self._columns(alias)
        part = self._query(depth - 1)
        return f"({part.sql}) {alias}", [(f"{alias}.{name}", kind) for name, kind in part.columns]

    def _columns(self, alias: str) -> list[Column]:
        return [(f"{alias}.{name}", kind) for name, kind in COLUMN_TYPES.items()]

    def _atomic_source(self, depth: int) -> tuple[str, list[Column]]:
        """A relation of columns that have an order, so that rows equal in all of them are equal."""
        part = self._query(depth - 1)
        alias = self._name()
        columns = [(f"{alias}.{name}", kind) for name, kind in part.columns if _is_atomic(kind)]
        if not columns:
            return f"(SELECT i, s FROM r0) {alias}", [(f"{alias}.i", "int"), (f"{alias}.s", "string")]
        return f"({part.sql}) {alias}", columns

    # --- values ---

    def _value(self, columns: Sequence[Column], depth: int) -> Column:
        if self._chance(0.3):
            return self._rng.choice(columns)
        if self._chance(0.5):
            return self._expressions.any(columns, depth)
        kind = self._rng.choice(columns)[1]
        return self._expressions.of_type(columns, kind, depth), kind

    def _scalar_query(self, columns: Sequence[Column]) -> Column:
        inner, more = self._relation(0)
        name, kind = self._rng.choice([each for each in more if _is_atomic(each[1])])
        call = self._rng.choice(["max", "min", "count"])
        condition = self._pair(columns, more)
        return (
            f"(SELECT {call}({name}) FROM {inner} WHERE {condition})",
            "bigint" if call == "count" else kind,
        )

    def _condition(self, columns: Sequence[Column], depth: int) -> str:
        if depth > 0 and self._chance(0.35):
            one, other = (self._condition(columns, depth - 1) for _ in range(2))
            return self._rng.choice([f"({one} AND {other})", f"({one} OR {other})", f"(NOT {one})"])
        if self._chance(0.3):
            return self._expressions.of_type(columns, "boolean", 2)
        if depth > 0 and self._chance(0.35):
            return self._membership(columns)
        name, kind = self._rng.choice(columns)
        other = self._expressions.of_type(columns, kind, 1)
        forms = [f"({name} IS NULL)", f"({name} IS NOT NULL)"]
        if _is_atomic(kind):
            forms += [f"({name} {self._rng.choice(_SIGNS)} {other})"] * 4
            forms.append(f"({name} IN ({other}, {self._expressions.of_type(columns, kind, 0)}))")
            forms.append(f"({name} BETWEEN {other} AND {self._expressions.of_type(columns, kind, 0)})")
        elif "map" not in kind and kind != "void":
            forms.append(f"({name} {self._rng.choice(['=', '<=>'])} {other})")
        return self._rng.choice(forms)

    def _membership(self, columns: Sequence[Column]) -> str:
        """A condition that asks another relation."""
        inner, more = self._relation(0)
        pairs = [
            (a, b, kind) for a, kind in columns for b, other in more if kind == other and _is_atomic(kind)
        ]
        if not pairs:
            return "true"
        one, other, kind = self._rng.choice(pairs)
        forms = [
            f"({one} IN (SELECT {other} FROM {inner}))",
            f"EXISTS (SELECT 1 FROM {inner} WHERE {other} = {one})",
            f"NOT EXISTS (SELECT 1 FROM {inner} WHERE {other} = {one})",
            f"({one} > (SELECT max({other}) FROM {inner}))",
        ]
        if kind not in ("float", "double"):
            # Spark tells 0.0 from -0.0 here where it broadcasts the relation, and only there.
            forms.append(f"({one} NOT IN (SELECT {other} FROM {inner}))")
            forms.append(f"({one} NOT IN (SELECT {other} FROM {inner} WHERE {other} IS NOT NULL))")
        return self._rng.choice(forms)

    def _aggregate(self, columns: Sequence[Column]) -> Column:
        column = self._rng.choice(columns)
        name, kind = column
        if self._chance(0.3):
            name, kind = self._expressions.any(columns, 1)
        forms = [("count(*)", "bigint"), (f"count({name})", "bigint")]
        if "map" not in kind and kind != "void":
            forms.append((f"count(DISTINCT {name})", "bigint"))
        if _is_atomic(kind):
            forms += [(f"max({name})", kind), (f"min({name})", kind)] * 2
            forms.append((f"sort_array(collect_list({name}))", f"array<{kind}>"))
        forms += self._of_kind(name, kind)
        found, made = self._rng.choice(forms)
        if self._chance(0.2) and not found.startswith("sort_array"):
            found += f" FILTER (WHERE {self._condition(columns, 0)})"
        return found, made

    def _of_kind(self, name: str, kind: str) -> list[Column]:
        """Aggregates of some types; sums of floating numbers would depend on the order of rows."""
        if kind in _INTEGRAL:
            return [
                (f"sum({name})", "bigint"),
                (f"try_sum({name})", "bigint"),
                (f"avg({name})", "double"),
                (f"sum(DISTINCT {name})", "bigint"),
                (f"bit_or({name})", kind),
                (f"bit_xor({name})", kind),
                (f"median({name})", "double"),
                (f"percentile({name}, 0.25)", "double"),
            ]
        if kind.startswith("decimal"):
            digits, scale = map(int, kind[len("decimal(") : -1].split(","))
            return [(f"sum({name})", f"decimal({min(digits + 10, 38)},{scale})")]
        if kind == "boolean":
            return [(f"{call}({name})", kind) for call in ("bool_and", "bool_or", "every", "some")] + [
                (f"count_if({name})", "bigint")
            ]
        if kind == "string":
            return [(f"listagg({name}, ',') WITHIN GROUP (ORDER BY {name})", kind)]
        return []

    def _order(self, columns: Sequence[Column]) -> str:
        return ", ".join(f"{name} {self._rng.choice(_DIRECTIONS)}" for name, _ in columns)

    def _over(self, columns: Sequence[Column]) -> Column:
        """A call over a window, in which rows with the same place are equal."""
        name, kind = self._rng.choice(columns)
        partition = f"PARTITION BY {self._rng.choice(columns)[0]} " if self._chance(0.6) else ""
        order = f"ORDER BY {self._order(columns)}"
        frame = self._frame() if self._chance(0.5) else ""
        ranks = ["row_number()", "rank()", "dense_rank()", "ntile(3)"]
        calls = [
            (f"{self._rng.choice(ranks)} OVER ({partition}{order})", "int"),
            (f"{self._rng.choice(['percent_rank()', 'cume_dist()'])} OVER ({partition}{order})", "double"),
            (f"{self._rng.choice(['lag', 'lead'])}({name}) OVER ({partition}{order})", kind),
            (f"lag({name}, 2) IGNORE NULLS OVER ({partition}{order})", kind),
            (f"{self._rng.choice(['max', 'min'])}({name}) OVER ({partition}{order} {frame})", kind),
            (f"first_value({name}) OVER ({partition}{order} {frame})", kind),
            (f"last_value({name}) IGNORE NULLS OVER ({partition}{order} {frame})", kind),
            (f"nth_value({name}, 2) OVER ({partition}{order} {frame})", kind),
            (f"count({name}) OVER ({partition}{order} {frame})", "bigint"),
            (f"count(*) OVER ({partition.strip()})", "bigint"),
        ]
        if kind in _INTEGRAL:
            calls.append((f"sum({name}) OVER ({partition}{order} {frame})", "bigint"))
            near = f"RANGE BETWEEN {self._rng.randrange(3)} PRECEDING AND 1 FOLLOWING"
            calls.append((f"sum({name}) OVER ({partition}ORDER BY {name} {near})", "bigint"))
        return self._rng.choice(calls)

    def _frame(self) -> str:
        first = self._rng.choice(["UNBOUNDED PRECEDING", "2 PRECEDING", "CURRENT ROW", "1 FOLLOWING"])
        last = self._rng.choice(["CURRENT ROW", "1 FOLLOWING", "2 FOLLOWING", "UNBOUNDED FOLLOWING"])
        if first == "1 FOLLOWING" and last == "CURRENT ROW":
            last = "2 FOLLOWING"
        return f"ROWS BETWEEN {first} AND {last}"

    # --- names ---

    def _listed(self, values: Sequence[Column]) -> tuple[str, tuple[Column, ...]]:
        made = tuple((self._name(), kind) for _, kind in values)
        text = ", ".join(f"{sql} AS {name}" for (sql, _), (name, _) in zip(values, made, strict=True))
        return text, made

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _name(self) -> str:
        self._names += 1
        return f"x{self._names}"


def _is_atomic(kind: str) -> bool:
    return "<" not in kind and kind not in ("void", "variant") and "interval" not in kind
