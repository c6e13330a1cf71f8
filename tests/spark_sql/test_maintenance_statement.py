"""OPTIMIZE, REORG and VACUUM as text: their clauses as Spark takes them, and what is refused."""

import pytest

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql import parse_optimize, parse_reorg, parse_vacuum
from tests.support.maintenance_statements import OPTIMIZE, REFUSED, REORG, VACUUM


@pytest.mark.parametrize("text", OPTIMIZE)
def test_clauses_of_optimize(text):
    assert parse_optimize(text) == OPTIMIZE[text]


@pytest.mark.parametrize("text", REORG)
def test_clauses_of_reorg(text):
    assert parse_reorg(text) == REORG[text]


@pytest.mark.parametrize("text", VACUUM)
def test_clauses_of_vacuum_come_in_any_order(text):
    assert parse_vacuum(text) == VACUUM[text]


PARSERS = {"OPTIMIZE": parse_optimize, "REORG": parse_reorg, "VACUUM": parse_vacuum}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:60])
def test_what_is_no_such_statement_is_refused_where_it_stops_being_one(text):
    with pytest.raises(UnsupportedFeatureError, match=REFUSED[text]):
        PARSERS[text.split()[0]](text)


def test_statement_of_another_kind_is_refused():
    for parse in PARSERS.values():
        with pytest.raises(UnsupportedFeatureError, match="is expected, and there is 'DROP'"):
            parse("DROP TABLE delta.`/t`")
