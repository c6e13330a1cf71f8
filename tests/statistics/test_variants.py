"""Files that a condition on parts of variants skips."""

import datetime as dt
import json
import math
import operator
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from deltaarrow.deletion_vectors import encode_z85
from deltaarrow.errors import InvalidPredicateError
from deltaarrow.expressions import to_arrow, to_duckdb
from deltaarrow.schema import Field, Schema, StructType
from deltaarrow.snapshot import Snapshot
from deltaarrow.statistics import matching_rows
from deltaarrow.statistics.variant_bounds import normalized_path
from deltaarrow.storage import open_store
from deltaarrow.variant import variant_array, variant_get
from tests.support.conditions import predicate_of
from tests.support.corpus import ABSENT, CORPUS
from tests.support.examples import examples

SCHEMA = Schema([Field("v", "variant"), Field("s", StructType([Field("v", "variant")])), Field("i", "long")])


def encoded(values):
    """A minimum or maximum: an object as a variant, its metadata and value as Z85 text."""
    (variant,) = variant_array([values]).to_pylist()
    return encode_z85(variant["metadata"] + variant["value"])


def statistics(low=None, high=None, *, nulls=0, column=("v",)):
    found = {"numRecords": 10, "minValues": {}, "maxValues": {}, "nullCount": nested(column, nulls)}
    if low is not None:
        found["minValues"] = nested(column, encoded(low))
    if high is not None:
        found["maxValues"] = nested(column, encoded(high))
    return json.dumps(found)


def nested(path, value):
    for name in reversed(path):
        value = {name: value}
    return value


def is_kept(condition, *texts):
    files = pa.table(
        {
            "stats": pa.array(texts, pa.string()),
            "partition_values": pa.array([[]] * len(texts), pa.map_(pa.string(), pa.string())),
        }
    )
    predicate = predicate_of(condition, SCHEMA)
    return bool(matching_rows(files, predicate, SCHEMA).all())


KEY = "$['a']"


@pytest.mark.feature("variantShredding")
class TestValues:
    @pytest.mark.parametrize(
        ("condition", "kept"),
        [
            ("variant_get(v, '$.a', 'int') > 9", False),
            ("variant_get(v, '$.a', 'int') >= 9", True),
            ("try_variant_get(v, '$[\"a\"]', 'bigint') < 1", False),
            ("1 > variant_get(v, '$.a', 'int')", False),
            ("variant_get(v, '$.a', 'int') = 5", True),
            ("variant_get(v, '$.a', 'int') BETWEEN 10 AND 20", False),
            ("variant_get(v, '$.a', 'int') IN (0, 10, NULL)", False),
            ("variant_get(v, '$.a', 'int') IN (0, 5)", True),
            ("NOT (variant_get(v, '$.a', 'int') < 10)", False),
            ("variant_get(v, '$.a', 'int') > 9 OR i = 1", True),
            ("variant_get(v, '$.a', 'decimal(10,2)') > 9.00", False),
            ("variant_get(v, '$.a', 'double') < 1", False),
            ("variant_get(v, '$.a', 'string') > '95'", True),
            ("variant_get(v, '$.a', 'date') > DATE'2020-01-01'", True),
            ("variant_get(v, '$.a', 'boolean') = true", True),
            ("variant_get(v, '$.b', 'int') > 9", True),
            ("variant_get(v, '$.A', 'int') > 9", True),
            ("variant_get(v, '$', 'int') > 9", True),
            ("variant_get(s.v, '$.a', 'int') > 9", True),
            ("variant_get(v, '$.a', 'int') IS NULL", True),
            ("variant_get(v, '$.a', 'int') IS NOT NULL", True),
        ],
    )
    def test_integers(self, condition, kept):
        assert is_kept(condition, statistics({KEY: 1}, {KEY: 9})) is kept

    @pytest.mark.parametrize(
        ("low", "high", "data_type", "inside", "outside"),
        [
            ("b", "d", "string", "'c'", "'a'"),
            (dt.date(2020, 1, 1), dt.date(2020, 1, 3), "date", "'2020-01-02'", "'2020-01-04'"),
            (Decimal("-1.5"), Decimal("1.5"), "decimal(3,1)", "1.5", "1.6"),
            (Decimal("-1.5"), Decimal("1.5"), "int", "2", "3"),
            (Decimal("-1.5"), Decimal("1.5"), "int", "-2", "-3"),
            (-1.5, 1.5, "double", "1.5e0", "-1.6e0"),
            (
                dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
                dt.datetime(2020, 1, 1, 1, tzinfo=dt.UTC),
                "timestamp",
                "'2020-01-01 01:00:00.0005'",
                "'2020-01-01 01:00:01'",
            ),
            (
                dt.datetime(2020, 1, 1),
                dt.datetime(2020, 1, 1, 1),
                "timestamp_ntz",
                "'2020-01-01 01:00:00.0005'",
                "'2020-01-01 01:00:01'",
            ),
            ("a" * 32, "b" * 31 + "\x7f", "string", "'ba'", "'c'"),
            (2**62, 2**63 - 1, "bigint", "9223372036854775807", "1"),
        ],
    )
    def test_types(self, low, high, data_type, inside, outside):
        text = statistics({KEY: low}, {KEY: high})
        assert is_kept(f"variant_get(v, '$.a', '{data_type}') = {inside}", text)
        assert not is_kept(f"variant_get(v, '$.a', '{data_type}') = {outside}", text)

    def test_what_is_taken_for_another_kind_proves_nothing(self):
        for low, high in ((1.5, 1.5), ("1", "1"), (True, True), (b"1", b"1"), (None, None), ([1], [1])):
            assert is_kept("variant_get(v, '$.a', 'int') = 7", statistics({KEY: low}, {KEY: high}))

    def test_nan_may_be_where_bounds_do_not_say(self):
        text = statistics({KEY: 1.5}, {KEY: 2.5})
        assert is_kept("variant_get(v, '$.a', 'double') > 3e0", text)
        assert not is_kept("variant_get(v, '$.a', 'double') < 1e0", text)
        assert is_kept("variant_get(v, '$.a', 'double') < 1e0", statistics({KEY: math.nan}, {KEY: math.nan}))

    def test_prefixes(self):
        text = statistics({KEY: "abc"}, {KEY: "abd"})
        assert is_kept("variant_get(v, '$.a', 'string') LIKE 'ab%'", text)
        assert not is_kept("variant_get(v, '$.a', 'string') LIKE 'b%'", text)

    def test_a_minimum_or_a_maximum_alone(self):
        least, greatest = statistics({KEY: 5}), statistics(None, {KEY: 5})
        assert not is_kept("variant_get(v, '$.a', 'int') < 5", least)
        assert is_kept("variant_get(v, '$.a', 'int') > 5", least)
        assert not is_kept("variant_get(v, '$.a', 'int') > 5", greatest)
        assert is_kept("variant_get(v, '$.a', 'int') < 5", greatest)
        both = statistics({KEY: 5, "$['b']": 1}, {KEY: 9})
        assert is_kept("variant_get(v, '$.b', 'int') > 5", both)
        assert not is_kept("variant_get(v, '$.b', 'int') < 1", both)

    def test_variants_that_are_all_null(self):
        assert not is_kept("variant_get(v, '$.a', 'int') > 5", statistics(nulls=10))
        assert not is_kept("variant_get(v, '$.a', 'int') IS NOT NULL", statistics(nulls=10))
        assert is_kept("variant_get(v, '$.a', 'int') IS NULL", statistics(nulls=10))

    def test_a_variant_in_a_struct(self):
        text = statistics({KEY: 1}, {KEY: 9}, column=("s", "v"))
        assert not is_kept("variant_get(s.v, '$.a', 'int') > 9", text)

    @pytest.mark.parametrize(
        "text", [None, "", "{", "[]", '{"minValues":{"v":"x"}}', '{"maxValues":{"v":{"$[\'a\']":1}}}']
    )
    def test_what_cannot_be_decoded_proves_nothing(self, text):
        assert is_kept("variant_get(v, '$.a', 'int') > 9", text)


@given(st.binary(max_size=40))
@settings(deadline=None, max_examples=examples(14))
def test_garbled_bounds_never_fail(data):
    broken = bytearray(encoded({KEY: 1}).encode())
    text = json.dumps({"numRecords": 1, "minValues": {"v": encode_z85(data)}, "maxValues": {"v": "~" * 5}})
    assert is_kept("variant_get(v, '$.zz', 'int') > 9", text, broken.decode())


NUMBERS = st.one_of(
    st.integers(-5, 5), st.decimals("-5", "5", places=1), st.sampled_from([-2.5, -0.0, 0.0, 1.5, 5.0])
)
OPERATORS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
TYPES = {"int": pa.int32(), "decimal(4,2)": pa.decimal128(4, 2), "double": pa.float64()}


@given(
    st.lists(st.lists(NUMBERS, min_size=1, max_size=3), min_size=1, max_size=5),
    st.sampled_from(list(TYPES)),
    st.sampled_from(list(OPERATORS)),
    st.integers(-5, 5),
)
@settings(deadline=None, max_examples=examples(7))
def test_no_file_with_a_matching_row_is_left_out(files, data_type, op, number):
    texts, matching = [], []
    for values in files:
        values = [each for each in values if isinstance(each, float) == isinstance(values[0], float)]
        texts.append(statistics({KEY: min(values)}, {KEY: max(values)}))
        rows = variant_array([{"a": each} for each in values])
        found = variant_get(rows, "$.a", TYPES[data_type], strict=False).to_pylist()
        matching.append(any(each is not None and OPERATORS[op](each, number) for each in found))
    for text, matches in zip(texts, matching, strict=True):
        kept = is_kept(f"variant_get(v, '$.a', '{data_type}') {op} {number}", text)
        assert kept or not matches


def test_paths_are_normalized():
    assert normalized_path("$.a[0]['b c']") == "$['a'][0]['b c']"
    assert normalized_path('$["it\'s"]') == "$['it\\'s']"
    assert normalized_path("$") == "$"
    with pytest.raises(InvalidPredicateError, match="not a path"):
        is_kept("variant_get(v, 'a', 'int') > 1", statistics({KEY: 1}, {KEY: 1}))


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("variant_get(v, '$.a') > 1", "variant_get with 2 arguments"),
        ("variant_get(v, i, 'int') > 1", "the path of variant_get"),
        ("variant_get(v, '$.a', 'array<int>') > 1", "the type 'array<int>'"),
        ("variant_get(v, '$.a', 'variant') > 1", "the type 'variant'"),
        ("variant_get(i, '$.a', 'int') > 1", "other than a variant"),
        ("variant_get(v, '$.a', 'int') = array(1)", "integer together with"),
    ],
)
def test_what_is_refused(condition, message):
    with pytest.raises(InvalidPredicateError, match=message):
        predicate_of(condition, SCHEMA)


@pytest.mark.parametrize(
    "condition",
    [
        "variant_get(v, '$.a', 'int') > 1",
        "variant_get(v, '$.a', 'int') IS NULL",
        "variant_get(v, '$.a', 'string') LIKE 'a%'",
    ],
)
def test_rows_are_not_chosen_by_parts_of_variants(condition):
    predicate = predicate_of(condition, SCHEMA)
    for render in (to_arrow, to_duckdb):
        with pytest.raises(InvalidPredicateError, match="selects files, not rows"):
            render(predicate)


@pytest.mark.skipif(not CORPUS.exists(), reason=ABSENT)
@pytest.mark.feature("variantShredding")
@pytest.mark.parametrize(
    ("table", "condition", "kept"),
    [
        ("variant-stats-with-struct-no-checkpoint", "variant_get(v, '$.key', 'int') < 205", 1),
        ("variant-stats-with-struct-no-checkpoint", "variant_get(v, '$.key', 'int') = 204", 1),
        ("variant-stats-with-struct-no-checkpoint", "variant_get(v, '$.key', 'int') > 209", 0),
        ("variant-stats-with-struct-no-checkpoint", "variant_get(v, '$.key', 'int') >= 200", 2),
        ("variant-stats-no-checkpoint", "variant_get(v, '$.id', 'bigint') > 9", 0),
        ("variant-stats-no-checkpoint", "variant_get(v, '$.name', 'string') > 'a'", 0),
        ("variant-stats-no-checkpoint", "variant_get(nv.v, '$.id', 'int') >= 0", 1),
        ("variant-stats-state-reconstruction", "variant_get(v, '$', 'int') = 1", 0),
        ("variant-stats-state-reconstruction", "variant_get(v, '$', 'int') = 0", 1),
    ],
)
def test_tables_of_databricks(table, condition, kept):
    snapshot = Snapshot.load(open_store(CORPUS / "tables" / "delta-spark" / table))
    predicate = predicate_of(condition, snapshot.schema)
    files = snapshot.files(predicate, ["path"])
    assert files.num_rows == kept
    assert files.column_names == ["path"]
