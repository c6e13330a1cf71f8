"""Random queries over random small Delta tables: their rows are Spark's."""

from collections import Counter

import pytest

from tests.support.query_comparison import Comparison, OneNodeQueries, SparkQueries, compare, random_texts

pytestmark = [pytest.mark.spark]

_SEEDS = 250
_OF_A_SEED = 40
_MOST_REFUSED = 0.05


def comparisons(spark, folder, seed: int, count: int) -> list[Comparison]:
    engine, judge = OneNodeQueries(folder / str(seed), seed), SparkQueries(spark, seed)
    found = compare(seed, random_texts(seed, count), engine, judge)
    engine.close()
    judge.close()
    return found


def test_random_queries(spark, tmp_path):
    found = comparisons(spark, tmp_path, 7, 8)
    assert [str(each) for each in found if each.outcome in ("different", "failed here")] == []
    assert Counter(each.outcome for each in found)["equal"] > 4


@pytest.mark.slow
def test_many_random_queries(spark, tmp_path):
    found = [each for seed in range(_SEEDS) for each in comparisons(spark, tmp_path, seed, _OF_A_SEED)]
    outcomes = Counter(each.outcome for each in found)
    assert [str(each) for each in found if each.outcome == "different"] == []
    assert outcomes["refused"] < _MOST_REFUSED * len(found)
    assert outcomes["equal"] > (1 - 3 * _MOST_REFUSED) * len(found)
