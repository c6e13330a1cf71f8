"""DuckDB's EXPLAIN, and SET and RESET of Spark's settings; those of other names are DuckDB's own."""

from deltaarrow.spark_sql import Words
from deltaarrow.sql.settings import spark as settings
from deltaarrow.sql.settings.statements import Explain, Reset, Set, Show

__all__ = ["parse_explain", "parse_reset", "parse_set"]


def parse_set(words: Words) -> Set | Show | None:
    """Read a SET of a setting whose name begins with ``spark.``; None for any other.

    >>> parse_set(Words("SET threads = 2", "duckdb")) is None
    True
    """
    return settings.parse_set(words) if words.is_at("SET", "spark", ".") else None


def parse_reset(words: Words) -> Reset | None:
    """Read a RESET of a setting whose name begins with ``spark.``; None for any other."""
    return settings.parse_reset(words) if words.is_at("RESET", "spark", ".") else None


def parse_explain(words: Words) -> Explain | None:
    """Read an EXPLAIN; None for one with options, whose answer has the form that they ask for.

    >>> parse_explain(Words("EXPLAIN ANALYZE FROM t", "duckdb"))
    Explain(text='EXPLAIN ANALYZE FROM t', statement='                FROM t', runs=True)
    >>> parse_explain(Words("EXPLAIN (FORMAT json) FROM t", "duckdb")) is None
    True
    """
    words.expect("EXPLAIN")
    runs = words.take("ANALYZE")
    return None if words.is_at("(") else settings.explained(words, runs=runs)
