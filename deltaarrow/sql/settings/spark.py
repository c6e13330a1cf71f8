"""Spark's SET, RESET, EXPLAIN, and statements that are refused by name."""

import re

from deltaarrow.spark_sql import MOST_OFFSET, Words, local_time_zone, offset_name, parse_interval
from deltaarrow.sql.session_settings import TIME_ZONE
from deltaarrow.sql.settings.statements import Explain, Refused, Reset, Set, Show

__all__ = ["REFUSED", "explained", "parse_explain", "parse_refused", "parse_reset", "parse_set"]

_READ_ANEW = "a statement reads the newest version of each table, and nothing is cached: remove the statement"
_NO_PROGRAM = "nothing here runs a program on rows: write it with functions, or read the rows in Python"
REFUSED = {  # sqlglot takes some pairs of words for one
    ("CACHE",): ("CACHE TABLE", _READ_ANEW),
    ("UNCACHE",): ("UNCACHE TABLE", _READ_ANEW),
    ("CLEAR", "CACHE"): ("CLEAR CACHE", _READ_ANEW),
    ("REFRESH",): ("REFRESH", _READ_ANEW),
    ("MSCK REPAIR",): (
        "MSCK REPAIR TABLE",
        "the log of a Delta table knows its partitions: remove the statement, or use FSCK REPAIR TABLE for"
        " files that are lost",
    ),
    ("DROP", "HISTORY"): (
        "DROP HISTORY",
        "there is no such statement: VACUUM deletes the files of old versions, and delta.logRetentionDuration"
        " says how long the log keeps them",
    ),
    ("TRUNCATE", "HISTORY"): (
        "TRUNCATE HISTORY",
        "it is a clause of ALTER TABLE ... DROP FEATURE: write it there, or use VACUUM",
    ),
    ("PURGE",): ("PURGE", "write REORG TABLE ... APPLY (PURGE)"),
    ("LOAD", "DATA"): ("LOAD DATA", "use INSERT INTO ... SELECT, or COPY INTO"),
    ("ADD JAR",): ("ADD JAR", "nothing here runs Java"),
    ("ADD FILE",): ("ADD FILE", "a statement reads no files but those of tables"),
    ("MAP",): ("MAP ... USING", _NO_PROGRAM),
    ("REDUCE",): ("REDUCE ... USING", _NO_PROGRAM),
    ("DECLARE",): ("DECLARE VARIABLE", "give the value as a parameter of the statement, such as :name"),
    ("DROP", "TEMPORARY", "VARIABLE"): ("DROP TEMPORARY VARIABLE", "there are no session variables"),
    ("EXECUTE", "IMMEDIATE"): ("EXECUTE IMMEDIATE", "a text that is made while it runs is never run here"),
}
"""First words of the statement -> its name, and what to do instead."""


def parse_set(words: Words) -> Set | Show:
    """Read a SET; what stands after the sign is the value, as it is written.

    >>> parse_set(Words("SET spark.sql.ansi.enabled = true"))
    Set(name='spark.sql.ansi.enabled', value='true')
    """
    words.expect("SET")
    if words.is_done:
        return Show(None)
    for what in ("VAR", "VARIABLE"):
        if words.is_at(what):
            raise words.refused("session variables are not supported, the name of a setting is expected")
    if words.take("TIME", "ZONE"):
        zone = _time_zone(words)
        words.expect_end()
        return Set(TIME_ZONE.name, zone)
    if words.take("-"):
        words.expect("v")
        words.expect_end()
        return Show(None, is_verbose=True)
    name = _name(words)
    if words.take("="):
        return Set(name, _value(words))
    words.expect_end()
    return Show(name)


def parse_reset(words: Words) -> Reset:
    """Read a RESET.

    >>> parse_reset(Words("RESET")).name is None
    True
    """
    words.expect("RESET")
    name = None if words.is_done else _name(words)
    words.expect_end()
    return Reset(name)


def parse_explain(words: Words) -> Explain:
    """Read an EXPLAIN, in any of its modes: the answer has one form."""
    words.expect("EXPLAIN")
    for mode in ("EXTENDED", "FORMATTED", "CODEGEN", "COST"):
        if words.take(mode):
            break
    return explained(words)


def explained(words: Words, *, runs: bool = False) -> Explain:
    """Read the statement that an EXPLAIN is about."""
    before = words.text[: words.start]
    statement = words.until(";")
    if not statement:
        raise words.refused("a statement is expected")
    words.expect_end()
    return Explain(words.text, re.sub(r"[^\n]", " ", before) + statement, runs)


def parse_refused(words: Words) -> Refused:
    """Return the statement as one that is refused."""
    first = max((each for each in REFUSED if words.is_at(*each)), key=len)
    return Refused(*REFUSED[first])


def _time_zone(words: Words) -> str:
    """A zone in quotes, LOCAL, or the offset that an INTERVAL means."""
    if words.is_at_string:
        return words.string("a zone")
    if words.take("LOCAL"):
        return local_time_zone()
    if not words.is_at("INTERVAL"):
        raise words.refused("a zone in quotes, LOCAL or an INTERVAL is expected")
    start = words.start
    length = parse_interval(words.until(";"))
    seconds, rest = divmod(length.microseconds, 1_000_000)
    if length.months or rest or length.is_days or abs(seconds) > MOST_OFFSET:
        raise words.unsupported(
            "[INVALID_INTERVAL_FORMAT.TIMEZONE_INTERVAL_OUT_OF_RANGE] the offset of a time zone has whole"
            " seconds, and at most 18 hours",
            start,
        )
    return offset_name(seconds)


def _name(words: Words) -> str:
    name = words.until("=", ";")
    if name[:1] == "`" == name[-1:] and len(name) > 1:
        name = name[1:-1].replace("``", "`")
    if not name or any(each.isspace() for each in name):
        raise words.refused("the name of a setting is expected")
    return name


def _value(words: Words) -> str:
    value = words.until(";")
    words.expect_end()
    return value
