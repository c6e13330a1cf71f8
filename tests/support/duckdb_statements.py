"""Random statements of DuckDB's dialect that change the table `t` or read the table `u`, for two engines.

DuckDB refuses some of them, mostly for ambiguous names and casts that fail; the other engine must do so too.
A text names the tables as ``{t}`` and ``{u}``.
"""

from hypothesis import strategies as st

__all__ = ["COLUMNS", "scripts"]

COLUMNS = {"id": "BIGINT", "s": "VARCHAR", "p": "INTEGER", "x": "DOUBLE", "d": "DATE"}
"""The columns of both tables."""

_VALUES = {
    "id": ["1", "2", "3", "7", "NULL", "'4'", "id + 1", "length(s)"],
    "s": ["'a'", "'b'", "NULL", "upper(s)", "s || 'x'", "id::VARCHAR", "CASE WHEN p > 1 THEN 'big' END"],
    "p": ["0", "1", "2", "NULL", "p + 1", "1.6", "TRY_CAST(s AS INTEGER)"],
    "x": ["0.5", "'nan'", "-0.0", "NULL", "x * 2", "id / 2", "p"],
    "d": [
        "DATE '2026-01-02'",
        "'2026-01-03'",
        "NULL",
        "d + INTERVAL 1 DAY",
        "CAST(d AS TIMESTAMP)",
    ],
}
_CONDITIONS = (
    *("id = 2", "id > 1", "p = 1", "s = 'a'", "x > 0.7", "d = '2026-01-02'", "id IS NULL", "NOT (p = 1)"),
    *(
        "s LIKE 'a%'",
        "id IN (1, 3)",
        "p BETWEEN 1 AND 2",
        "x IS DISTINCT FROM 'nan'::DOUBLE",
        "true",
        "false",
    ),
    *("p = 1 AND id > 1", "p = 2 OR s IS NULL", "id = p", "d > DATE '2026-01-01' AND p < 3"),
)
_SUBQUERIES = (
    *(
        "id IN (SELECT id FROM {u})",
        "p = (SELECT max(p) FROM {u})",
        "id NOT IN (SELECT id FROM {u} WHERE p = 1)",
    ),
    *("EXISTS (SELECT 1 FROM {u} WHERE p > 1)", "x < (SELECT avg(x) FROM {t})"),
)
_QUERIES = (
    *("SELECT * FROM {u}", "FROM {u} WHERE p = 1", "SELECT id, s, p, x, d FROM {t} WHERE id > 1"),
    *("SELECT id + 10, upper(s), p, x, d FROM {u} UNION ALL FROM {t}", "TABLE {u}"),
    *("SELECT max(id), s, count(*), sum(x), min(d) FROM {t} GROUP BY s", "VALUES (8, 'v', 1, 2.5, NULL)"),
    *("SELECT u.id, t.s, t.p, u.x, t.d FROM {t} AS t JOIN {u} AS u USING (p)", "SELECT 1, 2, 3, 4, 5"),
)


def _qualified(text, alias):
    """An expression with its first column qualified, if it begins with one."""
    name = text.split()[0].strip("(")
    return f"{alias}.{text}" if name in COLUMNS else text


@st.composite
def _assignment(draw, aliases):
    """A column, and a value for it."""
    column = draw(st.sampled_from([*COLUMNS]))
    value = draw(st.sampled_from(_VALUES[column]))
    alias = draw(st.sampled_from(["", *aliases]))
    return column, _qualified(value, alias) if alias else value


@st.composite
def _assignments(draw, aliases):
    found = draw(st.lists(_assignment(aliases), min_size=1, max_size=3, unique_by=lambda each: each[0]))
    if len(found) > 1 and draw(st.booleans()):
        return f"({', '.join(each for each, _ in found)}) = ({', '.join(value for _, value in found)})"
    return ", ".join(f"{column} = {value}" for column, value in found)


@st.composite
def _condition(draw, alias=None):
    if alias is None and draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(_SUBQUERIES))
    text = draw(st.sampled_from(_CONDITIONS))
    return text if alias is None else _qualified(text, alias)


@st.composite
def _insert(draw):
    if draw(st.booleans()):
        return f"INSERT INTO {{t}} {draw(st.sampled_from(_QUERIES))}"
    columns = draw(st.lists(st.sampled_from([*COLUMNS]), min_size=1, max_size=4, unique=True))
    row = ", ".join(draw(st.sampled_from(_VALUES[name])) for name in columns)
    if draw(st.booleans()):
        return f"INSERT INTO {{t}} ({', '.join(columns)}) SELECT {row} FROM {{u}}"
    named = ", ".join(f"{name} AS {name}" for name in columns)
    return f"INSERT INTO {{t}} BY NAME SELECT {named} FROM {{u}}"


@st.composite
def _delete(draw):
    if draw(st.integers(0, 2)) == 0:
        return f"DELETE FROM {{t}} AS o USING {{u}} AS n WHERE o.id = n.id AND {draw(_condition('n'))}"
    return f"DELETE FROM {{t}} WHERE {draw(_condition())}"


@st.composite
def _update(draw):
    if draw(st.integers(0, 2)) == 0:
        source = "(SELECT DISTINCT ON (id) id AS k, s AS v FROM {u}) AS n"
        condition = draw(_condition())
        return f"UPDATE {{t}} AS o SET s = n.v, p = p + 1 FROM {source} WHERE o.id = n.k AND {condition}"
    where = f" WHERE {draw(_condition())}" if draw(st.booleans()) else ""
    return f"UPDATE {{t}} SET {draw(_assignments([]))}{where}"


_WHEN = {
    "MATCHED": (["o", "n"], ["UPDATE", "DELETE", "DO NOTHING"]),
    "NOT MATCHED": (["n"], ["INSERT", "DO NOTHING"]),
    "NOT MATCHED BY SOURCE": (["o"], ["UPDATE", "DELETE", "DO NOTHING"]),
}


@st.composite
def _clause(draw, when, conditional):
    aliases, kinds = _WHEN[when]
    condition = f" AND {draw(_condition(draw(st.sampled_from(aliases))))}" if conditional else ""
    kind = draw(st.sampled_from(kinds))
    if kind == "UPDATE":
        kind = f"UPDATE SET {draw(_assignments(aliases))}"
        if when == "MATCHED" and draw(st.booleans()):
            kind = draw(st.sampled_from(["UPDATE", "UPDATE SET *", "UPDATE BY NAME"]))
    if kind == "INSERT":
        found = draw(st.lists(_assignment(aliases), min_size=1, max_size=3, unique_by=lambda each: each[0]))
        columns, values = (", ".join(part) for part in zip(*found, strict=True))
        listed = f"INSERT ({columns}) VALUES ({values})"
        kind = draw(
            st.sampled_from([listed, listed, "INSERT", "INSERT BY NAME", "INSERT VALUES (id, s, p, x, d)"])
        )
    return f"WHEN {when}{condition} THEN {kind}"


@st.composite
def _merge(draw):
    clauses = []
    for when in draw(st.permutations([*_WHEN])):
        for _ in range(draw(st.integers(0, 1))):
            clauses.append(draw(_clause(when, conditional=True)))
        if draw(st.booleans()):
            clauses.append(draw(_clause(when, conditional=False)))
    source = draw(st.sampled_from(["{u} AS n", "(SELECT DISTINCT ON (id) * FROM {u}) AS n"]))
    on = draw(st.sampled_from(["ON o.id = n.id", "USING (id)", "ON o.id = n.id AND o.p = 1", "ON n.s = o.s"]))
    if all(each.endswith("DO NOTHING") for each in clauses):
        clauses = ["WHEN NOT MATCHED AND n.id = 9 THEN INSERT"]
    return f"MERGE INTO {{t}} AS o USING {source} {on} {' '.join(clauses)}"


@st.composite
def _with(draw):
    rest = draw(
        st.sampled_from(
            [
                "INSERT INTO {t} SELECT * FROM w",
                "DELETE FROM {t} WHERE id IN (SELECT id FROM w)",
                "UPDATE {t} SET s = 'w' WHERE EXISTS (FROM w WHERE p = 2)",
                "MERGE INTO {t} AS o USING w ON o.id = w.id WHEN NOT MATCHED THEN INSERT",
            ]
        )
    )
    return f"WITH w AS (SELECT * FROM {{u}} WHERE {draw(_condition())}) {rest}"


def scripts(most):
    """Lists of statements, each of which changes the table `t`."""
    statements = st.one_of(
        _insert(), _delete(), _update(), _merge(), _merge(), _with(), st.just("TRUNCATE {t}")
    )
    return st.lists(statements, min_size=1, max_size=most)
