"""Statements of maintenance as text: their clauses as Spark takes them, and what is refused."""

import pytest

from deltaarrow.errors import UnsupportedFeatureError
from deltaarrow.spark_sql import TableName, Words
from deltaarrow.sql.maintain.statements import Analyze, Optimize, Repair
from deltaarrow.sql.registry import find_kind
from tests.support.maintenance_statements import EXTENSIONS_REFUSED, PARSED, REFUSED

STATEMENTS = {text: meant for texts in PARSED.values() for text, meant in texts.items()}
NAMED = TableName(("lake", "t"))
EXTENSIONS = {
    "FSCK REPAIR TABLE lake.t": Repair(NAMED),
    "fsck repair table lake.t dry run;": Repair(NAMED, is_dry_run=True),
    "ANALYZE TABLE lake.t COMPUTE STATISTICS": Analyze(NAMED),
    "ANALYZE TABLE lake.t COMPUTE STATISTICS FOR ALL COLUMNS": Analyze(NAMED),
    "ANALYZE TABLE lake.t COMPUTE STATISTICS FOR COLUMNS id, `a b`.c": Analyze(NAMED, ("id", "`a b`.c")),
    "ANALYZE TABLE lake.t COMPUTE DELTA STATISTICS": Analyze(NAMED, is_full=True),
}


def parsed(text, dialect="spark"):
    words = Words(text, dialect)
    return find_kind(words, "spark").spark(words)


@pytest.mark.parametrize("text", STATEMENTS | EXTENSIONS)
def test_clauses_are_read(text):
    assert parsed(text) == (STATEMENTS | EXTENSIONS)[text]


@pytest.mark.parametrize("text", REFUSED | EXTENSIONS_REFUSED, ids=lambda text: text[:60])
def test_what_is_no_such_statement_is_refused_where_it_stops_being_one(text):
    with pytest.raises(UnsupportedFeatureError, match=f"(?s){(REFUSED | EXTENSIONS_REFUSED)[text]}"):
        parsed(text)


def test_names_in_double_quotes_are_names_in_duckdbs_dialect():
    assert parsed('OPTIMIZE "lake"."t" ZORDER BY ("a b")', "duckdb") == Optimize(NAMED, z_order=("`a b`",))
    assert parsed("OPTIMIZE '/t'", "duckdb") == Optimize(TableName(("delta", "/t")))
