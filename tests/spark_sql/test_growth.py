"""The bounds on the lengths of texts hold for every function, over long texts and large numbers."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

from deltaarrow.errors import ConstraintViolationError, UnsupportedFeatureError
from deltaarrow.schema import Schema
from deltaarrow.spark_sql import evaluate, parse_expression
from deltaarrow.spark_sql.binding.growth import grows, longest
from deltaarrow.spark_sql.functions.registry import CHAPTERS
from deltaarrow.spark_sql.tree.nodes import Call, ColumnRef, Constant, walk
from tests.spark.test_spark_sql import CASES, one_for_each_function

MOMENT = dt.datetime(2024, 2, 29, 13, 14, 15, 123456)
NUMBERS = {"r": 1, "b": 100, "h": 900, "i": 900, "j": 700, "l": 800}
VALUES = {
    **{name: (pa.int32(), number) for name, number in NUMBERS.items()},
    **{name: (pa.float64(), 900.5) for name in "fde"},
    **{name: (pa.decimal128(10, 2), Decimal("900.50")) for name in "mnw"},
    "dt": (pa.date32(), MOMENT.date()),
    "ts": (pa.timestamp("us", "UTC"), MOMENT),
    "z": (pa.timestamp("us"), MOMENT),
    "o": (pa.bool_(), True),
    "p": (pa.bool_(), False),
    "bin": (pa.binary(), b"b" * 700),
    "a": (pa.list_(pa.int32()), [700] * 5),
    "sa": (pa.list_(pa.string()), ["a" * 200, "b"]),
    "st": (
        pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))]),
        {"a": 900, "b": {"c": "c" * 800}},
    ),
}
TEXTS = [("a" * 1000, "a", "b" * 300), ("a,b" * 300, "c" * 200, "12"), ("2020-02-03", "-" * 500, "7")]


LONGER = ["replace(s, 'a', x)", "concat_ws(x, s, t, t, t)"]


def batch_of(texts):
    """One row with these texts in the columns `s`, `t` and `x` of `CASES`, large numbers in the others."""
    values = VALUES | {name: (pa.string(), text) for name, text in zip("stx", texts, strict=True)}
    return pa.record_batch({name: pa.array([value], kind) for name, (kind, value) in values.items()})


def text_bytes(value):
    """The bytes of the longest text in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return max(map(text_bytes, value), default=0)
    if isinstance(value, bytes):
        return len(value)
    return len(value.encode()) if isinstance(value, str) else 0


@pytest.fixture(
    scope="module", params=["few", pytest.param("all", marks=pytest.mark.slow)], ids=lambda name: name
)
def texts_of_cases(request):
    """The expressions of `CASES`, or one for each function, and of `LONGER`, whose values hold texts."""
    schema = Schema.from_arrow(batch_of(TEXTS[0]).schema)
    found = []
    cases = CASES if request.param == "all" else one_for_each_function(CASES)
    for text in dict.fromkeys([*cases, *LONGER]):
        try:
            found.append(parse_expression(text, schema))
        except UnsupportedFeatureError as error:
            assert "for queries alone" in str(error)
    return [expression for expression in found if "string" in repr(expression.type)]


@pytest.fixture(scope="module")
def computed(texts_of_cases):
    """These expressions over rows of long texts, with their values and rows, where none raises."""
    found = []
    for batch in map(batch_of, TEXTS):
        for expression in texts_of_cases:
            try:
                (value,) = evaluate(expression, batch, clock=lambda: 1_700_000_000_000).to_pylist()
            except (ConstraintViolationError, UnsupportedFeatureError):
                continue
            found.append((expression, value, batch))
    return found


def leaf_bytes(node, batch):
    """The bytes of all texts that an expression is computed from, as often as they stand in it."""
    leaves = [each for each in walk(node) if not isinstance(each, Call)]
    values = [each.value if isinstance(each, Constant) else held(each, batch) for each in leaves]
    return sum(map(text_bytes, values))


def held(reference: ColumnRef, batch):
    (value,) = batch.column(reference.path[0]).to_pylist()
    for name in reference.path[1:]:
        value = value and value[name]
    return value


def columns_of(node, batch):
    found = {}
    for each in walk(node):
        if isinstance(each, ColumnRef):
            column = batch.column(each.path[0])
            for name in each.path[1:]:
                column = column.field(name)
            found[each.path] = pa.chunked_array([column])
    return found


def test_no_text_is_longer_than_its_bound(computed):
    """A function whose texts are longer is missing in `deltaarrow.spark_sql.binding.growth`."""
    longer = [
        expression.text
        for expression, value, batch in computed
        if text_bytes(value) > longest(expression.root, columns_of(expression.root, batch), 1)[0]
    ]
    assert longer == []


def test_texts_that_are_much_longer_than_what_they_are_computed_from_are_bounded(computed):
    """By 100,000 characters, to which `lpad` and `rpad` fill a text, none gets too long."""
    much_longer = [
        expression.text
        for expression, value, batch in computed
        if not grows(expression.root) and text_bytes(value) > 2 * leaf_bytes(expression.root, batch) + 300
    ]
    assert much_longer == []


def test_every_function_that_makes_texts_is_computed(texts_of_cases, computed):
    names = {name for functions in CHAPTERS.values() for each in functions for name in each.names}
    assert (
        called(names, texts_of_cases) - called(names, [expression for expression, _, _ in computed]) == set()
    )


def called(names, expressions):
    text = " ".join(expression.text for expression in expressions).lower()
    return {name for name in names if f"{name}(" in text or f" {name} " in text}
