"""Random queries over random small Delta tables: their rows are Spark's."""

from collections import Counter

import pytest

from tests.support.query_comparison import (
    Comparison,
    OneNodeQueries,
    SailQueries,
    SparkQueries,
    compare,
    random_texts,
    second_opinions,
)
from tests.support.sail import running_sail

pytestmark = [pytest.mark.spark]

_SEEDS = 250
_SEEDS_ON_SAIL = 25
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_sail_is_a_second_opinion(spark, tmp_path, capsys):
    """Of queries on which Spark and this package agree; a report, in which Spark stays the judge."""
    pytest.importorskip("pysail", reason="Sail comes with `pip install pysail`")
    outcomes = Counter()
    with running_sail(tmp_path / "sail") as session:
        for seed in range(_SEEDS_ON_SAIL):
            found = comparisons(spark, tmp_path, seed, _OF_A_SEED)
            opinions = second_opinions(found, SailQueries(session, seed))
            assert len(opinions) == sum(each.outcome == "equal" for each in found)
            outcomes.update(each.outcome for each in opinions)
    with capsys.disabled():
        print(f"\nSail on queries that Spark and this package answer alike: {dict(outcomes)}")
    assert outcomes.keys() <= {"equal", "different", "refused"}
