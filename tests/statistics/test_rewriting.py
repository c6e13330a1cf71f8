"""Statistics of files that lose rows: some keys change, every value stays."""

import json

import pytest

from deltaarrow.statistics import with_num_records, with_wide_bounds

TIGHT = (
    '{"numRecords":5,"minValues":{"a":-0.0,"s":{"t":"é\\u0001"}},'
    '"nullCount":{"all":3,"s":{"all":3,"some":2},"none":0,"array":null},"tightBounds":true}'
)


def test_columns_that_are_null_in_all_live_rows_are_so_in_wide_statistics():
    wide = json.loads(with_wide_bounds(TIGHT, 2))
    counts = {"all": 5, "s": {"all": 5, "some": 2}, "none": 0, "array": None}
    assert wide == json.loads(TIGHT) | {"nullCount": counts, "tightBounds": False}


@pytest.mark.parametrize(
    ("stats", "deleted"),
    [
        pytest.param(TIGHT, 0, id="no vector before"),
        pytest.param(TIGHT.replace("true", "false"), 2, id="wide already"),
        pytest.param(TIGHT.replace(',"tightBounds":true', ""), 2, id="nothing said"),
        pytest.param('{"numRecords":5,"tightBounds":true}', 2, id="no counts"),
    ],
)
def test_other_counts_stay(stats, deleted):
    assert json.loads(with_wide_bounds(stats, deleted)) == json.loads(stats) | {"tightBounds": False}


@pytest.mark.parametrize(
    "number", ["12345678901234567890123456789012345678", "0.10", "1E-7", "-0.0", "1.0E400"]
)
def test_numbers_keep_their_spelling(number):
    stats = f'{{"numRecords":1,"maxValues":{{"a":{number}}}}}'
    assert with_wide_bounds(stats, 0) == stats[:-1] + ',"tightBounds":false}'
    assert with_num_records(stats, 1) == stats


def test_rows_are_counted_in_place_of_what_is_no_count():
    assert (
        with_num_records('{"minValues":{"a":1},"numRecords":null}', 7)
        == '{"numRecords":7,"minValues":{"a":1}}'
    )
    for nothing in (None, "", "[]", "{broken"):
        assert with_num_records(nothing, 7) == '{"numRecords":7}'


def test_what_is_no_number_in_json_becomes_a_text():
    stats = '{"maxValues":{"a":NaN,"b":-Infinity,"c":1.10}}'
    wanted = '{"numRecords":3,"maxValues":{"a":"NaN","b":"-Infinity","c":1.10}}'
    assert with_num_records(stats, 3) == wanted
