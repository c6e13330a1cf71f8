"""Random queries over the tables `orders` and `items`, in DuckDB's SQL, for comparison with DuckDB.

DuckDB refuses many of them, mostly for ambiguous names; the tested connection must refuse them too.
"""

from typing import Any

from hypothesis import strategies as st

__all__ = ["queries"]

_COLUMNS = {
    "orders": ["p", "d", "id", "x", "s", "t", "n", "f", "flag", "st.a", "st.b", "P", '"Id"', '"s"'],
    "items": ["id", "w", "p", "late", "W", '"P"'],
}
_CONSTANTS = {
    "p": ["0", "1", "2", "NULL", "1.5", "2e0", "-1"],
    "d": ["DATE '2026-01-02'", "'2026-01-03'", "DATE '2026-01-01' + INTERVAL 1 DAY", "'2026-01-02'"],
    "id": ["3", "10", "21.5", "1e1", "NULL", "17", "9::TINYINT", "12.5::DECIMAL(4,1)", "9.5::BIGINT"],
    "x": ["0.5", "1", "2.5e0", "'nan'::DOUBLE", "0.1"],
    "s": ["'a3'", "'b'", "NULL", "'a1'", "''"],
    "t": ["'2026-01-01 10:00:00'", "TIMESTAMPTZ '2026-01-02 00:00:00+02:00'", "DATE '2026-01-02'"],
    "n": ["1.25", "3", "7.5", "0.001", "7.50::DECIMAL(6,2)", "-CAST(2.5 AS DECIMAL(4,1))", "15::INTEGER",
          "8.756::DECIMAL(4,2)", "12.5::INTEGER", "0.001::DECIMAL(20,15)"],
    "f": ["0.5", "0.1", "2", "0.1e0"],
    "flag": ["true", "false", "NULL", "false::BOOLEAN", "0::BOOLEAN", "'true'"],
    "st.a": ["1", "5", "NULL"],
    "st.b": ["'b'", "'c'"],
    "w": ["4", "9", "12"],
    "late": ["7", "NULL"],
}  # fmt: skip
_OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
_JOINS = [
    "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN", "ANTI JOIN", "INNER JOIN", "LEFT OUTER JOIN",
]  # fmt: skip
_ATOMS = ["op", "op", "op", "in", "between", "null", "like", "is", "bare", "sub", "columns", "back"]
_ALIASES = ["a", "b", "orders", "items", "st", None, None]


_Source = tuple[str, str]
"""A table in FROM: the name by which it is known, and the one of its columns."""


class _Draw:
    """Choices, by what hypothesis draws."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw

    def one_of(self, choices: list[Any]) -> Any:
        return self._draw(st.sampled_from(choices))

    def chance(self, percent: int) -> bool:
        return self._draw(st.integers(0, 99)) < percent

    def column(self, sources: list[_Source]) -> tuple[str, list[str]]:
        """A column, mostly one that is there and is not called as another, and constants beside it."""
        known, table = self.one_of(sources)
        name = self.one_of(_COLUMNS[table] if self.chance(97) else [*_COLUMNS["orders"], "w"])
        constants = _CONSTANTS[name.strip('"').lower()]
        if self.chance(50 if len(sources) == 1 else 95):
            name = f"{known}.{name}"
        return name, constants

    def atom(self, sources: list[_Source], depth: int) -> str:
        column, constants = self.column(sources)
        constant = self.one_of(constants)
        match self.one_of(_ATOMS):
            case "op":
                return f"{column} {self.one_of(_OPERATORS)} {constant}"
            case "back":
                return f"{constant} {self.one_of(_OPERATORS[:6])} {column}"
            case "in":
                return f"{column} {self.one_of(['IN', 'NOT IN'])} ({constant}, {self.one_of(constants)})"
            case "between":
                symmetric = "SYMMETRIC " if self.chance(10) else ""
                return f"{column} BETWEEN {symmetric}{constant} AND {self.one_of(constants)}"
            case "null":
                return f"{column} IS {self.one_of(['', 'NOT '])}NULL"
            case "like":
                pattern = self.one_of(["a%", "%3", "a_", "b", "%", "a1%"])
                return f"{column} {self.one_of(['LIKE', 'NOT LIKE'])} '{pattern}'"
            case "is":
                return f"{sources[0][0]}.flag IS {self.one_of(['', 'NOT '])}{self.one_of(['TRUE', 'FALSE'])}"
            case "bare":
                known = f"{sources[0][0]}.p"
                return self.one_of(["true", "NULL", "1 = 1", f"coalesce({known}, 1) = 1", f"{known} + 1 = 2"])
            case "columns":
                return f"{column} = {self.column(sources)[0]}"
        if depth <= 0:
            return f"{column} = {constant}"
        inner = self.select(depth - 1, outer=sources)
        return self.one_of([f"EXISTS ({inner})", f"{column} IN ({inner})", f"NOT EXISTS ({inner})"])

    def condition(self, sources: list[_Source], depth: int = 2) -> str:
        match self.one_of(["atom", "atom", "and", "and", "or", "not"]) if depth > 0 else "atom":
            case "atom":
                return self.atom(sources, depth)
            case "not":
                return f"NOT ({self.condition(sources, depth - 1)})"
            case word:
                sides = (self.condition(sources, depth - 1) for _ in range(2))
                return f"({f' {word} '.join(sides)})"

    def source(self, depth: int, taken: list[_Source]) -> tuple[str, _Source]:
        """A table with its alias, and what is known of it, by a name that is none of those taken."""
        table, alias = self.one_of(["orders", "items", "Orders"]), self.one_of(_ALIASES)
        if (alias or table).lower() in (known.lower() for known, _ in taken):
            alias = f"z{len(taken)}"
        if depth > 0 and self.chance(15):
            alias = alias or f"c{len(taken)}"
            condition = self.condition([(table, table.lower())], 1)
            return f"(SELECT * FROM {{{table.lower()}}} AS {table} WHERE {condition}) AS {alias}", (
                alias,
                table.lower(),
            )
        if alias is None:
            return f"{{{table.lower()}}}" if self.chance(80) else table, (table, table.lower())
        renamed = "(id, p)" if self.chance(5) else ""
        return f"{{{table.lower()}}} AS {alias}{renamed}", (alias, table.lower())

    def select(self, depth: int, outer: list[_Source]) -> str:
        text, first = self.source(depth, [])
        names = [first]
        for _ in range(self.one_of([0, 0, 1, 1, 2])):
            joined, source = self.source(depth, names)
            names.append(source)
            left, right = names[-2][0], source[0]
            match self.one_of(["on", "on", "on", "using", "comma", "cross", "natural", "asof"]):
                case "using":
                    text += f" {self.one_of(_JOINS)} {joined} USING (id)"
                case "comma":
                    text += f", {joined}"
                case "cross":
                    text += f" CROSS JOIN {joined}"
                case "natural":
                    text += f" NATURAL JOIN {joined}"
                case "asof":
                    text += f" ASOF JOIN {joined} ON {left}.id >= {right}.id"
                case _:
                    on = f"{left}.id = {right}.id" if self.chance(70) else "true"
                    if self.chance(60):
                        on += f" AND {self.condition(names, 1)}"
                    text += f" {self.one_of(_JOINS)} {joined} ON {on}"
        listed = [self.column(names)[0] for _ in range(2)]
        counted = f"{listed[0]}, count(*)"
        what = self.one_of(["*", "count(*)", f"{first[0]}.*", ", ".join(listed), counted, names[-1][0]])
        if outer:
            what = listed[0]
        where = f" WHERE {self.condition(names + outer, 2)}" if self.chance(85) else ""
        grouped = f" GROUP BY {listed[0]}" if what == counted else ""
        if what == "*" and self.chance(30):
            return f"FROM {text}{where}"
        return f"SELECT {what} FROM {text}{where}{grouped}"

    def cut(self, sources: list[str]) -> str:
        """A condition on one table by which files are left out, with or without NULLs."""
        of = self.one_of(sources)
        number = self.one_of([0, 1, 2, 5, 9, 14, 19])
        kept = f"{of}id {self.one_of(['<', '>', '=', '<=', 'IS DISTINCT FROM'])} {number}"
        choices = [
            kept, f"NOT ({kept})", f"{of}p = {number % 3}", f"{of}p IS NULL", f"({kept} OR {of}p IS NULL)",
            f"({of}id IS NULL OR {of}p = {number % 3})", f"{of}p IS NOT DISTINCT FROM NULL",
        ]  # fmt: skip
        return self.one_of(choices)

    def joins(self) -> str:
        """Two or three tables joined, with conditions that leave out files in ON and in WHERE."""
        names = ["a", "b", "c"][: self.one_of([2, 2, 3])]
        seen = names[:1]
        text = f"{{{self.one_of([*_COLUMNS])}}} AS a"
        for name in names[1:]:
            kind = self.one_of([*_JOINS, "ASOF JOIN"])
            joined = f"{{{self.one_of([*_COLUMNS])}}} AS {name}"
            on = f"{self.one_of(seen)}.id {'>' if kind == 'ASOF JOIN' else ''}= {name}.id"
            if kind != "ASOF JOIN" and self.chance(60):
                on += f" AND {self.cut([f'{each}.' for each in [*seen, name]])}"
            text += f" {kind} {joined} ON {on}"
            if kind not in ("SEMI JOIN", "ANTI JOIN"):
                seen.append(name)
        sources = [""] if len(seen) == 1 else [f"{each}." for each in seen]
        where = " AND ".join(self.cut(sources) for _ in range(self.one_of([0, 1, 1, 2])))
        listed = ", ".join(f"{each}.id, {each}.p" for each in seen)
        return f"SELECT {listed} FROM {text}" + (f" WHERE {where}" if where else "")

    def query(self) -> str:
        if self.chance(50):
            return self.joins()
        text = self.select(1, outer=[])
        match self.one_of(["plain", "plain", "plain", "with", "union", "shadow"]):
            case "with":
                text = f"WITH c AS ({text}) SELECT * FROM c WHERE {self.condition([('c', 'items')], 1)}"
            case "shadow":
                text = f"WITH {self.one_of(['orders', 'ITEMS'])} AS (SELECT 1 AS id, 2 AS p) {text}"
            case "union":
                text = f"{text} UNION ALL {self.select(0, outer=[])}"
        return text


@st.composite
def queries(draw: Any) -> str:
    """A query with ``{orders}`` and ``{items}`` where the tables are named, some of them by name at once."""
    return _Draw(draw).query()
