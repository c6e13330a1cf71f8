"""`dialect="deltalake"`: expressions mean what they mean in deltalake, or are refused.

deltalake itself evaluates each expression of `SAME` over a table of odd values.
"""

from datetime import UTC, date, datetime
from decimal import Decimal

import deltalake
import pyarrow as pa
import pytest

from deltaarrow.errors import InvalidPredicateError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import evaluate, parse_expression, spark_names, spark_text
from deltaarrow.spark_sql.text.dialects import _RENAMED, _SAME_FUNCTIONS

ROWS = pa.table(
    {
        "id": [1, 2, 3, 4],
        "unit price": [1.5, -2.25, None, 1e10],
        "t": ["Ada", r"C:\temp", "it's", None],
        "u": ["a,b,c", "", "Größe", "x"],
        "n": pa.array([7, -7, 0, None], pa.int32()),
        "k": pa.array([Decimal("1.25"), Decimal("-2.50"), None, Decimal("0.00")], pa.decimal128(10, 2)),
        "day": [date(2024, 2, 29), date(1969, 12, 31), None, date(2000, 1, 1)],
        "at": pa.array(
            [
                datetime(2024, 2, 29, 13, 5, 7, tzinfo=UTC),
                None,
                *[datetime(1969, 12, 31, 23, tzinfo=UTC)] * 2,
            ],
            pa.timestamp("us", "UTC"),
        ),
        "s": [{"x": 1}, {"x": None}, {"x": 3}, {"x": 4}],
        "l": [[1, 2], [], None, [3]],
    }
)

SAME = r"""
"unit price" > 1
"unit price" / 2.0 + 1
`unit price` * 2 - id
t = 'C:\temp'
t LIKE 'C:\\%'
t = 'it''s' OR t IS NULL
t = '"Ada"'
s.x + 1
"s"."x" * 2
id % 3 = -n % 3
n BETWEEN -7 AND 0 AND NOT (id = 3)
t || '/' || u
'2024-02-29'::date = day
day >= '2000-01-01'
at > '2000-01-01T00:00:00Z'
CAST(k AS DOUBLE) > 1
TRY_CAST(u AS INT)
CASE WHEN n > 0 THEN 'up' WHEN n < 0 THEN 'down' END
CASE t WHEN 'Ada' THEN 1 ELSE 0 END
id IN (1, 3) AND t IS NOT NULL
n IS DISTINCT FROM 7
abs(n)
bit_length(u)
btrim(u, 'ac')
ceil("unit price")
char_length(u)
character_length(u)
coalesce(t, u)
concat(t, '-', u)
concat_ws('-', t, u)
date_part('year', day)
date_trunc('month', at)
ends_with(u, 'c')
extract(week FROM day)
extract(quarter FROM at)
extract(doy FROM day)
find_in_set('b', u)
floor("unit price")
greatest(n, 1)
ifnull(t, u)
least(n, 1)
length(u)
levenshtein(t, 'Ida')
lower(t)
lpad(u, 3, '*')
ltrim(u)
make_array(n, 1)
md5(u)
named_struct('a', n, 'b', t)
nanvl("unit price", 1.0)
nullif(n, 7)
nvl(t, u)
nvl2(t, u, 'none')
octet_length(u)
pi()
regexp_like(u, '^[a-c,]+$')
repeat(u, 2)
replace(u, ',', ';')
reverse(u)
round("unit price")
round(k, 1)
rpad(u, 3, '*')
rtrim(u)
signum("unit price")
split_part(u, ',', 2)
sqrt(id)
starts_with(u, 'a')
strpos(u, ',')
substr(u, 2)
substr(u, 2, 2)
substring(u, 1, 3)
substring_index(u, ',', 2)
to_date('2024-02-29')
translate(u, 'ab', 'AB')
trim(u)
upper(t)
""".strip().splitlines()


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    deltalake.write_deltalake(path, ROWS)
    return deltalake.QueryBuilder().register("rows", deltalake.DeltaTable(path))


def values(column):
    found = [float(each) if isinstance(each, Decimal) else each for each in column.to_pylist()]
    return [float(f"{each:.12g}") if isinstance(each, float) else each for each in found]


@pytest.mark.parametrize("expression", SAME)
def test_values_are_those_of_deltalake(theirs, expression):
    wanted = pa.table(theirs.execute(f"SELECT {expression} AS found FROM rows ORDER BY id").read_all())
    ours = parse_expression(spark_text(expression, "deltalake"), Schema.from_arrow(ROWS.schema))
    (batch,) = ROWS.combine_chunks().to_batches()
    assert values(evaluate(ours, batch)) == values(wanted["found"])


def test_every_function_is_compared():
    text = "\n".join(SAME).lower()
    untold = {"current_date", "current_timestamp", "now"}  # The moment is another.
    assert [each for each in sorted(_SAME_FUNCTIONS | set(_RENAMED)) if f"{each}(" not in text] == sorted(
        untold
    )


@pytest.mark.parametrize(
    ("expression", "what"),
    [
        ("n / 2 = 3", "/"),
        ("l[1] = 1", "["),
        ("log(id) > 1", "log(...)"),
        ('NOT isnan("unit price")', "isnan(...)"),
        ("regexp_replace(u, 'a', 'b') = 'b'", "regexp_replace(...)"),
        ("date_part('dow', day) = 0", "date_part"),
        ("extract(epoch FROM at) > 0", "extract"),
        ("substr(u, -2) = 'b'", "substr"),
        ("substr(u, n) = 'b'", "substr"),
        ("ltrim(u, 'a') = ''", "ltrim"),
        ("to_date(u, '%Y') = day", "to_date"),
        ("CAST(t AS DECIMAL) = 1", "DECIMAL"),
        ("t = E'a'", "E"),
        ("t ~ 'a'", "~"),
        ("n ^ 2 = 1", "^"),
        ("t = 'a", "'"),
        ("arrow_cast(n, 'Int64') = 1", "arrow_cast(...)"),
        ("id = $1", "$"),
    ],
)
def test_what_would_mean_something_else_is_refused(expression, what):
    with pytest.raises(InvalidPredicateError) as refusal:
        spark_text(expression, "deltalake")
    assert f"dialect='deltalake' refuses `{what}` at character" in str(refusal.value)
    assert refusal.value.place == (expression, expression.index(what.removesuffix("(...)")))


def test_names_that_get_values_are_spelled_too():
    given = {'"a b"': "1", 't."a""b`"': "2", "plain name": "3"}
    assert spark_names(given, "deltalake") == {"`a b`": "1", 't.`a"b```': "2", "plain name": "3"}
    assert spark_names(given, "spark") is given


def test_the_default_changes_nothing():
    assert spark_text('x = "y" / 2', "spark") == 'x = "y" / 2'
    with pytest.raises(ValueError, match="spark, deltalake"):
        spark_text("x", "duckdb")
