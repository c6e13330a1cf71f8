"""Which texts are statements of maintenance: Spark's parser takes what ours takes, and hardly more."""

import pytest

from tests.support.maintenance_statements import PARSED, REFUSED, STRICTER

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.fixture
def parsed(spark):
    """Parses a text, and returns the name of the class of what Spark has for it; nothing is run."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    return lambda text: parser.parsePlan(text).getClass().getSimpleName()


@pytest.mark.parametrize("command", PARSED)
def test_spark_takes_what_we_take(parsed, command):
    assert {text: parsed(text) for text in PARSED[command]} == dict.fromkeys(PARSED[command], command)


def test_we_take_no_less_than_spark_but_for_reasons(parsed):
    taken = set()
    for text in REFUSED:
        try:
            parsed(text)
        except Exception as error:
            names = ("ParseException", "NumberFormatException", "DELTA_PARSING", "DECIMAL_PRECISION")
            assert any(name in f"{error!r} {error}" for name in names), text
        else:
            taken.add(text)
    assert taken == set(STRICTER)
