"""A MERGE in Spark SQL taken apart: its table, source, conditions and clauses, each as it is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from deltaarrow.spark_sql.statement_text import Words

__all__ = ["MergeAction", "MergeText", "MergeWhen", "MergeWhenText", "parse_merge"]


class MergeWhen(Enum):
    """The rows that a clause is about."""

    MATCHED = "MATCHED"
    NOT_MATCHED = "NOT MATCHED"
    NOT_MATCHED_BY_SOURCE = "NOT MATCHED BY SOURCE"


class MergeAction(Enum):
    """What a clause does with its rows."""

    DELETE = "DELETE"
    UPDATE = "UPDATE"
    INSERT = "INSERT"


@dataclass(frozen=True)
class MergeWhenText:
    """One WHEN: `values` are expressions by columns; there are none for ``*`` and DELETE."""

    when: MergeWhen
    condition: str | None
    action: MergeAction
    values: Mapping[str, str]


@dataclass(frozen=True)
class MergeText:
    """The parts of a MERGE; `source` is a query, without its brackets."""

    path: str
    alias: str | None
    source: str
    source_alias: str | None
    condition: str
    clauses: tuple[MergeWhenText, ...]


def parse_merge(statement: str) -> MergeText:
    """Take a MERGE apart; what its expressions mean is left to who runs them.

    Raises `UnsupportedFeatureError` for what has no place in a MERGE, and for what is not read here: a target
    that is not named by its path, a source that is no query in brackets, and schema evolution.

    >>> merge = parse_merge(
    ...     "MERGE INTO delta.`/t` AS t USING (SELECT 1 AS id) AS s ON t.id = s.id"
    ...     " WHEN MATCHED AND t.n > 2 THEN DELETE WHEN NOT MATCHED THEN INSERT *"
    ... )
    >>> merge.path, merge.source, merge.condition, [clause.condition for clause in merge.clauses]
    ('/t', 'SELECT 1 AS id', 't.id = s.id', ['t.n > 2', None])
    """
    words = Words(statement)
    words.expect("MERGE")
    words.expect("INTO")
    path = words.place()
    alias = _alias(words)
    words.expect("USING")
    source = words.bracketed("the source, a query,")
    source_alias = _alias(words)
    words.expect("ON")
    condition = words.until("WHEN")
    return MergeText(path, alias, source, source_alias, condition, tuple(_clauses(words)))


def _alias(words: Words) -> str | None:
    if words.take("AS"):
        return words.name("an alias")
    return None if words.is_at("USING") or words.is_at("ON") else words.name("an alias")


def _clauses(words: Words) -> Iterator[MergeWhenText]:
    if words.is_done:
        words.expect("WHEN")
    while not words.is_done:
        words.expect("WHEN")
        when = _when(words)
        condition = words.until("THEN") if words.take("AND") else None
        words.expect("THEN")
        yield MergeWhenText(when, condition, *_action(words, when))


def _when(words: Words) -> MergeWhen:
    is_not = words.take("NOT")
    words.expect("MATCHED")
    if not is_not:
        return MergeWhen.MATCHED
    if words.take("BY", "SOURCE"):
        return MergeWhen.NOT_MATCHED_BY_SOURCE
    words.take("BY", "TARGET")
    return MergeWhen.NOT_MATCHED


def _action(words: Words, when: MergeWhen) -> tuple[MergeAction, Mapping[str, str]]:
    if when is MergeWhen.NOT_MATCHED:
        words.expect("INSERT")
        return MergeAction.INSERT, {} if words.take("*") else _inserted(words)
    if words.take("DELETE"):
        return MergeAction.DELETE, {}
    words.expect("UPDATE")
    words.expect("SET")
    if when is MergeWhen.MATCHED and words.take("*"):
        return MergeAction.UPDATE, {}
    return MergeAction.UPDATE, _updated(words)


def _updated(words: Words) -> dict[str, str]:
    values: dict[str, str] = {}
    while True:
        column = words.until("=", ",", "WHEN")
        if not column or column in values:
            raise words.refused("a column, and none twice, is expected before it")
        words.expect("=")
        values[column] = _expression(words, ",", "WHEN")
        if not words.take(","):
            return values


def _inserted(words: Words) -> dict[str, str]:
    columns = _listed(words, "the list of columns")
    words.expect("VALUES")
    values = _listed(words, "the list of values")
    if len(columns) != len(values) or len(set(columns)) != len(columns):
        raise words.refused("as many values as columns, and no column twice, are expected before it")
    return dict(zip(columns, values, strict=True))


def _listed(words: Words, what: str) -> list[str]:
    if not words.take("("):
        raise words.refused(f"{what} in brackets is expected")
    found = [_expression(words, ",", ")")]
    while words.take(","):
        found.append(_expression(words, ",", ")"))
    words.expect(")")
    return found


def _expression(words: Words, *ends: str) -> str:
    text = words.until(*ends)
    if not text:
        raise words.refused("an expression is expected")
    return text
