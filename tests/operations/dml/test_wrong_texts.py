"""Invalid conditions and values: any text raises one of our errors, and nothing is done."""

import datetime as dt
import itertools
import shutil
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow import DeltaTable, write_deltalake
from deltaarrow.errors import DeltaError
from tests.support.examples import examples

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3], pa.int64()),
        "i": pa.array([1, None, 3], pa.int32()),
        "x": [1.5, float("nan"), None],
        "s": ["a", "12", None],
        "m": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(5, 2)),
        "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1969, 12, 31)]),
        "at": pa.array([dt.datetime(2024, 2, 29, tzinfo=dt.UTC), None, None], pa.timestamp("us", "UTC")),
        "ok": [True, False, None],
        "raw": [b"a", b"", None],
        "xs": [[1, None], [], None],
        "st": [{"a": 1, "b": "x"}, None, {"a": None, "b": None}],
        "mp": pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "p": ["u", "v", None],
    }
)
NAMES = [
    *ROWS.schema.names,
    "st.a",
    "ST.B",
    "nosuch",
    "st.nosuch",
    "target.id",
    "`i`",
    "`a b`",
    "xs[0]",
    "mp['a']",
]
LITERALS = [
    *(
        "NULL",
        "1",
        "-5",
        "1.5",
        "2D",
        "3000000000",
        "1e400",
        "'a'",
        "'12'",
        "'2024-02-29'",
        "'true'",
        "''",
        "TRUE",
    ),
    *("DATE'2024-02-29'", "DATE'x'", "TIMESTAMP'2024-02-29 00:00:00'", "X'61'", "array(1)", "map('a', 1)"),
    *(
        "struct(1)",
        "(SELECT 1)",
        "INTERVAL 1 DAY",
        "current_date()",
        "DEFAULT",
        "*",
        "",
        "1 +",
        "'",
        "--",
        ";",
    ),
]
SIGNS = [
    "=",
    "<",
    ">=",
    "<>",
    "<=>",
    "+",
    "-",
    "*",
    "/",
    "%",
    "div",
    "||",
    "AND",
    "OR",
    "LIKE",
    "RLIKE",
    "IN",
    "IS",
]
CALLS = [
    "lower({})",
    "abs({})",
    "size({})",
    "isnan({})",
    "coalesce({}, 1)",
    "CAST({} AS INT)",
    "CAST({} AS DATE)",
]
CALLS += [
    "NOT {}",
    "-{}",
    "{} IS NULL",
    "{} IS TRUE",
    "{} IN (1, 'a')",
    "{} BETWEEN 1 AND 'b'",
    "foo({})",
    "sum({})",
]
CALLS += [
    "CASE WHEN {} THEN 1 ELSE 'a' END",
    "if({0}, {0}, 2)",
    "{} LIKE 'a%'",
    "startswith({}, 'a')",
    "({})",
    "{}.a",
]

texts = st.recursive(
    st.sampled_from([*NAMES, *LITERALS]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(SIGNS), inner).map(" ".join),
        st.tuples(st.sampled_from(CALLS), inner).map(lambda each: each[0].format(each[1])),
    ),
    max_leaves=4,
)
several = settings(max_examples=examples(20), deadline=None)


class Trial:
    """A table that statements are tried on; one that was changed is replaced by a copy of the first."""

    def __init__(self, folder):
        self.first = folder / "first"
        vectors = {"delta.enableDeletionVectors": "true"}
        write_deltalake(self.first, ROWS, partition_by=["p"], configuration=vectors)
        self.copies = (folder / f"copy{number}" for number in itertools.count())
        self.path = self.first

    def attempt(self, action):
        """Only errors of ours come out, and after one the table is as it was."""
        if self.path == self.first or DeltaTable(self.path).version():
            self.path = next(self.copies)
            shutil.copytree(self.first, self.path)
        files = sorted(self.path.rglob("*"))
        try:
            action(DeltaTable(self.path))
        except (DeltaError, ValueError):
            assert sorted(self.path.rglob("*")) == files
        DeltaTable(self.path).to_pyarrow_table()


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    return Trial(tmp_path_factory.mktemp("wrong"))


@several
@given(condition=texts)
def test_conditions_of_delete(trial, condition):
    trial.attempt(lambda table: table.delete(condition))


@several
@given(column=st.sampled_from(NAMES), value=texts, condition=st.none() | texts)
def test_values_of_update(trial, column, value, condition):
    trial.attempt(lambda table: table.update({column: value}, predicate=condition))


@several
@given(on=texts, column=st.sampled_from(NAMES), value=texts, condition=st.none() | texts)
def test_texts_of_merge(trial, on, column, value, condition):
    def merge(table):
        merger = table.merge(ROWS.rename_columns({"id": "key"}), f"t.id = s.key AND ({on})", "s", "t")
        merger.when_matched_update({column: value}, condition)
        merger.when_not_matched_insert({column: value}, condition)
        merger.when_not_matched_by_source_delete(condition).execute()

    trial.attempt(merge)


@several
@given(condition=texts)
def test_conditions_of_overwriting(trial, condition):
    rows = ROWS.slice(0, 1)
    trial.attempt(lambda table: write_deltalake(table, rows, mode="overwrite", predicate=condition))


@pytest.mark.parametrize(
    ("condition", "named"),
    [
        *(
            ("nosuch = 1", "nosuch"),
            ("st.nosuch = 1", "nosuch"),
            ("i = 'abc'", "abc"),
            ("i", "i"),
            ("xs = 5", "xs"),
        ),
        *(
            ("day = 5", "day"),
            ("day = 'x'", "x"),
            ("at > 'nope'", "nope"),
            ("m = 'abc'", "abc"),
            ("ok = 1", "ok"),
        ),
        *(
            ("i IN ('a', 1)", "a"),
            ("i BETWEEN 'a' AND 5", "a"),
            ("i + 1", "condition"),
            ("foo(i) = 1", "FOO|foo"),
        ),
    ],
)
@pytest.mark.parametrize("statement", ["delete", "overwrite"])
def test_what_is_wrong_is_named(trial, statement, condition, named):
    table = DeltaTable(trial.first)
    with pytest.raises(DeltaError, match=named):
        if statement == "delete":
            table.delete(condition)
        else:
            write_deltalake(table, ROWS, mode="overwrite", predicate=condition)
    assert DeltaTable(trial.first).version() == 0
