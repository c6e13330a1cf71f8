"""Stored expressions, which may be hostile, stay within limits of time and memory."""

import pyarrow as pa
import pytest

import deltaarrow as da
from deltaarrow.compute import set_expression_limits
from deltaarrow.errors import ExpressionLimitError, UnsupportedFeatureError
from deltaarrow.schema import Field, Schema
from deltaarrow.spark_sql import evaluate, parse_expression


@pytest.fixture(autouse=True)
def usual_limits():
    yield
    set_expression_limits()


def nested(call: str, times: int, inner: str = "text") -> str:
    for _ in range(times):
        inner = call.format(inner)
    return inner


def computed(expression: str, texts: list[str]) -> list[object]:
    batch = pa.record_batch({"text": pa.array(texts, pa.string())})
    return evaluate(parse_expression(expression, Schema.from_arrow(batch.schema)), batch).to_pylist()


TRIPLED = nested("replace({}, '<', '<<<')", 3)

BOMBS = {
    "replace": nested("replace({}, 'a', 'aaaaaaaaa')", 11, "'aaaa'"),
    "replacement": nested("replace('aaaaaaaaa', 'a', {})", 11),
    "concat_ws": nested("concat_ws({}, '', '', '', '', '', '', '', '', '', '')", 11),
}


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_text_that_grows_beyond_all_bounds_is_refused(bomb):
    with pytest.raises(ExpressionLimitError, match=r"more than 67108864 bytes.*value_bytes=") as caught:
        computed(f"length({bomb}) > 0", ["a"])
    assert bomb[:40] in str(caught.value)


def test_a_constraint_that_explodes_is_refused_by_its_name(tmp_path):
    da.write_deltalake(tmp_path, pa.table({"text": ["b"]}))
    bomb = f"length({BOMBS['replace'].replace(chr(39) + 'aaaa' + chr(39), 'text')}) > 0"
    da.DeltaTable(tmp_path).alter.add_constraint({"bomb": bomb})
    with pytest.raises(ExpressionLimitError, match=r"the SQL expression bomb \(length\(replace\("):
        da.write_deltalake(tmp_path, pa.table({"text": ["aaaa"]}), mode="append")
    assert da.DeltaTable(tmp_path).version() == 1


def test_a_text_that_only_might_grow_is_computed():
    text = "x" * 5_000_000
    assert computed(TRIPLED, [text, "<"]) == [text, "<" * 27]


def test_many_rows_are_computed_in_parts_with_the_same_values():
    texts = [f"<{number}>" * (number % 7) for number in range(3000)]
    whole = computed(TRIPLED, texts)
    set_expression_limits(value_bytes=20_000)
    assert computed(TRIPLED, texts) == whole == [text.replace("<", "<" * 27) for text in texts]


def test_an_expression_that_takes_too_long_is_interrupted():
    set_expression_limits(seconds=0.05)
    texts = [f"{number}" * 9 for number in range(300_000)]
    with pytest.raises(ExpressionLimitError, match=r"more than 0.05 seconds.*seconds="):
        computed(nested("sha2({}, 256)", 25), texts)
    set_expression_limits()
    assert computed("length(text)", texts[:1]) == [9]


def test_an_expression_that_takes_too_much_memory_is_refused():
    set_expression_limits(memory="1MB")
    with pytest.raises(ExpressionLimitError, match=r"more than 1MB of memory.*memory="):
        computed("concat(text, text)", ["x" * 1000] * 20_000)


@pytest.mark.parametrize("limits", [{"seconds": 0}, {"value_bytes": -1}, {"memory": "much"}])
def test_a_limit_that_is_none_is_refused(limits):
    with pytest.raises(ValueError, match="limit"):
        set_expression_limits(**limits)


def test_a_text_that_python_cannot_nest_is_refused_wherever_that_shows():
    # At some of these depths the recursion ends inside of sqlglot, which tells it as an error of its own.
    schema = Schema([Field("text", "string")])
    for levels in range(20, 200, 4):
        try:
            parse_expression(nested("sha2({}, 256)", levels), schema)
        except UnsupportedFeatureError as error:
            assert "deep nesting" in str(error)
    with pytest.raises(UnsupportedFeatureError, match="deep nesting"):
        parse_expression(nested("sha2({}, 256)", 200), schema)
