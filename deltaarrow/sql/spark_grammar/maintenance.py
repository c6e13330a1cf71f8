"""Spark's GENERATE."""

from deltaarrow.spark_sql import Words
from deltaarrow.sql.statements.maintenance import Generate

__all__ = ["parse_generate"]


def parse_generate(words: Words) -> Generate:
    """Read a GENERATE.

    >>> parse_generate(Words("GENERATE symlink_format_manifest FOR TABLE lake.orders")).mode
    'symlink_format_manifest'
    """
    words.expect("GENERATE")
    mode = words.name("the kind of files to generate")
    words.expect("FOR")
    words.expect("TABLE")
    table = words.table_name()
    words.expect_end()
    return Generate(table, mode)
